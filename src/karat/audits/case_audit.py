"""Auditing one case that passed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from karat.audits.controls import controls
from karat.audits.counts import Count
from karat.audits.equivalents import EQUIVALENTS
from karat.audits.evidence import evidence
from karat.audits.hints import Spelling, noticing, remedy
from karat.audits.judging import NOTHING_ALLOWED, Allowance, Baseline
from karat.audits.operators.base import Mutant, Operator, Subject, same
from karat.audits.operators.catalog import OPERATORS
from karat.checks.outcome import Outcome
from karat.model.audit import Brittle, CaseAudit, Survivor, Unseen
from karat.model.verdict import CaseStatus, Status
from karat.suites.formats.cases import DEFAULT_OUTCOME

PER_OPERATOR = 8
"""Mutants of one operator that are tried on one case; of more, a sample."""


def audit_case(
    subject: Subject, another: Subject | None, spelling: Spelling, allowance: Allowance = NOTHING_ALLOWED
) -> CaseAudit:
    """Controls, mutants and equivalents of one case; `another` is the case whose answer the last control gives."""
    judge = Baseline(subject, allowance)
    trial = _Trial(subject, judge, spelling)
    for operator in OPERATORS:
        trial.run(operator)
    return CaseAudit(
        case_id=subject.case.id,
        rate=trial.count.rate,
        operators=trial.operators,
        survivors=tuple(trial.survivors),
        apart=trial.apart,
        unseen=tuple(trial.unseen),
        controls=tuple(c.name for c in controls(subject, another) if judge.passes(c.trace)),
        brittle=tuple(_brittle(subject, judge)),
        redundant=tuple(_redundant(subject, trial.needed)),
        partial=trial.partial,
        undecided=trial.undecided,
    )


def mutants(operator: Operator, subject: Subject) -> list[Mutant]:
    """What an operator makes of a case: nothing that changes nothing, and of many a sample."""
    made = [mutant for mutant in operator.mutants(subject) if not same(mutant.trace, subject.trace)]
    if len(made) > PER_OPERATOR:
        made = [made[i] for i in sorted(subject.chance.sample(range(len(made)), PER_OPERATOR))]
    return made


class _Trial:
    """The mutants of one case so far."""

    def __init__(self, subject: Subject, judge: Baseline, spelling: Spelling) -> None:
        self._subject = subject
        self._judge = judge
        self._spelling = spelling
        self.count = Count()
        self.operators: dict[str, tuple[int, int]] = {}
        self.survivors: list[Survivor] = []
        self.apart: dict[str, tuple[int, int]] = {}
        self.unseen: list[Unseen] = []
        self.needed = judge.indispensable()
        self.partial = 0
        self.undecided = 0

    def run(self, operator: Operator) -> None:
        count, passed = Count(), []
        for mutant in mutants(operator, self._subject):
            results = self._judge.results(mutant.trace)
            status = self._judge.status(results)
            if status is CaseStatus.ERROR:
                self.undecided += 1
                continue
            green = self._judge.green(status, results)
            count.add(not green)
            if green:
                passed.append(mutant)
            else:
                self.partial += status is CaseStatus.PARTIAL
                self.needed |= self._judge.needed(results)
        if count.tried:
            self._keep(operator, count, passed)

    def _keep(self, operator: Operator, count: Count, passed: list[Mutant]) -> None:
        """In the kill rate, or told apart where no field of such a suite could have noticed."""
        usable = noticing(operator, self._spelling)
        if usable and not operator.beyond:
            self.operators[operator.name] = count.killed, count.tried
            self.count.add(count.killed, count.tried)
            self.survivors += [self._survivor(operator, mutant, blind=not count.killed) for mutant in passed]
        else:
            self.apart[operator.name] = count.killed, count.tried
            self.unseen += [Unseen(operator.name, mutant.change, _help(operator, usable)) for mutant in passed]

    def _survivor(self, operator: Operator, mutant: Mutant, *, blind: bool) -> Survivor:
        field, hint = remedy(self._subject, operator, mutant, self._spelling, blind=blind)
        seen = evidence(self._subject.trace, mutant.trace)
        return Survivor(operator.name, mutant.change, seen, field, hint)


def _help(operator: Operator, usable: Sequence[str]) -> str:
    """What could notice it, if not a field that the suite may use as it is."""
    if usable:
        return f"{usable[0]} for the whole answer, from \\A to \\Z"
    return f"{operator.fields[0]}, which this version does not know"


def _redundant(subject: Subject, needed: set[int]) -> Iterator[str]:
    """The checks that no kill hangs on; not that there is an answer, which is always judged."""
    for index, spec in enumerate(subject.case.checks):
        implied = spec.name == Outcome.name and subject.case.outcome == DEFAULT_OUTCOME
        if index not in needed and not implied:
            yield spec.path


def _brittle(subject: Subject, judge: Baseline) -> Iterator[Brittle]:
    for equivalent in EQUIVALENTS:
        trace = equivalent.change(subject)
        if trace is None or trace == subject.trace:
            continue
        for spec, result in zip(subject.case.checks, judge.results(trace), strict=True):
            if result.status is not Status.PASSED:
                advice = equivalent.advice.get(spec.name, equivalent.advice[""])
                yield Brittle(equivalent.name, spec.path, result.expected, advice)
