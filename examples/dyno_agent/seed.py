"""The template dataset: the same lab on every run, with all dates counted from the injected day."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from sqlalchemy import Connection, insert

from dyno_agent.models import Allocation, Base, Dyno, Maintenance, Vehicle

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Rig:
    id: int
    weight_classes: str
    drives: str
    test_types: str
    enabled: bool = True
    open_days: tuple[int | None, int | None] = (None, None)


_DYNOS = (
    _Rig(1, "light medium", "FWD RWD", "brake emissions performance"),
    _Rig(2, "light", "FWD", "brake emissions"),
    _Rig(3, "light medium", "FWD RWD AWD", "brake performance"),
    _Rig(4, "light medium", "AWD 4WD", "brake"),
    _Rig(5, "heavy", "RWD 4WD", "brake durability"),
    _Rig(6, "light", "FWD RWD", "coastdown", enabled=False),
    _Rig(7, "light medium", "FWD RWD AWD 4WD", "durability"),
    _Rig(8, "light medium", "FWD RWD AWD", "noise", open_days=(40, 120)),
)

_VEHICLES = (
    (1, "1HKFA16309L000101", "Wren hatchback", 2_650, "FWD"),
    (2, "1HKFA16309L000102", "Wren hatchback", 2_690, "FWD"),
    (3, "1HKFB26409L000103", "Heron saloon", 3_400, "FWD"),
    (4, "2HKRB26409L000104", "Heron GT", 3_720, "RWD"),
    (5, "2HKRB26409L000105", "Heron GT", 3_720, "RWD"),
    (6, "3HKAC36509L000106", "Osprey crossover", 4_450, "AWD"),
    (7, "3HKFC36509L000107", "Osprey crossover", 4_200, "FWD"),
    (8, "4HKRD46609L000108", "Condor pick-up", 6_900, "RWD"),
    (9, "4HKXD46609L000109", "Condor pick-up", 7_250, "4WD"),
    (10, "4HKXD46609L000110", "Condor pick-up", 7_250, "4WD"),
    (11, "4HKAD46609L000111", "Condor SUV", 6_400, "AWD"),
    (12, "3HKAC36509L000112", "Osprey crossover", 4_450, "AWD"),
    (21, "5HKRE56709L000121", "Albatross van", 11_800, "RWD"),
    (22, "5HKXE56709L000122", "Albatross van", 12_400, "4WD"),
    (23, "5HKAE56709L000123", "Albatross van", 12_100, "AWD"),
    (31, "6HKRF66809L000131", "Roc tractor", 14_800, "RWD"),
    (42, "3HKAC36509L000142", "Osprey estate", 4_800, "AWD"),
    (57, "1HKFA16309L000157", "Wren hatchback", 2_650, "FWD"),
)

_MAINTENANCE = (
    (7, 10, 24, "roller bearing replacement"),
    (2, 0, 1, "load cell calibration"),
    (5, 60, 62, "yearly inspection"),
)

_ALLOCATIONS = (
    # vehicle, dyno, test type, first and last day, status, from the old paper schedule
    (1, 1, "brake", -40, -39, "completed", False),
    (2, 2, "emissions", -38, -38, "completed", False),
    (4, 1, "performance", -35, -33, "completed", False),
    (6, 3, "brake", -30, -29, "completed", False),
    (9, 4, "brake", -28, -27, "completed", False),
    (21, 5, "durability", -25, -16, "completed", False),
    (3, 1, "emissions", -20, -19, "completed", False),
    (57, 2, "brake", -12, -12, "completed", False),
    (5, 3, "performance", -10, -9, "completed", False),
    (8, 1, "brake", -6, -5, "cancelled", False),
    (22, 5, "durability", -3, 3, "running", False),
    (2, 1, "emissions", -1, 1, "running", False),
    (7, 1, "brake", 4, 6, "scheduled", False),
    (12, 3, "brake", 8, 9, "scheduled", False),
    (11, 4, "brake", 8, 10, "scheduled", False),
    (9, 4, "brake", 20, 35, "scheduled", False),
    (4, 3, "performance", 30, 31, "cancelled", False),
    # What detect_conflicts is for: two paper bookings that overlap, one inside a service, one on a dyno since disabled.
    (1, 2, "brake", 14, 16, "scheduled", True),
    (3, 2, "emissions", 15, 17, "scheduled", True),
    (5, 7, "durability", 9, 11, "scheduled", True),
    (57, 6, "coastdown", 5, 5, "scheduled", True),
)


def rows(today: date) -> Sequence[tuple[type[Base], Sequence[Row]]]:
    """Every row of the lab on that day, parents before children."""
    return (
        (Dyno, [_dyno_row(rig, today) for rig in _DYNOS]),
        (Vehicle, [dict(zip(("id", "vin", "model", "weight_lbs", "drive"), row, strict=True)) for row in _VEHICLES]),
        (Maintenance, [_maintenance_row(*row, today=today) for row in _MAINTENANCE]),
        (Allocation, [_allocation_row(row, today) for row in _ALLOCATIONS]),
    )


def plant(connection: Connection, today: date) -> None:
    """Create the tables and fill them."""
    Base.metadata.create_all(connection)
    for table, table_rows in rows(today):
        connection.execute(insert(table), [dict(row) for row in table_rows])


def _on(today: date, offset: int | None) -> date | None:
    return None if offset is None else today + timedelta(days=offset)


def _dyno_row(rig: _Rig, today: date) -> Row:
    return {
        "id": rig.id,
        "name": f"DYNO-{rig.id:02}",
        "supported_weight_classes": tuple(rig.weight_classes.split()),
        "supported_drives": tuple(rig.drives.split()),
        "supported_test_types": tuple(rig.test_types.split()),
        "enabled": rig.enabled,
        "available_from": _on(today, rig.open_days[0]),
        "available_until": _on(today, rig.open_days[1]),
    }


def _maintenance_row(dyno_id: int, first: int, last: int, reason: str, *, today: date) -> Row:
    return {"dyno_id": dyno_id, "start_date": _on(today, first), "end_date": _on(today, last), "reason": reason}


def _allocation_row(row: tuple[int, int, str, int, int, str, bool], today: date) -> Row:
    vehicle_id, dyno_id, test_type, first, last, status, imported = row
    return {
        "vehicle_id": vehicle_id,
        "dyno_id": dyno_id,
        "test_type": test_type,
        "start_date": _on(today, first),
        "end_date": _on(today, last),
        "status": status,
        "imported": imported,
    }
