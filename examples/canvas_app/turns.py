"""One turn of a conversation: a brain answers, tools run, and what happens is streamed and told."""

import asyncio
import logging
import re
import time
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass

from canvas_app.brain.base import Brain, BrainError
from canvas_app.records import Pending
from canvas_app.store.workspace import Workspace
from canvas_app.telemetry.observer import Observer, ToolCall, TurnInfo
from canvas_app.tools.base import ToolResult, refused
from canvas_app.tools.registry import run_tool

MAX_TOOL_CALLS = 24
BROKE_OFF = "The answer broke off because of a fault in the app. Please try again."

_log = logging.getLogger("canvas_app.turns")


@dataclass(frozen=True, slots=True)
class TextPiece:
    text: str


@dataclass(frozen=True, slots=True)
class ToolBegan:
    tool: str


@dataclass(frozen=True, slots=True)
class ToolEnded:
    tool: str
    result: ToolResult


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """`status` is `ok` or `error`; `text` is all that the assistant said."""

    status: str
    text: str
    problem: str | None = None


TurnEvent = TextPiece | ToolBegan | ToolEnded | TurnEnded


class LiveTurn:
    """Runs a brain on one message. What it does arrives in `events()`, in order, and ends with `TurnEnded`."""

    def __init__(self, workspace: Workspace, brain: Brain, observer: Observer, message: str, trigger: str) -> None:
        self.workspace = workspace
        self.message = message
        self._brain = brain
        self._observer = observer
        self._info = TurnInfo(workspace.session, workspace.conversation.next_turn(), brain.name, trigger)
        self._queue: asyncio.Queue[TurnEvent] = asyncio.Queue()
        self._said: list[str] = []
        self._calls = 0
        self._pending: Pending | None = None

    async def say(self, text: str) -> None:
        self._said.append(text)
        self._queue.put_nowait(TextPiece(text))
        await asyncio.sleep(0)

    async def use(self, tool: str, arguments: Mapping[str, object]) -> ToolResult:
        self._calls += 1
        tool = re.sub(r"[^\w.-]", "_", tool)[:64] or "unnamed"
        call = ToolCall(f"{self._info.id}/{self._calls}", tool, dict(arguments))
        self._queue.put_nowait(ToolBegan(tool))
        self._observer.tool_started(self._info, call)
        began = time.perf_counter()
        result = self._run(call, began)
        self._queue.put_nowait(ToolEnded(tool, result))
        await asyncio.sleep(0)
        return result

    def _run(self, call: ToolCall, began: float) -> ToolResult:
        try:
            if self._calls > MAX_TOOL_CALLS:
                result = refused("too_many_calls", f"No more than {MAX_TOOL_CALLS} tool calls fit into one turn.")
            else:
                result = run_tool(self.workspace, call.name, call.arguments)
        except Exception as problem:  # noqa: BLE001
            # A tool that breaks must not break the conversation: the brain is told and words it for the person.
            _log.exception("tool %s crashed", call.name)
            self._observer.tool_crashed(self._info, call, _named(problem), _milliseconds_since(began))
            return refused("internal_error", "Something went wrong inside the tool, and nothing was changed.")
        self._observer.tool_finished(self._info, call, result, _milliseconds_since(began))
        self._pending = result.pending or (None if result.success else self._pending)
        return result

    def model_asked(self, model: str) -> None:
        self._observer.model_asked(self._info, model)

    def model_answered(self, usage: Mapping[str, int], error: str | None) -> None:
        self._observer.model_answered(self._info, usage, error)

    async def events(self) -> AsyncGenerator[TurnEvent, None]:
        """Start the turn and follow it. Leaving early cancels it, and the telemetry says so."""
        answering = asyncio.create_task(self._conduct())
        try:
            while True:
                event = await self._queue.get()
                yield event
                if isinstance(event, TurnEnded):
                    return
        finally:
            answering.cancel()
            await asyncio.wait({answering})

    async def _conduct(self) -> None:
        began = time.perf_counter()
        self._observer.turn_started(self._info)
        self.workspace.conversation.say("user", self.message)
        status, problem, error = "cancelled", None, None
        try:
            await self._brain.answer(self)
            status = "ok"
        except BrainError as trouble:
            status, problem, error = "error", str(trouble), _named(trouble)
        except Exception as trouble:  # noqa: BLE001
            # Whatever a brain raises, the person gets an end to the turn and the telemetry a reason.
            _log.exception("turn %s crashed", self._info.id)
            status, problem, error = "error", BROKE_OFF, _named(trouble)
        finally:
            text = "".join(self._said)
            if text:
                self.workspace.conversation.say("assistant", text)
            self.workspace.conversation.set_pending(self._pending)
            self._observer.turn_ended(self._info, status, error, _milliseconds_since(began))
            self._queue.put_nowait(TurnEnded(status, text, problem))


def _named(problem: Exception) -> str:
    return f"{type(problem).__name__}: {problem}"


def _milliseconds_since(began: float) -> float:
    return (time.perf_counter() - began) * 1000
