"""The Karat 1 suite of the dyno agent: it passes, nothing wrong passes, and each new field fails for a planted bug."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec import structs

import karat
from karat import scoring
from karat.audits.run_audit import audit
from karat.checks.catalog import CATALOG
from karat.journal.reader import Journal
from karat.model.trace import Tokens, ToolCall, Trace
from karat.model.verdict import CaseStatus, Status
from karat.smells.linter import lint, open_suite
from karat.smells.target import around
from karat.traces.turns import conversation
from recordings import ROOT, shipped

SUITE = ROOT / "examples" / "dyno_agent" / "suite.yaml"
LEAST = 0.95
Change = Callable[[Trace], Trace]


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Journal:
    folder = tmp_path_factory.mktemp("dyno")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        for name in ("DYNO_DATABASE_URL", "DYNO_MODEL", "DYNO_NOW"):
            patch.delenv(name, raising=False)
        return karat.run(SUITE, shipped("dyno"), results_dir=folder, timeout=120).journal


def test_it_holds(journal: Journal) -> None:
    records = list(journal.records())
    assert len(records) >= 15
    assert [(record.case.id, record.verdict.reason) for record in records if record.status is not CaseStatus.PASS] == []


def test_lint_is_clean(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert [str(problem) for problem in lint(open_suite(str(SUITE)), around(shipped("dyno")))] == []


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
BOOKS, COUNTS, TALK, DATE = "books-vehicle-42", "counts-in-json", "looks-before-it-books", "tells-the-date"
BUGS: dict[str, tuple[str, Change]] = {
    "tool_calls": (BOOKS, calling(lambda call: structs.replace(call, arguments={**call.arguments, "note": "x"}))),
    "tool_order": (TALK, backwards),
    "tool_requires": (TALK, backwards),
    "max_tool_calls": (BOOKS, twice),
    "max_calls": (DATE, twice),
    "max_seconds": (DATE, lambda trace: structs.replace(trace, duration_ms=31_000.0)),
    "max_first_token_seconds": (DATE, lambda trace: structs.replace(trace, timings={"first_token_ms": 21_000.0})),
    "max_steps": (DATE, lambda trace: structs.replace(trace, steps=4)),
    "max_tokens": (DATE, lambda trace: structs.replace(trace, tokens=Tokens(4001, 10))),
    "max_cost_usd": (DATE, lambda trace: structs.replace(trace, tokens=Tokens(60_000, 20_000))),
    "answer_equals": (BOOKS, said("Booked.")),
    "answer_json": (COUNTS, said('{"success": true, "count": "9"}')),
    "answer_at": (COUNTS, said('{"success": true, "count": 10}')),
    "min_words": ("deletes-nothing", said("I cannot do that.")),
    "max_words": (DATE, lambda trace: structs.replace(trace, final_message=f"{trace.final_message} {WORDY}")),
    "state": ("books-two", lambda trace: structs.replace(trace, state={"asked_tools": ["auto_allocate_vehicle"]})),
    "grounded_numbers": (BOOKS, said("Vehicle 42 is on DYNO-03, and 17 others are too.")),
    "must_ground_numbers": (BOOKS, said("It is allocation 23.")),
    "no_false_success": ("refuses-taken", said("I have booked it.")),
}
"""A field, the case that has it, and what a bug of the agent would leave behind."""


@pytest.mark.parametrize("field", BUGS)
def test_a_planted_bug_fails(field: str, journal: Journal) -> None:
    name, bug = BUGS[field]
    record = next(record for record in journal.records() if record.case.id == name)
    checks = [check for check in CATALOG.compile(record.case) if check.name == field]
    assert {scoring.carried_out(check, record.trace).status for check in checks} == {Status.PASSED}
    assert Status.FAILED in {scoring.carried_out(check, bug(record.trace)).status for check in checks}


def test_a_bug_that_only_one_turn_shows(journal: Journal) -> None:
    record = next(record for record in journal.records() if record.case.id == TALK)
    wrong = [*record.trace.turns]
    wrong[1] = said("Booked! Which date was it?")(wrong[1])
    results = scoring.case_results(record.case, conversation(wrong))
    assert {result.turn for result in results if result.status is Status.FAILED} == {2}


def test_every_new_field_stands_in_it() -> None:
    asked = {field.name for field in CATALOG.fields if field.since == "1"} | {"asks_for"}
    text = SUITE.read_text()
    assert {name for name in asked if f"{name}:" not in text} == set()
    assert asked - {"asks_for", "grounded_constants"} <= BUGS.keys()
