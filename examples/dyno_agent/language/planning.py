"""From a request to the agent's next step: a tool to call, or words."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from dyno_agent.knowledge import topics
from dyno_agent.language import cues
from dyno_agent.language.intents import Intent
from dyno_agent.language.request import Request
from dyno_agent.policy import ACTIVE_STATUSES, weight_class_of

CAPABILITIES = (
    "I can book a vehicle onto a dyno, find available dynos, check a vehicle's allocation, detect conflicts, check "
    "maintenance, count completed tests, list tests by status, list the dynos, tell the time and run a SELECT."
)
REFUSAL = (
    "I cannot do that: apart from new bookings I only read. I do not delete, cancel or change anything, and by SQL "
    "only a single read-only SELECT is run, no INSERT, UPDATE, DELETE or DROP."
)
_VEHICLE_COLUMNS = "id, vin, model, weight_lbs, drive"
ASK_VEHICLE = "Which vehicle do you mean? Please give its id or VIN."


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call."""

    tool: str
    arguments: dict[str, Any]


Step = tuple[Call, ...] | str
"""Calls to make side by side, or words to say."""


def plan(request: Request) -> Step:
    """Decide the next step for a request."""
    return _PLANS[request.intent](request)


def _stated(**arguments: Any) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if value is not None}


def _days(request: Request) -> dict[str, Any]:
    first, last = request.period.first, request.period.last
    return _stated(start_date=first and first.isoformat(), end_date=last and last.isoformat())


def _identifiers(request: Request) -> Iterable[dict[str, Any]]:
    """One for each vehicle that the request names."""
    if request.entities.vin:
        return [_stated(vin=request.entities.vin, vehicle_id=next(iter(request.entities.vehicle_ids), None))]
    return [{"vehicle_id": number} for number in request.entities.vehicle_ids]


def _allocate(request: Request) -> Step:
    entities, period = request.entities, request.period
    identifiers = list(_identifiers(request))
    questions = []
    if not identifiers:
        questions.append(ASK_VEHICLE)
    if entities.test_type is None:
        questions.append("Which test type is it for?")
    if period.question:
        questions.append(period.question)
    elif period.first is None:
        questions.append("On which date should it start?")
    elif period.vague:
        questions.append("On which day should it start, and for how many days?")
    if questions:
        return " ".join(["I cannot book that yet.", *questions])
    shared = _stated(test_type=entities.test_type, **_days(request), max_backup_days=entities.max_backup_days)
    return tuple(Call("auto_allocate_vehicle", {**identifier, **shared}) for identifier in identifiers)


def _find_available(request: Request) -> Step:
    entities, period = request.entities, request.period
    if period.question:
        return period.question
    if period.first is None:
        return "For which days are you looking for a dyno?"
    identifier = next(iter(_identifiers(request)), {})
    wanted = identifier or _stated(weight_lbs=entities.weight_lbs, drive=entities.drive)
    return (Call("find_available_dynos", {**_days(request), **wanted, **_stated(test_type=entities.test_type)}),)


def _check_vehicle(request: Request) -> Step:
    calls = tuple(Call("check_vehicle_allocation", identifier) for identifier in _identifiers(request))
    return calls or ASK_VEHICLE


def _describe_vehicle(request: Request) -> Step:
    """The grammar lets only digits and letters into an id or VIN, so they are safe inside a statement."""
    columns = f"SELECT {_VEHICLE_COLUMNS} FROM vehicles WHERE"
    if request.entities.vin:
        return (Call("query_database", {"sql": f"{columns} vin = '{request.entities.vin}'"}),)
    ids = ", ".join(str(number) for number in request.entities.vehicle_ids)
    return (Call("query_database", {"sql": f"{columns} id IN ({ids}) ORDER BY id"}),)


