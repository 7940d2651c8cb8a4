"""What has been seen of a turn so far, and the calls of tools that ran in this process, as the tool was seen to run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from time import time
from typing import Any

from msgspec import structs, to_builtins

from carob.evidence.merge import merge_by_time, merge_telemetry, merge_turns
from carob.model.suite import Case, TurnDecision
from carob.model.trace import DECISION, Message, PossibleCall, ToolCall, Trace, TraceError
from carob.text.clean import jsonable, text
from carob.text.tool_results import call_success, missing_fields, parse_result

WAITS = frozenset({"GraphBubbleUp", "ApprovalRequired", "CallDeferred", "InterruptException"})
"""Exceptions, by name, that say that a call waits for a person or hands over: it did not fail, and it is not over."""
STOPPED = frozenset({"CancelledError", "GeneratorExit", "KeyboardInterrupt"})
"""Exceptions by which a call was given up: how it would have ended is unknown."""

SOME_SEEN = (
    'tools were seen to run in this process, and others may run unseen: the line evidence = ["models"] in the table of '
    "the target shows every call that its models ask for"
)


@dataclass(slots=True, eq=False)
class RanCall:
    """One call, from the moment that its tool was entered. It is completed while the tool runs."""

    name: str
    arguments: Any
    call_id: str | None
    parent: str | None
    began: bool
    """Whether the tool itself was reached, and not only what looks at its arguments."""
    owner: object
    """The run of a case that it is of."""
    started_at: float = field(default_factory=time)
    ended_at: float | None = None
    result: Any = None
    has_result: bool = False
    artifact: object = None
    """What LangChain's tools give besides, for the program alone."""
    error: str | None = None
    shows_failure: bool = False
    hands_over: bool = False
    waits: bool = False
    refused: bool = False
    """Whether a guard did not let it through."""
    approval: Any = None
    """What its framework knows of the approval of a person."""
    is_pending: bool = False
    """Whether it gave a placeholder of a result, such as an iterator that was not taken to its end."""
    is_entered: bool = False
    """Whether a function of the agent's that was handed over runs for it."""
    is_linked: bool = False
    """Whether another source saw the very same run."""
    order: int = 0

    @property
    def broke(self) -> bool:
        return self.shows_failure or self.error is not None

    @property
    def is_over(self) -> bool:
        return self.ended_at is not None or self.waits

    def note_result(self, result: object, *, failed: bool = False) -> None:
        """What the tool gave; `failed` where its framework says that it raised."""
        self.result, self.has_result = jsonable(result), True
        self.shows_failure = self.shows_failure or failed

    def note_error(self, error: BaseException) -> None:
        """What the tool raised, if it is not how it waits or was given up."""
        names = {kind.__name__ for kind in type(error).__mro__}
        if not names.isdisjoint(WAITS | STOPPED):
            self.waits = True
        elif self.error is None:
            self.error = text(f"{type(error).__name__}: {error}")

    def end(self) -> None:
        """The tool was left."""
        if not self.waits:
            self.ended_at = time()

    def as_call(self) -> ToolCall:
        """The call as it is known now."""
        result = parse_result(self.result)
        is_over = self.ended_at is not None and self.began
        return ToolCall(
            self.name,
            self.arguments,
            id=self.call_id,
            started=self.began,
            result=None if self.error is not None else result,
            error=self.error,
            success=call_success(result, raised=self.broke, ended=is_over),
            missing_fields=missing_fields(result),
            started_at=self.started_at if self.began else None,
            ended_at=self.ended_at if self.began else None,
            unfinished=not is_over,
            parent=self.parent,
            refused=self.refused,
        )


def mark_decision(trace: Trace, decision: TurnDecision | None) -> Trace:
    """The trace of a turn in which the user said nothing but decided."""
    if decision is None:
        return trace
    return structs.replace(trace, metadata={**trace.metadata, DECISION: to_builtins(decision)})


UNFINISHED = "the turn did not finish"


class Recorder:
    """A target fills it as it goes, so that a case that is cut short keeps what was seen until then.

    None means that nothing was seen of a channel, which is not the same as seeing that nothing happened.
    """

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

    def restart(self, prompt: str | None = None, decision: TurnDecision | None = None) -> None:
        """Forget what was seen of a turn: a new one begins, in a conversation with this prompt or decision."""
        self._prompt = prompt
        self.decision = decision
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
        """A turn with the calls that were seen to run in this process, and those that may have been of it."""
        others = [call.as_call() for call in self.ran_calls if not call.is_linked]
        if not others and not self.possible_calls:
            return trace
        is_partial = bool(others) and "tools" in trace.unobserved
        return structs.replace(
            trace,
            unobserved=trace.unobserved | ({"tools": SOME_SEEN} if is_partial else {}),
            tool_calls=tuple(merge_by_time(trace.tool_calls, others)),
            possible_calls=tuple(dict.fromkeys([*trace.possible_calls, *self.possible_calls])),
        )

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
        broken = mark_decision(self.with_ran_calls(self._turn(case, error)), self.decision)
        return broken if self._prompt is None else merge_turns([*self.turns, broken], error)

    def _turn(self, case: Case, error: TraceError) -> Trace:
        telemetry = tuple(self.telemetry or ())
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
            unobserved={channel: UNFINISHED for channel, is_observed in observed.items() if not is_observed},
            error=error,
        )
