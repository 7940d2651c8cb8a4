"""What a suite and its runs reach of what is declared. Not observed is never covered."""

from __future__ import annotations

from msgspec import Struct

from carob.errors import ExitCode


class CoveredShare(Struct, frozen=True):
    """So many of so many."""

    part: int
    whole: int

    @property
    def value(self) -> float:
        """Of nothing, nothing is covered."""
        return self.part / self.whole if self.whole else 0.0


class ValueClass(Struct, frozen=True):
    """One class of the values that a schema allows, and how many calls had such a value."""

    name: str
    calls: int = 0


class ArgumentCoverage(Struct, frozen=True, kw_only=True):
    """One argument of a tool: the classes of its schema, and how many cases expect a value of it."""

    name: str
    classes: tuple[ValueClass, ...]
    asserted: int = 0

    @property
    def missed(self) -> tuple[str, ...]:
        """The classes that no call had."""
        return tuple(entry.name for entry in self.classes if not entry.calls)


class ToolCoverage(Struct, frozen=True, kw_only=True):
    """One tool: what was seen of it, and what cases expect of it.

    `offered` of None: what was offered was not recorded. `judged`: of the cases that require a call, those of which a
    run decided it. `alternative`: cases in which another tool would do as well.
    """

    name: str
    offered: bool | None = None
    called: int = 0
    succeeded: int = 0
    failed: int = 0
    refused: int = 0
    arguments_unseen: int = 0
    asserted: int = 0
    judged: int = 0
    alternative: int = 0
    forbidden: int = 0
    is_effect: bool = False
    called_in: str = ""
    """The first case of the suite in which it was called."""
    arguments: tuple[ArgumentCoverage, ...] = ()

    @property
    def is_of_agent(self) -> bool:
        """Whether the agent has it, as far as is known: a name that a case only forbids may be that of no tool."""
        if self.offered is not None or self.called:
            return bool(self.offered or self.called)
        return bool(self.asserted or self.is_effect)


class EffectCoverage(Struct, frozen=True):
    """One entry of `effects`: calls that did it, calls that came to nothing, and answers that claim it."""

    name: str
    done: int = 0
    not_done: int = 0
    claimed: int = 0


class JudgedCoverage(Struct, frozen=True, kw_only=True):
    """A rule, a key of `expected` or an outcome: the cases that have it, and how the runs came out."""

    name: str
    cases: int = 0
    passed: int = 0
    failed: int = 0
    unknown: int = 0
    not_triggered: int = 0

    @property
    def decided(self) -> int:
        return self.passed + self.failed


class FaultCoverage(Struct, frozen=True):
    """One kind of fault: the cases that declare it, and how many calls it landed on."""

    name: str
    cases: int = 0
    landed: int = 0


class Gap(Struct, frozen=True):
    """A tool that no case looks at: what was seen of it, where the line belongs, and the line to add."""

    tool: str
    seen: str
    where: str
    line: str


class UnobservedPart(Struct, frozen=True):
    """What could not be seen, in how many conversations, and how to see it."""

    what: str
    why: str
    fix: str = ""


class UnlikeKind(Struct, frozen=True):
    """A kind of conversations that no case resembles: its tools and how they came out, how many, and one of them."""

    tools: tuple[str, ...]
    conversations: int
    example: str


class Coverage(Struct, frozen=True, kw_only=True):
    """The rows of everything that is declared, with the two lists to act on."""

    suite: str
    cases: int
    runs: tuple[str, ...] = ()
    conversations: int = 0
    others: int = 0
    """The conversations among them that are of no case of the suite: their calls count, their checks do not."""
    tools: tuple[ToolCoverage, ...] = ()
    effects: tuple[EffectCoverage, ...] = ()
    rules: tuple[JudgedCoverage, ...] = ()
    faults: tuple[FaultCoverage, ...] = ()
    untried_faults: tuple[str, ...] = ()
    keys: tuple[JudgedCoverage, ...] = ()
    outcomes: tuple[JudgedCoverage, ...] = ()
    unasserted: tuple[Gap, ...] = ()
    """Called, but never asserted."""
    uncalled: tuple[Gap, ...] = ()
    """Offered, but never called."""
    unobserved: tuple[UnobservedPart, ...] = ()
    against: int = 0
    """The conversations of `--against`."""
    unlike: tuple[UnlikeKind, ...] = ()
    """Of these, the kinds that no case resembles."""
    more_unlike: int = 0
    """So many further kinds have no row."""

    @property
    def asserted(self) -> CoveredShare:
        """Of the agent's tools, those of which a case requires a call; where there are runs, as one of them decided."""
        tools = [tool for tool in self.tools if tool.is_of_agent]
        part = sum(bool(tool.judged if self.runs else tool.asserted) for tool in tools)
        return CoveredShare(part, len(tools))

    @property
    def classes(self) -> CoveredShare:
        """Of the classes of all arguments, those that a call had."""
        classes = [entry for tool in self.tools for argument in tool.arguments for entry in argument.classes]
        return CoveredShare(sum(bool(entry.calls) for entry in classes), len(classes))

    def unmet(self, min_asserted: float | None) -> str:
        """Why the gate is not met; nothing if it is, or if there is none."""
        share = self.asserted
        if min_asserted is None or (share.whole and share.value >= min_asserted):
            return ""
        if not share.whole:
            return "no tool is known, so nothing is asserted"
        return f"{share.part} of {share.whole} tools are asserted, which is under {min_asserted:g}"

    def exit_code(self, min_asserted: float | None = None) -> ExitCode:
        return ExitCode.FAILED if self.unmet(min_asserted) else ExitCode.OK
