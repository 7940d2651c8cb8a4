"""Auditing whole journals: what is set aside, what hangs on which check, and that the same gives the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import structs

import carob
from carob.checks.answer.phrases import MustSayAny
from carob.checks.base import Check
from carob.checks.catalog import OWN, CheckCatalog
from carob.errors import JournalError
from carob.features.audit.case_audit import audit_case, mutants
from carob.features.audit.judging import WATCHED as KEPT_AT
from carob.features.audit.judging import Allowance, PassingTrace, judge_trace
from carob.features.audit.model import AuditReport, CaseAudit
from carob.features.audit.operators.base import Subject
from carob.features.audit.operators.catalog import OPERATORS
from carob.features.audit.run_audit import Auditor, audit
from carob.features.audit.survivors import Spelling
from carob.journal.reader import Journal
from carob.model.check import CheckSpec
from carob.model.run import CaseRecord, Header, Summary
from carob.model.suite import Case
from carob.model.trace import ToolCall, Trace
from carob.model.verdict import CaseStatus
from carob.scoring import verdicts
from catalogs import CATALOG
from features.audit import sample
from features.audit.support import Answer, audited, case, golden_of, recorded, suite_of, survivors

HEADER = Header(
    run_id="r", suite="s.json", suite_format="eval-set", suite_sha256="", target="t", started_at="", total=1
)
NO_SUMMARY = Summary()


@dataclass(frozen=True)
class MemoryRun:
    """A run that was never written."""

    kept: tuple[CaseRecord, ...]
    header: Header = HEADER
    summary: Summary = NO_SUMMARY
    finished_at: str = ""
    path: str = "s.jsonl"
    file: str = "s.jsonl"
    catalog: CheckCatalog = CATALOG

    def records(self) -> Iterator[CaseRecord]:
        return iter(self.kept)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Journal:
    return sample.journal(tmp_path_factory.mktemp("sample"))


@pytest.fixture(scope="module")
def report(run: Journal) -> AuditReport:
    return audit(run)


def test_a_good_suite_is_proved(report: AuditReport) -> None:
    assert report.summary.rate.value >= 0.9, [s for c in report.cases for s in c.survivors]
    assert (report.summary.controls, report.summary.brittle, report.summary.set_aside) == (0, 0, 0)
    assert report.summary.unmet(0.9) == ()


def test_figures_add_up(report: AuditReport) -> None:
    summary = report.summary
    cells = [cell for entry in report.cases for cell in entry.operators.values()]
    assert (summary.rate.killed, summary.rate.tried) == tuple(map(sum, zip(*cells, strict=True)))
    assert sum(operator.rate.tried for operator in summary.operators) == summary.rate.tried
    assert summary.survivors == summary.rate.tried - summary.rate.killed == sum(len(c.survivors) for c in report.cases)
    assert sum(remedy.survivors for remedy in summary.remedies) == summary.survivors
    for entry in report.cases:
        assert entry.rate.tried - entry.rate.killed == len(entry.survivors)
        assert 0 <= entry.rate.low <= entry.rate.value <= entry.rate.high <= 1


def test_the_same_journal_gives_the_same_report(run: Journal, report: AuditReport) -> None:
    assert audit(Journal(run.path)) == report
    assert msgspec.json.encode(audit(run, seed=3)) == msgspec.json.encode(audit(run, seed=3))


def test_what_is_tried_on_a_case_does_not_depend_on_the_others(report: AuditReport, tmp_path: Path) -> None:
    backwards = audit(recorded(suite_of(*sample.CASES[::-1]), sample.ANSWERS, tmp_path))
    tried = {entry.case_id: (entry.operators, entry.survivors, entry.redundant) for entry in report.cases}
    assert {entry.case_id: (entry.operators, entry.survivors, entry.redundant) for entry in backwards.cases} == tried


def subjects(run: Journal) -> Iterator[Subject]:
    return (Subject(record.case, record.trace) for record in run.records())


def kills(case: Case, traces: list[Trace]) -> int:
    return sum(judge_trace(case, trace, CATALOG).status is not CaseStatus.PASS for trace in traces)


def without(case: Case, index: int) -> Case:
    return structs.replace(case, checks=(*case.checks[:index], *case.checks[index + 1 :]))


def test_removing_a_check_loses_a_kill_or_it_was_named_redundant(run: Journal, report: AuditReport) -> None:
    """Counted the slow way: every mutant judged again by the case without that check."""
    tried = 0
    for subject, entry in zip(subjects(run), report.cases, strict=True):
        traces = [mutant.trace for operator in OPERATORS for mutant in mutants(operator, subject)]
        # Each operator draws from the case's own chance, so the mutants must be those of the report.
        killed, tried_here = map(sum, zip(*(*entry.operators.values(), *entry.apart.values()), strict=True))
        assert len(traces) == tried_here
        before = kills(subject.case, traces)
        assert before == killed
        for index, spec in enumerate(subject.case.checks):
            if spec.name == "outcome" and subject.case.outcome == "response_only":
                continue
            tried += 1
            loses = kills(without(subject.case, index), traces) < before
            assert loses is (spec.path not in entry.redundant), (subject.case.id, spec.path)
    assert tried >= 40
    assert 0 < report.summary.redundant < tried


def all_kills(audited: CaseAudit) -> int:
    """All of them, those too that are told apart from the rate."""
    return audited.rate.killed + sum(killed for killed, _ in audited.apart.values())


def test_removing_a_check_from_the_suite_lowers_the_kill_rate(run: Journal, report: AuditReport) -> None:
    """As a suite's author would: the case is audited anew. What a check alone forbids is not tried without it."""
    for subject, entry in zip(subjects(run), report.cases, strict=True):
        for index, spec in enumerate(subject.case.checks):
            implied = spec.name == "outcome" and subject.case.outcome == "response_only"
            if spec.path in entry.redundant or implied:
                continue
            alone = Subject(without(subject.case, index), subject.trace)
            left = audit_case(alone, None, Spelling("eval-set", "0.3", CATALOG), CATALOG)
            alone = spec.name in ("must_not_say", "must_not_contain", "tool_calls_none", "must_not_match_regex")
            assert all_kills(left) < all_kills(entry), (subject.case.id, spec.path)
            apart = left.rate.killed == entry.rate.killed
            assert left.rate.value < entry.rate.value or alone or apart, (subject.case.id, spec.path)


