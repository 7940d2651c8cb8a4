"""Reading the lab's state out of the database into the facts that the rules speak about."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, select
from sqlalchemy.ext.asyncio import AsyncConnection

from dyno_agent.models import Allocation, Dyno, Maintenance, Vehicle
from dyno_agent.policy import ACTIVE_STATUSES
from dyno_agent.results import InputProblem, failed, missing, shown
from dyno_agent.rules import DynoFacts, Window


@dataclass(frozen=True, slots=True)
class VehicleFacts:
    id: int
    vin: str
    weight_lbs: int
    drive: str

    def __str__(self) -> str:
        return f"vehicle {self.id} (VIN {self.vin}, {self.drive}, {self.weight_lbs:,} lbs)"


@dataclass(frozen=True, slots=True)
class Booking:
    """An allocation with the names of what it joins."""

    id: int
    vehicle_id: int
    dyno_id: int
    dyno_name: str
    test_type: str
    window: Window
    status: str

    def __str__(self) -> str:
        return f"allocation {self.id}: vehicle {self.vehicle_id} on {self.dyno_name}, {self.test_type}, {self.window}"

    def as_row(self) -> dict[str, str | int]:
        return {
            "allocation_id": self.id,
            "vehicle_id": self.vehicle_id,
            "dyno": self.dyno_name,
            "test_type": self.test_type,
            "start_date": str(self.window.first),
            "end_date": str(self.window.last),
            "status": self.status,
        }


async def load_vehicle(connection: AsyncConnection, vehicle_id: int | None, vin: str | None) -> VehicleFacts:
    """The vehicle with this id, this VIN, or both."""
    wanted: list[tuple[str, ColumnElement[bool]]] = []
    if vehicle_id is not None:
        wanted.append((f"id {shown(vehicle_id)}", Vehicle.id == vehicle_id))
    if vin:
        wanted.append((f"VIN {shown(vin)}", Vehicle.vin == vin.strip().upper()))
    if not wanted:
        raise InputProblem(missing(["vehicle_id"]))
    query = select(Vehicle.id, Vehicle.vin, Vehicle.weight_lbs, Vehicle.drive).where(*(clause for _, clause in wanted))
    # An id beyond the column's range is one that no vehicle has, and the drivers would refuse to send it.
    row = None if _beyond_column(vehicle_id) else (await connection.execute(query)).one_or_none()
    if row is None:
        raise InputProblem(failed(f"Vehicle not found: no vehicle has {' and '.join(words for words, _ in wanted)}."))
    return VehicleFacts(*row)


async def load_vehicles(connection: AsyncConnection) -> dict[int, VehicleFacts]:
    """Every vehicle by its id."""
    query = select(Vehicle.id, Vehicle.vin, Vehicle.weight_lbs, Vehicle.drive)
    return {row.id: VehicleFacts(*row) for row in await connection.execute(query)}


def _beyond_column(vehicle_id: int | None) -> bool:
    return vehicle_id is not None and abs(vehicle_id) >= 2**31


async def load_bookings(connection: AsyncConnection, statuses: Sequence[str] = ACTIVE_STATUSES) -> list[Booking]:
    """The allocations in one of these states, by their first day."""
    query = (
        select(Allocation, Dyno.name)
        .join(Dyno, Dyno.id == Allocation.dyno_id)
        .where(Allocation.status.in_(statuses))
        .order_by(Allocation.start_date, Allocation.id)
    )
    return [
        Booking(
            row.id,
            row.vehicle_id,
            row.dyno_id,
            row.name,
            row.test_type,
            Window(row.start_date, row.end_date),
            row.status,
        )
        for row in await connection.execute(query)
    ]


async def load_maintenance(connection: AsyncConnection) -> Mapping[int, tuple[Window, ...]]:
    """The days of service of each dyno."""
    windows: defaultdict[int, tuple[Window, ...]] = defaultdict(tuple)
    for row in await connection.execute(select(Maintenance).order_by(Maintenance.start_date)):
        windows[row.dyno_id] += (Window(row.start_date, row.end_date),)
    return windows


async def load_dynos(connection: AsyncConnection, bookings: Sequence[Booking]) -> list[DynoFacts]:
    """Every dyno with its calendar, in the order in which they are tried."""
    maintenance = await load_maintenance(connection)
    return [
        DynoFacts(
            id=row.id,
            name=row.name,
            weight_classes=row.supported_weight_classes,
            drives=row.supported_drives,
            test_types=row.supported_test_types,
            enabled=row.enabled,
            available_from=row.available_from,
            available_until=row.available_until,
            bookings=tuple(booking.window for booking in bookings if booking.dyno_id == row.id),
            maintenance=maintenance[row.id],
        )
        for row in await connection.execute(select(Dyno).order_by(Dyno.id))
    ]
