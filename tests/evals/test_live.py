"""The eval sets against the live app: green as it is, and red exactly where a planted bug shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from karat.model.verdict import CaseStatus, Status

from .planted import BUGS
from .support import canvas, everything, run

BRIEFS = {"MB1", "MB2", "MB3", "MB4", "MB5", "MB6", "MB7", "MB11"}
"""The cases that look at a whole brief."""

# Per bug: the cases that must go red, and what they must be red for. All others must stay green.
PLANTED: dict[str, tuple[set[str], CaseStatus, str]] = {
    "claims-success": ({"G1", "G2", "S1", "P1", "V1", "N3", "W2"}, CaseStatus.FAIL, "ui"),
    "yesterdays-numbers": (BRIEFS, CaseStatus.FAIL, "must_ground_numbers"),
    "missing-control": (BRIEFS | {"MB8"}, CaseStatus.FAIL, "must_allow_override_actions"),
    "slack-dropped": (
        BRIEFS | {"SYN1", "SYN3", "SYN5", "SYN6", "SYN7", "SYN9", "SYN11"},
        CaseStatus.FAIL,
        "required_sources",
    ),
    "old-evidence": (BRIEFS, CaseStatus.FAIL, "evidence_freshness_max_age_minutes"),
    "forbidden-phrase": ({"SYN3", "SYN11"}, CaseStatus.FAIL, "must_not_say"),
    "crash-in-mid-stream": (BRIEFS | {"MB8", "MB9"}, CaseStatus.ERROR, ""),
}


def test_every_planted_bug_is_in_the_table() -> None:
    assert PLANTED.keys() == BUGS.keys()


async def test_all_three_sets_are_green(tmp_path: Path) -> None:
    records = await run(everything(), canvas(), tmp_path)
    assert {name: record.verdict.reason for name, record in records.items() if record.status != CaseStatus.PASS} == {}
    assert len(records) == len(everything().cases)


@pytest.mark.parametrize("bug", sorted(PLANTED))
async def test_a_planted_bug_turns_exactly_these_cases_red(bug: str, tmp_path: Path) -> None:
    red, status, check = PLANTED[bug]
    records = await run(everything(), canvas(bug), tmp_path)
    not_green = {name: record.status for name, record in records.items() if record.status is not CaseStatus.PASS}
    assert not_green == dict.fromkeys(red, status)
    assert len(records) == len(everything().cases)
    for name in red if check else ():
        failed = {found.name for found in records[name].verdict.checks if found.status is Status.FAILED}
        assert check in failed, f"{name} is red for {failed}"
    if status is CaseStatus.ERROR:
        assert all("The answer broke off" in record.verdict.reason for n, record in records.items() if n in red)
