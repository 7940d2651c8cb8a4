"""What an audit of a suite found: which wrong traces its checks let through, and which right ones they refuse."""

from __future__ import annotations

from msgspec import Struct

from carob.errors import ExitCode
from carob.scoring.intervals import EXACT


class Rate(Struct, frozen=True):
    """Killed out of tried, with a 95% Clopper-Pearson interval."""

    killed: int
    tried: int
    low: float
    high: float
    method: str = EXACT

    @property
    def value(self) -> float:
        """The share that was killed. Where nothing was tried, nothing is proved."""
        return self.killed / self.tried if self.tried else 0.0


class Survivor(Struct, frozen=True):
    """A wrong trace that passes: what was changed, what the checks saw, and the field that would have caught it."""

    operator: str
    change: str
    evidence: str
    field: str
    hint: str


class Kill(Struct, frozen=True):
    """A wrong trace that is caught: what was changed, the checks that do not pass it, and those that it hangs on.

    Without one of the checks of `alone`, it would pass; where several catch it, none is needed.
    """

    operator: str
    change: str
    checks: tuple[str, ...]
    alone: tuple[str, ...] = ()


class Holding(Struct, frozen=True):
    """A check, how many wrong traces it catches, and those that only it holds."""

    check: str
    kills: int
    alone: tuple[str, ...] = ()


class UndetectableMutant(Struct, frozen=True):
    """A wrong trace that passes and that no field of such a suite could notice, or only one for the whole answer."""

    operator: str
    change: str
    help: str


class Brittle(Struct, frozen=True):
    """A right trace that no longer passes: the check that is too strict, and how to fix it."""

    equivalent: str
    check: str
    expected: str
    hint: str


class UnauditedCase(Struct, frozen=True):
    """A case that did not pass: a red baseline proves nothing."""

    case_id: str
    status: str
    reason: str


class CaseAudit(Struct, frozen=True, kw_only=True):
    """One case. `operators` holds killed and tried of each operator that had something to change.

    `apart` holds the same of operators that take no part in the rate, because no field of such a suite notices them, or
    only one that knows the whole answer; `unseen` are those of their mutants that pass.
    `controls` are the agents that do no work and pass all the same. `redundant` are the checks that no kill hangs on:
    without one of them alone, every mutant that is killed now would still be. `partial` are kills that leave the case
    PARTIAL, which a run may be set to accept; `undecided` are mutants that a check broke on.
    """

    case_id: str
    rate: Rate
    operators: dict[str, tuple[int, int]]
    survivors: tuple[Survivor, ...] = ()
    apart: dict[str, tuple[int, int]] = {}
    unseen: tuple[UndetectableMutant, ...] = ()
    controls: tuple[str, ...] = ()
    brittle: tuple[Brittle, ...] = ()
    redundant: tuple[str, ...] = ()
    kills: tuple[Kill, ...] = ()
    checks: tuple[str, ...] = ()
    """What the checks of the case are called, in their order."""
    partial: int = 0
    undecided: int = 0

    @property
    def holdings(self) -> tuple[Holding, ...]:
        """Which check catches what, in the order of the case."""
        return tuple(
            Holding(
                check,
                sum(check in kill.checks for kill in self.kills),
                tuple(f"{kill.operator}: {kill.change}" for kill in self.kills if check in kill.alone),
            )
            for check in self.checks
        )


class OperatorAudit(Struct, frozen=True):
    """One operator over all cases."""

    name: str
    about: str
    rate: Rate


class UnratedOperator(Struct, frozen=True):
    """An operator that takes no part in the rate: how many cases it was tried on, how many of them see nothing."""

    operator: str
    about: str
    cases: int = 0
    unseen: int = 0
    help: str = ""


class Remedy(Struct, frozen=True):
    """A field, and how many survivors in how many cases it would have caught."""

    field: str
    survivors: int
    cases: int


class AuditSummary(Struct, frozen=True, kw_only=True):
    """The audit in figures; a function of the journal and the seed. `blind` are the cases with something unseen."""

    journal: str
    suite: str
    target: str
    seed: int
    audited: int = 0
    set_aside: int = 0
    rate: Rate
    operators: tuple[OperatorAudit, ...]
    remedies: tuple[Remedy, ...]
    apart: tuple[UnratedOperator, ...]
    blind: int = 0
    survivors: int = 0
    controls: int = 0
    brittle: int = 0
    redundant: int = 0
    partial: int = 0
    undecided: int = 0

    def unmet(self, min_kill: float) -> tuple[str, ...]:
        """Why the suite is not proved; nothing if it is."""
        why = []
        if not self.audited:
            why.append("no case passed, so nothing could be audited")
        elif self.rate.value < min_kill:
            why.append(f"the kill rate {format_rate(self.rate)} is under {min_kill:g}")
        if self.controls:
            why.append(f"{self.controls} control{'s pass' if self.controls > 1 else ' passes'}")
        return tuple(why)

    def exit_code(self, min_kill: float) -> ExitCode:
        return ExitCode.FAILED if self.unmet(min_kill) else ExitCode.OK


class AuditReport(Struct, frozen=True, kw_only=True):
    """The whole audit."""

    summary: AuditSummary
    cases: tuple[CaseAudit, ...]
    set_aside: tuple[UnauditedCase, ...]


def format_rate(rate: Rate) -> str:
    """A rate with two digits, cut and not rounded: what is under a bound must not look as if it met it."""
    return f"{int(rate.value * 100 + 1e-9) / 100:.2f}"
