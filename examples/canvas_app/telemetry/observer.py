"""What can be told about a turn, and to whom."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from canvas_app.tools.base import ToolResult


@dataclass(frozen=True, slots=True)
class TurnInfo:
    """`correlation_id` is the same for the whole conversation; `number` counts its turns from 1."""

    correlation_id: str
    number: int
    brain: str
    trigger: str

    @property
    def id(self) -> str:
        return f"{self.correlation_id}/{self.number}"


@dataclass(frozen=True, slots=True)
class ToolCall:
    id: str
    name: str
    arguments: Mapping[str, object]


class Observer(Protocol):
    """The prompt is never told: only what the app did about it."""

    def turn_started(self, turn: TurnInfo) -> None: ...

    def tool_started(self, turn: TurnInfo, call: ToolCall) -> None: ...

    def tool_finished(self, turn: TurnInfo, call: ToolCall, result: ToolResult, milliseconds: float) -> None: ...

    def tool_crashed(self, turn: TurnInfo, call: ToolCall, error: str, milliseconds: float) -> None: ...

    def model_asked(self, turn: TurnInfo, model: str) -> None: ...

    def model_answered(self, turn: TurnInfo, usage: Mapping[str, int], error: str | None) -> None: ...

    def turn_ended(self, turn: TurnInfo, status: str, error: str | None, milliseconds: float) -> None: ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Observers:
    """Several observers as one."""

    each: Sequence[Observer]

    def turn_started(self, turn: TurnInfo) -> None:
        for observer in self.each:
            observer.turn_started(turn)

    def tool_started(self, turn: TurnInfo, call: ToolCall) -> None:
        for observer in self.each:
            observer.tool_started(turn, call)

    def tool_finished(self, turn: TurnInfo, call: ToolCall, result: ToolResult, milliseconds: float) -> None:
        for observer in self.each:
            observer.tool_finished(turn, call, result, milliseconds)

    def tool_crashed(self, turn: TurnInfo, call: ToolCall, error: str, milliseconds: float) -> None:
        for observer in self.each:
            observer.tool_crashed(turn, call, error, milliseconds)

    def model_asked(self, turn: TurnInfo, model: str) -> None:
        for observer in self.each:
            observer.model_asked(turn, model)

    def model_answered(self, turn: TurnInfo, usage: Mapping[str, int], error: str | None) -> None:
        for observer in self.each:
            observer.model_answered(turn, usage, error)

    def turn_ended(self, turn: TurnInfo, status: str, error: str | None, milliseconds: float) -> None:
        for observer in self.each:
            observer.turn_ended(turn, status, error, milliseconds)

    def close(self) -> None:
        for observer in self.each:
            observer.close()