def _within_days(tool: str, **arguments: Callable[[Request], Any]) -> Callable[[Request], Step]:
    """A tool whose period is optional."""

    def step(request: Request) -> Step:
        if request.period.question:
            return request.period.question
        days = _days(request)
        if request.period.first and not request.period.open_end:
            days.setdefault("end_date", days["start_date"])
        return (Call(tool, {**_stated(**{name: read(request) for name, read in arguments.items()}), **days}),)

    return step


def _by_status(request: Request) -> Step:
    return (Call("get_tests_by_status", {"status": request.entities.status}),)


def _list_dynos(request: Request) -> Step:
    entities = request.entities
    weight_class = entities.weight_class
    if entities.weight_lbs is not None:
        weight_class = weight_class_of(entities.weight_lbs)
        if weight_class is None:
            return topics()["weight_classes"].text
    wanted = _stated(weight_class=weight_class, drive=entities.drive, test_type=entities.test_type)
    return (Call("list_dynos", wanted),)


def _explain(request: Request) -> Step:
    text = topics()[request.topic or "booking"].text
    weight = request.entities.weight_lbs
    if request.topic == "weight_classes" and weight is not None:
        name = weight_class_of(weight)
        verdict = f"is in weight class {name}" if name else "is over the weight limit"
        return f"A vehicle of {weight:,} lbs {verdict}. {text}"
    return text


def _vehicles(columns: str, order: str = "") -> Callable[[Request], Step]:
    """A SELECT over the vehicles with the drive and weight that the request names."""

    def step(request: Request) -> Step:
        entities = request.entities
        clauses = [f"drive = '{entities.drive}'"] if entities.drive else []
        if entities.weight_lbs is not None:
            sign = "<" if cues.LIGHTER.search(request.text) else ">="
            clauses.append(f"weight_lbs {sign} {entities.weight_lbs}")
        where = f" WHERE {' AND '.join(clauses)}" if clauses else ""
        return (Call("query_database", {"sql": f"SELECT {columns} FROM vehicles{where}{order}"}),)

    return step


def _dyno_calendar(request: Request) -> Step:
    sql = (
        "SELECT a.id, a.vehicle_id, a.test_type, a.start_date, a.end_date, a.status FROM allocations a "
        f"JOIN dynos d ON d.id = a.dyno_id WHERE d.name = '{request.entities.dyno}' "
        f"AND a.status IN {ACTIVE_STATUSES!r} ORDER BY a.start_date"
    )
    return (Call("query_database", {"sql": sql}),)


_PLANS: dict[Intent, Callable[[Request], Step]] = {
    Intent.RUN_SELECT: lambda request: (Call("query_database", {"sql": request.sql}),),
    Intent.CHANGE_DATA: lambda _request: REFUSAL,
    Intent.EXPLAIN: _explain,
    Intent.ALLOCATE: _allocate,
    Intent.TELL_TIME: lambda _request: (Call("get_datetime_now", {}),),
    Intent.DETECT_CONFLICTS: _within_days("detect_conflicts"),
    Intent.CHECK_MAINTENANCE: _within_days("maintenance_check", dyno=lambda request: request.entities.dyno),
    Intent.COUNT_COMPLETED: _within_days("completed_tests_count", test_type=lambda request: request.entities.test_type),
    Intent.TESTS_BY_STATUS: _by_status,
    Intent.FIND_AVAILABLE: _find_available,
    Intent.DESCRIBE_VEHICLE: _describe_vehicle,
    Intent.CHECK_VEHICLE: _check_vehicle,
    Intent.COUNT_VEHICLES: _vehicles("count(*) AS vehicles"),
    Intent.LIST_VEHICLES: _vehicles(_VEHICLE_COLUMNS, " ORDER BY id"),
    Intent.DYNO_CALENDAR: _dyno_calendar,
    Intent.LIST_DYNOS: _list_dynos,
    Intent.GREET: lambda _request: f"Hello. {CAPABILITIES}",
    Intent.UNKNOWN: lambda _request: f"Sorry, I did not understand that. {CAPABILITIES} What would you like to do?",
}