def test_one_of_two_equal_checks_is_redundant(tmp_path: Path) -> None:
    """Both are named, because either can go; together they are not."""
    entry = audited(
        {"must_say_any": ["blue"], "expected_contains": ["blue"], "must_not_say": ["red"]}, "It is blue.", tmp_path
    )
    assert set(entry.redundant) == {"must_say_any", "expected_contains[0]"}


def test_a_check_that_alone_is_weighed_is_not_redundant(tmp_path: Path) -> None:
    """Without it the case could not reach its threshold at all."""
    scoring = {"soft_score": {"threshold": 0.5, "weights": {"qa": 1}}}
    expected = {"must_say_any": ["blue"], "expected_contains": ["blue"], "scoring": scoring}
    assert "expected_contains[0]" not in audited(expected, "It is blue.", tmp_path).redundant


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        pytest.param("It is green.", "FAIL", id="failed"),
        pytest.param({"final_message": "It is blue.", "error": "down"}, "ERROR", id="broke"),
    ],
)
def test_a_red_baseline_is_set_aside_and_named(answer: Answer, status: str, tmp_path: Path) -> None:
    suite = suite_of(case({"must_say_any": ["blue"]}, "A"), case({"must_say_any": ["blue"]}, "B", "Which?"))
    report = audit(recorded(suite, {"A": answer, "B": "Blue."}, tmp_path))
    assert [(entry.case_id, entry.status, bool(entry.reason)) for entry in report.set_aside] == [("A", status, True)]
    assert [one.case_id for one in report.cases] == ["B"]
    assert (report.summary.audited, report.summary.set_aside) == (1, 1)


def test_a_partial_baseline_is_set_aside(tmp_path: Path) -> None:
    report = audit(
        recorded(suite_of(case({"must_say_any": ["blue"], "ui": ["Confetti falls."]})), {"A": "Blue."}, tmp_path)
    )
    assert [(entry.case_id, entry.status) for entry in report.set_aside] == [("A", "PARTIAL")]
    assert report.summary.unmet(0.0) == ("no case passed, so nothing could be audited",)


def test_a_case_whose_expectation_lost_a_secret_is_set_aside(tmp_path: Path) -> None:
    """What stands in the journal in its place is in no answer, so that a check for it could not fail any more."""
    secret = case({"must_not_say": ["Authorization: Bearer abcdef0123456789"]})
    other = case({"must_say_any": ["kettle"]}, "B", "Where is it?")
    report = audit(recorded(suite_of(secret, other), {"A": "All is well.", "B": "The kettle boils."}, tmp_path))
    (entry,) = report.set_aside
    assert (entry.case_id, entry.status) == ("A", "PARTIAL")
    assert "held a secret" in entry.reason
    assert report.summary.audited == 1


