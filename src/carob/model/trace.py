"""The trace: what the agent did in one case, the same record from every target, and the files that belong to it."""

from __future__ import annotations

import posixpath
from functools import cached_property
from os import path
from typing import Any, Final, Literal

from msgspec import Struct, StructMeta, field, structs

from carob.model.faults import AlteredCall
from carob.model.workspace import WorkspaceEvidence

Channel = Literal[
    "tools", "tool_results", "tool_schemas", "ended_by", "telemetry", "page", "page_before", "answer_page",
    "final_message", "messages", "database", "state", "input", "duration_ms", "timings", "steps", "tokens",
    "metadata", "spans", "case", "files", "processes", "after",
]  # fmt: skip

CallKind = Literal["tool", "provider", "handoff"]
"""Who ran it: the agent, or the model's provider on its side. A handoff from one agent to another runs nothing."""

TEXT_CAP = 1 << 20
REMOVED = "[removed]"
"""Replaces a secret."""
UNSEEN_WORDS = "not seen"
"""The role of a message with hidden words of the answer. They count only for checks that forbid words."""
SCRIPT = "scripted_user"
"""The metadata key that says how the scripted user of a conversation ended."""
APPROVALS = "approvals"
"""The metadata key of what a person was asked to approve, and decided, in order; there if approvals were observed."""
DECISION = "decision"
"""The metadata key of a turn in which the user decided about approvals: its `input` says so to readers alone."""
BY_ITSELF = "itself"
"""How a turn ended that no limit cut off."""
SECRETS_REMOVED = "secrets were removed"
OF_CASE: Final = "case"
"""The cut of a trace whose case lost a secret: what was asked and expected is not what the journal holds."""


MOST_LISTED = 50


class AskedApproval(Struct, frozen=True, omit_defaults=True):
    """What a server asked a person while it worked on a call, and what came of it; empty: no answer was seen."""

    answer: Literal["approved", "denied", ""] = ""
    doubt: str = ""
    """Why it is not known what the answer was, or which call it was about."""


SERVER_MARK: Final = "\x1f"
"""Between a server and its tool in a full name: no name has it."""


class ToolCall(Struct, frozen=True, omit_defaults=True):
    """One call of one tool: requested, started, and finished with a result or an error."""

    name: str
    arguments: Any = None
    id: str | None = None
    started: bool = True
    """It was seen to start. A call that was not, and is not `unfinished` either, is known by its end alone."""
    result: Any = None
    error: str | None = None
    success: bool | None = None
    missing_fields: tuple[str, ...] = ()
    started_at: float | None = None
    ended_at: float | None = None
    unfinished: bool = False
    """It is known not to have finished: it was never run, or it waits for an answer."""
    kind: CallKind = "tool"
    parent: str | None = None
    """The tool or agent that it was called within."""
    message: str | None = None
    """The message of the model that requested it; calls with the same one were requested together."""
    with_words: bool | None = None
    """Whether that message says something too."""
    refused: bool = False
    """A guard, or a permission of the agent itself, did not let it through, so it never ran."""
    exit_code: int | None = None
    """Of a command: the exit code that its source states."""
    approvals: tuple[AskedApproval, ...] = ()
    """What its server asked a person before it was carried out, in order."""
    unobserved: dict[str, str] = {}
    """Why its `arguments` or `result` were not observed; that is not the same as having none."""
    server: str = ""
    """The MCP server of the tool, where the host of the agent names it."""

    @property
    def full_name(self) -> str:
        """By which names of suites and rules find it."""
        return f"{self.server}{SERVER_MARK}{self.name}" if self.server else self.name

    @property
    def host_name(self) -> str:
        """As a coding agent spells it: a tool of an MCP server is none of its own, whatever its name."""
        return f"mcp__{self.server}__{self.name}" if self.server else self.name

    def __post_init__(self) -> None:
        """A failure outweighs a success; of a call that a person denied, a success proves nothing."""
        if self.error is not None and self.success is not False:
            structs.force_setattr(self, "success", False)
        elif self.success and self.was_denied:
            structs.force_setattr(self, "success", None)

    @property
    def contradicts_itself(self) -> bool:
        """Whether it never ran or did not finish, and yet ended without a failure: what happened is not known."""
        if self.success is False or not (self.unfinished or self.refused):
            return False
        has_end = self.ended_at is not None or self.result is not None
        return self.success is True or (has_end and not self.refused)

    @property
    def called(self) -> bool:
        """Whether it ran. A call of an unknown tool, with bad arguments, or held by an interrupt was only requested."""
        return not self.refused and (self.started or not self.unfinished)

    @property
    def was_denied(self) -> bool:
        """Whether a person refused what its server asked."""
        return bool(self.approvals) and any(approval.answer == "denied" for approval in self.approvals)

    @property
    def has_unknown_outcome(self) -> bool:
        """Whether the outcome of the call is unknown."""
        return self.success is None and not self.unfinished

    @property
    def outcome(self) -> str:
        """How it came out, in a word or two."""
        if self.error:
            return "error"
        if self.success is None:
            return "no end was seen" if self.result is None else "success is unknown"
        return "success" if self.success else "failure"

    def __str__(self) -> str:
        never = "refused" if self.refused else "requested, never run"
        return f"{self.name} ({self.outcome if self.called else never})"


