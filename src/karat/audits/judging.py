"""Judging many traces that differ from one that passed in a single place: only what that place concerns is judged."""

from __future__ import annotations

import msgspec

from karat import scoring
from karat.audits.operators.base import Subject
from karat.checks.catalog import CATALOG
from karat.errors import JournalError
from karat.model.check import Check
from karat.model.suite import Case
from karat.model.trace import Trace
from karat.model.verdict import CaseStatus, CheckResult, Status, Verdict

ANSWER = frozenset(
    (
        "must_say_any",
        "must_not_say",
        "must_match_regex",
        "must_not_match_regex",
        "required_sources",
        "must_ground_numbers",
        "must_label_assumptions",
        "required_levers",
        "claim_evidence_alignment",
        "evidence_freshness_max_age_minutes",
        "allocation_valid",
        "reason_contains",
        "expected_contains",
        "must_not_contain",
    )
)
"""Checks that look at the final message and at nothing else."""
CALLS = frozenset(("tool_calls", "tool_calls_any", "tool_calls_none", "tools_used"))
"""Checks that look at the tool calls and at nothing else."""


class Judge:
    """The checks of a case, and what they found in the trace that it passed with."""

    def __init__(self, subject: Subject) -> None:
        self._rules = subject.case.scoring
        self._checks = compiled(subject.case)
        self._base = subject.trace
        self.found = tuple([scoring.carried_out(check, subject.trace) for check in self._checks])

    def results(self, trace: Trace) -> tuple[CheckResult, ...]:
        """What each check finds in a trace made from the one that passed."""
        known: set[str] = set()
        if trace.cuts is self._base.cuts and trace.unobserved is self._base.unobserved:
            if trace.final_message is self._base.final_message:
                known |= ANSWER
            if trace.tool_calls is self._base.tool_calls:
                known |= CALLS
        return tuple(
            [
                found if check.name in known else scoring.carried_out(check, trace)
                for check, found in zip(self._checks, self.found, strict=True)
            ]
        )

    def status(self, results: tuple[CheckResult, ...]) -> CaseStatus:
        """What the results add up to; where all passed, the case does, because it did before."""
        for result in results:
            if result.status is not Status.PASSED:
                return scoring.verdict(results, self._rules).status
        return CaseStatus.PASS

    def passes(self, trace: Trace) -> bool:
        return self.status(self.results(trace)) is CaseStatus.PASS

    def needed(self, results: tuple[CheckResult, ...]) -> set[int]:
        """The checks without which, one at a time, a trace that does not pass would."""
        bad = [index for index, result in enumerate(results) if result.status is not Status.PASSED]
        if len(bad) == 1:
            return set(bad)
        if self._rules.threshold is None:
            return set()
        return {index for index in bad if self._without(results, index) is CaseStatus.PASS}

    def indispensable(self) -> set[int]:
        """The checks without which the case could not pass: the only ones of the groups that are weighed."""
        if self._rules.threshold is None:
            return set()
        return {i for i in range(len(self.found)) if self._without(self.found, i) is not CaseStatus.PASS}

    def _without(self, results: tuple[CheckResult, ...], index: int) -> CaseStatus:
        return scoring.verdict((*results[:index], *results[index + 1 :]), self._rules).status


def judged(case: Case, trace: Trace) -> Verdict:
    """The verdict of today's checks on any trace."""
    return scoring.judge(compiled(case), case.scoring, trace)


def compiled(case: Case) -> tuple[Check, ...]:
    try:
        return CATALOG.compile(case)
    except msgspec.DecodeError as error:
        fix = "The journal was changed."
        raise JournalError(f"a check of case {case.id!r} cannot be read: {error}.", fix=fix) from error