def test_a_verdict_that_no_longer_holds_is_set_aside(run: Journal) -> None:
    """The checks of today judge the baseline, not the ones that recorded it."""
    (first, *_) = run.records()
    forged = structs.replace(first, trace=structs.replace(first.trace, final_message="Nothing."))
    report = audit(MemoryRun((forged,)))
    assert report.set_aside[0].reason.startswith("recorded as PASS, judged again: ")


@pytest.mark.parametrize(
    ("passing", "min_rate", "expected"),
    [
        pytest.param("TTT", None, "audited", id="every-time"),
        pytest.param("FTT", None, "1 of 3 repeats passed", id="not-every-time"),
        pytest.param("FTT", 0.6, "audited", id="often-enough"),
        pytest.param("FFT", 0.6, "1 of 3 repeats passed", id="too-seldom"),
    ],
)
def test_repeats(passing: str, min_rate: float | None, expected: str, tmp_path: Path) -> None:
    """The trace of a repeat that passed is taken, if the case passes as a whole."""
    turns = iter("Blue." if letter == "T" else "Green." for letter in passing)
    rate = {} if min_rate is None else {"min_pass_rate": min_rate}
    run = carob_run(case({"must_say_any": ["blue"], **rate}), turns, tmp_path)
    report = audit(run)
    if expected == "audited":
        assert [one.case_id for one in report.cases] == ["A"]
    else:
        (entry,) = report.set_aside
        assert entry.reason.startswith(f"{passing.count('T')} of 3 repeats passed")


def carob_run(case: dict[str, object], turns: Iterator[str], folder: Path) -> Journal:
    return carob.run(suite_of(case), lambda prompt: next(turns), repeat=3, results_dir=folder).journal


def test_kills_that_are_only_partial_are_counted_apart(tmp_path: Path) -> None:
    """A threshold that is met turns a failed check into PARTIAL, which a plain run lets pass."""
    scoring = {"soft_score": {"threshold": 0.1}}
    entry = audited({"must_say_any": ["blue"], "must_not_say": ["red"], "scoring": scoring}, "It is blue.", tmp_path)
    assert entry.partial > 0
    assert audited({"must_say_any": ["blue"], "must_not_say": ["red"]}, "It is blue.", tmp_path / "b").partial == 0


def test_a_golden_set_is_told_of_its_own_fields(tmp_path: Path) -> None:
    suite = golden_of(
        {"id": "d", "input": "Book 42.", "expected": {"tools_used": ["book"], "reason_contains": ["booked"]}},
        {"id": "q", "input": "Why?", "expected_contains": ["because"]},
    )
    answers: dict[str, Answer] = {
        "d": {"final_message": "Vehicle 42 is booked.", "tool_calls": [{"name": "book", "success": True}]},
        "q": {"final_message": "It rains because it is wet.", "tool_calls": []},
    }
    report = audit(recorded(suite, answers, tmp_path))
    hints = {(s.operator, s.field): s.hint for entry in report.cases for s in entry.survivors}
    assert hints["number-changed", "must_ground_numbers"] == (
        "nothing in d looks at numbers: add must_ground_numbers with `from_tool`, the tool that gives it"
    )
    assert ("tool-outcome", "tool_calls") in hints
    assert ("tool-forbidden", "tools_used") in hints


def test_hints_tell_blindness_from_gaps(tmp_path: Path) -> None:
    """`nothing looks at numbers` is said only where no number was noticed; where the field is there, it is to grow."""
    text = "Of 12 trains 41 were late."
    blind = audited({"must_say_any": ["late"]}, text, tmp_path / "1")
    some = audited({"must_match_regex": [r"12\s+trains"]}, text, tmp_path / "2")
    there = audited({"must_ground_numbers": ["12"]}, text, tmp_path / "3")
    hint = {"1": blind, "2": some, "3": there}
    hints = {name: [s.hint for s in entry.survivors if s.operator == "number-changed"] for name, entry in hint.items()}
    add = "add must_ground_numbers with `from_tool`, the tool that gives it"
    assert hints == {
        "1": [f"nothing in A looks at numbers: {add}"] * 2,
        "2": [f"no check of A notices this one: {add}"],
        "3": [f"no check of A notices this one: {add}"],
    }


