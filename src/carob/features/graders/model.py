"""What an audit of a grader shows: wrong traces that it accepted, right ones that it refused, biases, and the gate."""

from __future__ import annotations

from msgspec import Struct

from carob.errors import ExitCode
from carob.features.audit.model import Rate
from carob.model.trace import Trace
from carob.scoring.intervals import Estimate


class AcceptedMutant(Struct, frozen=True, kw_only=True):
    """A wrong trace that the grader accepted, or one that may be right; `id` is what a review names it by."""

    id: str
    trace_id: str
    operator: str
    change: str
    doubt: str = ""
    seen: str = ""
    """The first part of the trace that differs, in a line."""
    score: float | None = None
    size: int = 0
    trace: Trace


class OperatorFigures(Struct, frozen=True, kw_only=True):
    """One operator: `caught` of the wrong traces, and the same of those that may be right.

    `reviewed`: of those that may be right, so many were reviewed; what a review calls wrong is in `caught`.
    `unmoved`: wrong traces with exactly the score of the recorded one, where the grader gives scores.
    """

    name: str
    about: str
    claim: str
    caught: Rate
    uncertain: int = 0
    uncertain_refused: int = 0
    reviewed: int = 0
    unmoved: int = 0


class ClaimFigures(Struct, frozen=True, kw_only=True):
    """A kind of claim: how many wrong traces about it were caught; the interval takes a trace as the unit."""

    name: str
    about: str
    caught: int
    tried: int
    share: Estimate
    bound: float | None = None
    """The share that a gate asks for."""

    @property
    def is_met(self) -> bool:
        return self.bound is None or (self.tried > 0 and self.share.low >= self.bound)


class FormFigures(Struct, frozen=True):
    """Right traces in one form, and how many were refused; idle agents of one kind, and how many were accepted."""

    name: str
    tried: int
    wrong: int
    example: str = ""


class TraceFigures(Struct, frozen=True):
    """One recorded trace: how many certainly wrong ones were made of it, and accepted, by operator."""

    trace_id: str
    tried: int
    accepted: dict[str, int]

    @property
    def accepted_count(self) -> int:
        return sum(self.accepted.values())


class Bias(Struct, frozen=True, kw_only=True):
    """What sways the grader although it should not, with the figures that show it."""

    name: str
    says: str
    evidence: str


class GraderFault(Struct, frozen=True, kw_only=True):
    """A question to which the grader gave no verdict."""

    trace_id: str
    asked: str
    kind: str
    error: str
    printed: str = ""


class UnauditedTrace(Struct, frozen=True):
    """A recorded trace that the grader does not accept: nothing can be made wrong of it."""

    trace_id: str
    reason: str


class GraderAudit(Struct, frozen=True, kw_only=True):
    """The whole audit of one grader."""

    grader: str
    sources: tuple[str, ...]
    seed: int
    audited: int = 0
    unaudited: int = 0
    operators: tuple[OperatorFigures, ...] = ()
    claims: tuple[ClaimFigures, ...] = ()
    idle: tuple[FormFigures, ...] = ()
    forms: tuple[FormFigures, ...] = ()
    biases: tuple[Bias, ...] = ()
    asked_again: int = 0
    flipped: int = 0
    gives_scores: bool = False
    calls: int = 0
    kept: int = 0
    """Questions that were answered by verdicts that had been kept."""
    seconds: float = 0.0
    cost_usd: float | None = None
    faults: int = 0
    has_gate: bool = False
    unknown_reviews: int = 0
    traces: tuple[TraceFigures, ...] = ()
    """In the order of the sources; of very many the first ones."""
    accepted: tuple[AcceptedMutant, ...] = ()
    """The shortest of each operator."""
    fault_examples: tuple[GraderFault, ...] = ()
    unaudited_examples: tuple[UnauditedTrace, ...] = ()

    @property
    def idle_passes(self) -> int:
        return sum(form.wrong for form in self.idle)

    @property
    def unmet(self) -> tuple[str, ...]:
        """Why the grader may not gate; nothing if it may, or if no gate was asked for."""
        if not self.has_gate:
            return ()
        why = []
        if not self.audited:
            why.append("it accepted no recorded trace, so nothing could be made wrong")
        for claim in self.claims:
            if not claim.is_met:
                bounds = f"{cut(claim.share.low)} at the lowest" if claim.tried else "nothing was tried"
                why.append(f"claims about {claim.name}: {bounds}, {claim.bound:g} asked for")
        if self.idle_passes:
            why.append(f"{self.idle_passes} idle agent{'s pass' if self.idle_passes > 1 else ' passes'}")
        if self.faults:
            why.append(f"{self.faults} question{'s' if self.faults > 1 else ''} got no verdict")
        if self.flipped:
            why.append(f"{self.flipped} of {self.asked_again} verdicts flipped on the same input")
        return tuple(why)

    @property
    def exit_code(self) -> ExitCode:
        if not self.audited:
            return ExitCode.NOTHING_SELECTED
        return ExitCode.FAILED if self.unmet else ExitCode.OK


def cut(share: float) -> str:
    """A share with two digits, cut and not rounded: what is under a bound must not look as if it met it."""
    return f"{int(share * 100 + 1e-9) / 100:.2f}"