class Message(Struct, frozen=True, omit_defaults=True, gc=False):
    """One message of the conversation."""

    role: str
    content: str = ""
    name: str | None = None


class TextLoss(Struct, frozen=True, omit_defaults=True):
    """A text that is not whole: a prefix, or one from which secrets were taken."""

    why: str
    size: int = 0
    sha256: str = ""


class Tokens(Struct, frozen=True, omit_defaults=True, gc=False):
    """Token counts, where the target knows them."""

    input: int | None = None
    output: int | None = None


class ElementBox(Struct, frozen=True, array_like=True):
    """Where a line of the page's snapshot, or of the answer, is on the screenshot; lines count from 0."""

    channel: Literal["page", "final_message"]
    line: int
    x: int
    y: int
    width: int
    height: int


class ScreenMap(Struct, frozen=True):
    """The screenshot as a map: its size, and where elements are on it, in pixels of the page."""

    width: int
    height: int
    boxes: tuple[ElementBox, ...] = ()


SpanKind = Literal["agent", "model", "tool", "other"]


class SpanNode(Struct, frozen=True, omit_defaults=True):
    """One span of the turn, as the tree of spans shows it: what was done, within what, from when to when."""

    id: str
    name: str
    kind: SpanKind = "other"
    parent: str | None = None
    """The id of the enclosing span; None for a root."""
    started_at: float | None = None
    ended_at: float | None = None
    error: str | None = None
    model: str = ""
    tokens: Tokens | None = None
    cost_usd: float | None = None


class TraceError(Struct, frozen=True, omit_defaults=True):
    """Why the harness or the agent broke. Its own axis: never a verdict on the answer."""

    kind: str
    message: str
    detail: str = ""
    retry_after: float | None = None


class PossibleCall(Struct, frozen=True, omit_defaults=True):
    """What may be a call of this turn, and cannot be shown to be one: it proves no call, and no absence of one."""

    text: str
    """The name of a tool, or what names tools: words of a model, a line of a log; empty where it may be any."""
    why: str
    """What is missing, and how it is fixed."""
    of: Literal["call", "words", "any"] = "call"


CONTRADICTION = (
    "what was recorded of a call to {!r} contradicts itself: it never ran or did not finish, and yet it ended. Record "
    "`started` and `unfinished` as they were"
)
NO_CALLS_GIVEN = (
    "the Trace was made without `tool_calls`, so its calls were not observed: give it tool_calls=() if there were none"
)


class _TraceMeta(StructMeta):
    """A Trace that is made without `tool_calls` did not observe them. One that is decoded says itself what it did not.

    A journal leaves out what is empty, so this can only be known where a Trace is made.
    """

    def __call__(cls, *args: Any, **fields: Any) -> Any:
        if "tool_calls" not in fields and "tools" not in fields.get("unobserved", ()):
            fields["unobserved"] = {**fields.get("unobserved", {}), "tools": NO_CALLS_GIVEN}
        return super().__call__(*args, **fields)


