"""A published conversation and its task, whatever file they came from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

REFUSED = ("Error", "Unknown action")
"""How results of tau-bench begin where a tool refused, raised, or does not exist."""


class Call(NamedTuple):
    """A tool with its arguments, and what it gave; of a gold action the result is not known."""

    name: str
    arguments: dict[str, Any]
    result: str | None = None

    @property
    def succeeded(self) -> bool:
        """As somebody who knows the benchmark reads its results."""
        return self.result is not None and not self.result.startswith(REFUSED)


class Turn(NamedTuple):
    """What the user said, the calls that followed, words that came with calls, and the answer, which may be empty."""

    prompt: str
    calls: tuple[Call, ...] = ()
    asides: tuple[str, ...] = ()
    answer: str = ""


class Task(NamedTuple):
    """What had to be done: gold actions, and words that some answer has to hold."""

    actions: tuple[Call, ...] = ()
    outputs: tuple[str, ...] = ()

    def writes(self, tools: Sequence[str]) -> list[Call]:
        return [action for action in self.actions if action.name in tools]


class Conversation(NamedTuple):
    """One trajectory: its turns, the published reward, and whether it came to its end."""

    id: str
    task: Task
    turns: tuple[Turn, ...]
    reward: float
    ended: bool

    @property
    def rewarded(self) -> bool:
        return self.reward > 1 - 1e-6

    def calls(self) -> Iterator[Call]:
        for turn in self.turns:
            yield from turn.calls

    def writes(self, tools: Sequence[str]) -> list[Call]:
        return [call for call in self.calls() if call.name in tools]

    def turn_that_says(self, output: str) -> int | None:
        """The first turn whose answer holds the output, compared as tau-bench does: without case and commas."""
        for index, turn in enumerate(self.turns):
            if output.lower() in turn.answer.lower().replace(",", ""):
                return index
        return None
