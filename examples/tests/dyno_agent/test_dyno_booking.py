"""Bookings: every outcome with its words and its rows, every rule by itself, and races that exactly one wins."""

import asyncio
from collections.abc import Callable
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dyno_agent import rules
from dyno_agent.booking import BookingRequest, allocate
from dyno_agent.database import DynoContext
from dyno_agent.policy import MAX_BACKUP_DAYS, weight_class_of
from dyno_agent.queries import select_rows
from dyno_agent.results import InputProblem, Result
from dyno_agent.rules import DynoFacts, Need, Window

COUNT = "SELECT count(*) AS n FROM allocations"


def request(
    vehicle: int | str | None, test_type: str | None, start: str | None, end: str | None = None, backup: int = 7
) -> BookingRequest:
    by_vin = isinstance(vehicle, str)
    return BookingRequest(
        vehicle_id=None if by_vin else vehicle,  # type: ignore[arg-type]
        vin=vehicle if by_vin else None,  # type: ignore[arg-type]
        test_type=test_type,
        start_date=start,
        end_date=end,
        max_backup_days=backup,
    )


async def book(lab: DynoContext, asked: BookingRequest, progress: Callable[[str], None] = lambda words: None) -> Result:
    try:
        return await allocate(lab, asked, progress)
    except InputProblem as problem:
        return problem.result


async def count(lab: DynoContext) -> int:
    rows = (await select_rows(lab, COUNT)).rows
    return int(rows[0]["n"])


BOOKED = {
    "in the window": (
        request(42, "brake", "2026-03-20", "2026-03-21"),
        "Allocated in requested window: vehicle 42 (VIN 3HKAC36509L000142, AWD, 4,800 lbs) is on DYNO-03 for a brake "
        "test, 2026-03-20 to 2026-03-21 (allocation 22).",
        {"dyno": "DYNO-03", "start_date": "2026-03-20", "end_date": "2026-03-21", "backup_shift_days": 0},
    ),
    "by vin in lower case": (
        request("3hkac36509l000142", "brake", "2026-03-20"),
        "Allocated in requested window: vehicle 42",
        {"vehicle_id": 42, "end_date": "2026-03-20"},
    ),
    "an article": (
        request(1, "emissions", "2026-03-12"),
        "is on DYNO-01 for an emissions test, 2026-03-12 (allocation 22).",
        {"dyno": "DYNO-01"},
    ),
    "next dyno when the first is taken": (
        request(4, "brake", "2026-03-07"),
        "Allocated in requested window",
        {"dyno": "DYNO-03", "backup_shift_days": 0},
    ),
    "with a shift": (
        request(42, "brake", "2026-03-10", "2026-03-11"),
        "Allocated with backup shift of 2 days: vehicle 42 (VIN 3HKAC36509L000142, AWD, 4,800 lbs) is on DYNO-03 for a "
        "brake test, 2026-03-12 to 2026-03-13 (allocation 22). Allocated in requested window: no, 2026-03-10 to "
        "2026-03-11 had no free dyno.",
        {"start_date": "2026-03-12", "end_date": "2026-03-13", "backup_shift_days": 2},
    ),
    "shift to the last day of a limit": (
        request(42, "brake", "2026-03-10", backup=2),
        "Allocated with backup shift of 2 days",
        {"start_date": "2026-03-12"},
    ),
    "first day of an availability window": (
        request(6, "noise", "2026-04-11"),
        "Allocated in requested window",
        {"dyno": "DYNO-08"},
    ),
    "shift over a maintenance": (
        request(6, "durability", "2026-03-24"),
        "Allocated with backup shift of 3 days",
        {"dyno": "DYNO-07", "start_date": "2026-03-27"},
    ),
}

