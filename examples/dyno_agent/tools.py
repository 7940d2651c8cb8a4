"""The ten tools of the agent: thin, typed doors to the lab, each with progress and a structured result."""

from collections.abc import Awaitable
from typing import Final

from langchain_core.tools import BaseTool, tool
from langgraph.prebuilt import ToolRuntime

from dyno_agent import booking, equipment, lookups
from dyno_agent.database import DynoContext
from dyno_agent.inputs import require
from dyno_agent.policy import MAX_BACKUP_DAYS, QUERY_ROW_LIMIT
from dyno_agent.queries import QueryRefused, select_rows
from dyno_agent.results import InputProblem, Result, counted, failed, succeeded

Runtime = ToolRuntime[DynoContext]


@tool
async def auto_allocate_vehicle(
    runtime: Runtime,
    vehicle_id: int | None = None,
    vin: str | None = None,
    test_type: str | None = None,
    start_date: str | None = None,
    end_date: str | None = None,
    max_backup_days: int = MAX_BACKUP_DAYS,
) -> Result:
    """Book a vehicle, by id or VIN, onto a dyno for a test. Dates are YYYY-MM-DD, both included; without end_date
    one day. If no dyno is free then, the booking is shifted by up to max_backup_days days (0: exact dates only)."""
    request = booking.BookingRequest(vehicle_id, vin, test_type, start_date, end_date, max_backup_days)
    return await _answer(runtime, "auto_allocate_vehicle", booking.allocate(runtime.context, request, _steps(runtime)))


@tool
async def find_available_dynos(
    runtime: Runtime,
    start_date: str | None = None,
    end_date: str | None = None,
    vehicle_id: int | None = None,
    vin: str | None = None,
    weight_lbs: int | None = None,
    drive: str | None = None,
    test_type: str | None = None,
) -> Result:
    """List the dynos that are free on these days and fit a vehicle (by id or VIN) or a weight, drive and test type.
    Books nothing."""
    request = lookups.SearchRequest(start_date, end_date, vehicle_id, vin, weight_lbs, drive, test_type)
    return await _answer(runtime, "find_available_dynos", lookups.find_available(runtime.context, request))


@tool
async def check_vehicle_allocation(runtime: Runtime, vehicle_id: int | None = None, vin: str | None = None) -> Result:
    """Tell where and when a vehicle, by id or VIN, is booked now and later."""
    return await _answer(runtime, "check_vehicle_allocation", lookups.check_vehicle(runtime.context, vehicle_id, vin))


@tool
async def detect_conflicts(runtime: Runtime, start_date: str | None = None, end_date: str | None = None) -> Result:
    """List bookings that clash: overlapping ones, ones inside a maintenance, ones on a dyno that does not fit."""
    return await _answer(runtime, "detect_conflicts", lookups.find_conflicts(runtime.context, start_date, end_date))


@tool
async def maintenance_check(
    runtime: Runtime, dyno: str | None = None, start_date: str | None = None, end_date: str | None = None
) -> Result:
    """List maintenance of one dyno (name or number) or of all, from today on unless dates are given."""
    return await _answer(
        runtime, "maintenance_check", equipment.check_maintenance(runtime.context, dyno, start_date, end_date)
    )


@tool
async def completed_tests_count(
    runtime: Runtime, test_type: str | None = None, start_date: str | None = None, end_date: str | None = None
) -> Result:
    """Count the completed tests, all or of one test type, optionally those that ended between two dates."""
    return await _answer(
        runtime, "completed_tests_count", lookups.count_completed(runtime.context, test_type, start_date, end_date)
    )


@tool
async def get_tests_by_status(runtime: Runtime, status: str | None = None) -> Result:
    """List the tests that are scheduled, running, completed or cancelled."""
    return await _answer(runtime, "get_tests_by_status", lookups.list_by_status(runtime.context, status))


@tool
async def list_dynos(
    runtime: Runtime, weight_class: str | None = None, drive: str | None = None, test_type: str | None = None
) -> Result:
    """List the lab's dynos with what they support, all or those for a weight class, drive or test type."""
    return await _answer(runtime, "list_dynos", equipment.list_dynos(runtime.context, weight_class, drive, test_type))


@tool
async def query_database(runtime: Runtime, sql: str | None = None) -> Result:
    """Run one read-only SQL SELECT over dynos, vehicles, allocations and maintenance."""
    return await _answer(runtime, "query_database", _query(runtime.context, sql))


@tool
async def get_datetime_now(runtime: Runtime) -> Result:
    """Tell the lab's current date and time."""
    return await _answer(runtime, "get_datetime_now", _now(runtime.context))


TOOLS: Final[tuple[BaseTool, ...]] = (
    auto_allocate_vehicle,
    find_available_dynos,
    check_vehicle_allocation,
    detect_conflicts,
    maintenance_check,
    completed_tests_count,
    get_tests_by_status,
    list_dynos,
    query_database,
    get_datetime_now,
)


async def _query(context: DynoContext, sql: str | None) -> Result:
    require(sql=sql)
    try:
        selection = await select_rows(context, sql or "")
    except QueryRefused as refusal:
        return failed(f"Query refused: only a single read-only SELECT is run. The database says: {refusal}.")
    count = counted(len(selection.rows), "row")
    message = f"First {count}, there are more (limit {QUERY_ROW_LIMIT})." if selection.truncated else f"{count}."
    return succeeded(message, rows=selection.rows, truncated=selection.truncated)


async def _now(context: DynoContext) -> Result:
    now = context.clock
    return succeeded(f"It is {now:%A}, {now:%Y-%m-%d %H:%M}.", now=now.isoformat())


def _steps(runtime: Runtime) -> booking.Progress:
    return lambda words: runtime.stream_writer(
        {"source": "tool.auto_allocate_vehicle", "event": "progress", "data": {"message": words}}
    )


async def _answer(runtime: Runtime, name: str, work: Awaitable[Result]) -> Result:
    """Wait for a tool's work and tell whoever streams the run how it goes."""
    runtime.stream_writer({"source": f"tool.{name}", "event": "start", "data": {"tool_call_id": runtime.tool_call_id}})
    try:
        result = await work
    except InputProblem as problem:
        result = problem.result
    runtime.stream_writer({"source": f"tool.{name}", "event": "result", "data": result})
    return result
