"""The order of a turn: words, model steps and calls one after the other, as far as it is known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

import msgspec

from carob.model.trace import UNSEEN_WORDS, Message, ToolCall, Trace

USERS: Final = ("user", "human")
TOOLS: Final = ("tool", "function")
NO_ANSWER: Final = (*USERS, *TOOLS, "system", UNSEEN_WORDS)
MOST_CALLS: Final = 500
MOST_MESSAGES: Final = 1_200
"""Two for each call, and some."""
MOST_SPANS: Final = 1_000


class StoryItem(NamedTuple):
    """One thing that happened, by its number from 0: a message, a call, or a span of the model."""

    kind: Literal["message", "call", "step"]
    number: int


class TurnStory(NamedTuple):
    """What happened in a turn, in order. `answer` is the message that is judged, if there is one of its words."""

    items: list[StoryItem]
    answer: int | None
    loose: bool
    """Whether the agent said something on the way of which it is not known before or after which call."""


def tell_turn(trace: Trace) -> TurnStory:
    """The order of a turn: its last messages, its first calls and spans.

    The message of a tool is where its call was. Calls without one come before the answer, which is all that is known
    of them. A step of the model comes before the first call that started after it.
    """
    return _Turn(trace).tell()


class _Turn:
    """A turn, bounded: a trace may hold any number of everything."""

    def __init__(self, trace: Trace) -> None:
        self._skipped = max(len(trace.messages) - MOST_MESSAGES, 0)
        self._messages = trace.messages[self._skipped :]
        self._calls = trace.tool_calls[:MOST_CALLS]
        self._spans = trace.spans[:MOST_SPANS]
        self._answer = _find_answer(self._messages, trace.final_message)

    def tell(self) -> TurnStory:
        # Without the first messages, those of tools that are left are not those of the first calls.
        placed = {} if self._skipped else _calls_by_message(self._messages, self._calls)
        placed_calls = set(placed.values())
        unplaced = [StoryItem("call", index) for index in range(len(self._calls)) if index not in placed_calls]
        items: list[StoryItem] = []
        for index, message in enumerate(self._messages):
            items += unplaced if index == self._answer else []
            call = placed.get(index)
            items += [] if call is None else [StoryItem("call", call)]
            if call is None or not _says_same(message.content, self._calls[call]):
                items.append(StoryItem("message", index))
        items += unplaced if self._answer is None else []
        ordered = [self._renumber(item) for item in self._with_steps(items)]
        answer = None if self._answer is None else self._answer + self._skipped
        return TurnStory(ordered, answer, bool(unplaced) and self._speaks_before())

    def _renumber(self, item: StoryItem) -> StoryItem:
        return item._replace(number=item.number + self._skipped) if item.kind == "message" else item

    def _speaks_before(self) -> bool:
        """Whether the agent says something on the way to its answer."""
        return any(_is_agent(message) and message.content.strip() for message in self._messages[: self._answer])

    def _with_steps(self, items: list[StoryItem]) -> list[StoryItem]:
        """The items with the steps of the model between them, where times show their places."""
        steps = [(span.started_at, index) for index, span in enumerate(self._spans) if span.kind == "model"]
        by_start = sorted((start, index) for start, index in steps if start is not None)
        if self._calls and all(call.started_at is None for call in self._calls):
            return items
        before: dict[int, list[StoryItem]] = {}
        for start, index in by_start:
            before.setdefault(self._step_place(items, start), []).append(StoryItem("step", index))
        groups = [[*before.get(position, ()), item] for position, item in enumerate(items)]
        return [*(each for group in groups for each in group), *before.get(len(items), ())]

    def _step_place(self, items: Sequence[StoryItem], start: float) -> int:
        """Before which item a step belongs: words that lead to a call are of the step that asked for it."""
        index = next((at for at, item in enumerate(items) if self._is_started_after(item, start)), None)
        if index is None:
            return next((at for at, item in enumerate(items) if item == ("message", self._answer)), len(items))
        while index and items[index - 1].kind == "message" and _is_agent(self._messages[items[index - 1].number]):
            index -= 1
        return index

    def _is_started_after(self, item: StoryItem, start: float) -> bool:
        started = self._calls[item.number].started_at if item.kind == "call" else None
        return started is not None and started >= start


def _find_answer(messages: Sequence[Message], text: str) -> int | None:
    """The message that is the answer."""
    answers = [
        index
        for index, message in enumerate(messages)
        if _is_agent(message) and message.content.strip() == text.strip()
    ]
    return answers[-1] if answers else None


def _calls_by_message(messages: Sequence[Message], calls: Sequence[ToolCall]) -> dict[int, int]:
    """Which call each message of a tool is of: the first of its name that has none yet.

    Calls that ran side by side answer in any order; they are shown in theirs.
    """
    free = list(range(len(calls)))
    groups: list[tuple[list[int], list[int]]] = []
    for index, message in enumerate(messages):
        call = next((number for number in free if message.name in (None, calls[number].name)), None)
        if message.role not in TOOLS or call is None:
            continue
        free.remove(call)
        if not groups or groups[-1][0][-1] != index - 1:
            groups.append(([], []))
        groups[-1][0].append(index)
        groups[-1][1].append(call)
    return {at: call for group, numbers in groups for at, call in zip(group, sorted(numbers), strict=True)}


def _says_same(content: str, call: ToolCall) -> bool:
    """Whether the message of a tool holds nothing that its call does not show."""
    text, result = content.strip(), call.result
    if not text or text == call.error:
        return True
    if result is None or isinstance(result, str):
        return isinstance(result, str) and text == result.strip()
    try:
        return bool(msgspec.json.decode(text) == result)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return text == str(result)


def _is_agent(message: Message) -> bool:
    return message.role not in NO_ANSWER
