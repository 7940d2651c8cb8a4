"""A session of a coding agent, put together event by event: prompts, words, calls of tools, and how these ended."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

from msgspec import Struct, field, structs

from carob.evidence.conversations import NO_TELEMETRY
from carob.evidence.exports.base import ExportFormat, ExportRow, RowCollector, Table
from carob.evidence.exports.record import UNREAD, RecordedConversation
from carob.evidence.merge import merge_turns
from carob.model.trace import TEXT_CAP, Message, PossibleCall, Tokens, ToolCall, Trace, TraceError
from carob.providers.base import objects, text_of
from carob.text.tool_names import read_host_name
from carob.text.tool_results import call_success

NO_STEP = (
    "the session has no step of the agent: it said nothing and called nothing. Look at the start of the session for "
    "what kept the agent from working"
)
NO_PROMPT = "the session does not hold what the user said"
NO_ANSWER = "the session breaks off before the agent's last words"
NO_RESULT = "the session has no result of {!r}, so it is unknown whether it ran"
LOST_CALL = "the session has the result of a call that it does not show: it is not whole"
_NUMBER = re.compile(r"(?::\d+)?(?: \[\d+\])*$")
"""What follows the name of the file in the place of a row."""
SHELLS = ("bash", "sh", "zsh", "/bin/bash", "/bin/sh", "/bin/zsh", "/usr/bin/bash", "/usr/bin/zsh")


class _Turn(Struct):
    """What was seen since the user last spoke."""

    prompt: str = ""
    messages: list[Message] = field(default_factory=list)
    calls: list[ToolCall] = field(default_factory=list)
    speaking: set[str] = field(default_factory=set)
    """The messages of the model that have words."""
    steps: set[str] = field(default_factory=set)
    answer: str = ""
    answered_by: str = ""
    """The message of the model that had the last words."""
    is_answer_last: bool = True
    """Whether no call was asked for in a later message than the last words."""
    began: float | None = None
    ended: float | None = None


class AgentSession:
    """One session. Readers of formats tell it what they read, in order; times are seconds since 1970."""

    def __init__(self, id: str, format: str, place: str) -> None:
        self.id = id
        self.model = ""
        self.version = ""
        self.tokens: Tokens | None = None
        self.error: TraceError | None = None
        self.ended_by = ""
        self.possible_calls: list[PossibleCall] = []
        self.metadata: dict[str, object] = {}
        self._format = format
        self._place = place
        self._turns: list[_Turn] = []
        self._of_call: dict[str, tuple[_Turn, int]] = {}

    @property
    def _turn(self) -> _Turn:
        if not self._turns:
            self._turns.append(_Turn())
        return self._turns[-1]

    def see_time(self, time: float | None) -> None:
        if time is not None:
            turn = self._turn
            turn.began = time if turn.began is None else min(turn.began, time)
            turn.ended = time if turn.ended is None else max(turn.ended, time)

    def add_prompt(self, text: str, time: float | None = None) -> None:
        """The user spoke. What is said before an answer to it belongs to the same prompt."""
        if self._turns and (self._turn.steps or self._turn.calls):
            self._turns.append(_Turn())
        turn = self._turn
        turn.prompt = f"{turn.prompt}\n{text}" if turn.prompt else text
        turn.messages.append(Message("user", text))
        self.see_time(time)

    def add_words(self, text: str, message: str, time: float | None = None) -> None:
        """The agent said something, in a message of its model."""
        turn = self._turn
        turn.steps.add(message)
        if text.strip():
            is_more = turn.answered_by == message
            turn.answer = f"{turn.answer}\n{text}" if is_more else text
            turn.answered_by, turn.is_answer_last = message, True
            turn.speaking.add(message)
            turn.messages.append(Message("assistant", text))
        self.see_time(time)

    def add_call(self, call: ToolCall) -> None:
        """The agent asked for a call, of which nothing else is known yet."""
        turn = self._turn
        turn.steps.add(call.message or "")
        turn.is_answer_last = turn.is_answer_last and call.message == turn.answered_by
        if call.id:
            self._of_call[call.id] = turn, len(turn.calls)
        server, name = read_host_name(call.name)
        turn.calls.append(structs.replace(call, name=name, server=server, started=False, unfinished=True))
        self.see_time(call.started_at)

    def has_call(self, id: str) -> bool:
        return id in self._of_call

    def end_call(
        self,
        id: str,
        result: object,
        *,
        exit_code: int | None = None,
        success: bool | None = None,
        refused: bool = False,
        was_run: bool = True,
        time: float | None = None,
    ) -> None:
        """A call came back. What was known of its end before stays where this does not know it."""
        if id not in self._of_call:
            if all(possible.why != LOST_CALL for possible in self.possible_calls):
                self.possible_calls.append(PossibleCall("", LOST_CALL, "any"))
            return
        turn, index = self._of_call[id]
        call = turn.calls[index]
        code = call.exit_code if exit_code is None else exit_code
        known = success if code is None else code == 0
        if known is None and not refused:
            known = call.success if call_success(result) else False
        refused = refused or call.refused
        was_run = was_run and not refused
        turn.calls[index] = structs.replace(
            call,
            started=was_run,
            unfinished=not was_run,
            result=cap_text(result) if call.result is None else call.result,
            exit_code=code if was_run else None,
            success=known if was_run else False,
            refused=refused,
            ended_at=call.ended_at if time is None else time,
        )
        self.see_time(time)

    def rename_call(self, id: str, **facts: Any) -> None:
        """Say more exactly what a call was."""
        if id in self._of_call:
            turn, index = self._of_call[id]
            turn.calls[index] = structs.replace(turn.calls[index], **facts)

    def fail(self, kind: str, message: str) -> None:
        """The agent broke off; the first reason counts."""
        self.error = self.error or TraceError(kind, message)

    def build(self) -> RecordedConversation:
        """The conversation. One without a step of the agent is an error: there is nothing to be judged."""
        if not any(turn.steps for turn in self._turns):
            self.fail("no-step", NO_STEP)
        traces = [self._build_turn(turn) for turn in self._turns or [_Turn()]]
        last = structs.replace(traces[-1], ended_by=self.ended_by, possible_calls=self._list_possible(traces[-1]))
        last = structs.replace(last, tokens=self.tokens if len(traces) == 1 else None, error=self.error)
        trace = merge_turns([*traces[:-1], last], self.error) if len(traces) > 1 else last
        return RecordedConversation(
            id=self.id,
            trace=trace,
            format=self._format,
            source=self._place,
            started_at=traces[0].started_at,
            model=self.model,
            version=self.version,
            metadata=self.metadata,
        )

    def _list_possible(self, trace: Trace) -> tuple[PossibleCall, ...]:
        return (*trace.possible_calls, *self.possible_calls)

    def _build_turn(self, turn: _Turn) -> Trace:
        calls = tuple(structs.replace(call, with_words=call.message in turn.speaking) for call in turn.calls)
        open_calls = [call for call in calls if call.unfinished and not call.refused and call.result is None]
        answer = turn.answer if turn.is_answer_last and (not open_calls or self.ended_by) else ""
        unobserved = {
            "telemetry": NO_TELEMETRY,
            "final_message": "" if answer else NO_ANSWER,
            "input": "" if turn.prompt else NO_PROMPT,
        }
        timed = turn.began is not None and turn.ended is not None
        return Trace(
            case_id=self.id,
            input=turn.prompt,
            final_message=answer,
            messages=tuple(turn.messages),
            tool_calls=calls,
            possible_calls=tuple(PossibleCall(call.name, NO_RESULT.format(call.name)) for call in open_calls),
            unobserved={channel: why for channel, why in unobserved.items() if why},
            started_at=turn.began,
            duration_ms=round(((turn.ended or 0) - (turn.began or 0)) * 1000, 3) if timed else None,
            steps=len(turn.steps),
        )


def cap_text(result: object) -> object:
    """A result whose text is not too long to be kept."""
    return result[:TEXT_CAP] if isinstance(result, str) else result


def join_text(content: object) -> str:
    """The text of content that is a text, or a list of parts."""
    if isinstance(content, list):
        return "".join(text_of(part.get("text")) for part in objects(content))
    return text_of(content)


def unwrap_shell(command: object) -> object:
    """The line that a shell was given: of `["bash", "-lc", LINE]` LINE; anything else as it is."""
    if isinstance(command, list) and len(command) == 3 and command[0] in SHELLS and command[1] in ("-c", "-lc"):
        return command[2]
    return command


class SessionReader(Protocol):
    """What reads the rows of one session."""

    session: AgentSession

    def read(self, row: Table) -> None: ...

    def finish(self) -> None: ...


class SessionCollector(RowCollector):
    """Rows that belong to sessions, by the id in them; a row without one is of the session before it in its file."""

    def __init__(self, make_reader: Callable[[str, str], SessionReader], id_of: Callable[[ExportRow], str]) -> None:
        self._make_reader = make_reader
        self._id_of = id_of
        self._readers: dict[str, SessionReader] = {}
        self._last: dict[str, str] = {}
        self._lost: dict[str, str] = {}

    def lose(self, place: str, why: str) -> bool:
        """A line that cannot be read is of the session before it in its file."""
        name = self._last.get(_NUMBER.sub("", place))
        if name is not None:
            self._lost.setdefault(name, f"{place}: {why}")
        return name is not None

    def add(self, row: ExportRow) -> None:
        file = _NUMBER.sub("", row.place)
        name = self._id_of(row) or self._last.get(file, file)
        self._last[file] = name
        if name not in self._readers:
            self._readers[name] = self._make_reader(name, row.place)
        self._readers[name].read(row.value)

    def conversations(self) -> Iterator[RecordedConversation]:
        for name, reader in self._readers.items():
            reader.finish()
            session = reader.session.build()
            if why := self._lost.get(name):
                session = structs.replace(session, trace=structs.replace(session.trace, error=TraceError(UNREAD, why)))
            yield session


def read_rows(format: ExportFormat, rows: list[Mapping[str, Any]], place: str) -> RecordedConversation | None:
    """The conversation of the rows of one session, as a program wrote them to its output; None if there are none."""
    if format.collect is None:
        return None
    collector = format.collect()
    for number, row in enumerate(rows, 1):
        if format.recognizes(row):
            collector.add(ExportRow(row, f"{place}:{number}"))
    return next(iter(collector.conversations()), None)
