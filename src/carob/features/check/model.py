"""What a check of recorded conversations gives: figures of each rule, over time, with examples; and its gate."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from msgspec import Struct

from carob.errors import ExitCode
from carob.rules.events import RuleVerdict
from carob.scoring.intervals import Estimate

GroupKey: TypeAlias = Literal["day", "week", "model", "version", "user"]
GROUP_KEYS: Final[tuple[GroupKey, ...]] = ("day", "week", "model", "version", "user")
IN_TIME: Final = ("day", "week")
"""Groups that come one after the other."""
NOT_SAID: Final = "(not recorded)"
"""The group of conversations of which the export does not say which it is."""
Side: TypeAlias = Literal["met", "broken", "undecided"]


class Figures(Struct, frozen=True):
    """How often a rule came out in each way. `share`: broken among those that were decided, with its interval."""

    held: int = 0
    broken: int = 0
    unknown: int = 0
    share: Estimate | None = None

    @property
    def judged(self) -> int:
        """The conversations that decided it."""
        return self.held + self.broken

    @property
    def applied(self) -> int:
        """The conversations that it was judged in, or may have been."""
        return self.judged + self.unknown


class GroupFigures(Struct, frozen=True):
    """The figures of one day, week, model, version or user."""

    name: str
    figures: Figures


class RuleChange(Struct, frozen=True):
    """A change that chance does not explain: since a day or week, or between a group and all others."""

    group: str
    before: Figures
    after: Figures
    difference: Estimate
    looks: int
    """So many places were looked at; the interval is corrected for all of them."""


class ConversationExample(Struct, frozen=True):
    """A conversation that broke a rule: which it is, and at what. All of it is masked unless the user says not to."""

    id: str
    source: str
    why: str
    started_at: float | None = None
    user: str = ""
    findings: int = 1


class UnknownCause(Struct, frozen=True):
    """Why a rule could not be judged, in how many conversations, and an example."""

    cause: str
    conversations: int
    example: str


class ShareGate(Struct, frozen=True):
    """A bound on the share of conversations that break a rule, and whether what was seen decides it."""

    rule: str
    side: Side
    low: float
    high: float


class RuleReport(Struct, frozen=True):
    """What is to be said of one rule."""

    id: str
    why: str
    figures: Figures
    groups: tuple[GroupFigures, ...] = ()
    changes: tuple[RuleChange, ...] = ()
    causes: tuple[UnknownCause, ...] = ()
    first: tuple[ConversationExample, ...] = ()
    worst: tuple[ConversationExample, ...] = ()
    gate: ShareGate | None = None


class Selected(Struct, frozen=True):
    """How many conversations there were, and why some were not judged."""

    read: int = 0
    too_old: int = 0
    no_time: int = 0
    """Not judged because `since` asks for a time that the export does not say."""
    other: int = 0
    """`where` does not hold for them."""
    undecided: int = 0
    """`where` could not be evaluated for them."""
    why_undecided: str = ""
    not_drawn: int = 0
    """Left out by `sample`."""

    @property
    def fitting(self) -> int:
        """Those that are to be judged if a sample does not leave them out."""
        return self.read - self.too_old - self.no_time - self.other - self.undecided


class CheckReport(Struct, frozen=True, kw_only=True):
    """What share of recorded conversations broke a rule, which ones, and since when."""

    sources: tuple[str, ...]
    policies: tuple[str, ...]
    formats: tuple[str, ...]
    selected: Selected = Selected()
    judged: int
    rules: tuple[RuleReport, ...]
    clean: int
    """Conversations in which a rule was triggered, none was broken and none is unknown."""
    broken: int
    """Conversations that broke a rule."""
    unknown: int
    """Of the others, those in which a rule is unknown."""
    untriggered: int
    """Conversations in which nothing triggered a rule."""
    unread: int = 0
    """Of the unknown ones, those that could not be read."""
    unread_at: tuple[str, ...] = ()
    """The places of the first of them, and why."""
    passed_over: tuple[str, ...] = ()
    """Files of folders that hold no recordings."""
    unguarded: int = 0
    """Conversations in which a call ran that the guard, which wrote them down, was not asked about."""
    first_unguarded: ConversationExample | None = None
    by: GroupKey | None = None
    unit: Literal["conversation", "user"] = "conversation"
    """What intervals count as one: conversations of one user are alike."""
    users: int = 0
    without_session: int = 0
    """Conversations of which the export does not say which traces belong together."""
    first_at: float | None = None
    last_at: float | None = None
    max_broken: float | None = None
    allow_unknown: bool = False
    masked: bool = True
    kept: str = ""
    """How many conversations are in the journal, if one was written."""
    seconds: float = 0.0

    @property
    def tested(self) -> tuple[RuleReport, ...]:
        """The rules that something triggered, or may have."""
        return tuple(rule for rule in self.rules if rule.figures.applied)

    @property
    def exit_code(self) -> ExitCode:
        """5 if nothing was judged; 1 if a gate is not met, or without one if a rule is broken or unknown.

        A guard that was passed by is always 1.
        """
        if self.unguarded:
            return ExitCode.FAILED
        if not self.tested:
            return ExitCode.NOTHING_SELECTED
        if self.max_broken is not None:
            met = all(rule.gate is None or rule.gate.side == "met" for rule in self.rules)
            return ExitCode.OK if met else ExitCode.FAILED
        return ExitCode.FAILED if self.broken or (self.unknown and not self.allow_unknown) else ExitCode.OK


Outcomes: TypeAlias = list[tuple[int, RuleVerdict]]
"""The rules that something in a conversation triggered, by their numbers, and how each came out."""
