"""The order of a turn: words, model steps and calls one after the other, as far as it is known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

import msgspec

from karat.model.trace import UNSEEN_WORDS, Message, ToolCall, Trace

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
        known = set(placed.values())
        rest = [StoryItem("call", index) for index in range(len(self._calls)) if index not in known]
        items: list[StoryItem] = []
        for index, message in enumerate(self._messages):
            items += rest if index == self._answer else []
            call = placed.get(index)
            items += [] if call is None else [StoryItem("call", call)]
            if call is None or not _says_same(message.content, self._calls[call]):
                items.append(StoryItem("message", index))
        items += rest if self._answer is None else []
        ordered = [self._renumber(item) for item in self._with_steps(items)]
        answer = None if self._answer is None else self._answer + self._skipped
        return TurnStory(ordered, answer, bool(rest) and self._speaks_before())

    def _renumber(self, item: StoryItem) -> StoryItem:
        return item._replace(number=item.number + self._skipped) if item.kind == "message" else item

    def _speaks_before(self) -> bool:
        """Whether the agent says something on the way to its answer."""
        return any(_is_agent(message) and message.content.strip() for message in self._messages[: self._answer])

    def _with_steps(self, items: list[StoryItem]) -> list[StoryItem]:
        """The items with the steps of the model between them, where times show their places."""
        steps = [(span.started_at, index) for index, span in enumerate(self._spans) if span.kind == "model"]
        known = sorted((start, index) for start, index in steps if start is not None)
        if self._calls and all(call.started_at is None for call in self._calls):
            return items
        before: dict[int, list[StoryItem]] = {}
        for start, index in known:
            before.setdefault(self._step_place(items, start), []).append(StoryItem("step", index))
        made = [[*before.get(place, ()), item] for place, item in enumerate(items)]
        return [*(one for group in made for one in group), *before.get(len(items), ())]

    def _step_place(self, items: Sequence[StoryItem], start: float) -> int:
        """Before which item a step belongs: words that lead to a call are of the step that asked for it."""
        place = next((at for at, item in enumerate(items) if self._is_started_after(item, start)), None)
        if place is None:
            return next((at for at, item in enumerate(items) if item == ("message", self._answer)), len(items))
        while place and items[place - 1].kind == "message" and _is_agent(self._messages[items[place - 1].number]):
            place -= 1
        return place

    def _is_started_after(self, item: StoryItem, start: float) -> bool:
        started = self._calls[item.number].started_at if item.kind == "call" else None
        return started is not None and started >= start


def _find_answer(messages: Sequence[Message], text: str) -> int | None:
    """The message that is the answer."""
    found = [
        index
        for index, message in enumerate(messages)
        if _is_agent(message) and message.content.strip() == text.strip()
    ]
    return found[-1] if found else None


def _calls_by_message(messages: Sequence[Message], calls: Sequence[ToolCall]) -> dict[int, int]:
    """Which call each message of a tool is of: the first of its name that has none yet.

    Calls that ran side by side answer in any order; they are shown in theirs.
    """
    free = list(range(len(calls)))
    groups: list[tuple[list[int], list[int]]] = []
    for index, message in enumerate(messages):
        call = next((one for one in free if message.name in (None, calls[one].name)), None)
        if message.role not in TOOLS or call is None:
            continue
        free.remove(call)
        if not groups or groups[-1][0][-1] != index - 1:
            groups.append(([], []))
        groups[-1][0].append(index)
        groups[-1][1].append(call)
    return {at: call for group, found in groups for at, call in zip(group, sorted(found), strict=True)}


def _says_same(content: str, call: ToolCall) -> bool:
    """Whether the message of a tool holds nothing that its call does not show."""
    said, result = content.strip(), call.result
    if not said or said == call.error:
        return True
    if result is None or isinstance(result, str):
        return isinstance(result, str) and said == result.strip()
    try:
        return bool(msgspec.json.decode(said) == result)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return said == str(result)


def _is_agent(message: Message) -> bool:
    return message.role not in NO_ANSWER
