"""What a trace came to, as the message that says so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias

from carob import api
from carob.engine.authoring import find_differences, judge_expected, read_trace
from carob.engine.rescoring import resolve_allowances
from carob.errors import ExitCode
from carob.features.judge.messages import Difference, Id, Judged
from carob.model.run import CaseRecord
from carob.model.suite import Case
from carob.model.verdict import ACCEPTED, CaseStatus, Verdict
from carob.plugins.project import Project
from carob.reports.case_details import headline, why_not_passed
from carob.reports.case_facts import check_facts
from carob.reports.escaping import terminal
from carob.reports.run_result import Allowances
from carob.scoring.tally import Contribution, Tally, is_lost
from carob.targets.config import read_config

Outcome: TypeAlias = Literal["passed", "failed", "skipped"]
SKIPPED = (CaseStatus.SKIP, CaseStatus.XFAIL)


def judge_trace(id: Id, case: Case, trace: Mapping[str, Any], project: Project) -> Judged:
    """As `carob.judge` does."""
    allowed = resolve_allowances(None, None, None, read_config(project))
    observed = read_trace(trace, case)
    record = CaseRecord(index=0, case=case, trace=observed, verdict=api.judge(case, observed))
    return describe(id, record, outcome_of(Contribution.of_record(record), allowed), project)


def judge_keys(id: Id, trace: Mapping[str, Any], expected: Mapping[str, Any], project: Project) -> Judged:
    """As `carob.check` does."""
    record = judge_expected(trace, expected, project)
    return describe(id, record, "passed" if record.status is CaseStatus.PASS else "failed", project)


def judge_conversation(id: Id, trace: Mapping[str, Any], judge: Callable[[Mapping[str, Any]], Verdict]) -> Judged:
    """As `carob.judge_many` does: a check for each rule."""
    verdict = judge(trace)
    broken = [result for result in verdict.checks if result.status not in ACCEPTED]
    return Judged(
        id=id,
        outcome="passed" if verdict.status is CaseStatus.PASS else "failed",
        status=verdict.status,
        reason=terminal(verdict.reason or "; ".join(map(str, broken[:1]))),
        lines=[terminal(f"{result.status}  {result}") for result in broken],
        differences=[
            Difference(
                check=result.rule_id or result.name, status=result.status, expected=result.expected, found=result.found
            )
            for result in broken
        ],
        verdict=verdict,
    )


def outcome_of(
    outcome: Contribution, allowed: Allowances, earlier: Counter[CaseStatus] | None = None, repeat: int = 1
) -> Outcome:
    """What one run of a case is to a test runner. One that fails is let pass while its `min_pass_rate` can be met.

    `earlier`: what came of the runs of this case so far, with this one.
    """
    if outcome.status in SKIPPED:
        return "skipped"
    tally = Tally(2)
    tally.add(0, outcome)
    if tally.summary().exit_code(allow_partial=allowed.partial, allow_unknown=allowed.unknown) is ExitCode.OK:
        return "passed"
    is_open = outcome.status is CaseStatus.FAIL and outcome.min_pass_rate is not None and earlier is not None
    return "passed" if is_open and not is_lost(earlier or {}, outcome.min_pass_rate, repeat) else "failed"


def describe(id: Id, record: CaseRecord, outcome: Outcome, project: Project) -> Judged:
    """A record as its message; one that passed needs no explanation."""
    is_clean = record.status is CaseStatus.PASS
    values = {} if is_clean else {label: (wanted, found) for label, found, wanted in find_differences(record, project)}
    differences = []
    for label, result in check_facts(record).all:
        expected, found = values.get(label, (result.expected, result.found))
        differences.append(Difference(check=label, status=result.status, expected=expected, found=found))
    return Judged(
        id=id,
        outcome=outcome,
        status=record.status,
        reason="" if is_clean else headline(record),
        lines=[] if is_clean else list(why_not_passed(record)),
        differences=differences,
        verdict=record.verdict,
    )
