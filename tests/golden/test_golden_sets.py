"""The golden sets hold the agent to its word: green as it is, red where one of its rules is gone."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path

import pytest
from golden_runs import DECISIONS, QA, SETS, records, red, verdicts
from msgspec import structs

import carob
from dyno_agent import booking, rules
from recordings import DYNO, ROOT, Recorded

RED = {
    "weight": {
        "alloc_two_vehicles",
        "alloc_all_days_taken",
        "alloc_over_weight_limit",
        "alloc_weight_class_mismatch",
        "alloc_in_yearly_inspection",
        "alloc_drive_mismatch",
        "alloc_test_type_mismatch",
    },
    "drive": {
        "alloc_awd_brake_in_window",
        "alloc_awd_brake_backup_ok",
        "alloc_two_vehicles",
        "alloc_all_days_taken",
        "alloc_exact_dates_only",
        "alloc_over_weight_limit",
        "alloc_drive_mismatch",
        "alloc_drive_mismatch_emissions",
        "find_dynos_for_awd",
    },
    "test type": {
        "alloc_exact_dates_only",
        "alloc_in_availability_window",
        "alloc_after_maintenance",
        "alloc_all_days_taken",
        "alloc_over_weight_limit",
        "alloc_weight_class_mismatch",
        "alloc_drive_mismatch",
        "alloc_drive_mismatch_emissions",
        "alloc_test_type_mismatch",
        "alloc_only_dyno_disabled",
        "alloc_outside_availability",
        "alloc_in_maintenance",
        "find_no_dyno",
    },
    "enabled": {"alloc_only_dyno_disabled", "conflicts_in_schedule"},
    "availability window": {"alloc_outside_availability", "find_dynos_for_awd"},
    "maintenance": {
        "alloc_after_maintenance",
        "alloc_in_yearly_inspection",
        "alloc_in_maintenance",
        "find_no_dyno",
        "conflicts_in_schedule",
    },
    "overlap": {
        "alloc_awd_brake_backup_ok",
        "alloc_all_days_taken",
        "alloc_exact_dates_only",
        "alloc_in_maintenance",
        "find_no_dyno",
        "conflicts_in_schedule",
        "conflicts_in_some_days",
    },
}
"""The rules of the agent, and the cases that depend on each."""


@pytest.mark.parametrize("suite", DYNO, ids=lambda suite: Path(suite).stem)
def test_all_green(suite: str, recorded: Recorded) -> None:
    assert {r.case.id for r in recorded(suite).records() if r.status is not carob.CaseStatus.PASS} == set()


@pytest.mark.parametrize("rule", [rule.name for rule in rules.RULES])
async def test_without_a_rule_the_cases_about_it_turn_red(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    without(rule, monkeypatch)
    assert await red(RED[rule]) == RED[rule]


@pytest.mark.thorough
@pytest.mark.parametrize("rule", [rule.name for rule in rules.RULES])
async def test_without_a_rule_no_other_case_turns_red(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    without(rule, monkeypatch)
    assert await red() == RED[rule]


def without(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "RULES", tuple(other for other in rules.RULES if other.name != rule))


async def test_without_the_rule_about_the_vehicle_its_case_turns_red(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(booking, "vehicle_is_free", lambda bookings, window: True)
    assert await red() == {"alloc_vehicle_already_booked"}


@pytest.mark.thorough
@pytest.mark.parametrize("suite", DYNO)
async def test_postgresql_gives_the_same_verdicts(
    suite: str, recorded: Recorded, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_sqlite = verdicts(recorded(suite).records())
    monkeypatch.setenv("DYNO_DATABASE_URL", postgres_url)
    assert verdicts(await records(ROOT / suite, concurrency=4)) == on_sqlite


async def test_the_database_is_the_one_that_is_named(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    suite = carob.load_suite(DECISIONS)
    refusal = structs.replace(suite, cases=tuple(c for c in suite.cases if c.id == "second_statement_refused"))
    on_sqlite = (await records(refusal))[0].trace.final_message
    monkeypatch.setenv("DYNO_DATABASE_URL", postgres_url)
    on_postgresql = (await records(refusal))[0].trace.final_message
    assert "one statement at a time" in on_sqlite
    assert "multiple commands" in on_postgresql


@pytest.mark.parametrize("only", [RED["drive"], pytest.param((), marks=pytest.mark.thorough)], ids=["some", "all"])
async def test_a_rule_removed_is_seen_on_postgresql_too(
    only: Collection[str], postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DYNO_DATABASE_URL", postgres_url)
    without("drive", monkeypatch)
    assert await red(only) == RED["drive"]


async def test_sixty_cases_side_by_side_and_shuffled_share_no_state(recorded: Recorded) -> None:
    """Every booking of the set stands in the database of its own case alone, in whatever order they come."""
    once = verdicts(recorded(DYNO[0]).records())
    ran = await records(DECISIONS, concurrency=8, repeat=2, shuffle=7)
    assert len(ran) >= 60
    for repeat in (0, 1):
        assert verdicts(record for record in ran if record.repeat == repeat) == once


def test_the_sets_are_large_enough_and_look_at_the_database() -> None:
    decisions, qa = (json.loads((SETS / name).read_text()) for name in (DECISIONS.name, QA.name))
    assert len(decisions) >= 20
    assert len(qa) >= 15
    assert [case["id"] for case in decisions if not case["expected"].get("database")] == []
    asked = {sql.split()[0] for case in decisions for sql in case["expected"]["database"]}
    assert asked == {"SELECT"}