class Trace(Struct, frozen=True, omit_defaults=True, kw_only=True, dict=True, metaclass=_TraceMeta):
    """What was observed of the judged turn, or of a whole conversation and its last answer, and what was not.

    Made without `tool_calls`, it did not observe them: `tool_calls=()` says that there were none. `page` of None
    without an entry in `unobserved` means that the agent has none; with one, that it was not captured.
    """

    case_id: str
    input: str = ""
    final_message: str = ""
    messages: tuple[Message, ...] = ()
    tool_calls: tuple[ToolCall, ...] = ()
    setup_calls: tuple[ToolCall, ...] = ()
    """The calls that setup prompts brought about, apart from those of the judged turn."""
    setup_prompts: tuple[str, ...] = ()
    """What the user said before the judged turn."""
    tool_schemas: dict[str, Any] = {}
    """The tools that the agent was offered, each with the JSON Schema of its arguments or None, where a check asks.

    They are all of its tools unless `unobserved` says why they may not be.
    """
    ended_by: str = ""
    """`itself`, or the limit that cut the turn off, such as `length`; empty if it is not known."""
    possible_calls: tuple[PossibleCall, ...] = ()
    telemetry: tuple[str, ...] = ()
    dialect: str = ""
    """How the target's configuration says that its log spells tool calls, as JSON."""
    page: str | None = None
    page_before: str | None = None
    answer_page: str | None = None
    """The accessibility snapshot of the answer itself, if it is shown on a page."""
    database: dict[str, Any] = field(default_factory=dict)
    state: dict[str, Any] = field(default_factory=dict)
    """The final state of the agent, where it has one, without its messages."""
    unobserved: dict[str, str] = field(default_factory=dict)
    cuts: dict[str, TextLoss] = field(default_factory=dict)
    started_at: float | None = None
    duration_ms: float | None = None
    timings: dict[str, float] = field(default_factory=dict)
    steps: int | None = None
    """How many steps the agent took, where its target counts them."""
    tokens: Tokens | None = None
    spans: tuple[SpanNode, ...] = ()
    """The agent's own spans of the turn, parents before their children."""
    attachments: dict[str, str] = field(default_factory=dict)
    screen: ScreenMap | None = None
    """Where elements are on the attached screenshot, which was taken at the end of the last turn."""
    workspace: WorkspaceEvidence | None = None
    """What became of files, processes and hosts, where the case had a workspace; of a conversation, in all of it."""
    metadata: dict[str, Any] = field(default_factory=dict)
    error: TraceError | None = None
    altered_calls: tuple[AlteredCall, ...] = ()
    """The calls that a stub answered or a fault landed on, in the whole run of the case."""
    turns: tuple[Trace, ...] = ()
    """The turns of a conversation, each as if it were alone; none where there was one prompt to answer."""
    earlier: tuple[Trace, ...] = ()
    """While a turn is judged: those before it, which what it says may rest on. It is never kept."""

    def __post_init__(self) -> None:
        """A call whose evidence contradicts itself was requested; whether it ran is open, for everything that reads."""
        for channel, calls in (("tool_calls", self.tool_calls), ("setup_calls", self.setup_calls)):
            names = [call.name for call in calls if call.contradicts_itself]
            if names:
                doubts = [PossibleCall(name, CONTRADICTION.format(name)) for name in names]
                structs.force_setattr(self, "possible_calls", tuple(dict.fromkeys((*self.possible_calls, *doubts))))
                structs.force_setattr(self, channel, tuple(map(_without_end, calls)))

    @property
    def is_altered(self) -> bool:
        """Whether it, or a turn of it, is not as it was seen: cut off, or without its secrets."""
        return bool(self.cuts) or any(turn.cuts for turn in self.turns)

    def of_turn(self, turn: int | None) -> Trace:
        """What a check of this turn judges: the turn alone, or all of it."""
        return self if turn is None or turn > len(self.turns) else self.turns[turn - 1]

    @cached_property
    def listed_calls(self) -> str:
        """Its first calls and how they came out, made once: most checks of tools tell them."""
        return ", ".join(map(str, self.tool_calls[:MOST_LISTED]))

    @property
    def hidden_words(self) -> str:
        """Words of the answer that are on its page but hidden from readers."""
        return "\n".join(message.content for message in self.messages if message.role == UNSEEN_WORDS)

    def why_unobserved(self, channel: Channel) -> str | None:
        """Return why this channel was not observed, or None if it was."""
        return self.unobserved.get(channel)

    def why_incomplete(self, channel: Channel) -> str | None:
        """Return why this channel cannot prove absence, or None if it can."""
        return self.why_unobserved(channel) or self.cut(channel)

    def cut(self, channel: Channel) -> str | None:
        """Return why this text is incomplete, or None if it is complete."""
        cut = self.cuts.get(channel)
        return cut.why if cut else None

    def why_uncertain(self, channel: Channel, start: int, end: int, room: int = 0) -> str | None:
        """Return why a match may not be one in the complete text: a secret was removed, or the text is cut off there.

        With `room`, it must be that far from the end of the kept text and must not touch a removed secret.
        """
        cut = self.cuts.get(channel)
        if cut is None:
            return None
        text = getattr(self, channel)
        if cut.why != SECRETS_REMOVED and end + room >= len(text):
            return cut.why
        reach = len(REMOVED) if room else len(REMOVED) - 1
        marked = SECRETS_REMOVED in cut.why and text.find(REMOVED, max(start - reach, 0), end + reach) >= 0
        return cut.why if marked else None


def _without_end(call: ToolCall) -> ToolCall:
    if not call.contradicts_itself:
        return call
    return structs.replace(call, started=False, unfinished=True, success=None)


THE_PROMPT = "[repeats the prompt]"
"""Marks a node that shows the prompt: it is not the assistant's output."""
LIKE_PROMPT = "[like the prompt]"
"""Marks a node that may only repeat the prompt: whether the app shows it on its own is unknown."""
NOT_SEEN = "[not seen]"
"""Marks a node for assistive technology that readers cannot see: it satisfies nothing, but it is there."""


def way(old: str, new: str) -> str:
    """How the folder of one file is reached from that of another; empty if it is the same."""
    relative = path.relpath(path.dirname(old) or ".", path.dirname(new) or ".")
    return "" if relative == "." else relative.replace(path.sep, "/")


def move_attachments(trace: Trace, along: str) -> Trace:
    """The trace with attachment paths relative to a journal in another folder. `along`: the path from there."""
    if not along or not (trace.attachments or trace.turns):
        return trace
    reached = {name: posixpath.normpath(posixpath.join(along, file)) for name, file in trace.attachments.items()}
    return structs.replace(
        trace, attachments=reached, turns=tuple([move_attachments(turn, along) for turn in trace.turns])
    )