REFUSED = {
    "unknown vehicle": (request(999, "brake", "2026-03-10"), "Vehicle not found: no vehicle has id 999."),
    "id beyond any column": (request(10**15, "brake", "2026-03-10"), "Vehicle not found"),
    "unknown vin": (request("1XXXXXXXXXXXXXXXX", "brake", "2026-03-10"), "Vehicle not found: no vehicle has VIN 1XXX"),
    "already booked": (
        request(7, "brake", "2026-03-08", "2026-03-09"),
        "Vehicle already booked: allocation 13: vehicle 7 on DYNO-01, brake, 2026-03-06 to 2026-03-08.",
    ),
    "over the weight limit": (
        request(31, "brake", "2026-03-12"),
        "No compatible dyno for a brake test of vehicle 31 (VIN 6HKRF66809L000131, RWD, 14,800 lbs): 14,800 lbs is "
        "over the weight limit of 14,000 lbs (DYNO-01, DYNO-03, DYNO-05).",
    ),
    "weight class": (request(23, "brake", "2026-03-12"), "weight class heavy (12,100 lbs) is not supported"),
    "drive": (request(6, "emissions", "2026-03-12"), "drive AWD is not supported (DYNO-01, DYNO-02)"),
    "test type": (request(21, "performance", "2026-03-12"), "test type performance is not supported (DYNO-05)"),
    "disabled": (request(3, "coastdown", "2026-03-12"), "the dyno is disabled (DYNO-06)"),
    "maintenance": (
        request(6, "durability", "2026-03-14"),
        "No dyno available for a durability test of vehicle 6 (VIN 3HKAC36509L000106, AWD, 4,450 lbs) on 2026-03-14 or "
        "with a backup shift of up to 7 days: maintenance 2026-03-12 to 2026-03-26 (DYNO-07).",
    ),
    "availability window": (
        request(6, "noise", "2026-03-20"),
        "availability window is 2026-04-11 to 2026-06-30 (DYNO-08)",
    ),
    "overlap through the limit": (
        request(10, "brake", "2026-03-23", "2026-03-24"),
        "overlap with 2026-03-22 to 2026-04-06 (DYNO-04)",
    ),
    "limit one day short": (request(42, "brake", "2026-03-10", backup=1), "backup shift of up to 1 day: overlap"),
    "exact dates only": (request(42, "brake", "2026-03-10", backup=0), "on 2026-03-10: overlap with"),
    "no such limit": (
        request(42, "brake", "2026-03-10", backup=MAX_BACKUP_DAYS + 1),
        "Invalid backup limit: a booking may be shifted by 0 to 7 days.",
    ),
    "negative limit": (request(42, "brake", "2026-03-10", backup=-1), "Invalid backup limit"),
    "past": (request(42, "brake", "2026-03-01"), "Invalid dates: 2026-03-01 is in the past, today is 2026-03-02."),
    "backwards": (
        request(42, "brake", "2026-03-12", "2026-03-10"),
        "Invalid dates: the end 2026-03-10 is before the start 2026-03-12.",
    ),
    "endless": (request(42, "brake", "2026-03-12", "2026-05-12"), "Invalid dates: a test may take 30 days at most."),
    "no date": (request(42, "brake", "soon"), "Invalid date: start_date is 'soon', write it as YYYY-MM-DD."),
    "end of the calendar": (request(42, "brake", "9999-12-31"), "Invalid date: start_date is '9999-12-31'"),
    "no such test": (request(42, "crash", "2026-03-12"), "Invalid test type: 'crash'. Known are brake, emissions"),
    "nothing given": (
        request(None, None, None),
        "Missing information: please give a vehicle id or VIN and a test type and a start date.",
    ),
}


@pytest.mark.parametrize(("asked", "words", "found"), BOOKED.values(), ids=BOOKED)
async def test_a_booking_stands_in_the_database(
    lab: DynoContext, asked: BookingRequest, words: str, found: dict[str, Any]
) -> None:
    before = await count(lab)
    result = await book(lab, asked)
    assert result["success"], result
    assert words in result["message"]
    assert found.items() <= result.items()
    rows = (
        await select_rows(
            lab,
            "SELECT a.vehicle_id, d.name AS dyno, a.start_date, a.end_date, a.status FROM allocations a "
            f"JOIN dynos d ON d.id = a.dyno_id WHERE a.id = {result['allocation_id']}",
        )
    ).rows
    keys = ("vehicle_id", "dyno", "start_date", "end_date")
    assert rows == [{**{key: result[key] for key in keys}, "status": "scheduled"}]
    assert await count(lab) == before + 1


