"""From checks to a status: pure, and the same for a live run, a rescore and an audit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache

from msgspec import structs

from carob.model.check import CaseCatalog, CompiledCheck
from carob.model.suite import ALWAYS_HARD, DEFAULT_WEIGHTS, OTHER_WEIGHT, Case, Scoring
from carob.model.trace import Trace, TraceError
from carob.model.verdict import (
    CaseStatus,
    CheckResult,
    GroupScore,
    SoftScore,
    Status,
    Verdict,
)
from carob.text.wording import error_text, pluralize

DIGITS = 9
"""Weights such as 0.35 are not exact in binary: a score is compared with its threshold to this many digits."""

NO_RULE_TRIGGERED = "nothing happened that a rule speaks of, so nothing was judged"

_PASS = CaseStatus.PASS
_PASSED = Status.PASSED
_NOT_JUDGED = {Status.UNJUDGED, Status.NOT_TRIGGERED}
_ALL_PASSED = {Status.PASSED}
_FULL = SoftScore(1.0, None, None)


def judge_case(case: Case, trace: Trace, catalog: CaseCatalog) -> Verdict:
    """Judge what happened in a case: each turn of a conversation, then all of it."""
    return case_verdict(case, case_results(case, trace, catalog), trace.error)


def case_results(case: Case, trace: Trace, catalog: CaseCatalog) -> tuple[CheckResult, ...]:
    """The result of every check of a case in order; of one that broke, those of the turns that were over by then."""
    if case.skip:
        return ()
    if not case.turns:
        return () if trace.error else tuple([run_check(check, trace) for check in catalog.checks(case.checks)])
    results: list[CheckResult] = []
    for number, turn in enumerate(case.turns, 1):
        recorded = trace_of_turn(trace, number)
        if trace.error and (recorded is None or recorded.error):
            return tuple(results)
        results += _in_turn(number, catalog.checks(turn.checks), recorded)
    if not trace.error:
        results += [run_check(check, trace) for check in catalog.checks(case.checks)]
    return tuple(results)


def trace_of_turn(trace: Trace, number: int | None) -> Trace | None:
    """What the checks of a turn judge, with the turns before it; all of it where there is no number."""
    if number is None:
        return trace
    if number > len(trace.turns):
        return None
    return structs.replace(trace.turns[number - 1], earlier=trace.turns[: number - 1], setup_calls=trace.setup_calls)


def _in_turn(number: int, checks: Sequence[CompiledCheck], turn: Trace | None) -> Iterator[CheckResult]:
    for check in checks:
        result = run_check(check, turn) if turn else _error_result(check, f"the trace has no turn {number}")
        yield structs.replace(result, turn=number)


def case_verdict(case: Case, results: tuple[CheckResult, ...], error: TraceError | None = None) -> Verdict:
    """What these results add up to, by what the suite says of the case beforehand.

    What is known to fail must fail: one that passes is a FAIL, so that the mark gets removed.
    """
    if case.skip:
        return Verdict(CaseStatus.SKIP, reason=f"it was not run: {case.skip}")
    judged = verdict(results, case.scoring, error)
    if not case.xfail:
        return judged
    if judged.status is CaseStatus.PASS:
        return structs.replace(judged, status=CaseStatus.FAIL, reason=f"it passed, but was known to fail: {case.xfail}")
    if judged.status is CaseStatus.FAIL or judged.shortfall.failed:
        return structs.replace(judged, status=CaseStatus.XFAIL, reason=case.xfail)
    return judged


def judge(checks: Sequence[CompiledCheck], scoring: Scoring, trace: Trace) -> Verdict:
    """Judge a trace. One that broke is an ERROR, and its checks are not judged."""
    if trace.error is not None:
        return verdict((), scoring, trace.error)
    return verdict(tuple([run_check(check, trace) for check in checks]), scoring)


def verdict(results: tuple[CheckResult, ...], scoring: Scoring, error: TraceError | None = None) -> Verdict:
    """The status that these results add up to."""
    if error is not None:
        return Verdict(CaseStatus.ERROR, results, reason=f"{error.kind}: {error.message}")
    statuses = {result.status for result in results}
    if statuses == _ALL_PASSED and scoring.threshold is None and scoring.weights is None:
        return all_passed(tuple([result.group for result in results]), results)
    unjudged = Status.UNJUDGED in statuses
    statuses -= _NOT_JUDGED
    if not statuses and not unjudged and results:
        return Verdict(CaseStatus.PARTIAL, results, {}, SoftScore(None, None, None), reason=NO_RULE_TRIGGERED)
    groups = group_scores(results)
    soft = soft_score(groups, scoring)
    is_left = unjudged and scoring.allow_unjudged and bool(statuses)
    if statuses == _ALL_PASSED and soft.passed is not False and unjudged is is_left:
        return Verdict(_PASS, results, groups, soft, left_to_others=is_left)
    failed = {r.group for r in results if r.status is Status.FAILED} if Status.FAILED in statuses else set()
    hard = (*scoring.hard_fail, *sorted(ALWAYS_HARD - set(scoring.hard_fail)))
    triggered = tuple(group for group in hard if group in failed)
    if unjudged and not triggered and Status.ERROR not in statuses and _is_open(results, statuses, soft, scoring):
        return Verdict(CaseStatus.PARTIAL, results, groups, soft, reason=_not_judged(results, statuses))
    status, reason = _status(statuses, triggered, soft)
    return Verdict(status, results, groups, soft, triggered, reason, is_left)


def _is_open(results: Sequence[CheckResult], statuses: set[Status], soft: SoftScore, scoring: Scoring) -> bool:
    """Whether what is not judged decides: nothing else was judged or failed, or it could still lift the score."""
    if statuses <= _ALL_PASSED and soft.passed is not False:
        return True
    if soft.passed is not False:
        return False
    best = [structs.replace(r, status=_PASSED) if r.status is Status.UNJUDGED else r for r in results]
    return soft_score(group_scores(best), scoring).passed is True


def _not_judged(results: Sequence[CheckResult], statuses: set[Status]) -> str:
    count = sum(result.status is Status.UNJUDGED for result in results)
    if any(result.reading is not None for result in results):
        criteria = sum(result.reading is not None and result.status is Status.UNJUDGED for result in results)
        noun = ("criterion", "it") if criteria == 1 else ("criteria", "them")
        missing = f"{criteria} {noun[0]} not judged: label {noun[1]}"
        return f"{missing} with carob label" + (f"; {count - criteria} for another tool" if count > criteria else "")
    if not statuses:
        return "nothing was judged: only another tool can judge what it expects"
    missing = f"{pluralize(count, 'expectation')} not judged: another tool must judge {'them' if count > 1 else 'it'}"
    return f"{missing}; --allow-unjudged accepts the rest"


def all_passed(groups: tuple[str, ...], results: tuple[CheckResult, ...] = ()) -> Verdict:
    """The verdict of checks of these groups that all passed, where the case gives neither weights nor a threshold."""
    return Verdict(_PASS, results, dict(_full_scores(groups)), _FULL)


def _status(statuses: set[Status], triggered: tuple[str, ...], soft: SoftScore) -> tuple[CaseStatus, str]:
    if not statuses:
        return CaseStatus.ERROR, "no check was judged"
    if Status.ERROR in statuses:
        return CaseStatus.ERROR, "a check could not be carried out"
    if triggered:
        return CaseStatus.FAIL, f"hard-fail group {', '.join(triggered)}"
    if soft.passed is False:
        reached = "no weighted group has a score" if soft.value is None else f"soft score {soft.value:.2f}"
        return CaseStatus.FAIL, f"{reached}, threshold {soft.threshold:.2f}"
    if Status.FAILED in statuses:
        if soft.passed:
            return CaseStatus.PARTIAL, "a check failed, the soft score passed"
        return CaseStatus.FAIL, "a check failed"
    return CaseStatus.PARTIAL, "a check could not be decided"


def group_scores(results: Sequence[CheckResult]) -> dict[str, GroupScore]:
    """Passed over judged, for each group that has a check. What is unknown is judged and not passed."""
    counts: dict[str, list[int]] = {}
    for result in results:
        if result.status in _NOT_JUDGED:
            continue
        count = counts.setdefault(result.group, [0, 0])
        count[0] += result.status is _PASSED
        count[1] += 1
    return {group: GroupScore(passed, judged) for group, (passed, judged) in counts.items()}


@lru_cache
def _full_scores(groups: tuple[str, ...]) -> dict[str, GroupScore]:
    """The scores of checks of these groups that all passed: cases of a suite are much alike."""
    return {group: GroupScore(count, count) for group, count in Counter(groups).items()}


def soft_score(groups: dict[str, GroupScore], scoring: Scoring) -> SoftScore:
    """The weighted mean over weighted groups that have a score."""
    weights, default = (DEFAULT_WEIGHTS, OTHER_WEIGHT) if scoring.weights is None else (scoring.weights, 0.0)
    total = value = 0.0
    for group, score in groups.items():
        weight = weights.get(group, default)
        total += weight
        value += weight * score.passed / score.judged
    mean = round(value / total, DIGITS) if total else None
    threshold = scoring.threshold
    passed = None if threshold is None else mean is not None and mean >= round(threshold, DIGITS)
    return SoftScore(mean, threshold, passed)


def run_check(check: CompiledCheck, trace: Trace) -> CheckResult:
    """The result of one check; ERROR where the check itself broke."""
    try:
        hidden = _of_hidden_words(check, trace) if check.forbids else None
        result: object = hidden or check.judge(trace)
        if isinstance(result, CheckResult) and isinstance(result.status, Status):
            return result
        why = f"it returned {type(result).__name__}, not a CheckResult with a Status"
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a check that breaks makes its own case an ERROR, no other
        why = f"{type(error).__name__}: {error_text(error)}"
    return _error_result(check, why)


def _error_result(check: CompiledCheck, why: str) -> CheckResult:
    try:
        description = str(check.description)
    except Exception:  # noqa: BLE001 - a check that broke may not know what it wants either
        description = ""
    return CheckResult(check.name, check.group, Status.ERROR, description, why)


def _of_hidden_words(check: CompiledCheck, trace: Trace) -> CheckResult | None:
    """What forbids words looks for them also where no reader sees them; None if they are not there."""
    words = trace.hidden_words
    result = check.judge(structs.replace(trace, final_message=words)) if words else None
    if result is None or result.status is Status.PASSED:
        return None
    return structs.replace(result, found=f"{result.found} (not visible to a reader)", at=None)
