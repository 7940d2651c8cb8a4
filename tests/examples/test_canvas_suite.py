"""The Carob 1 suite of the canvas app: it passes, nothing wrong passes, and each key fails for a planted bug."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import pytest
from canvas_bugs import BUGS
from msgspec import structs

import carob
from canvas_app.in_process import answer
from carob.evidence.merge import merge_turns
from carob.features.audit.run_audit import audit
from carob.features.lint.linter import lint
from carob.features.lint.target import target_info
from carob.model.check import CheckSpec
from carob.model.run import CaseRecord
from carob.model.trace import Trace
from carob.model.verdict import CaseStatus, Status
from carob.scoring import verdicts
from carob.suites.documents.source import read_bytes
from carob.suites.reading import locate_suite
from carob1_fields import CANVAS, SUITES, Row
from catalogs import CATALOG
from recordings import ROOT, canvas, shipped

SUITE = SUITES["canvas"]
RECORDED = Path(__file__).parent / "recorded" / "suite.jsonl"
"""The traces of a live run, as the lines of its journal hold them; `make thorough` holds them against the app."""
KNOWN = "keeps-a-rule-that-nobody-calls-one"
LEAST = 0.95


@lru_cache
def suite() -> carob.Suite:
    return carob.load_suite(SUITE)


def some(*names: str) -> carob.Suite:
    return structs.replace(suite(), cases=tuple(case for case in suite().cases if case.id in names))


def without_page(chosen: carob.Suite) -> carob.Suite:
    """What can be judged where nothing is drawn."""

    def wordily(case: carob.Case) -> carob.Case:
        turns = tuple(structs.replace(turn, checks=_no_ui(turn.checks)) for turn in case.turns)
        return structs.replace(case, checks=_no_ui(case.checks), turns=turns)

    return structs.replace(chosen, cases=tuple(map(wordily, chosen.cases)))


def _no_ui(specs: tuple[CheckSpec, ...]) -> tuple[CheckSpec, ...]:
    return tuple(spec for spec in specs if spec.name != "ui")


@pytest.fixture(scope="module")
def replayed(tmp_path_factory: pytest.TempPathFactory) -> carob.RunResult:
    """The run that was recorded in a browser, judged by the suite as it is now."""
    return carob.run(suite(), f"replay:{RECORDED}", results_dir=tmp_path_factory.mktemp("canvas"))


def statuses(records: list[CaseRecord]) -> dict[str, str]:
    """Of the cases that are not as they should be, why not."""
    wanted = {KNOWN: CaseStatus.XFAIL}
    return {r.case.id: r.verdict.reason for r in records if r.status is not wanted.get(r.case.id, CaseStatus.PASS)}


def test_it_holds(replayed: carob.RunResult) -> None:
    assert len(replayed.records) >= 15
    assert statuses(replayed.records) == {}


def test_lint_is_clean(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    suite = locate_suite(read_bytes(SUITE), str(SUITE), CATALOG)
    assert [str(problem) for problem in lint(suite, CATALOG, target_info(shipped("canvas")))] == []


@pytest.mark.thorough
def test_the_audit_proves_it(replayed: carob.RunResult) -> None:
    report = audit(replayed.journal)
    assert [case.case_id for case in report.set_aside] == [KNOWN]
    assert not report.summary.unmet(LEAST)
    assert [(case.case_id, case.controls, case.brittle) for case in report.cases if case.controls or case.brittle] == []


def fails(row: Row, record: CaseRecord) -> bool:
    """Whether the bug shows in the check of the row; one that is known to fail is red once it passes."""
    if row.field == "xfail":
        return record.status is CaseStatus.FAIL
    return row.red in {check.name for check in record.verdict.checks if check.status is Status.FAILED}


def undrawn(trace: Trace) -> Trace:
    """The page stayed as it was, in each turn."""
    if trace.turns:
        return merge_turns([undrawn(turn) for turn in trace.turns])
    return structs.replace(trace, page=trace.page_before)


LEFT_BEHIND: dict[str, Callable[[Trace], Trace]] = {
    "thinks-for-a-minute": lambda trace: structs.replace(trace, duration_ms=61_000.0),
    "an-hour-off": lambda trace: structs.replace(trace, final_message=trace.final_message.replace("49", "50")),
    "draws-nothing": undrawn,
}
"""What a bug leaves behind that is slow, or that only a page shows; `make thorough` plants it."""


@pytest.fixture(scope="module")
def sound() -> dict[str, CaseRecord]:
    """Every case with the app as it is, without its page."""
    return {record.case.id: record for record in carob.run(without_page(suite()), answer, concurrency=4).records}


@pytest.mark.parametrize("row", [row for row in CANVAS if row.bug not in LEFT_BEHIND], ids=lambda row: row.field)
def test_a_planted_bug_fails(row: Row, sound: dict[str, CaseRecord], monkeypatch: pytest.MonkeyPatch) -> None:
    assert statuses([sound[row.case]]) == {}
    BUGS[row.bug](monkeypatch.setattr)
    (record,) = carob.run(without_page(some(row.case)), answer).records
    assert fails(row, record), record.verdict.checks


@pytest.mark.parametrize("row", [row for row in CANVAS if row.bug in LEFT_BEHIND], ids=lambda row: row.field)
def test_what_a_bug_leaves_behind_fails(row: Row, replayed: carob.RunResult) -> None:
    record = next(record for record in replayed.records if record.case.id == row.case)
    checks = verdicts.case_results(record.case, LEFT_BEHIND[row.bug](record.trace), CATALOG)
    assert row.red in {check.name for check in checks if check.status is Status.FAILED}


def live(chosen: carob.Suite, bug: str, folder: Path) -> dict[str, CaseRecord]:
    """A run in the browser, of the app as it is or with a bug planted."""
    planted = f"{{python}} {Path(__file__).with_name('canvas_bugs.py')} {bug} --port {{port}}"
    target = canvas(start=planted) if bug else canvas()
    patient = structs.replace(target, options={**target.options, "wait_ms": 90_000})
    result = carob.run(chosen, patient, results_dir=folder, concurrency=4, timeout=300)
    return {record.case.id: record for record in result.records}


def rows_of(bug: str) -> list[Row]:
    return [row for row in CANVAS if row.bug == bug]


@pytest.mark.thorough
@pytest.mark.limit(900)
def test_it_holds_live_and_as_recorded(tmp_path: Path, replayed: carob.RunResult) -> None:
    records = live(suite(), "", tmp_path)
    assert statuses([*records.values()]) == {}
    before = {record.case.id: record.trace.final_message for record in replayed.records}
    assert {name: record.trace.final_message for name, record in records.items()} == before


@pytest.mark.thorough
@pytest.mark.limit(900)
@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_fails_live(bug: str, tmp_path: Path) -> None:
    records = live(suite(), bug, tmp_path)
    assert [row for row in rows_of(bug) if not fails(row, records[row.case])] == []
    assert CaseStatus.ERROR not in {record.status for record in records.values()}
    if bug == "thinks-for-a-minute":
        return  # whatever is asked, it takes too long
    unconcerned = {"refuses-an-unknown-template", "deletes-nothing", "sums-up-in-one-sentence"}
    assert [name for name in unconcerned if records[name].status is CaseStatus.PASS], "it is not all that breaks"
