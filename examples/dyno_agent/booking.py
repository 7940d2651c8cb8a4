"""The decision behind a booking, and the transaction that makes it stand when two bookings race."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlalchemy import insert, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from dyno_agent.database import DynoContext, writing
from dyno_agent.inputs import read_booking_window, read_test_type, require
from dyno_agent.lab import VehicleFacts, load_bookings, load_dynos, load_vehicle
from dyno_agent.models import Allocation, Dyno
from dyno_agent.policy import MAX_BACKUP_DAYS
from dyno_agent.results import Result, counted, failed, succeeded, with_article
from dyno_agent.rules import DynoFacts, Need, Window, broken_rules, objections_to, vehicle_is_free

ATTEMPTS = 3
Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class BookingRequest:
    """The arguments of `auto_allocate_vehicle` as they came."""

    vehicle_id: int | None
    vin: str | None
    test_type: str | None
    start_date: str | None
    end_date: str | None
    max_backup_days: int


@dataclass(frozen=True, slots=True)
class Slot:
    """A dyno, and how many days later than requested."""

    dyno: DynoFacts
    shift: int


async def allocate(context: DynoContext, request: BookingRequest, progress: Progress) -> Result:
    """Book the first dyno that every rule allows: in the requested window, else shifted by as few days as possible."""
    identifier = request.vin if request.vehicle_id is None else request.vehicle_id
    require(vehicle_id=identifier, test_type=request.test_type, start_date=request.start_date)
    test_type = read_test_type(request.test_type or "")
    window = read_booking_window(request.start_date or "", request.end_date, context.today)
    if not 0 <= request.max_backup_days <= MAX_BACKUP_DAYS:
        return failed(f"Invalid backup limit: a booking may be shifted by 0 to {MAX_BACKUP_DAYS} days.")
    for _ in range(ATTEMPTS):
        try:
            async with writing(context) as connection:
                return await _book(connection, request, test_type, window, progress)
        except IntegrityError:
            progress("another booking took the dyno, deciding again")
    return failed("Booking failed: other bookings kept taking the same dyno, please try again.")


async def _book(
    connection: AsyncConnection, request: BookingRequest, test_type: str, window: Window, progress: Progress
) -> Result:
    # On PostgreSQL this makes bookings wait for each other; SQLite's BEGIN IMMEDIATE has done so already.
    await connection.execute(select(Dyno.id).order_by(Dyno.id).with_for_update())
    vehicle = await load_vehicle(connection, request.vehicle_id, request.vin)
    bookings = await load_bookings(connection)
    own = [booking for booking in bookings if booking.vehicle_id == vehicle.id]
    own_windows = [booking.window for booking in own]
    if not vehicle_is_free(own_windows, window):
        clash = next(booking for booking in own if booking.window.overlaps(window))
        return failed(f"Vehicle already booked: {clash}.", allocation_id=clash.id)
    need = Need(window, vehicle.weight_lbs, vehicle.drive, test_type)
    dynos = await load_dynos(connection, bookings)
    fitting = [dyno for dyno in dynos if not broken_rules(dyno, need, "fit")]
    if not fitting:
        return _no_fitting_dyno(dynos, vehicle, need)
    progress(f"{counted(len(fitting), 'dyno')} can take {vehicle}")
    slot = _first_slot(fitting, need, own_windows, request.max_backup_days, progress)
    if slot is None:
        return _no_free_dyno(fitting, vehicle, need, request.max_backup_days)
    allocation_id = await _insert(connection, vehicle, slot, need)
    return _booked(vehicle, slot, need, allocation_id)


def _first_slot(
    fitting: Sequence[DynoFacts], need: Need, own_windows: Sequence[Window], max_shift: int, progress: Progress
) -> Slot | None:
    for shift in range(max_shift + 1):
        shifted = _shifted(need, shift)
        if vehicle_is_free(own_windows, shifted.window):
            progress(f"looking at {shifted.window}")
            for dyno in fitting:
                if not broken_rules(dyno, shifted, "calendar"):
                    return Slot(dyno, shift)
    return None


def _shifted(need: Need, days: int) -> Need:
    return Need(need.window.later(days), need.weight_lbs, need.drive, need.test_type)


async def _insert(connection: AsyncConnection, vehicle: VehicleFacts, slot: Slot, need: Need) -> int:
    window = need.window.later(slot.shift)
    statement = insert(Allocation).values(
        vehicle_id=vehicle.id,
        dyno_id=slot.dyno.id,
        test_type=need.test_type,
        start_date=window.first,
        end_date=window.last,
        status="scheduled",
        imported=False,
    )
    return (await connection.execute(statement.returning(Allocation.id))).scalar_one()


def _booked(vehicle: VehicleFacts, slot: Slot, need: Need, allocation_id: int) -> Result:
    window = need.window.later(slot.shift)
    deed = f"{vehicle} is on {slot.dyno.name} for {_test(need)}, {window} (allocation {allocation_id})."
    if slot.shift:
        message = (
            f"Allocated with backup shift of {counted(slot.shift, 'day')}: {deed} "
            f"Allocated in requested window: no, {need.window} had no free dyno."
        )
    else:
        message = f"Allocated in requested window: {deed}"
    return succeeded(
        message,
        allocation_id=allocation_id,
        vehicle_id=vehicle.id,
        dyno=slot.dyno.name,
        start_date=str(window.first),
        end_date=str(window.last),
        backup_shift_days=slot.shift,
    )


def _no_fitting_dyno(dynos: Sequence[DynoFacts], vehicle: VehicleFacts, need: Need) -> Result:
    """Say why by the dynos that came closest: a dyno that fails in everything explains nothing."""
    fewest = min((len(broken_rules(dyno, need, "fit")) for dyno in dynos), default=0)
    closest = [dyno for dyno in dynos if len(broken_rules(dyno, need, "fit")) == fewest]
    reasons = objections_to(closest, need, "fit")
    return failed(f"No compatible dyno for {_test(need)} of {vehicle}: {reasons}.", broken_rules=_names(closest, need))


def _no_free_dyno(fitting: Sequence[DynoFacts], vehicle: VehicleFacts, need: Need, max_shift: int) -> Result:
    backup = f" or with a backup shift of up to {counted(max_shift, 'day')}" if max_shift else ""
    reasons = objections_to(fitting, need, "calendar")
    return failed(
        f"No dyno available for {_test(need)} of {vehicle} on {need.window}{backup}: {reasons}.",
        broken_rules=_names(fitting, need),
    )


def _test(need: Need) -> str:
    return with_article(f"{need.test_type} test")


def _names(dynos: Sequence[DynoFacts], need: Need) -> list[str]:
    return sorted({rule.name for dyno in dynos for rule in broken_rules(dyno, need)})
