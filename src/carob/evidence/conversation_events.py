"""A trace → the events of its conversation, in the order in which they are known to have happened.

Commands and edits of a coding agent are `@command` and `@edit` of rules.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Final, Literal, NamedTuple

from msgspec import Struct

from carob.evidence.commands import edited_paths, line_of_call
from carob.evidence.deeds import MAY_EDIT, read_step
from carob.evidence.logs.events import unread
from carob.model.trace import APPROVALS, DECISION, PossibleCall, ToolCall, Trace
from carob.model.trace import BY_ITSELF as ENDED_BY_ITSELF
from carob.providers.base import ending_of
from carob.rules.events import APPROVALS as HIDDEN_APPROVALS
from carob.rules.events import BEFORE_ALL, BY_ITSELF, COMMAND, EDIT, ConversationEnd, ConversationEvent
from carob.text.command_lines import line_of_argv, may_change_files, shell_line
from carob.text.exit_codes import is_shell_tool

NO_END = "the end of a command was not seen"


class DeedEvent(Struct, frozen=True):
    """A command or an edit; with `why`, a place where one may not have been seen."""

    tool: str
    arguments: Any = None
    success: bool | None = None
    result: Any = None
    at: float | None = None
    started: bool = True
    why: str = ""


def process_deeds(turn: Trace) -> Iterator[DeedEvent]:
    """The commands that were run as processes, and the files of the workspace that were written, by the clock."""
    evidence = turn.workspace
    if evidence is None:
        return
    moments: list[tuple[float, int, DeedEvent]] = []
    for number, run in enumerate(evidence.processes):
        if run.own or (run.replaced and shell_line(run.argv) is None):
            continue
        success = None if run.exit_code is None else run.exit_code == 0
        arguments = {"line": line_of_argv(run.argv), "argv": list(run.argv)}
        event = DeedEvent(COMMAND, arguments, success, {"exit": run.exit_code}, run.started_at)
        moments.append((run.started_at, number, event))
    inside = [write for write in evidence.writes if not write.path.startswith(("/", "~/"))]
    last = len(evidence.processes)
    moments += [(write.at, last, DeedEvent(EDIT, {"path": write.path}, True, at=write.at)) for write in inside]
    yield from (event for _, _, event in sorted(moments, key=lambda moment: moment[:2]))
    if why := turn.cut("processes"):
        yield DeedEvent(COMMAND, why=why)
        yield DeedEvent(EDIT, why=why)


def call_deeds(call: ToolCall) -> Iterator[DeedEvent]:
    """What a call of a shell tool or an edit tool did, as far as it shows."""
    paths = edited_paths(call)
    for path in paths or ():
        yield DeedEvent(EDIT, {"path": path}, call.success, at=call.started_at)
    line = line_of_call(call)
    if line is None:
        if is_shell_tool(call.host_name):
            yield DeedEvent(COMMAND, why=f"the command line of a call to {call.name} was not seen")
        return
    for command in line.commands:
        deed = read_step(call, line, command)
        success = None if deed.exit_code is None else deed.exit_code == 0
        arguments = {"line": command.line, "argv": list(command.words)}
        yield DeedEvent(COMMAND, arguments, success, {"exit": deed.exit_code}, call.started_at)
        if may_change_files(command):
            yield DeedEvent(EDIT, why=MAY_EDIT.format(command.line[:80]).replace(" came after it and", ""))
    if line.why_unread:
        yield DeedEvent(COMMAND, why=line.why_unread)


def refused_deeds(call: ToolCall) -> Iterator[DeedEvent]:
    """The commands of a call that was not let through: they were asked for, and never ran."""
    line = line_of_call(call)
    for command in line.commands if line is not None else ():
        yield DeedEvent(COMMAND, {"line": command.line, "argv": list(command.words)}, started=False)


MAX_TURNS: Final = "max_turns"
LOST_LINE: Final = "a line of the log was not understood: {!r}"
NO_APPROVALS: Final = (
    "it was not observed whether there were other approvals: targets for LangGraph and AG-UI and runs of the OpenAI "
    "Agents SDK show all; for an MCP server, set `approvals = true` in mcp_record if nothing else asks. Else use what "
    "the user said: last_user"
)
SETUP_ANSWERS: Final = "what the agent answered to a setup prompt is not kept"
NO_USER: Final = "no word of the user was seen: give the trace an `input`, or `messages` of the role `user`"
LINE: Final = 80
"""So much of a line that was not understood is shown."""


class ConversationEvents(NamedTuple):
    """The events of a conversation, how it ended, and the tool call that each event of a call belongs to."""

    events: list[ConversationEvent]
    end: ConversationEnd
    calls: dict[int, int]
    """From the index of an event to that of its call in the trace."""


class _TimedCall(Struct, frozen=True):
    """A call with the moments by which it is put in order."""

    call: ToolCall
    number: int
    """Its index among the calls of the trace; -1 for one of the setup."""
    requested: float
    ended: float


def read_conversation(trace: Trace) -> ConversationEvents:
    """The events of a trace: setup prompts, then turn by turn what the user said, the calls, and the answer."""
    reader = _EventReader()
    reader.add_setup(trace)
    number = 0
    for turn_number, turn in enumerate(trace.turns or (trace,), 1):
        reader.add_turn(turn, turn_number, number)
        number += len(turn.tool_calls)
    events = reader.events if _sees_approvals(trace) else _hide_approvals(reader.events)
    return ConversationEvents(events, _read_end(trace), reader.calls)


def _sees_approvals(trace: Trace) -> bool:
    turns = trace.turns or (trace,)
    return not trace.setup_prompts and all(isinstance(turn.metadata.get(APPROVALS), list) for turn in turns)


def _hide_approvals(events: list[ConversationEvent]) -> list[ConversationEvent]:
    """The events of a conversation of which no approval was observed: some may be before and after each."""
    return [_unseen_approvals(BEFORE_ALL), *events, _unseen_approvals(len(events))]


@lru_cache(maxsize=1024)
def _unseen_approvals(index: int) -> ConversationEvent:
    return ConversationEvent(kind="gap", index=index, hides=HIDDEN_APPROVALS, text=NO_APPROVALS)


def _read_end(trace: Trace) -> ConversationEnd:
    """Whether the agent came to an end by itself, or why that is not known."""
    if trace.error is not None:
        return ConversationEnd(f"the conversation broke off: {trace.error.message}")
    last = trace.turns[-1] if trace.turns else trace
    ended_by = ending_of(last if trace.ended_by in ("", ENDED_BY_ITSELF) else trace)
    if ended_by not in ("", ENDED_BY_ITSELF):
        return ConversationEnd(f"it was cut off: {ended_by}")
    if not ended_by and (why := last.why_unobserved("final_message")):
        return ConversationEnd(f"it is not known whether the agent came to an end: {why}")
    return BY_ITSELF


class _EventReader:
    """Numbers the events as it writes them down."""

    def __init__(self) -> None:
        self.events: list[ConversationEvent] = []
        self.calls: dict[int, int] = {}
        self._is_setup = False
        self._doubt = ""
        self._stretch = ""
        self._sees_processes = False
        self._shown = set[str | None]()
        """The messages of the turn of whose calls the answers are shown."""

    def add_setup(self, trace: Trace) -> None:
        self._is_setup = True
        for prompt in trace.setup_prompts:
            self._add(kind="user", text=prompt)
            self._add(kind="gap", hides="says", text=SETUP_ANSWERS)
        if trace.setup_calls:
            self._stretch = ""
            self._add_calls(_put_in_order(trace.setup_calls, -1), "setup")
        self._is_setup = False

    def add_turn(self, turn: Trace, turn_number: int, first: int) -> None:
        self._doubt = next((cut.why for cut in turn.cuts.values()), "") if turn.cuts else ""
        prefix = f"turn {turn_number}"
        if why := turn.why_unobserved("input"):
            self._add(kind="gap", hides="user", text=why)
        elif turn.input and DECISION not in turn.metadata:
            self._add_text("user", turn.input, "")
        elif DECISION not in turn.metadata:
            self._add(kind="gap", hides="user", text=NO_USER)
        has_approvals = APPROVALS in turn.metadata
        if has_approvals:
            self._add_approvals(turn, "approved", "denied")
        calls = _put_in_order(turn.tool_calls, first)
        self._sees_processes = turn.workspace is not None and not turn.why_unobserved("processes")
        self._stretch = prefix if len(calls) > 1 and any(_is_place_unknown(timed.call) for timed in calls) else ""
        gap = turn.why_incomplete("tools") or ""
        if gap or turn.telemetry or turn.possible_calls:
            self._add_gaps(turn, gap)
        self._add_calls(calls, prefix, gap)
        if self._sees_processes:
            self._add_deeds(process_deeds(turn), prefix, 0)
        if has_approvals:
            self._add_approvals(turn, "asks_approval")
        self._add_words(turn)
        self._stretch = ""

    def _add_approvals(self, turn: Trace, *kinds: str) -> None:
        """What a person decided, with which the turn began, or what it asked to approve, with which it ended."""
        listed = turn.metadata.get(APPROVALS)
        for entry in listed if isinstance(listed, list) else ():
            if isinstance(entry, dict) and entry.get("kind") in kinds:
                self._add(kind=entry["kind"], tool=str(entry.get("tool", "")), arguments=entry.get("arguments"))

    def _add_gaps(self, turn: Trace, why: str) -> None:
        """Where calls of the turn may be missing: before its calls, and between them where nothing proves absence."""
        if why:
            self._add(kind="gap", hides="call", text=why)
        for line in unread(turn.telemetry, turn.dialect) if turn.telemetry else ():
            self._add(kind="gap", hides="call", text=LOST_LINE.format(line[:LINE]), within=line)
        if turn.possible_calls:
            known = tuple(dict.fromkeys([call.name for call in turn.tool_calls]))
            for possible in turn.possible_calls:
                self._add(kind="gap", hides="call", text=possible.why, **_read_possible(possible, known))

    def _add_calls(self, calls: Sequence[_TimedCall], prefix: str, gap: str = "") -> None:
        """Requests and ends in order. A request comes before what happens at the same moment."""
        if not calls:
            return
        self._shown.clear()
        messages = [timed.call.message for timed in calls]
        siblings = Counter(messages) if len({*messages}) < len(messages) else {}
        were_asked = any(timed.call.approvals for timed in calls)
        moments = [(timed.requested, 0, place, timed) for place, timed in enumerate(calls)]
        moments += [(timed.ended, 1, place, timed) for place, timed in enumerate(calls)]
        for _, is_end, place, timed in sorted(moments):  # no two are at one place
            call, name = timed.call, f"{prefix} call {place}"
            if call.refused:
                if not is_end:
                    self._add(kind="denied", tool=call.name, server=call.server, arguments=call.arguments)
                    self._add_deeds(refused_deeds(call), name, timed.number)
                continue
            if were_asked and not is_end:
                self._add_answers(timed, calls)
            message = f"{prefix} message {call.message}" if call.message is not None else ""
            if timed.number >= 0:
                self.calls[len(self.events)] = timed.number
            if is_end:
                if not self._sees_processes:
                    self._add_deeds(call_deeds(call), name, timed.number)
                self._add_end(call, name, message)
                if gap:
                    self._add(kind="gap", hides="call", text=gap)
            else:
                parallel = None if call.message is None else siblings.get(call.message, 1) > 1
                self._add_request(call, name, message, parallel)

    def _add_deeds(self, deeds: Iterable[DeedEvent], prefix: str, number: int) -> None:
        """Commands and edits, as calls of no tool. `number` is that of the call that they belong to."""
        for place, deed in enumerate(deeds):
            if deed.why:
                self._add(kind="gap", hides="call", tool=deed.tool, text=deed.why)
                continue
            about: dict[str, Any] = {"tool": deed.tool, "call": f"{prefix} deed {place}", "time": deed.at}
            if number >= 0 and not self._sees_processes:
                self.calls[len(self.events)] = number
            self._add(kind="call", arguments=deed.arguments, started=deed.started, **about)
            if deed.started:
                self._add(kind="result", success=deed.success, result=deed.result, **about)
            else:
                self._add(kind="cancelled", **about)

    def _add_answers(self, timed: _TimedCall, calls: Sequence[_TimedCall]) -> None:
        """What the servers of calls asked a person, before the calls, which waited for the answer.

        Before all calls of one message: what comes between them is evidence for none.
        """
        message = timed.call.message
        if message is not None and message in self._shown:
            return
        self._shown.add(message)
        for call in [each.call for each in calls if each is timed or (message and each.call.message == message)]:
            if not call.approvals:
                continue
            about: dict[str, Any] = {"tool": call.name, "server": call.server, "arguments": call.arguments}
            for approval in call.approvals:
                if approval.doubt:
                    self._add(kind="gap", hides=HIDDEN_APPROVALS, tool=call.name, text=approval.doubt)
                else:
                    self._add(kind="asks_approval", **about)
            if call.was_denied:
                self._add(kind="denied", **about)
            elif all(approval.answer == "approved" for approval in call.approvals):
                self._add(kind="approved", **about)

    def _add_request(self, call: ToolCall, name: str, message: str, parallel: bool | None) -> None:
        if call.kind == "handoff":
            about: dict[str, Any] = {"tool": call.name, "call": name, "time": call.started_at, "message": message}
            self._add(kind="handoff", arguments=call.arguments, **about)
            return
        self._add(
            kind="call",
            tool=call.name,
            server=call.server,
            call=name,
            message=message,
            arguments=call.arguments,
            started=call.called,
            parallel=parallel,
            beside_words=call.with_words,
            time=call.started_at,
        )

    def _add_end(self, call: ToolCall, name: str, message: str) -> None:
        if call.kind == "handoff":
            return
        was_cancelled = call.success is None and call.unfinished
        self._add(
            kind="cancelled" if was_cancelled else "result",
            tool=call.name,
            server=call.server,
            call=name,
            message=message,
            success=call.success,
            result=None if was_cancelled else call.result,
            error=call.error,
            time=call.started_at,
        )

    def _add_words(self, turn: Trace) -> None:
        """What the agent said. When it said what is not the answer, is not known."""
        if why := turn.why_unobserved("final_message"):
            self._add(kind="gap", hides="says", text=why)
        answer = turn.final_message
        for message in turn.messages:
            if message.role == "assistant" and message.content and message.content != answer:
                self._add_text("says", message.content, self._stretch or "words")
        if answer:
            self._add_text("says", answer, "")

    def _add_text(self, kind: Literal["user", "says"], text: str, stretch: str) -> None:
        self.events.append(
            ConversationEvent(
                kind=kind,
                index=len(self.events),
                stretch=stretch,
                text=text,
                is_setup=self._is_setup,
                doubt=self._doubt,
            )
        )

    def _add(self, **about: Any) -> None:
        self.events.append(
            ConversationEvent(
                index=len(self.events),
                stretch=self._stretch,
                is_setup=self._is_setup,
                doubt=self._doubt,
                **about,
            )
        )


def _put_in_order(calls: Sequence[ToolCall], first: int) -> list[_TimedCall]:
    """Each call with the moments of its request and its end: by the clock, or by messages, or one after another."""
    timed: list[_TimedCall] = []
    if all(call.started_at is not None for call in calls if call.called):
        latest = float("-inf")
        for place, call in enumerate(calls):
            latest = call.started_at if call.started_at is not None else latest
            ended = call.ended_at if call.ended_at is not None else latest
            timed.append(_TimedCall(call, first + place if first >= 0 else -1, latest, max(ended, latest)))
        return timed
    step, message = 0.0, None
    for place, call in enumerate(calls):
        step += 0 if call.message is not None and call.message == message else 1
        message = call.message
        timed.append(_TimedCall(call, first + place if first >= 0 else -1, step, step + 0.5))
    return timed


def _is_place_unknown(call: ToolCall) -> bool:
    """Whether it is not known what the call came before and after: neither its message nor its times are."""
    return call.message is None and (call.started_at is None or (call.ended_at is None and call.success is not None))


def _read_possible(possible: PossibleCall, known: tuple[str, ...]) -> dict[str, Any]:
    if possible.of == "call":
        return {"tool": possible.text}
    if possible.of == "any":
        return {}
    return {"within": possible.text, "known_tools": known}