@pytest.mark.parametrize(("asked", "words"), REFUSED.values(), ids=REFUSED)
async def test_a_refusal_says_why_and_changes_nothing(lab: DynoContext, asked: BookingRequest, words: str) -> None:
    before = await count(lab)
    result = await book(lab, asked)
    assert not result["success"]
    assert words in result["message"]
    assert "\n" not in result["message"]
    assert await count(lab) == before


async def test_missing_fields_are_named(sqlite_lab: DynoContext) -> None:
    assert (await book(sqlite_lab, request(None, "brake", None)))["missing_fields"] == ["vehicle_id", "start_date"]


SINGLE_RULE = {
    "weight": "over the weight limit",
    "drive": "drive",
    "test type": "test type",
    "enabled": "disabled",
    "availability window": "availability window",
    "maintenance": "maintenance",
}


@pytest.mark.parametrize(("name", "case"), SINGLE_RULE.items(), ids=SINGLE_RULE)
async def test_without_its_rule_a_refusal_becomes_a_booking(
    sqlite_lab: DynoContext, monkeypatch: pytest.MonkeyPatch, name: str, case: str
) -> None:
    assert not (await book(sqlite_lab, REFUSED[case][0]))["success"]
    monkeypatch.setattr(rules, "RULES", tuple(rule for rule in rules.RULES if rule.name != name))
    assert (await book(sqlite_lab, REFUSED[case][0]))["success"]


async def test_without_the_overlap_rule_the_database_still_refuses(
    lab: DynoContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rules, "RULES", tuple(rule for rule in rules.RULES if rule.name != "overlap"))
    result = await book(lab, request(42, "brake", "2026-03-10"))
    assert not result["success"]
    assert result["message"].startswith("Booking failed")


@pytest.mark.parametrize("rivals", [2, 6])
async def test_exactly_one_of_racing_bookings_wins_the_last_dyno(lab: DynoContext, rivals: int) -> None:
    """Only DYNO-04 takes a 4WD vehicle of that weight for a brake test."""
    vehicles = [(9, 10)[number % 2] for number in range(rivals)]
    results = await asyncio.gather(
        *(book(lab, request(vehicle, "brake", "2026-03-05", backup=0)) for vehicle in vehicles)
    )
    assert sorted(result["success"] for result in results) == [False] * (rivals - 1) + [True]
    rows = (await select_rows(lab, "SELECT vehicle_id FROM allocations WHERE start_date = '2026-03-05'")).rows
    assert rows == [{"vehicle_id": next(result["vehicle_id"] for result in results if result["success"])}]


async def test_a_racing_booking_that_loses_is_shifted(lab: DynoContext) -> None:
    results = await asyncio.gather(*(book(lab, request(vehicle, "brake", "2026-03-05")) for vehicle in (9, 10)))
    assert sorted(result["backup_shift_days"] for result in results) == [0, 1]


async def test_progress_is_told(sqlite_lab: DynoContext) -> None:
    told: list[str] = []
    await book(sqlite_lab, request(42, "brake", "2026-03-11"), told.append)
    assert told == [
        "2 dynos can take vehicle 42 (VIN 3HKAC36509L000142, AWD, 4,800 lbs)",
        "looking at 2026-03-11",
        "looking at 2026-03-12",
    ]


@pytest.mark.parametrize(
    ("weight", "name"),
    [(1, "light"), (6_000, "light"), (6_001, "medium"), (10_000, "medium"), (14_000, "heavy"), (14_001, None)],
)
def test_a_limit_belongs_to_its_class(weight: int, name: str | None) -> None:
    assert weight_class_of(weight) == name


days = st.dates(date(2026, 1, 1), date(2026, 12, 31))
windows = st.tuples(days, days).map(lambda pair: Window(min(pair), max(pair)))


@given(windows, windows)
def test_windows_overlap_when_they_share_a_day(one: Window, other: Window) -> None:
    def all_days(window: Window) -> set[int]:
        return set(range(window.first.toordinal(), window.last.toordinal() + 1))

    assert one.overlaps(other) == other.overlaps(one) == bool(all_days(one) & all_days(other))


@given(windows)
def test_a_need_that_leaves_things_open_breaks_no_rule_of_fit(window: Window) -> None:
    dyno = DynoFacts(1, "D", (), (), (), True, None, None, (), ())
    assert rules.broken_rules(dyno, Need(window)) == []