@pytest.mark.parametrize("text", ["Hello! How may I help you today, dear user?", "Of 12 trains 41 were late."])
def test_no_hint_pins_wording_or_what_one_run_cost(text: str, tmp_path: Path) -> None:
    answer: Answer = {
        "final_message": text, "tool_calls": [], "steps": 3, "tokens": {"input": 321, "output": 7}, "duration_ms": 900,
    }  # fmt: skip
    hints = [survivor.hint for survivor in audited({"must_not_say": ["zzz"]}, answer, tmp_path).survivors]
    words = [word for word in text.split() if len(word) > 3]
    assert hints
    assert [hint for hint in hints if any(word in hint for word in (*words, "328", ": 3 ", "41"))] == []


def test_survivors_show_what_was_seen(tmp_path: Path) -> None:
    answer: Answer = {
        "final_message": "Of the 12 trains none was late today.",
        "tool_calls": [{"name": "find", "arguments": {"line": 7}, "success": True}],
        "telemetry": [sample.event("find", "start")],
        "page": sample.TILE,
        "page_before": sample.BOARD,
    }
    entry = audited({"must_not_say": ["zzz"]}, answer, tmp_path)
    evidence = {survivor.operator: survivor.evidence for survivor in entry.survivors}
    assert evidence["number-changed"] == "answer: Of the [15] trains none was late today."
    assert evidence["tool-dropped"] == "calls: none"
    assert evidence["tool-arguments"] == 'calls: find (success) with {"line":8}'
    assert evidence["telemetry-missing"] == "telemetry: 0 lines, 1 before"
    assert evidence["element-gone"].startswith('page: without - region "GitHub My Activity"')
    assert evidence["answer-cut"] == "answer: Of the 12[]"
    assert {"tool-renamed", "tool-doubled", "tool-outcome", "tool-result-missing", "answer-refused"} <= survivors(entry)


NOISE: dict[str, Any] = {
    "final_message": "Something else?",
    "tools": (ToolCall("x", success=True),),
    "telemetry": ("a line",),
    "page": "- button: Else",
    "page_before": "- heading: Before",
    "database": {"SELECT 1": [1]},
}


@pytest.mark.parametrize("cls", OWN.values(), ids=lambda cls: cls.name)
def test_what_a_check_does_not_look_at_is_all_the_same_to_it(cls: type[Check]) -> None:
    noise = {KEPT_AT[name]: value for name, value in NOISE.items() if name not in cls.channels}
    for example in cls.examples:
        spec = CheckSpec(cls.name, msgspec.Raw(msgspec.json.encode(example.args)))
        (check,) = CATALOG.checks((spec,))
        changed = structs.replace(example.trace, **noise)
        assert verdicts.run_check(check, changed) == verdicts.run_check(check, example.trace)


def test_a_check_that_cannot_be_read_is_an_error_of_the_journal(run: Journal) -> None:
    (first, *_) = run.records()
    spoiled = structs.replace(first.case, checks=(CheckSpec("must_say_any", msgspec.Raw(b'{"phrases": 7}'), "x"),))
    with pytest.raises(JournalError, match="a check of case 'SYN1' cannot be read"):
        audit(MemoryRun((structs.replace(first, case=spoiled),)))


def test_a_mutant_that_breaks_a_check_is_not_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sound = MustSayAny.judge

    def judge(self: MustSayAny, trace: Trace) -> object:
        if trace.final_message == "":
            raise ValueError("no text")
        return sound(self, trace)

    journal = recorded(suite_of(case({"must_say_any": ["blue"]})), {"A": "It is blue."}, tmp_path)
    before = audit(journal).cases[0]
    monkeypatch.setattr(MustSayAny, "judge", judge)
    entry = audit(journal).cases[0]
    assert (before.undecided, entry.undecided) == (0, 1)
    assert "answer-emptied" in before.operators
    assert "answer-emptied" not in entry.operators


def test_cases_stream(run: Journal) -> None:
    """Nothing is kept of a case but figures: what comes out is given away before the next but one is read."""
    (first, *_) = run.records()
    read = 0

    @dataclass(frozen=True)
    class Counted(MemoryRun):
        def records(self) -> Iterator[CaseRecord]:
            nonlocal read
            for index in range(8):
                read += 1
                case = structs.replace(first.case, id=f"C{index}", prompt=f"Question {index}?")
                answer = first.trace.final_message.replace("Signals\n", f"Signals\nNo. {index}\n")
                yield structs.replace(
                    first, index=index, case=case, trace=structs.replace(first.trace, final_message=answer)
                )

    auditor = Auditor(Counted(()))
    for number, entry in enumerate(auditor.cases(), 1):
        assert isinstance(entry, CaseAudit)
        assert read <= number + 2
    assert auditor.summary().audited == 8


