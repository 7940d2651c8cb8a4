"""What a brain is given, and what it must do."""

from collections.abc import Mapping
from typing import Protocol

from canvas_app.store.workspace import Workspace
from canvas_app.tools.base import ToolResult


class BrainError(Exception):
    """The brain could not answer; the message may be shown to the person."""


class Turn(Protocol):
    """One turn of the conversation, as a brain sees it."""

    workspace: Workspace
    message: str

    async def say(self, text: str) -> None:
        """Stream a piece of the answer."""

    async def use(self, tool: str, arguments: Mapping[str, object]) -> ToolResult:
        """Run a tool; what it answers is also shown on the page and in the telemetry."""

    def model_asked(self, model: str) -> None:
        """Note that a request to a model begins."""

    def model_answered(self, usage: Mapping[str, int], error: str | None) -> None:
        """Note that it ended, with the tokens it took."""


class Brain(Protocol):
    name: str

    async def answer(self, turn: Turn) -> None:
        """Answer the turn's message with `turn.say`, using tools as needed."""
