"""What has been seen of a turn so far, and what that says about its tool calls."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import structs

from karat.evidence.calls import tool_calls
from karat.evidence.turns import conversation
from karat.model.suite import Case
from karat.model.trace import Message, ToolCall, Trace, TraceError

UNFINISHED = "the turn did not finish"


class Recorder:
    """A target fills it as it goes, so that a case that is cut short keeps what was seen until then.

    None means that nothing was seen of a channel, which is not the same as seeing that nothing happened.
    """

    __slots__ = (
        "_prompt",
        "dialect",
        "final_message",
        "messages",
        "page",
        "page_before",
        "telemetry",
        "tool_calls",
        "turns",
    )

    def __init__(self) -> None:
        self.turns: list[Trace] = []
        """The turns of a conversation that are over."""
        self.dialect = ""
        """How the target's configuration says that its log spells tool calls."""
        self._prompt: str | None = None
        self.restart()

    def restart(self, prompt: str | None = None) -> None:
        """Forget what was seen of a turn: a new one begins, in a conversation with this prompt."""
        self._prompt = prompt
        self.final_message = ""
        self.messages: list[Message] = []
        self.tool_calls: list[ToolCall] | None = None
        self.telemetry: list[str] | None = None
        self.page: str | None = None
        self.page_before: str | None = None

    def finish(self, turn: Trace) -> None:
        """Keep a turn of a conversation that is over."""
        self.turns.append(turn)
        self.restart()

    def tool_call(self, call: ToolCall) -> None:
        if self.tool_calls is None:
            self.tool_calls = []
        self.tool_calls.append(call)

    def event(self, line: str) -> None:
        if self.telemetry is None:
            self.telemetry = []
        self.telemetry.append(line)

    def partial(self, case: Case, error: TraceError) -> Trace:
        """The trace of a case that broke; in a conversation, with the turns before."""
        if self._prompt is None and self.turns:
            return conversation(self.turns, error)
        broken = self._turn(case, error)
        return broken if self._prompt is None else conversation([*self.turns, broken], error)

    def _turn(self, case: Case, error: TraceError) -> Trace:
        telemetry = tuple(self.telemetry or ())
        unobserved = {"tools": UNFINISHED, "telemetry": UNFINISHED, "page": UNFINISHED}
        seen = {
            "tools": self.tool_calls is not None or self.telemetry is not None,
            "telemetry": self.telemetry is not None,
            "page": self.page is not None,
        }
        return Trace(
            case_id=case.id,
            input=case.prompt if self._prompt is None else self._prompt,
            final_message=self.final_message,
            messages=tuple(self.messages),
            tool_calls=merge_telemetry(tuple(self.tool_calls or ()), telemetry, self.dialect),
            telemetry=telemetry,
            dialect=self.dialect,
            page=self.page,
            page_before=self.page_before,
            unobserved={channel: why for channel, why in unobserved.items() if not seen[channel]},
            error=error,
        )


def merge_telemetry(calls: Sequence[ToolCall], telemetry: tuple[str, ...], dialect: str = "") -> tuple[ToolCall, ...]:
    """The reported calls, completed by the telemetry, then those that only the telemetry has.

    Any event of a tool is a call of it: what an agent leaves out of its list must not escape a check.
    """
    return tuple(merge_calls(calls, tool_calls(telemetry, dialect))) if telemetry else tuple(calls)


def merge_calls(calls: Sequence[ToolCall], derived: Sequence[ToolCall]) -> list[ToolCall]:
    """The calls of one source, completed by another, then those that only the other has."""
    waiting: dict[str, list[int]] = {}
    for index, twin in enumerate(derived):
        waiting.setdefault(twin.name, []).append(index)
    complete = []
    for call in calls:
        match = _twin(call, derived, waiting.get(call.name, []))
        complete.append(call if match is None else _complete_call(call, derived[match]))
    left = sorted(index for indices in waiting.values() for index in indices)
    return [*complete, *(derived[index] for index in left)]


def _twin(call: ToolCall, derived: Sequence[ToolCall], waiting: list[int]) -> int | None:
    """Take the derived call of the same name: the one with the same id, else the earliest."""
    if not waiting:
        return None
    if call.id is None:
        return waiting.pop(0)
    place = next((n for n, index in enumerate(waiting) if derived[index].id == call.id), 0)
    return waiting.pop(place)


def _complete_call(call: ToolCall, twin: ToolCall) -> ToolCall:
    """A call with neither result, success nor error takes them from the same call in the telemetry."""
    if call.result is not None or call.error is not None or call.success is not None:
        return call
    return structs.replace(
        call,
        arguments=twin.arguments if call.arguments is None else call.arguments,
        result=twin.result,
        error=twin.error,
        success=twin.success,
        unfinished=call.unfinished and twin.unfinished,
        missing_fields=call.missing_fields or twin.missing_fields,
        started_at=twin.started_at if call.started_at is None else call.started_at,
        ended_at=twin.ended_at if call.ended_at is None else call.ended_at,
    )
