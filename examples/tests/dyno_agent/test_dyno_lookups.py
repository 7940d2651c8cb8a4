"""What the reading tools find in the seeded lab, the same on both databases."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from dyno_agent import rules
from dyno_agent.database import DynoContext
from dyno_agent.equipment import check_maintenance, list_dynos
from dyno_agent.lookups import (
    SearchRequest,
    check_vehicle,
    count_completed,
    find_available,
    find_conflicts,
    list_by_status,
)
from dyno_agent.results import InputProblem, Result

Lookup = Callable[[DynoContext], Awaitable[Result]]


def search(*days: str, **wanted: Any) -> Lookup:
    start, end = (*days, None)[:2] if len(days) < 2 else days
    return lambda lab: find_available(lab, SearchRequest(start, end, **wanted))


FOUND: dict[str, tuple[Lookup, str]] = {
    "free on a day": (
        search("2026-03-20"),
        "5 dynos available on 2026-03-20: DYNO-01, DYNO-02, DYNO-03, DYNO-04, DYNO-05.",
    ),
    "free for a vehicle": (
        search("2026-03-20", vehicle_id=42, test_type="brake"),
        "2 dynos available on 2026-03-20 for AWD, 4,800 lbs, brake test: DYNO-03, DYNO-04.",
    ),
    "free for conditions": (
        search("2026-03-20", "2026-03-21", weight_lbs=3700, drive="rwd", test_type="Emissions"),
        "1 dyno available on 2026-03-20 to 2026-03-21 for RWD, 3,700 lbs, emissions test: DYNO-01.",
    ),
    "free but taken": (
        search("2026-03-10", drive="AWD", test_type="brake"),
        "No dyno available on 2026-03-10 for AWD, brake test.",
    ),
    "a booked vehicle": (
        lambda lab: check_vehicle(lab, 7, None),
        "1 active allocation for vehicle 7 (VIN 3HKFC36509L000107, FWD, 4,200 lbs): allocation 13: vehicle 7 on "
        "DYNO-01, brake, 2026-03-06 to 2026-03-08 (scheduled).",
    ),
    "a vehicle whose booking was cancelled": (
        lambda lab: check_vehicle(lab, None, "2HKRB26409L000104"),
        "No active allocation for vehicle 4 (VIN 2HKRB26409L000104, RWD, 3,720 lbs).",
    ),
    "conflicts": (
        lambda lab: find_conflicts(lab, None, None),
        "Conflicts detected in 4 bookings: allocation 21: vehicle 57 on DYNO-06, coastdown, 2026-03-07: the dyno is "
        "disabled; allocation 20: vehicle 5 on DYNO-07, durability, 2026-03-11 to 2026-03-13: maintenance 2026-03-12 "
        "to 2026-03-26; allocation 18: vehicle 1 on DYNO-02, brake, 2026-03-16 to 2026-03-18: overlap with 2026-03-17 "
        "to 2026-03-19; allocation 19: vehicle 3 on DYNO-02, emissions, 2026-03-17 to 2026-03-19: overlap with "
        "2026-03-16 to 2026-03-18.",
    ),
    "conflicts of one day": (
        lambda lab: find_conflicts(lab, "2026-03-07", "2026-03-07"),
        "Conflicts detected in 1 booking: allocation 21",
    ),
    "no conflicts": (lambda lab: find_conflicts(lab, "2026-06-01", None), "No conflicts detected."),
    "maintenance": (
        lambda lab: check_maintenance(lab, None, None, "2026-03-31"),
        "2 maintenance periods: DYNO-02 2026-03-02 to 2026-03-03 (load cell calibration); "
        "DYNO-07 2026-03-12 to 2026-03-26 (roller bearing replacement).",
    ),
    "maintenance of one dyno": (
        lambda lab: check_maintenance(lab, "dyno 7", None, None),
        "1 maintenance period: DYNO-07 2026-03-12 to 2026-03-26 (roller bearing replacement).",
    ),
    "no maintenance": (
        lambda lab: check_maintenance(lab, "DYNO-01", None, None),
        "No maintenance planned for DYNO-01 in that time.",
    ),
    "completed": (
        lambda lab: count_completed(lab, None, None, None),
        "9 completed tests (brake 4, durability 1, emissions 2, performance 2).",
    ),
    "completed of a type": (lambda lab: count_completed(lab, "brake", None, None), "4 completed brake tests."),
    "completed in a period": (
        lambda lab: count_completed(lab, None, "2026-02-10", "2026-02-14"),
        "2 completed tests (durability 1, emissions 1).",
    ),
    "completed never": (lambda lab: count_completed(lab, "noise", None, None), "0 completed noise tests."),
    "running": (
        lambda lab: list_by_status(lab, "Running"),
        "2 running tests: allocation 11: vehicle 22 on DYNO-05, durability, 2026-02-27 to 2026-03-05; "
        "allocation 12: vehicle 2 on DYNO-01, emissions, 2026-03-01 to 2026-03-03.",
    ),
    "scheduled": (lambda lab: list_by_status(lab, "scheduled"), "8 scheduled tests: allocation 13: vehicle 7"),
    "dynos": (
        lambda lab: list_dynos(lab, None, None, None),
        "8 dynos: DYNO-01 (weight light/medium, drives FWD/RWD, tests brake/emissions/performance, enabled); DYNO-02",
    ),
    "dynos for a drive": (
        lambda lab: list_dynos(lab, "heavy", "4WD", None),
        "1 dyno for heavy 4WD: DYNO-05 (weight heavy, drives RWD/4WD, tests brake/durability, enabled).",
    ),
    "no such dyno": (lambda lab: list_dynos(lab, "heavy", "AWD", "noise"), "0 dynos for heavy AWD noise."),
}

NOT_FOUND: dict[str, tuple[Lookup, str]] = {
    "vehicle": (lambda lab: check_vehicle(lab, 999, None), "Vehicle not found: no vehicle has id 999."),
    "vehicle with another vin": (
        lambda lab: check_vehicle(lab, 42, "2HKRB26409L000104"),
        "Vehicle not found: no vehicle has id 42 and VIN 2HKRB26409L000104.",
    ),
    "no vehicle": (lambda lab: check_vehicle(lab, None, None), "Missing information: please give a vehicle id or VIN."),
    "search without days": (lambda lab: find_available(lab, SearchRequest(None, None)), "please give a start date"),
    "search with a strange drive": (search("2026-03-20", drive="6WD"), "Invalid drive: '6WD'. Known are FWD, RWD"),
    "dyno": (lambda lab: check_maintenance(lab, "DYNO-77", None, None), "Dyno not found: 'DYNO-77'. Known are DYNO-01"),
    "status": (lambda lab: list_by_status(lab, "lost"), "Invalid status: 'lost'. Known are scheduled"),
    "no status": (lambda lab: list_by_status(lab, None), "Missing information: please give status."),
    "weight class": (lambda lab: list_dynos(lab, "huge", None, None), "Invalid weight class: 'huge'"),
    "period backwards": (lambda lab: find_conflicts(lab, "2026-03-02", "2026-03-01"), "Invalid dates: the end"),
    "hostile words": (lambda lab: check_maintenance(lab, "x\n" * 500, None, None), "Dyno not found: 'x x x"),
}


@pytest.mark.parametrize(("lookup", "words"), FOUND.values(), ids=FOUND)
async def test_a_lookup_finds(lab: DynoContext, lookup: Lookup, words: str) -> None:
    result = await lookup(lab)
    assert result["success"]
    assert result["message"].startswith(words)


@pytest.mark.parametrize(("lookup", "words"), NOT_FOUND.values(), ids=NOT_FOUND)
async def test_a_lookup_says_what_is_wrong(sqlite_lab: DynoContext, lookup: Lookup, words: str) -> None:
    with pytest.raises(InputProblem) as caught:
        await lookup(sqlite_lab)
    assert not caught.value.result["success"]
    assert words in caught.value.result["message"]
    assert len(caught.value.result["message"]) < 200


@pytest.mark.parametrize("name", [rule.name for rule in rules.RULES])
async def test_each_rule_decides_what_is_available(
    sqlite_lab: DynoContext, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    searches = {
        "weight": SearchRequest("2026-03-20", None, weight_lbs=14_800, drive="RWD", test_type="brake"),
        "drive": SearchRequest("2026-03-20", None, drive="AWD", test_type="emissions"),
        "test type": SearchRequest("2026-03-20", None, weight_lbs=12_000, test_type="noise"),
        "enabled": SearchRequest("2026-03-20", None, test_type="coastdown"),
        "availability window": SearchRequest("2026-03-20", None, test_type="noise"),
        "maintenance": SearchRequest("2026-03-20", None, weight_lbs=4_000, test_type="durability"),
        "overlap": SearchRequest("2026-03-10", None, drive="AWD", test_type="brake"),
    }
    assert (await find_available(sqlite_lab, searches[name]))["dynos"] == []
    monkeypatch.setattr(rules, "RULES", tuple(rule for rule in rules.RULES if rule.name != name))
    assert (await find_available(sqlite_lab, searches[name]))["dynos"] != []
