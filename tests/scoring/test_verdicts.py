"""Every path from check results to a status."""

from __future__ import annotations

import pytest

from carob.checks.answer.phrases import MustMatchRegex, MustNotContain, MustNotMatchRegex, MustNotSay, MustSayAny
from carob.checks.base import Check
from carob.model.suite import Case, Scoring
from carob.model.trace import UNSEEN_WORDS, Message, Trace, TraceError
from carob.model.verdict import CaseStatus, CheckResult, Group, Status
from carob.scoring import verdicts

F, N, T, U = Group.FORMATTING, Group.NUMERIC_GROUNDING, Group.TOOL_HYGIENE, Group.UNCERTAINTY
HARD = Scoring(hard_fail=(F,))
LETTERS = {"p": Status.PASSED, "f": Status.FAILED, "u": Status.UNKNOWN, "e": Status.ERROR}


def results(**groups: str) -> tuple[CheckResult, ...]:
    return tuple(CheckResult("c", Group(g), LETTERS[letter]) for g, letters in groups.items() for letter in letters)


def soft(threshold: float | None, **weights: float) -> Scoring:
    return Scoring(threshold=threshold, weights={Group(g): w for g, w in weights.items()} or None)


@pytest.mark.parametrize(
    ("checks", "rules", "status"),
    [
        pytest.param(results(formatting="pp"), Scoring(), CaseStatus.PASS, id="all-passed"),
        pytest.param(results(formatting="pf"), Scoring(), CaseStatus.FAIL, id="failed-without-threshold"),
        pytest.param(results(formatting="pu"), Scoring(), CaseStatus.PARTIAL, id="unknown-alone"),
        pytest.param(results(formatting="uf"), Scoring(), CaseStatus.FAIL, id="failed-and-unknown"),
        pytest.param(results(formatting="pe"), Scoring(), CaseStatus.ERROR, id="check-broke"),
        pytest.param(results(formatting="ef"), HARD, CaseStatus.ERROR, id="broken-check-before-hard-fail"),
        pytest.param(results(formatting="f"), HARD, CaseStatus.FAIL, id="hard-fail"),
        pytest.param(results(formatting="u"), HARD, CaseStatus.PARTIAL, id="unknown-in-hard-fail-group"),
        pytest.param(results(formatting="p", uncertainty="f"), HARD, CaseStatus.FAIL, id="failed-outside-hard-fail"),
        pytest.param(
            results(formatting="fppp"),
            Scoring(hard_fail=(F,), threshold=0.0),
            CaseStatus.FAIL,
            id="hard-fail-before-passing-score",
        ),
        pytest.param(results(formatting="fppp"), soft(0.75), CaseStatus.PARTIAL, id="threshold-just-met"),
        pytest.param(results(formatting="fppp"), soft(0.76), CaseStatus.FAIL, id="threshold-just-missed"),
        pytest.param(results(formatting="f"), soft(0.0), CaseStatus.PARTIAL, id="threshold-of-zero"),
        pytest.param(results(formatting="p"), soft(1.0), CaseStatus.PASS, id="threshold-of-one-met"),
        pytest.param(results(formatting="ppppf"), soft(1.0), CaseStatus.FAIL, id="threshold-of-one-missed"),
        pytest.param(results(formatting="pu"), soft(0.5), CaseStatus.PARTIAL, id="unknown-counts-as-not-passed-met"),
        pytest.param(results(formatting="pu"), soft(0.51), CaseStatus.FAIL, id="unknown-counts-as-not-passed-missed"),
        pytest.param(
            results(formatting="p", uncertainty="f"),
            soft(0.8, formatting=0.8, uncertainty=0.2),
            CaseStatus.PARTIAL,
            id="weighted-equal-to-threshold",
        ),
        pytest.param(
            results(formatting="p", uncertainty="f"),
            soft(0.8, formatting=0.79, uncertainty=0.21),
            CaseStatus.FAIL,
            id="weighted-below",
        ),
        pytest.param(
            results(formatting="f"), soft(0.5, uncertainty=1.0), CaseStatus.FAIL, id="no-weighted-group-scored"
        ),
        pytest.param(results(decision="p"), soft(0.5), CaseStatus.PASS, id="a-decision-weighs-something"),
        pytest.param(results(decision="f", qa="p"), soft(0.9), CaseStatus.FAIL, id="a-failed-decision-misses"),
        pytest.param(results(qa="f"), soft(0.5), CaseStatus.FAIL, id="a-failed-answer-misses"),
        pytest.param(results(decision="f"), Scoring(), CaseStatus.FAIL, id="unweighted-group-fails-without-threshold"),
        pytest.param((), Scoring(), CaseStatus.ERROR, id="nothing-judged"),
    ],
)
def test_status(checks: tuple[CheckResult, ...], rules: Scoring, status: CaseStatus) -> None:
    verdict = verdicts.verdict(checks, rules)
    assert verdict.status is status
    assert bool(verdict.reason) == (status is not CaseStatus.PASS)


