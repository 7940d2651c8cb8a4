"""What a monitor is fed: the events of one conversation, and what is known of the conversation itself."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Literal

from msgspec import Struct

from carob.model.trace import SERVER_MARK

EventKind = Literal[
    "user", "says", "call", "start", "result", "cancelled", "asks_approval", "approved", "denied", "handoff", "gap"
]
"""A call is requested (`call`), starts (`start`) and ends (`result`), or never does (`cancelled`).

A `gap` is a place where events were not seen.
"""
TEXT_KINDS = frozenset(("user", "says"))
APPROVAL_KINDS = frozenset(("asks_approval", "approved", "denied"))
APPROVALS = "approvals"
"""What a gap hides where no approval was observed: each of their kinds."""
COMMAND, EDIT = "@command", "@edit"
"""What a command that was run, and a change of a file, are called as the tools of calls: no tool has such a name."""
BEFORE_ALL = -1
"""The index of a gap that is before every event."""


class ConversationEvent(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One event of a conversation. `index` grows from event to event."""

    kind: EventKind
    index: int
    tool: str = ""
    """The tool, or the agent that a handoff goes to. Of a gap: the only tool that it may hide."""
    server: str = ""
    """The MCP server of the tool, where it is known."""
    call: str = ""
    """The id of the call that it belongs to."""
    message: str = ""
    """The message that requested the call; empty if it is not known."""
    stretch: str = ""
    """The part of the conversation within which the order of requests and results was not seen."""
    arguments: Any = None
    """None: they were not observed."""
    started: bool = True
    """Of a `call`: whether it is known to have started; a `start` event can say so later, a `cancelled` one deny it."""
    success: bool | None = None
    result: Any = None
    error: str | None = None
    text: str = ""
    """What is said; of a gap: why nothing was seen."""
    hides: str = ""
    """The kind of the events that a gap may hide, or `approvals`; empty: any."""
    within: str = ""
    """Of a gap: a text that was not understood; it hides calls of tools that it names."""
    known_tools: tuple[str, ...] = ()
    """Of such a gap: tools that the text names because their calls were seen."""
    parallel: bool | None = None
    """Whether the message requested other calls as well."""
    beside_words: bool | None = None
    """Whether the message that requested the call says something too."""
    time: float | None = None
    """Seconds since 1970."""
    is_setup: bool = False
    """It supplies evidence, and is not judged."""
    doubt: str = ""
    """Why its values may not be what they were, such as a secret that was removed."""

    @property
    def full_name(self) -> str:
        """By which names of rules find its tool."""
        return f"{self.server}{SERVER_MARK}{self.tool}" if self.server else self.tool


def read_full_name(full_name: str) -> dict[str, str]:
    """The tool of a full name, and its server, as an event has them."""
    server, _, tool = full_name.rpartition(SERVER_MARK)
    return {"tool": tool, "server": server}


class Facts(Struct, frozen=True):
    """What is known of a conversation as a whole: what `when` and `except` look at."""

    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = {}


class ConversationEnd(Struct, frozen=True):
    """How a conversation ended: by itself, or why that is not known or not so."""

    doubt: str = ""


BY_ITSELF = ConversationEnd()


class RuleOutcome(StrEnum):
    """How a rule came out in a conversation. `not_triggered` is not a pass: nothing was judged."""

    HELD = "held"
    BROKEN = "broken"
    UNKNOWN = "unknown"
    NOT_TRIGGERED = "not_triggered"


class RuleFinding(Struct, frozen=True):
    """A place at which a rule is broken, or at which it is not known whether it is."""

    broken: bool
    why: str
    events: tuple[int, ...] = ()


class RuleVerdict(Struct, frozen=True):
    """How one rule came out: its findings, and how many events it was judged at."""

    rule: str
    outcome: RuleOutcome
    triggered: int = 0
    findings: tuple[RuleFinding, ...] = ()

    @property
    def first(self) -> RuleFinding | None:
        """The finding that decided it."""
        is_broken = self.outcome is RuleOutcome.BROKEN
        return next((finding for finding in self.findings if finding.broken is is_broken), None)
