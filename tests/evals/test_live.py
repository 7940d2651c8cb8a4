"""The eval sets against the live app: green as it is, and red exactly where a planted bug shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from karat.model.verdict import CaseStatus, Status

from .planted import BUGS
from .support import canvas, run, selected

BRIEFS = {"MB1", "MB2", "MB3", "MB4", "MB5", "MB6", "MB7", "MB11"}
"""The cases that look at a whole brief."""

# Per bug: the cases that must go red, what they must be red for, and others that must stay green.
PLANTED: dict[str, tuple[set[str], CaseStatus, str, set[str]]] = {
    "claims-success": (
        {"G1", "G2", "S1", "P1", "V1", "N3", "W2"},
        CaseStatus.FAIL,
        "ui",
        {"V2", "C1", "N1", "T1", "E3", "O1", "SYN5", "MB9"},
    ),
    "yesterdays-numbers": (
        BRIEFS,
        CaseStatus.FAIL,
        "must_ground_numbers",
        {"MB8", "MB9", "MB10", "SYN5", "SYN9", "G1"},
    ),
    "missing-control": (
        BRIEFS | {"MB8"},
        CaseStatus.FAIL,
        "must_allow_override_actions",
        {"MB9", "MB10", "SYN9", "G1"},
    ),
    "slack-dropped": (
        BRIEFS | {"SYN1", "SYN3", "SYN5", "SYN6", "SYN7", "SYN9", "SYN11"},
        CaseStatus.FAIL,
        "required_sources",
        {"MB8", "MB9", "MB10", "SYN2", "SYN4", "SYN8", "SYN10", "SYN12", "S1"},
    ),
    "old-evidence": (
        BRIEFS,
        CaseStatus.FAIL,
        "evidence_freshness_max_age_minutes",
        {"MB8", "MB9", "MB10", "SYN4", "SYN6", "Q1"},
    ),
    "forbidden-phrase": (
        {"SYN3", "SYN11"},
        CaseStatus.FAIL,
        "must_not_say",
        {"SYN1", "SYN2", "SYN4", "SYN5", "SYN6", "SYN7", "SYN8", "SYN9", "SYN10", "SYN12", "MB1", "B1"},
    ),
    "crash-in-mid-stream": (
        BRIEFS | {"MB8", "MB9"},
        CaseStatus.ERROR,
        "",
        {"MB10", "SYN9", "G1", "B1"},
    ),
}


def test_every_planted_bug_is_in_the_table() -> None:
    assert PLANTED.keys() == BUGS.keys()


async def test_all_three_sets_are_green(tmp_path: Path) -> None:
    records = await run(selected(), canvas(), tmp_path)
    assert {name: record.verdict.reason for name, record in records.items() if record.status != CaseStatus.PASS} == {}
    assert len(records) == len(selected().cases)


@pytest.mark.parametrize("bug", sorted(PLANTED))
async def test_a_planted_bug_turns_exactly_these_cases_red(bug: str, tmp_path: Path) -> None:
    red, status, check, green = PLANTED[bug]
    records = await run(selected(red | green), canvas(bug), tmp_path)
    assert {name: record.status for name, record in records.items()} == {
        **dict.fromkeys(red, status),
        **dict.fromkeys(green, CaseStatus.PASS),
    }
    for name in red if check else ():
        failed = {found.name for found in records[name].verdict.checks if found.status is Status.FAILED}
        assert check in failed, f"{name} is red for {failed}"
    if status is CaseStatus.ERROR:
        assert all("The answer broke off" in record.verdict.reason for n, record in records.items() if n in red)
