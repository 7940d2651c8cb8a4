"""What has been seen of a turn so far, and what that says about its tool calls."""

from __future__ import annotations

from collections.abc import Callable

from karat.evidence.merge import merge_ran_calls, merge_telemetry, merge_turns
from karat.evidence.ran_calls import RanCall
from karat.model.suite import Case
from karat.model.trace import Message, PossibleCall, ToolCall, Trace, TraceError

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
        "on_ran",
        "page",
        "page_before",
        "plugins",
        "possible_calls",
        "ran_calls",
        "telemetry",
        "tool_calls",
        "turns",
    )

    def __init__(self) -> None:
        self.turns: list[Trace] = []
        """The turns of a conversation that are over."""
        self.dialect = ""
        """How the target's configuration says that its log spells tool calls."""
        self.plugins: set[str] = set()
        """What the agent's framework puts before the names of tools: `Desk-`."""
        self.on_ran: Callable[[RanCall], None] | None = None
        """Hears of each call that begins to run in this process."""
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
        self.ran_calls: list[RanCall] = []
        """The calls of this turn that were seen to run in this process."""
        self.possible_calls: list[PossibleCall] = []

    def note_ran(self, call: RanCall) -> None:
        """A call begins to run in this process."""
        self.ran_calls.append(call)
        if self.on_ran is not None:
            self.on_ran(call)

    def with_ran_calls(self, trace: Trace) -> Trace:
        """A turn with the calls that were seen to run in this process."""
        return merge_ran_calls(trace, self.ran_calls, self.possible_calls)

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
            return merge_turns(self.turns, error)
        broken = self.with_ran_calls(self._turn(case, error))
        return broken if self._prompt is None else merge_turns([*self.turns, broken], error)

    def _turn(self, case: Case, error: TraceError) -> Trace:
        telemetry = tuple(self.telemetry or ())
        unobserved = {"tools": UNFINISHED, "telemetry": UNFINISHED, "page": UNFINISHED}
        observed = {
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
            unobserved={channel: why for channel, why in unobserved.items() if not observed[channel]},
            error=error,
        )
