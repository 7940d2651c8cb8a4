"""The journal of a guard: what it heard and decided, a line each → the conversations that it guarded.

Lines of a conversation may be in several files, since files of a guard replace each other, and several processes may
write one. They are put together here, in memory, which the bound on those files keeps small.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import structs

from carob.evidence.exports.base import ExportFormat, ExportRow, KeySign, RowCollector, Table
from carob.evidence.exports.record import RecordedConversation
from carob.evidence.merge import merge_turns
from carob.model.trace import APPROVALS, OF_CASE, SECRETS_REMOVED, PossibleCall, TextLoss, ToolCall, Trace
from carob.providers.base import objects, table, text_of
from carob.rules.events import APPROVAL_KINDS, ConversationEvent

MARK: Final = "#"
"""What a guard writes between the id that a call came with and the number that makes it its own."""
GUARD: Final = "guard"
"""The key of the metadata that says what was refused."""
HEADER: Final = "carob_guard"
NO_WORDS: Final = "the guard was not given what the agent said"
NO_PROMPT: Final = "the guard was not given what the user said"
NO_TELEMETRY: Final = "a guard sees no telemetry"
NO_BEGINNING: Final = "the beginning of the conversation is not in the journal of the guard"
EVENTS_MISSING: Final = "events of the conversation are missing in the journal of the guard"
NOT_ASKED: Final = "a call ended that the guard was not asked about, and which it was is not known"
NOT_KEPT: Final = "the guard could not write it down"
NOT_STOPPED: Final = "the call ended although the guard refused it"
UNDECIDED: Final = "{} was let through by a guard that could no longer follow the conversation, and may have run"


class _Line(NamedTuple):
    """A line of a conversation: when it was written, what happened, and what was decided."""

    at: float
    event: ConversationEvent | None
    decision: Table
    place: str


class GuardLines(RowCollector):
    """Lines by conversation. An id that begins again is another conversation."""

    def __init__(self) -> None:
        self._lines: dict[str, list[_Line]] = {}

    def add(self, row: ExportRow) -> None:
        """Add a line. Raises ValueError for what is none."""
        if HEADER in row.value:
            return
        raw = row.value.get("event")
        event = None if raw is None else msgspec.convert(raw, ConversationEvent)
        line = _Line(float(row.value["at"]), event, table(row.value.get("decision")), row.place)
        self._lines.setdefault(text_of(row.value["conversation"]), []).append(line)

    def conversations(self) -> Iterator[RecordedConversation]:
        for name, lines in self._lines.items():
            for life in _split_lives(sorted(lines, key=lambda line: line.at)):
                yield _ConversationReader(name, life).read()


def _split_lives(lines: Iterable[_Line]) -> Iterator[list[_Line]]:
    """The conversations that had the same id one after the other, each in the order of its events."""
    lives: list[list[_Line]] = [[]]
    has_begun = False
    for line in lines:
        is_first = line.event is not None and line.event.index == 0
        if is_first and has_begun:
            lives.append([])
        has_begun = has_begun or is_first
        lives[-1].append(line)
    for life in lives:
        places = {id(line): number for number, line in enumerate(life)}
        last = 0
        for line in life:
            last = places[id(line)] = line.event.index if line.event is not None else last
        yield sorted(life, key=lambda line: places[id(line)])


class _Turn:
    """What happened from one message of the user to the next."""

    def __init__(self) -> None:
        self.prompts: list[str] = []
        self.words: list[str] = []
        self.calls: dict[str, ToolCall] = {}
        self.possible: list[PossibleCall] = []
        self.approvals: list[dict[str, Any]] = []
        self.unobserved: dict[str, str] = {"telemetry": NO_TELEMETRY}
        self.doubt = ""

    @property
    def is_only_prompt(self) -> bool:
        return not (self.words or self.calls or self.possible or self.approvals)

    def build(self, name: str, *, sees_approvals: bool) -> Trace:
        unobserved = dict(self.unobserved)
        if not self.prompts:
            unobserved.setdefault("input", NO_PROMPT)
        if not self.words:
            unobserved.setdefault("final_message", NO_WORDS)
        return Trace(
            case_id=name,
            input="\n".join(self.prompts),
            final_message="\n".join(self.words),
            tool_calls=tuple(self.calls.values()),
            possible_calls=tuple(self.possible),
            unobserved=unobserved,
            cuts={OF_CASE: TextLoss(self.doubt)} if self.doubt else {},
            metadata={APPROVALS: self.approvals} if sees_approvals else {},
        )


class _ConversationReader:
    """Reads the lines of one conversation in order."""

    def __init__(self, name: str, lines: Sequence[_Line]) -> None:
        self._name = name
        self._lines = lines
        self._turns = [_Turn()]
        self._decided = {text_of(line.decision.get("call")) for line in lines if line.decision}
        self._refused: list[dict[str, str]] = []
        self._denied: dict[str, str] = {}
        """The tools of the calls that were refused, by the ids of those calls."""
        self._unguarded: list[str] = []
        events = [line.event for line in lines if line.event is not None]
        self._last = max((event.time for event in events if event.time is not None), default=None)
        indexes = [event.index for event in events]
        self._first = min(indexes, default=0)
        self._is_whole = bool(indexes) and self._first == 0 and max(indexes) == len(set(indexes)) - 1

    def read(self) -> RecordedConversation:
        for line in self._lines:
            if line.decision:
                self._take_decision(line)
            if line.event is not None:
                self._take_event(line.event)
        return RecordedConversation(
            id=self._name or self._lines[0].place,
            trace=structs.replace(self._build(), started_at=self._lines[0].at),
            format=GUARD_JOURNAL.name,
            source=self._lines[0].place,
            started_at=self._lines[0].at,
            metadata={GUARD: {"refused": self._refused}} if self._refused else {},
            unguarded=tuple(self._unguarded),
        )

    def _build(self) -> Trace:
        sees_approvals = any(turn.approvals for turn in self._turns)
        for turn in self._turns:
            for key, call in turn.calls.items():
                if call.ended_at is None and not call.unfinished:  # if it ended, then after all that the guard heard
                    about = {"ended_at": self._last} if call.started else {"unfinished": True}
                    turn.calls[key] = structs.replace(call, **about)
        turns = [turn.build(self._name, sees_approvals=sees_approvals) for turn in self._turns]
        if not self._is_whole:
            why = NO_BEGINNING if self._first else EVENTS_MISSING
            channels = dict.fromkeys(("tools", "input", "final_message"), why)
            unseen = Trace(case_id=self._name, tool_calls=(), unobserved={**channels, "telemetry": NO_TELEMETRY})
            turns.insert(0, unseen)
        return turns[0] if len(turns) == 1 else merge_turns(turns)

    def _take_decision(self, line: _Line) -> None:
        decision, turn = line.decision, self._turns[-1]
        verdict, tool = text_of(decision.get("verdict")), text_of(decision.get("tool"))
        if verdict == "allow":
            if line.event is None:
                turn.possible.append(PossibleCall(tool, UNDECIDED.format(tool)))
            return
        reason = next(iter(objects(decision.get("reasons"))), {})
        rule, why = text_of(reason.get("rule")), text_of(reason.get("evidence"))
        self._refused.append({"tool": tool, "rule": rule, "verdict": verdict, "why": why})
        if line.event is None:
            refused = ToolCall(tool, started=False, unfinished=True, refused=True, unobserved={"arguments": NOT_KEPT})
            turn.calls[f"refused {len(turn.calls)}"] = refused

    def _take_event(self, event: ConversationEvent) -> None:
        turn = self._turns[-1]
        if event.kind == "user":
            if not turn.is_only_prompt:
                turn = _Turn()
                self._turns.append(turn)
            turn.prompts.append(event.text)
        elif event.kind == "says":
            turn.words.append(event.text)
        elif event.kind == "gap":
            _note_gap(turn, event)
        elif event.kind in ("call", "handoff"):
            self._begin_call(turn, event)
        elif event.kind in ("result", "cancelled"):
            self._end_call(turn, event)
        elif event.kind == "denied" and event.call in self._decided:
            self._denied[event.call] = event.tool
            turn.calls[f"refused {event.index}"] = ToolCall(
                event.tool,
                event.arguments,
                server=event.server,
                started=False,
                started_at=event.time,
                unfinished=True,
                refused=True,
                unobserved=_find_lost(event),
            )
        elif event.kind in APPROVAL_KINDS:
            turn.approvals.append({"kind": event.kind, "tool": event.tool, "arguments": event.arguments})
        if event.doubt == SECRETS_REMOVED or (event.doubt and event.kind in ("user", "says")):
            turn.doubt = event.doubt

    def _begin_call(self, turn: _Turn, event: ConversationEvent) -> None:
        if event.kind == "call" and event.call not in self._decided:
            self._unguarded.append(event.tool)
        turn.calls[event.call or f"call {event.index}"] = ToolCall(
            event.tool,
            event.arguments,
            server=event.server,
            id=event.call.partition(MARK)[0] or None,
            kind="handoff" if event.kind == "handoff" else "tool",
            started=event.started,
            started_at=event.time,
            message=event.message or None,
            with_words=event.beside_words,
            unobserved=_find_lost(event),
        )

    def _end_call(self, turn: _Turn, event: ConversationEvent) -> None:
        holder = next((other for other in reversed(self._turns) if event.call in other.calls), None)
        if holder is None:
            tool = self._denied.get(event.call, "")
            if tool or self._is_whole:
                self._unguarded.append(tool)
            turn.possible.append(PossibleCall(tool, NOT_STOPPED if tool else NOT_ASKED, of="call" if tool else "any"))
            return
        call = holder.calls[event.call]
        if call.ended_at is not None and event.kind == "result" and event.success is not call.success:
            ended = structs.replace(call, unfinished=True, success=None, error=None)  # which contradicts itself
        elif event.kind == "cancelled":
            ended = structs.replace(call, started=False, unfinished=True)
        else:
            ended = structs.replace(
                call,
                started=True,
                result=event.result,
                error=event.error,
                success=event.success,
                ended_at=event.time,
                unobserved={**call.unobserved, **({"result": event.doubt} if _has_no_result(event) else {})},
            )
        holder.calls[event.call] = ended


def _find_lost(event: ConversationEvent) -> dict[str, str]:
    """Why the arguments of a call are not there, if they were too large to be written."""
    is_lost = event.arguments is None and event.doubt and event.doubt != SECRETS_REMOVED
    return {"arguments": event.doubt} if is_lost else {}


def _has_no_result(event: ConversationEvent) -> bool:
    return event.result is None and event.error is None and bool(event.doubt) and event.doubt != SECRETS_REMOVED


def _note_gap(turn: _Turn, event: ConversationEvent) -> None:
    """Where something was not seen: all before it, or words that were too long."""
    channels = {"user": ("input",), "says": ("final_message",), "call": ("tools",)}
    for channel in channels.get(event.hides, ("input", "final_message", "tools")):
        turn.unobserved[channel] = event.text


def _is_header(row: Table) -> bool:
    return isinstance(row[HEADER], int)


def _is_line(row: Table) -> bool:
    return isinstance(row["at"], int | float) and isinstance(row["conversation"], str)


GUARD_JOURNAL = ExportFormat(
    name="carob-guard",
    signs=(
        KeySign((HEADER, "policy", "rules"), _is_header),
        KeySign(("at", "conversation", "event"), _is_line),
        KeySign(("at", "conversation", "decision"), _is_line),
    ),
    collect=GuardLines,
)
