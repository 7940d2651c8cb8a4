"""The tools that only read bookings and vehicles."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from dyno_agent.database import DynoContext, reading
from dyno_agent.inputs import read_drive, read_optional_window, read_status, read_test_type, read_window, require
from dyno_agent.lab import Booking, VehicleFacts, load_bookings, load_dynos, load_vehicle, load_vehicles
from dyno_agent.results import Result, counted, succeeded
from dyno_agent.rules import DynoFacts, Need, Window, broken_rules

MAX_LISTED = 20


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """The arguments of `find_available_dynos` as they came."""

    start_date: str | None
    end_date: str | None
    vehicle_id: int | None = None
    vin: str | None = None
    weight_lbs: int | None = None
    drive: str | None = None
    test_type: str | None = None


async def find_available(context: DynoContext, request: SearchRequest) -> Result:
    """The dynos that every rule allows on these days."""
    require(start_date=request.start_date)
    need = Need(
        read_window(request.start_date or "", request.end_date),
        request.weight_lbs,
        read_drive(request.drive) if request.drive else None,
        read_test_type(request.test_type) if request.test_type else None,
    )
    async with reading(context) as connection:
        if request.vehicle_id is not None or request.vin:
            vehicle = await load_vehicle(connection, request.vehicle_id, request.vin)
            need = Need(need.window, vehicle.weight_lbs, vehicle.drive, need.test_type)
        dynos = await load_dynos(connection, await load_bookings(connection))
    names = [dyno.name for dyno in dynos if not broken_rules(dyno, need)]
    wanted = _wanted(need)
    if not names:
        return succeeded(f"No dyno available on {wanted}.", dynos=[])
    return succeeded(f"{counted(len(names), 'dyno')} available on {wanted}: {', '.join(names)}.", dynos=names)


def _wanted(need: Need) -> str:
    weight = None if need.weight_lbs is None else f"{need.weight_lbs:,} lbs"
    test = need.test_type and f"{need.test_type} test"
    conditions = ", ".join(word for word in (need.drive, weight, test) if word)
    return f"{need.window} for {conditions}" if conditions else str(need.window)


async def check_vehicle(context: DynoContext, vehicle_id: int | None, vin: str | None) -> Result:
    """Where a vehicle is booked now and later."""
    async with reading(context) as connection:
        vehicle = await load_vehicle(connection, vehicle_id, vin)
        own = [booking for booking in await load_bookings(connection) if booking.vehicle_id == vehicle.id]
    rows = [booking.as_row() for booking in own]
    if not own:
        return succeeded(f"No active allocation for {vehicle}.", vehicle_id=vehicle.id, allocations=rows)
    listed = "; ".join(f"{booking} ({booking.status})" for booking in own)
    message = f"{counted(len(own), 'active allocation')} for {vehicle}: {listed}."
    return succeeded(message, vehicle_id=vehicle.id, allocations=rows)


async def find_conflicts(context: DynoContext, start_date: str | None, end_date: str | None) -> Result:
    """The active bookings that the rules would refuse today."""
    period = read_optional_window(start_date, end_date)
    async with reading(context) as connection:
        bookings = await load_bookings(connection)
        vehicles = await load_vehicles(connection)
        dynos = {dyno.id: dyno for dyno in await load_dynos(connection, ())}
    conflicts = {}
    for booking in bookings:
        others = [other for other in bookings if other.id != booking.id]
        objections = _objections(booking, others, dynos[booking.dyno_id], vehicles[booking.vehicle_id])
        if objections and booking.window.overlaps(period):
            conflicts[booking] = objections
    if not conflicts:
        return succeeded("No conflicts detected.", conflicts=[])
    listed = "; ".join(f"{booking}: {', '.join(objections)}" for booking, objections in conflicts.items())
    return succeeded(
        f"Conflicts detected in {counted(len(conflicts), 'booking')}: {listed}.",
        conflicts=[{**booking.as_row(), "objections": objections} for booking, objections in conflicts.items()],
    )


def _objections(booking: Booking, others: Sequence[Booking], dyno: DynoFacts, vehicle: VehicleFacts) -> list[str]:
    need = Need(booking.window, vehicle.weight_lbs, vehicle.drive, booking.test_type)
    beside = replace(dyno, bookings=tuple(other.window for other in others if other.dyno_id == dyno.id))
    against_dyno = [rule.objection(beside, need) for rule in broken_rules(beside, need)]
    own = [other for other in others if other.vehicle_id == vehicle.id and other.window.overlaps(booking.window)]
    return against_dyno + [f"its vehicle is also on {other.dyno_name} {other.window}" for other in own]


async def count_completed(
    context: DynoContext, test_type: str | None, start_date: str | None, end_date: str | None
) -> Result:
    """How many tests were finished in a period, by test type."""
    period = read_optional_window(start_date, end_date)
    wanted = read_test_type(test_type) if test_type else None
    async with reading(context) as connection:
        done = await load_bookings(connection, ("completed",))
    counts = Counter(
        booking.test_type
        for booking in done
        if wanted in (None, booking.test_type) and Window(booking.window.last, booking.window.last).overlaps(period)
    )
    noun = f"completed {wanted} test" if wanted else "completed test"
    by_type = ", ".join(f"{name} {number}" for name, number in sorted(counts.items()))
    detail = f" ({by_type})" if by_type and not wanted else ""
    return succeeded(f"{counted(counts.total(), noun)}{detail}.", count=counts.total(), by_test_type=dict(counts))


async def list_by_status(context: DynoContext, status: str | None) -> Result:
    """The tests in one state."""
    require(status=status)
    known = read_status(status or "")
    async with reading(context) as connection:
        found = await load_bookings(connection, (known,))
    listed = "; ".join(str(booking) for booking in found[:MAX_LISTED])
    more = f"; and {len(found) - MAX_LISTED} more" if len(found) > MAX_LISTED else ""
    message = f"{counted(len(found), f'{known} test')}{': ' if found else ''}{listed}{more}."
    return succeeded(message, count=len(found), tests=[booking.as_row() for booking in found[:MAX_LISTED]])
