"""The Carob 1 suite of the dyno agent: it passes, nothing wrong passes, and each new field fails for a planted bug."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec import structs

import carob
from carob.evidence.merge import merge_turns
from carob.features.audit.run_audit import audit
from carob.features.lint.linter import lint
from carob.features.lint.target import target_info
from carob.journal.reader import Journal
from carob.model.trace import Tokens, ToolCall, Trace
from carob.model.verdict import CaseStatus, Status
from carob.scoring import verdicts
from carob.suites.documents.source import read_bytes
from carob.suites.reading import locate_suite
from carob1_fields import DYNO, SUITES, Row
from catalogs import CATALOG
from recordings import ROOT, shipped

SUITE = SUITES["dyno"]
LEAST = 0.95
Change = Callable[[Trace], Trace]


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Journal:
    folder = tmp_path_factory.mktemp("dyno")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        for name in ("DYNO_DATABASE_URL", "DYNO_MODEL", "DYNO_NOW"):
            patch.delenv(name, raising=False)
        return carob.run(SUITE, shipped("dyno"), results_dir=folder, timeout=120).journal


def test_it_holds(journal: Journal) -> None:
    records = list(journal.records())
    assert len(records) >= 15
    assert [(record.case.id, record.verdict.reason) for record in records if record.status is not CaseStatus.PASS] == []


def test_lint_is_clean(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    suite = locate_suite(read_bytes(SUITE), str(SUITE), CATALOG)
    assert [str(problem) for problem in lint(suite, CATALOG, target_info(shipped("dyno")))] == []


def test_the_audit_proves_it(journal: Journal) -> None:
    report = audit(journal)
    assert report.set_aside == ()
    assert not report.summary.unmet(LEAST)
    assert [case.case_id for case in report.cases if case.controls or case.brittle] == []


def said(text: str) -> Change:
    return lambda trace: structs.replace(trace, final_message=text)


def calling(change: Callable[[ToolCall], ToolCall]) -> Change:
    return lambda trace: structs.replace(trace, tool_calls=tuple(map(change, trace.tool_calls)))


def backwards(trace: Trace) -> Trace:
    return structs.replace(trace, tool_calls=trace.tool_calls[::-1])


def twice(trace: Trace) -> Trace:
    return structs.replace(trace, tool_calls=(*trace.tool_calls, *trace.tool_calls))


WORDY = " ".join(["and"] * 200)
TALK = "looks-before-it-books"
BUGS: dict[str, Change] = {
    "another-argument": calling(lambda call: structs.replace(call, arguments={**call.arguments, "note": "x"})),
    "calls-backwards": backwards,
    "calls-twice": twice,
    "books-on-the-side": lambda trace: structs.replace(
        trace, tool_calls=(*trace.tool_calls, ToolCall("auto_allocate_vehicle", success=True))
    ),
    "cut-off": lambda trace: structs.replace(trace, ended_by="length"),
    "half-a-minute": lambda trace: structs.replace(trace, duration_ms=31_000.0),
    "late-first-word": lambda trace: structs.replace(trace, timings={"first_token_ms": 21_000.0}),
    "one-step-more": lambda trace: structs.replace(trace, steps=4),
    "many-tokens": lambda trace: structs.replace(trace, tokens=Tokens(4001, 10)),
    "dear-tokens": lambda trace: structs.replace(trace, tokens=Tokens(60_000, 20_000)),
    "curt": said("Booked."),
    "a-number-as-text": said('{"success": true, "count": "9"}'),
    "counts-one-more": said('{"success": true, "count": 10}'),
    "refuses-without-a-reason": said("I cannot do that."),
    "goes-on": lambda trace: structs.replace(trace, final_message=f"{trace.final_message} {WORDY}"),
    "forgets-a-call": lambda trace: structs.replace(trace, state={"asked_tools": ["auto_allocate_vehicle"]}),
    "makes-up-a-number": said("Vehicle 42 is on DYNO-03, and 17 others are too."),
    "another-allocation": said("It is allocation 23."),
    "claims-it-anyway": said("I have booked it."),
}
"""What a bug of the agent would leave behind."""


@pytest.mark.parametrize("row", DYNO, ids=lambda row: row.field)
def test_a_planted_bug_fails(row: Row, journal: Journal) -> None:
    record = next(record for record in journal.records() if record.case.id == row.case)
    checks = [check for check in CATALOG.checks(record.case.checks) if check.name == row.red]
    assert {verdicts.run_check(check, record.trace).status for check in checks} == {Status.PASSED}
    assert Status.FAILED in {verdicts.run_check(check, BUGS[row.bug](record.trace)).status for check in checks}


def test_a_bug_that_only_one_turn_shows(journal: Journal) -> None:
    record = next(record for record in journal.records() if record.case.id == TALK)
    wrong = [*record.trace.turns]
    wrong[1] = said("Booked! Which date was it?")(wrong[1])
    results = verdicts.case_results(record.case, merge_turns(wrong), CATALOG)
    assert {result.turn for result in results if result.status is Status.FAILED} == {2}
