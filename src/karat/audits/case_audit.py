"""Auditing one case that passed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from karat.audits.controls import controls
from karat.audits.counts import Count
from karat.audits.equivalents import EQUIVALENTS
from karat.audits.evidence import evidence
from karat.audits.hints import Spelling, noticing, remedy
from karat.audits.judging import NOTHING_ALLOWED, Allowance, Baseline
from karat.audits.operators.base import Mutant, Operator, Subject, same
from karat.audits.operators.catalog import OPERATORS
from karat.audits.parts import CasePart, parts
from karat.checks.catalog import CheckCatalog
from karat.checks.outcome import Outcome
from karat.model.audit import Brittle, CaseAudit, Kill, Survivor, Unseen
from karat.model.suite import Case, CheckSpec
from karat.model.verdict import CaseStatus, CheckResult, Status
from karat.suites.formats.cases import DEFAULT_OUTCOME
from karat.text.json_answers import json_answer

PER_OPERATOR = 8
"""Mutants of one operator that are tried on one case; of more, a sample."""
MOST_MADE = 128
"""Mutants that a sample is drawn from: each holds the whole text, and a long one has thousands of places to change."""


def audit_case(
    subject: Subject,
    another: Subject | None,
    spelling: Spelling,
    catalog: CheckCatalog,
    allowance: Allowance = NOTHING_ALLOWED,
) -> CaseAudit:
    """Controls, mutants and equivalents of one case; `another` is the case whose answer the last control gives."""
    judge = Baseline(subject, catalog, allowance)
    trial = _Trial(judge, spelling, [_named(turn, spec) for turn, spec in subject.case.asked])
    pieces = list(parts(subject))
    for operator in OPERATORS:
        trial.run(operator, pieces)
    return CaseAudit(
        case_id=subject.case.id,
        rate=trial.count.rate,
        operators=trial.operators,
        survivors=tuple(trial.survivors),
        apart=trial.apart,
        unseen=tuple(trial.unseen),
        controls=tuple(c.name for c in controls(subject, another) if judge.passes(c.trace)),
        brittle=tuple(found for part in pieces for found in _brittle(part, judge, subject.case)),
        redundant=tuple(_redundant(subject, trial.needed)),
        kills=tuple(trial.kills),
        checks=tuple(trial.names),
        partial=trial.partial,
        undecided=trial.undecided,
    )


def mutants(operator: Operator, subject: Subject) -> list[Mutant]:
    """What an operator makes of a case: nothing that changes nothing, and of many a sample."""
    changed = (mutant for mutant in operator.mutants(subject) if not same(mutant.trace, subject.trace))
    made = list(islice(changed, MOST_MADE))
    if len(made) > PER_OPERATOR:
        made = [made[i] for i in sorted(subject.chance.sample(range(len(made)), PER_OPERATOR))]
    return made


class _Trial:
    """The mutants of one case so far."""

    def __init__(self, judge: Baseline, spelling: Spelling, names: Sequence[str]) -> None:
        self._judge = judge
        self._spelling = spelling
        self.names = names
        self.kills: list[Kill] = []
        self.count = Count()
        self.operators: dict[str, tuple[int, int]] = {}
        self.survivors: list[Survivor] = []
        self.apart: dict[str, tuple[int, int]] = {}
        self.unseen: list[Unseen] = []
        self.needed = judge.indispensable()
        self.partial = 0
        self.undecided = 0

    def run(self, operator: Operator, pieces: Sequence[CasePart]) -> None:
        count, passed = Count(), []
        tried = [(part, mutant) for part in pieces for mutant in mutants(operator, part.subject)]
        for piece, mutant in tried:
            results = self._judge.results(piece.within(mutant.trace))
            status = self._judge.status(results)
            if status is CaseStatus.ERROR:
                self.undecided += 1
                continue
            green = self._judge.green(status, results)
            count.add(not green)
            if green:
                passed.append((piece, mutant))
            else:
                self.partial += status is CaseStatus.PARTIAL
                self._killed(operator, piece.named(mutant.change), results)
        if count.tried:
            self._keep(operator, count, passed)

    def _killed(self, operator: Operator, change: str, results: Sequence[CheckResult]) -> None:
        needed = self._judge.needed(tuple(results))
        self.needed |= needed
        bad = [name for name, result in zip(self.names, results, strict=True) if result.status is not Status.PASSED]
        alone = [self.names[index] for index in sorted(needed)]
        self.kills.append(Kill(operator.name, change, tuple(bad), tuple(alone)))

    def _keep(self, operator: Operator, count: Count, passed: Sequence[tuple[CasePart, Mutant]]) -> None:
        """In the kill rate, or told apart where no field of such a suite could have noticed."""
        usable = noticing(operator, self._spelling)
        if usable and not operator.beyond:
            self.operators[operator.name] = count.killed, count.tried
            self.count.add(count.killed, count.tried)
            self.survivors += [self._survivor(operator, *pair, blind=not count.killed) for pair in passed]
        else:
            self.apart[operator.name] = count.killed, count.tried
            told = _help(operator, usable)
            self.unseen += [Unseen(operator.name, part.named(mutant.change), told) for part, mutant in passed]

    def _survivor(self, operator: Operator, part: CasePart, mutant: Mutant, *, blind: bool) -> Survivor:
        field, hint = remedy(part.subject, operator, mutant, self._spelling, blind=blind)
        seen = evidence(part.subject.trace, mutant.trace)
        return Survivor(operator.name, part.named(mutant.change), seen, field, hint)


def _help(operator: Operator, usable: Sequence[str]) -> str:
    """What could notice it, if not a field that the suite may use as it is."""
    if usable:
        return f"{usable[0]} for the whole answer, from \\A to \\Z"
    return f"{operator.fields[0]}, which this version does not know"


def _redundant(subject: Subject, needed: set[int]) -> Iterator[str]:
    """The checks that no kill hangs on; not that there is an answer, which is always judged."""
    for index, (turn, spec) in enumerate(subject.case.asked):
        implied = spec.name == Outcome.name and subject.case.outcome == DEFAULT_OUTCOME
        if index not in needed and not implied:
            yield _named(turn, spec)


def _named(turn: int | None, spec: CheckSpec) -> str:
    return spec.path if turn is None else f"turn {turn}: {spec.path}"


def _brittle(part: CasePart, judge: Baseline, case: Case) -> Iterator[Brittle]:
    subject = part.subject
    # Other letters or signs make another value, or none, of JSON.
    in_json = isinstance(json_answer(subject.answer).value, dict | list)
    for equivalent in EQUIVALENTS:
        trace = equivalent.change(subject)
        if trace is None or trace == subject.trace or (in_json and trace.final_message != subject.answer):
            continue
        for (_, spec), result in zip(case.asked, judge.results(part.within(trace)), strict=True):
            if result.status is not Status.PASSED:
                advice = equivalent.advice.get(spec.name, equivalent.advice[""])
                yield Brittle(equivalent.name, part.named(spec.path), result.expected, advice)
