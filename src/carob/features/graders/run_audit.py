"""Auditing a grader: recorded traces that it accepts, made wrong in one way at a time, and given to it again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappush, heappushpop
from itertools import zip_longest
from pathlib import Path
from typing import Final

from msgspec import Struct

from carob.evidence.exports.record import UNREAD
from carob.features.audit.case_audit import Count
from carob.features.audit.operators.base import Subject
from carob.features.audit.operators.catalog import EVERY_OPERATOR
from carob.features.audit.run_audit import differ
from carob.features.audit.survivors import evidence
from carob.features.graders import model
from carob.features.graders.asking import Asker, Reviews, VerdictStore, read_reviews
from carob.features.graders.base import Grade, Grader
from carob.features.graders.biases import BiasTally
from carob.features.graders.mutants import CLAIMS, GraderMutant, MutantMaker, claim_of
from carob.model.trace import Trace
from carob.redaction.redactor import Redactor
from carob.scoring.intervals import Estimate, pass_rate

EXAMPLES: Final = 20
"""Accepted traces of one operator, errors and traces that were not audited, of which the report says more."""
MOST_TRACES: Final = 1000
ABOUT: Final = {operator.name: operator.about for operator in EVERY_OPERATOR} | {
    "calls-gone": "no tool was called at all, and the answer is the same"
}
REVIEWED: Final = "reviewed as right"
ANOTHER: Final = "idle: gives the answer of another conversation"


class GraderAuditOptions(Struct, frozen=True):
    """What is tried, and what is asked for. `min_caught`: bounds by the name of a claim, or for all under `all`."""

    seed: int = 0
    asks: int = 3
    min_caught: Mapping[str, float] = {}
    store: Path | None = None
    reviews: Path | None = None
    purposes: tuple[str, ...] = ()


@dataclass
class _Operator:
    """The figures of one operator so far."""

    certain: Count = field(default_factory=Count)
    figures: Counter[str] = field(default_factory=Counter)
    shortest: list[tuple[int, str, model.AcceptedMutant]] = field(default_factory=list)


OnProgress = Callable[[int, int], None]
"""Is called with how many traces were taken, and how many calls of the grader that took."""


class GraderAuditor:
    """Takes one trace after the other, and keeps figures and the shortest examples."""

    def __init__(
        self,
        grader: Grader,
        maker: MutantMaker,
        asker: Asker,
        reviews: Reviews,
        options: GraderAuditOptions,
        redactor: Redactor,
    ) -> None:
        self._grader = grader
        self._maker = maker
        self._asker = asker
        self._reviews = reviews
        self._options = options
        self._operators: dict[str, _Operator] = {}
        self._claims: dict[str, Counter[tuple[int, int]]] = {}
        self._idle: dict[str, Counter[str]] = {}
        self._forms: dict[str, Counter[str]] = {}
        self._form_examples: dict[str, str] = {}
        self._biases = BiasTally()
        self._redactor = redactor
        self._faults: list[model.GraderFault] = []
        self._unaudited: list[model.UnauditedTrace] = []
        self._counts: Counter[str] = Counter()
        self._gives_scores = False
        self._another: Subject | None = None
        self._of_trace: dict[str, list[int]] = {}
        self._accepted_of_trace: Counter[str] = Counter()
        self._traces: list[model.TraceFigures] = []
        self._score: float | None = None

    def add(self, subject: Subject) -> None:
        """Audit the grader on one recorded trace."""
        if subject.trace.error is not None:
            error = subject.trace.error
            ended = f"the conversation ended in an error: {error.kind}"
            self._set_aside(subject, f"it could not be read: {error.message}" if error.kind == UNREAD else ended)
            return
        self._asker.turn_to(subject.trace)
        try:
            case = self._grader.find_case(subject.trace)
        except LookupError as error:
            self._set_aside(subject, str(error.args[0]))
            return
        subject = subject if case is None else Subject(case, subject.trace, subject.seed)
        grade = self._ask(subject, "the recorded trace", subject.trace)[0]
        if not grade.passed:
            printed = f": {grade.printed.strip()}" if grade.printed.strip() else ""
            self._set_aside(subject, grade.error or f"the grader does not accept it{printed}")
            return
        self._counts["audited"] += 1
        self._gives_scores = self._gives_scores or grade.score is not None
        self._of_trace, self._accepted_of_trace, self._score = {}, Counter(), grade.score
        self._ask_again(subject, "the recorded trace", subject.trace)
        self._try_idle(subject)
        for mutant in self._maker.make_wrong(subject):
            self._try_wrong(subject, mutant)
        for mutant in self._maker.make_right(subject):
            self._try_right(subject, mutant.operator, mutant)
        self._try_decorated(subject)
        for claim, (caught, tried) in self._of_trace.items():
            self._claims.setdefault(claim, Counter())[caught, tried] += 1
        if len(self._traces) < MOST_TRACES:
            tried = sum(counted for _, counted in self._of_trace.values())
            self._traces.append(model.TraceFigures(subject.case.id, tried, dict(self._accepted_of_trace)))
        self._another = subject

    def result(self, grader: str, sources: Sequence[str]) -> model.GraderAudit:
        """The figures, once every trace was added."""
        examples = self._shortest()
        return model.GraderAudit(
            grader=grader,
            sources=tuple(sources),
            seed=self._options.seed,
            audited=self._counts["audited"],
            unaudited=self._counts["unaudited"],
            operators=tuple(self._operator_figures()),
            claims=tuple(self._claim_figures()),
            idle=tuple(self._form_figures(self._idle)),
            forms=tuple(self._form_figures(self._forms)),
            biases=tuple(self._biases.biases()),
            asked_again=self._biases.asked_again,
            flipped=self._biases.flipped,
            gives_scores=self._gives_scores,
            calls=self._asker.calls,
            kept=self._asker.kept,
            seconds=round(self._asker.seconds, 3),
            cost_usd=self._asker.cost_usd,
            faults=self._counts["faults"],
            has_gate=bool(self._options.min_caught),
            unknown_reviews=self._reviews.unknown,
            traces=tuple(self._traces),
            accepted=tuple(examples),
            fault_examples=tuple(self._faults),
            unaudited_examples=tuple(self._unaudited),
        )

    def _shortest(self) -> Iterator[model.AcceptedMutant]:
        """The shortest accepted trace of each operator, then the next one of each."""
        ranked = [sorted(self._tally(name).shortest, key=lambda entry: entry[:2], reverse=True) for name in ABOUT]
        for entries in zip_longest(*ranked):
            yield from (entry[2] for entry in entries if entry is not None)

    def _ask(self, subject: Subject, asked: str, trace: Trace, again: int = 0) -> tuple[Grade, str]:
        """The verdict on a trace, and its id; a question without one is noted."""
        grade, digest = self._asker.ask(trace, again)
        if not grade.is_verdict:
            self._note_fault(subject, asked, grade)
        return grade, digest.hex()[:12]

    def _note_fault(self, subject: Subject, asked: str, grade: Grade) -> None:
        self._counts["faults"] += 1
        text = self._redactor.text
        fault = model.GraderFault(
            trace_id=subject.case.id,
            asked=text(asked),
            kind=grade.kind or "bad-verdict",
            error=text(grade.error),
            printed=text(grade.printed),
        )
        if len(self._faults) < EXAMPLES and fault not in self._faults:
            self._faults.append(fault)

    def _ask_again(self, subject: Subject, asked: str, trace: Trace) -> None:
        grades = [self._ask(subject, asked, trace, again)[0] for again in range(self._options.asks)]
        verdicts = {grade.passed for grade in grades if grade.passed is not None and grade.is_verdict}
        if self._options.asks > 1 and verdicts:
            self._biases.add_repeated(verdicts)

    def _try_idle(self, subject: Subject) -> None:
        another = self._another if self._another is not None and differ(self._another, subject) else None
        for mutant in self._maker.make_idle(subject, another):
            grade, _ = self._ask(subject, mutant.change, mutant.trace)
            if not grade.is_verdict:
                continue
            name = ANOTHER if mutant.operator.startswith("idle: answers") else mutant.operator
            self._count_form(self._idle, name, subject, wrong=bool(grade.passed))
            self._biases.add_idle(bool(grade.passed))
            if name.endswith("nothing"):
                self._ask_again(subject, mutant.change, mutant.trace)

    def _try_wrong(self, subject: Subject, mutant: GraderMutant) -> None:
        grade, name = self._ask(subject, f"{mutant.operator}: {mutant.change}", mutant.trace)
        if not grade.is_verdict:
            return
        review = self._reviews.get(name) if mutant.doubt else None
        tally, accepted = self._tally(mutant.operator), bool(grade.passed)
        tally.figures["reviewed"] += review is not None
        if review is True:
            self._count_form(self._forms, REVIEWED, subject, wrong=not accepted)
            return
        if mutant.doubt and review is None:
            tally.figures["uncertain"] += 1
            tally.figures["uncertain_refused"] += not accepted
        else:
            tally.certain.add(not accepted)
            claim = claim_of(mutant.operator)
            self._biases.add_wrong(claim, accepted)
            counted = self._of_trace.setdefault(claim, [0, 0])
            counted[0] += not accepted
            counted[1] += 1
            self._accepted_of_trace.update([mutant.operator] if accepted else [])
            tally.figures["unmoved"] += grade.score is not None and grade.score == self._score
        if accepted:
            self._keep(subject, mutant if review is None else mutant._replace(doubt=""), name, grade)

    def _keep(self, subject: Subject, mutant: GraderMutant, name: str, grade: Grade) -> None:
        """Keep an accepted trace if it is among the shortest: certainly wrong ones come first."""
        shortest = self._tally(mutant.operator).shortest
        size = len(mutant.trace.final_message) + sum(len(str(call.arguments)) + 20 for call in mutant.trace.tool_calls)
        rank = -size - (1 << 40) * bool(mutant.doubt)
        if len(shortest) == EXAMPLES and (rank, name) <= shortest[0][:2]:
            return
        example = model.AcceptedMutant(
            id=name,
            trace_id=subject.case.id,
            operator=mutant.operator,
            change=mutant.change,
            doubt=mutant.doubt,
            seen=evidence(subject.trace, mutant.trace),
            score=grade.score,
            size=size,
            trace=mutant.trace,
        )
        if any(name == entry[1] for entry in shortest):
            return
        (heappushpop if len(shortest) == EXAMPLES else heappush)(shortest, (rank, name, example))

    def _try_right(self, subject: Subject, form: str, mutant: GraderMutant) -> None:
        grade, _ = self._ask(subject, f"{form}: {mutant.change}", mutant.trace)
        if grade.is_verdict:
            self._count_form(self._forms, form, subject, wrong=not grade.passed)

    def _try_decorated(self, subject: Subject) -> None:
        for pair in self._maker.decorate(subject):
            before = self._ask(subject, f"{pair.base}, as long", pair.control)[0]
            base = self._ask(subject, pair.base, pair.trace)[0]
            after = self._ask(subject, f"{pair.base}, with {pair.bias}", pair.decorated)[0]
            if before.is_verdict and base.is_verdict and after.is_verdict:
                refused = not before.passed and not base.passed
                verdicts = ((not refused, before.score), (bool(after.passed), after.score))
                self._biases.add_pair(pair.bias, *verdicts, self._score)

    def _count_form(self, forms: dict[str, Counter[str]], name: str, subject: Subject, *, wrong: bool) -> None:
        counts = forms.setdefault(name, Counter())
        counts["tried"] += 1
        counts["wrong"] += wrong
        if wrong:
            self._form_examples.setdefault(name, subject.case.id)

    def _set_aside(self, subject: Subject, reason: str) -> None:
        self._counts["unaudited"] += 1
        if len(self._unaudited) < EXAMPLES:
            self._unaudited.append(model.UnauditedTrace(subject.case.id, self._redactor.text(reason)))

    def _tally(self, name: str) -> _Operator:
        return self._operators.setdefault(name, _Operator())

    def _operator_figures(self) -> Iterator[model.OperatorFigures]:
        for name, about in ABOUT.items():
            tally = self._tally(name)
            if tally.certain.tried or tally.figures["uncertain"] or tally.figures["reviewed"]:
                figures = {key: tally.figures[key] for key in ("uncertain", "uncertain_refused", "reviewed", "unmoved")}
                yield model.OperatorFigures(
                    name=name, about=about, claim=claim_of(name), caught=tally.certain.rate, **figures
                )

    def _claim_figures(self) -> Iterator[model.ClaimFigures]:
        bounds = self._options.min_caught
        for name, about in CLAIMS.items():
            counts = self._claims.get(name, Counter())
            bound = bounds.get(name, bounds.get("all") if counts else None)
            if counts or bound is not None:
                caught = sum(part * count for (part, _), count in counts.items())
                tried = sum(whole * count for (_, whole), count in counts.items())
                share = (
                    pass_rate({((runs, 1),): count for runs, count in counts.items()}) if counts else Estimate(0, 0, 1)
                )
                rounded = share._replace(
                    low=round(share.low, 4), high=round(share.high, 4), value=round(share.value, 4)
                )
                yield model.ClaimFigures(name=name, about=about, caught=caught, tried=tried, share=rounded, bound=bound)

    def _form_figures(self, forms: Mapping[str, Counter[str]]) -> Iterator[model.FormFigures]:
        for name, counts in forms.items():
            yield model.FormFigures(name, counts["tried"], counts["wrong"], self._form_examples.get(name, ""))


def audit_grader(
    grader: Grader,
    spec: str,
    subjects: Iterable[Subject],
    sources: Sequence[str],
    declared: Mapping[str, tuple[str, ...]],
    options: GraderAuditOptions,
    redactor: Redactor,
    on_progress: OnProgress | None = None,
) -> model.GraderAudit:
    """Audit a grader on recorded traces; it is closed in the end."""
    store = None
    try:
        reviews = read_reviews(options.reviews)
        store = VerdictStore(options.store) if options.store is not None else None
        asker = Asker(grader, store)
        auditor = GraderAuditor(grader, MutantMaker(declared, options.purposes), asker, reviews, options, redactor)
        for number, subject in enumerate(subjects, 1):
            auditor.add(subject)
            if on_progress is not None:
                on_progress(number, asker.calls)
        return auditor.result(spec, sources)
    finally:
        grader.close()
        if store is not None:
            store.close()
