"""Judging many traces that differ from one that passed in a single place: only what that place concerns is judged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from carob.checks.base import Check
from carob.checks.catalog import CheckCatalog
from carob.errors import JournalError
from carob.features.audit.operators.base import Subject
from carob.model.suite import Case
from carob.model.trace import Channel, Trace
from carob.model.verdict import ACCEPTED, CaseStatus, CheckResult, Status, Verdict
from carob.scoring import verdicts

WATCHED: Mapping[Channel, str] = {
    "final_message": "final_message",
    "messages": "messages",
    "tools": "tool_calls",
    "tool_results": "tool_calls",
    "tool_schemas": "tool_schemas",
    "ended_by": "ended_by",
    "telemetry": "telemetry",
    "page": "page",
    "page_before": "page_before",
    "answer_page": "answer_page",
    "database": "database",
    "state": "state",
    "input": "input",
    "duration_ms": "duration_ms",
    "timings": "timings",
    "steps": "steps",
    "tokens": "tokens",
    "metadata": "metadata",
    "spans": "spans",
    "files": "workspace",
    "processes": "workspace",
    "after": "workspace",
}
"""The channels of which it is known whether a change touched them, and where a trace keeps them."""


class Allowance(NamedTuple):
    """What a run lets pass although it is PARTIAL: a check that failed above its threshold, one that is unknown."""

    partial: bool = False
    unknown: bool = False

    @property
    def statuses(self) -> frozenset[Status]:
        allowed = ((Status.FAILED, self.partial), (Status.UNKNOWN, self.unknown))
        return frozenset(status for status, is_allowed in allowed if is_allowed)


NOTHING_ALLOWED = Allowance()


class PassingTrace:
    """The checks of a case, and what they found in the trace that it passed with."""

    def __init__(self, subject: Subject, catalog: CheckCatalog, allowance: Allowance = NOTHING_ALLOWED) -> None:
        self._catalog = catalog
        self._allowance = allowance
        self._rules = subject.case.scoring
        self._checks = compile_checks(subject.case, catalog)
        self._case = subject.case
        self._base = subject.trace
        self._results = verdicts.case_results(subject.case, subject.trace, catalog)

    def results(self, trace: Trace) -> tuple[CheckResult, ...]:
        """What each check finds in a trace made from the one that passed."""
        if self._case.turns:
            return verdicts.case_results(self._case, trace, self._catalog)
        unchanged = self._unchanged_channels(trace)
        return tuple(
            [
                before if check.channels and check.channels <= unchanged else verdicts.run_check(check, trace)
                for check, before in zip(self._checks, self._results, strict=True)
            ]
        )

    def _unchanged_channels(self, trace: Trace) -> frozenset[Channel]:
        """The channels in which a trace is the one that passed; none where more or less is known of any."""
        base = self._base
        if trace.cuts is not base.cuts or trace.unobserved is not base.unobserved or trace.turns is not base.turns:
            return frozenset()
        return frozenset(channel for channel, name in WATCHED.items() if getattr(trace, name) is getattr(base, name))

    def status(self, results: tuple[CheckResult, ...]) -> CaseStatus:
        """What the results add up to; where all passed, the case does, because it did before."""
        for result in results:
            if result.status not in ACCEPTED:
                return verdicts.verdict(results, self._rules).status
        return CaseStatus.PASS

    def passes(self, trace: Trace) -> bool:
        results = self.results(trace)
        return self.green(self.status(results), results)

    def green(self, status: CaseStatus, results: tuple[CheckResult, ...]) -> bool:
        """Whether a run of this case alone would exit 0."""
        if status is not CaseStatus.PARTIAL:
            return status is CaseStatus.PASS
        short = {result.status for result in results} - ACCEPTED
        return short <= self._allowance.statuses

    def find_needed(self, results: tuple[CheckResult, ...]) -> set[int]:
        """The checks without which, one at a time, a trace that does not pass would."""
        bad = [index for index, result in enumerate(results) if result.status not in ACCEPTED]
        if len(bad) == 1:
            return set(bad)
        if self._rules.threshold is None and not self._allowance.statuses:
            return set()
        return {index for index in bad if self._green_without(results, index)}

    def indispensable(self) -> set[int]:
        """The checks without which the case could not pass: the only ones of the groups that are weighed."""
        if self._rules.threshold is None:
            return set()
        return {i for i in range(len(self._results)) if not self._green_without(self._results, i)}

    def _green_without(self, results: tuple[CheckResult, ...], index: int) -> bool:
        fewer = (*results[:index], *results[index + 1 :])
        return self.green(verdicts.verdict(fewer, self._rules).status, fewer)


def judge_trace(case: Case, trace: Trace, catalog: CheckCatalog) -> Verdict:
    """The verdict of today's checks on any trace."""
    compile_checks(case, catalog)
    return verdicts.judge_case(case, trace, catalog)


def compile_checks(case: Case, catalog: CheckCatalog) -> tuple[Check, ...]:
    try:
        return catalog.checks([spec for _, spec in case.all_checks])
    except msgspec.DecodeError as error:
        fix = "The journal was changed."
        raise JournalError(f"a check of case {case.id!r} cannot be read: {error}.", fix=fix) from error