def test_default_weights_are_the_documented_ones() -> None:
    every = results(
        tool_hygiene="f",
        synthesis_coverage="p",
        numeric_grounding="f",
        uncertainty="f",
        formatting="f",
        morning_brief_contract="f",
        decision="f",
        qa="f",
    )
    assert verdicts.verdict(every, Scoring()).soft.value == pytest.approx(0.30 / 2.05)


def test_no_group_weighs_nothing() -> None:
    assert all(verdicts.verdict(results(**{group: "f"}), Scoring()).soft.value == 0 for group in Group)


def test_groups_without_a_check_take_no_part() -> None:
    verdict = verdicts.verdict(results(formatting="pf"), soft(0.5, formatting=0.1, uncertainty=0.9))
    assert verdict.soft.value == 0.5
    assert set(verdict.groups) == {F}


def test_binary_fractions_do_not_miss_their_threshold() -> None:
    checks = results(tool_hygiene="p", formatting="p", uncertainty="f")
    rules = soft(0.7, tool_hygiene=0.1 + 0.2, formatting=0.4, uncertainty=0.3)
    assert verdicts.verdict(checks, rules).soft.passed


def test_hard_fail_groups_are_named_once_and_in_order() -> None:
    rules = Scoring(hard_fail=(N, F, U))
    assert verdicts.verdict(
        results(formatting="ff", numeric_grounding="f", uncertainty="p"), rules
    ).hard_fail_triggered == (N, F)


def test_a_trace_that_broke_is_an_error_and_is_not_judged() -> None:
    trace = Trace(case_id="a", final_message="yes", error=TraceError("agent", "it raised"))
    verdict = verdicts.judge([MustSayAny(("yes",))], Scoring(), trace)
    assert verdict.status is CaseStatus.ERROR
    assert verdict.checks == ()
    assert verdict.soft.value is None
    assert "it raised" in verdict.reason


def test_a_regex_that_runs_away_is_an_error_of_its_check_alone() -> None:
    checks = [MustMatchRegex("(a|aa)+$"), MustSayAny(("aaa*",))]
    verdict = verdicts.judge(checks, Scoring(), Trace(case_id="a", final_message="a" * 60 + "!"))
    assert [c.status for c in verdict.checks] == [Status.ERROR, Status.PASSED]
    assert verdict.status is CaseStatus.ERROR
    assert "took too long" in verdict.checks[0].found


@pytest.mark.parametrize("check", [MustNotSay("an AI"), MustNotContain("an AI"), MustNotMatchRegex(r"an\s+AI")])
@pytest.mark.parametrize(("hidden", "status"), [("As an AI", Status.FAILED), ("Hello", Status.PASSED)])
def test_what_is_forbidden_is_looked_for_where_no_reader_sees_it(check: Check, hidden: str, status: Status) -> None:
    trace = Trace(case_id="c", final_message="Fine.", messages=(Message(UNSEEN_WORDS, hidden),))
    assert verdicts.run_check(check, trace).status is status
    assert verdicts.run_check(MustSayAny(("an AI", "Hello")), trace).status is Status.FAILED, "nobody reads it"


@pytest.mark.parametrize(
    ("letters", "status", "reason"),
    [
        ("p", CaseStatus.FAIL, "it passed, but was known to fail: a bug"),
        ("f", CaseStatus.XFAIL, "a bug"),
        ("u", CaseStatus.PARTIAL, ""),
        ("e", CaseStatus.ERROR, ""),
    ],
)
def test_what_is_known_to_fail_must_fail(letters: str, status: CaseStatus, reason: str) -> None:
    found = verdicts.case_verdict(Case(id="a", prompt="hi", checks=(), xfail="a bug"), results(formatting=letters))
    assert found.status is status
    assert reason in found.reason
