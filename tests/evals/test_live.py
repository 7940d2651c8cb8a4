"""The eval sets against the live app: green as it is, and red exactly where a planted bug shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from carob.api import load_suite
from carob.model.verdict import CaseStatus, Status
from recordings import CANVAS, ROOT, Recorded

from .planted import BUGS
from .support import run, sets_with, with_bug

BRIEFS = {"MB1", "MB2", "MB3", "MB4", "MB5", "MB6", "MB7", "MB11", "MB14"}
"""The cases that look at a whole brief."""

# Per bug: the cases that must go red, and what they must be red for. All others of their sets must stay green.
PLANTED: dict[str, tuple[set[str], CaseStatus, str]] = {
    "claims-success": ({"G1", "G2", "S1", "P1", "V1", "N3", "W2"}, CaseStatus.FAIL, "ui"),
    "yesterdays-numbers": (BRIEFS | {"MB12", "MB13"}, CaseStatus.FAIL, "must_ground_numbers"),
    "missing-control": (BRIEFS | {"MB8", "MB12"}, CaseStatus.FAIL, "must_allow_override_actions"),
    "slack-dropped": (
        BRIEFS | {"SYN1", "SYN3", "SYN5", "SYN6", "SYN7", "SYN9", "SYN11"},
        CaseStatus.FAIL,
        "required_sources",
    ),
    "old-evidence": (BRIEFS, CaseStatus.FAIL, "evidence_freshness_max_age_minutes"),
    "forbidden-phrase": (
        {"SYN1", "SYN2", "SYN3", "SYN6", "SYN9", "SYN11"},
        CaseStatus.FAIL,
        "must_not_say|must_match_regex",
    ),
    "crash-in-mid-stream": (BRIEFS | {"MB8", "MB9"}, CaseStatus.ERROR, ""),
    "cards-without-data": (
        {"G1", "G2", "S1", "P1", "V1", "N3", "C1", "W1", "W2", "T1", "O2"},
        CaseStatus.FAIL,
        "ui",
    ),
    "wrong-brief-on-the-canvas": (BRIEFS, CaseStatus.FAIL, "ui"),
    "deaf-canvas": ({"V2", "G2", "C3", "MB12", "MB13", "MB14", "MB15"}, CaseStatus.FAIL, "ui"),
}

UNREACHED = {"missing-control": {"MB13"}}
"""Cases that cannot begin, because they click what is not there."""


def test_every_planted_bug_is_in_the_table() -> None:
    assert PLANTED.keys() == BUGS.keys()


@pytest.mark.parametrize(
    "suite",
    [pytest.param(suite, marks=[pytest.mark.thorough] * ("v0.2" not in suite)) for suite in CANVAS],
    ids=lambda suite: Path(suite).stem,
)
def test_a_set_is_green(suite: str, recorded: Recorded) -> None:
    records = [*recorded(suite).records()]
    assert {r.case.id: r.verdict.reason for r in records if r.status is not CaseStatus.PASS} == {}
    assert [r.case.id for r in records] == [case.id for case in load_suite(ROOT / suite).cases]


@pytest.mark.thorough
@pytest.mark.parametrize("bug", PLANTED)
async def test_a_planted_bug_turns_exactly_these_cases_red(bug: str, tmp_path: Path) -> None:
    red, status, check = PLANTED[bug]
    concerned = sets_with(red)
    records = await run(concerned, with_bug(bug), tmp_path)
    not_green = {name: record.status for name, record in records.items() if record.status is not CaseStatus.PASS}
    unreached = UNREACHED.get(bug, set())
    assert not_green == dict.fromkeys(red, status) | dict.fromkeys(unreached, CaseStatus.ERROR)
    assert all("Lower priority" in records[name].verdict.reason for name in unreached)
    assert len(records) == len(concerned.cases)
    for name in red if check else ():
        failed = {found.name for found in records[name].verdict.checks if found.status is Status.FAILED}
        assert failed & {*check.split("|")}, f"{name} is red for {failed}"
    if status is CaseStatus.ERROR:
        assert all("The answer broke off" in record.verdict.reason for n, record in records.items() if n in red)