SOFT = {"must_say_any": ["blue"], "reason_contains": ["sky"], "scoring": {"soft_score": {"threshold": 0.5}}}


@pytest.mark.parametrize(
    ("allowance", "green"),
    [
        pytest.param(Allowance(), False, id="nothing"),
        pytest.param(Allowance(partial=True), True, id="partial"),
        pytest.param(Allowance(unknown=True), False, id="unknown"),
    ],
)
def test_a_mutant_is_killed_if_its_run_would_not_exit_0(allowance: Allowance, green: bool, tmp_path: Path) -> None:
    """Without the second phrase the case is PARTIAL above its threshold: only a run that allows it is green."""
    journal = recorded(suite_of(case(SOFT)), {"A": "The sky is blue."}, tmp_path)
    (record,) = journal.records()
    judge = PassingTrace(Subject(record.case, record.trace), CATALOG, allowance)
    partial = structs.replace(record.trace, final_message="It is blue.")
    assert judge_trace(record.case, partial, CATALOG).status is CaseStatus.PARTIAL
    assert judge.passes(partial) is green


@pytest.mark.parametrize(
    ("allowance", "green"), [(Allowance(), False), (Allowance(partial=True), False), (Allowance(unknown=True), True)]
)
def test_what_was_not_seen_kills_unless_unknown_is_allowed(allowance: Allowance, green: bool, tmp_path: Path) -> None:
    journal = recorded(
        suite_of(case({"tools_used": []})), {"A": {"final_message": "Blue.", "tool_calls": []}}, tmp_path
    )
    (record,) = journal.records()
    blind = structs.replace(record.trace, unobserved={"tools": "nobody looked"})
    assert PassingTrace(Subject(record.case, record.trace), CATALOG, allowance).passes(blind) is green


ANCHORED = {"expected_contains": ["It is blue."], "tools_used": []}


@pytest.mark.parametrize(
    ("version", "counted", "apart"),
    [
        pytest.param("0.1", False, True, id="no-key-of-0.1-says-how-an-answer-ends"),
        pytest.param("0.2", True, False, id="one-of-0.2-does"),
    ],
)
def test_what_no_key_of_a_version_can_notice_is_told_apart(
    version: str, counted: bool, apart: bool, tmp_path: Path
) -> None:
    suite = suite_of(case(ANCHORED), version=version)
    report = audit(recorded(suite, {"A": {"final_message": "It is blue. So it is.", "tool_calls": []}}, tmp_path))
    (entry,) = report.cases
    assert ("answer-retracted" in entry.operators, "answer-retracted" in entry.apart) == (counted, apart)
    assert "claim-slipped-in" in entry.apart
    assert entry.rate.tried == sum(tried for _, tried in entry.operators.values())
    assert {u.operator for u in entry.unseen} == {o.operator for o in report.summary.apart if o.unseen}
    assert report.summary.blind == 1


def test_every_kill_names_the_checks_that_catch_it_and_each_check_what_only_it_holds(tmp_path: Path) -> None:
    expected = {"must_say_any": ["express"], "must_match_regex": [r"41 minutes"], "tool_calls_any": ["find_trains"]}
    answer = {"final_message": "The express: 41 minutes.", "tool_calls": [{"name": "find_trains", "success": True}]}
    entry = audited(expected, answer, tmp_path)
    assert sum(killed for killed, _ in (entry.operators | entry.apart).values()) == len(entry.kills)
    by = {(kill.operator, kill.checks, kill.alone) for kill in entry.kills}
    assert ("number-changed", ("must_match_regex[0]",), ("must_match_regex[0]",)) in by
    emptied = next(kill for kill in entry.kills if kill.operator == "answer-emptied")
    assert {"must_say_any", "must_match_regex[0]"} < set(emptied.checks)
    assert emptied.alone == ()
    held = {holding.check: holding for holding in entry.holdings}
    assert held["tool_calls_any"].alone == tuple(
        f"{kill.operator}: {kill.change}" for kill in entry.kills if kill.checks == ("tool_calls_any",)
    ) != ()  # fmt: skip
    assert held["must_say_any"].kills >= 1
    assert {check for check, holding in held.items() if not holding.alone} == set(entry.redundant) | {"outcome"}
