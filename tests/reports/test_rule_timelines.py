"""A rule that broke is shown with the events that broke it, wherever a failed case is explained."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec import Raw, structs

import carob
from carob.checks.rules import find_timelines
from carob.model.check import CheckSpec
from carob.model.run import CaseRecord
from carob.reports.case_details import why_not_passed

LOOK = {
    "id": "look-first",
    "why": "Look first.",
    "each": {"call": "pay", "arguments": {"id": {"$as": "id"}}},
    "needs": {"before": {"call": "find", "success": True, "arguments": {"id": {"$same": "id"}}}},
}
ONCE = {"id": "pay-once", "each": {"call": "pay", "success": True}, "at_most": 1}
HOSTILE = "Pay \x1b[31mnow\x1b[0m | `x` <b>"


def agent(prompt: str) -> dict[str, Any]:
    pays = [{"name": "pay", "arguments": {"id": n}, "result": {"ok": True}, "message": str(n)} for n in (1, 2)]
    return {"final_message": "Paid.", "tool_calls": pays}


@pytest.fixture
def record(tmp_path: Path) -> CaseRecord:
    suite = {"carob": 1, "rules": [LOOK, ONCE], "cases": [{"id": "a", "prompt": HOSTILE}]}
    [record] = carob.run(suite, agent, results_dir=tmp_path, workers=0, reports=["markdown", "junit"])
    return record


def test_a_terminal_shows_the_events(record: CaseRecord) -> None:
    lines = [line.strip() for line in why_not_passed(record)]
    first = lines.index("event 1   * pay(id=1)")
    assert lines[first - 1].startswith("event 0     user ")
    assert lines[first + 1] == "judged    at 2 events"
    assert "event 3   * pay(id=2)" not in lines, "the result breaks the other rule, not the call"
    assert 'event 4   * pay gave {"ok":true}' in lines
    assert not any("\x1b" in line for line in lines)


def test_files_show_them_too(record: CaseRecord, tmp_path: Path) -> None:
    markdown, junit = (next(tmp_path.glob(f"*.{end}")).read_text() for end in ("md", "xml"))
    assert "  - Event 1 (evidence): pay(id=1)\n" in markdown
    assert "event 1   * pay(id=1)" in junit
    assert "\x1b" not in markdown + junit


def test_a_rule_that_cannot_be_read_any_more_has_no_events(record: CaseRecord) -> None:
    other = CheckSpec("rule", Raw(b'{"rule": {"id": "look-first", "each": {"was": 1}}}'))
    checks = tuple(other if "look-first" in spec.path else spec for spec in record.case.checks)
    older = structs.replace(record, case=structs.replace(record.case, checks=checks))
    assert find_timelines(older).keys() == {"pay-once"}
