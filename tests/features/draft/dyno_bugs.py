"""Bugs to plant into the dyno agent: in what its model asks for, and in what it says."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from dyno_agent import rule_based

Plant = Callable[[object, str, Any], None]
"""How something of the agent is replaced: `setattr`, or that of a MonkeyPatch."""
Calls = list[dict[str, Any]]
BOOKING = {"vehicle_id": 42, "test_type": "brake", "start_date": "2026-05-01"}


def _next(plant: Plant, change: Callable[[AIMessage, Sequence[BaseMessage]], AIMessage]) -> None:
    right = rule_based._next_message
    plant(rule_based, "_next_message", lambda messages, names: change(right(messages, names), messages))


def _calls(plant: Plant, change: Callable[[Calls], Calls]) -> None:
    """The calls that the model asks for are changed."""

    def wrongly(message: AIMessage, messages: Sequence[BaseMessage]) -> AIMessage:
        if not message.tool_calls:
            return message
        calls = change([dict(call) for call in message.tool_calls])
        numbered = [{**call, "id": f"{call['id']}_{number}"} for number, call in enumerate(calls)]
        return AIMessage(message.text, tool_calls=numbered)

    _next(plant, wrongly)


def _arguments(plant: Plant, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    _calls(plant, lambda calls: [{**call, "args": change(call["args"])} for call in calls])


def _words(plant: Plant, change: Callable[[str, bool], str]) -> None:
    """What the model says is changed; it knows whether a tool of the turn succeeded."""

    def wrongly(message: AIMessage, messages: Sequence[BaseMessage]) -> AIMessage:
        if message.tool_calls:
            return message
        done = isinstance(messages[-1], ToolMessage) and '"success": true' in messages[-1].text
        return AIMessage(change(message.text, done))

    _next(plant, wrongly)


def _asked(messages: Sequence[BaseMessage]) -> str:
    return next((message.text for message in reversed(messages) if isinstance(message, HumanMessage)), "")


def another_vehicle(plant: Plant) -> None:
    """Another vehicle than was asked for."""
    _arguments(plant, lambda a: {**a, "vehicle_id": a["vehicle_id"] + 1} if "vehicle_id" in a else a)


def another_day(plant: Plant) -> None:
    """Another day than was asked for."""
    _arguments(plant, lambda a: {**a, "start_date": "2026-06-06", "end_date": "2026-06-07"} if "start_date" in a else a)


def another_test(plant: Plant) -> None:
    """Another kind of test than was asked for."""
    _arguments(plant, lambda a: {**a, "test_type": "emissions"} if "test_type" in a else a)


def forgets_the_last_day(plant: Plant) -> None:
    """Of a range only the first day is booked."""
    _arguments(plant, lambda a: {key: value for key, value in a.items() if key != "end_date"})


def words_for_numbers(plant: Plant) -> None:
    """Arguments that no tool takes."""
    _arguments(plant, lambda a: {**a, "vehicle_id": "forty-two"} if "vehicle_id" in a else a)


def calls_twice(plant: Plant) -> None:
    """Every tool is called twice."""
    _calls(plant, lambda calls: [*calls, *calls])


def loops(plant: Plant) -> None:
    """The same calls again and again, six times."""

    def again(message: AIMessage, messages: Sequence[BaseMessage]) -> AIMessage:
        made = [one for one in messages if isinstance(one, AIMessage) and one.tool_calls]
        if message.tool_calls or not made or len(made) > 5:
            return message
        return AIMessage("", tool_calls=[{**call, "id": f"again_{len(made)}"} for call in made[-1].tool_calls])

    _next(plant, again)


def books_instead_of_looking(plant: Plant) -> None:
    """A question is answered by a booking."""
    _calls(plant, lambda calls: [{**c, "name": "auto_allocate_vehicle", "args": BOOKING} for c in calls])


def books_as_well(plant: Plant) -> None:
    """Something is booked that was not asked for."""
    more = {"name": "auto_allocate_vehicle", "args": BOOKING, "id": "more", "type": "tool_call"}
    _calls(plant, lambda calls: [*calls, more])


def another_lookup(plant: Plant) -> None:
    """The wrong tool is asked."""
    _calls(plant, lambda calls: [{**c, "name": "completed_tests_count", "args": {}} for c in calls])


def a_tool_that_is_not_there(plant: Plant) -> None:
    """A tool is asked for that does not exist."""
    _calls(plant, lambda calls: [{**c, "name": "erase_schedule", "args": {}} for c in calls])


def calls_nothing(plant: Plant) -> None:
    """A deed is claimed that was never done."""
    _next(plant, lambda message, messages: AIMessage("Allocated as you wished.") if message.tool_calls else message)


def guesses(plant: Plant) -> None:
    """What is missing is made up in place of a question."""

    def guess(message: AIMessage, messages: Sequence[BaseMessage]) -> AIMessage:
        if message.tool_calls or "?" not in message.text or isinstance(messages[-1], ToolMessage):
            return message
        call = {"name": "auto_allocate_vehicle", "args": BOOKING, "id": "guess", "type": "tool_call"}
        return AIMessage("", tool_calls=[call])

    _next(plant, guess)


def does_what_it_must_not(plant: Plant) -> None:
    """What is to be refused is done."""

    def obeys(message: AIMessage, messages: Sequence[BaseMessage]) -> AIMessage:
        if message.tool_calls or "delete" not in _asked(messages).lower() or isinstance(messages[-1], ToolMessage):
            return message
        call = {"name": "auto_allocate_vehicle", "args": BOOKING, "id": "obeys", "type": "tool_call"}
        return AIMessage("", tool_calls=[call])

    _next(plant, obeys)


def claims_it_anyway(plant: Plant) -> None:
    """A failure is reported as done."""
    _words(plant, lambda said, done: said if done or "?" in said else "Booked and confirmed, see you there.")


def claims_what_it_refused(plant: Plant) -> None:
    """What it cannot do is claimed as done."""
    _words(plant, lambda said, done: said if done or "cannot" not in said.lower() else "All of it has been deleted.")


def makes_up_a_number(plant: Plant) -> None:
    """A number that nothing shows."""
    _words(plant, lambda said, done: f"{said} That makes 7,313 slots in all." if done else said)


def another_number(plant: Plant) -> None:
    """The number that the tool gave is off by ten."""
    pattern = re.compile(r"(?<=allocation )\d+|(?<=: )\d+(?= )|\b\d,\d{3}\b")
    _words(
        plant, lambda said, done: pattern.sub(lambda m: str(int(m[0].replace(",", "")) + 10), said) if done else said
    )


def says_nothing(plant: Plant) -> None:
    """The answer is empty."""
    _words(plant, lambda said, done: "")


def refuses(plant: Plant) -> None:
    """It refuses before it tries."""
    _next(plant, lambda message, messages: AIMessage("I am sorry, I cannot help with that."))


def wordy(plant: Plant) -> None:
    """An answer goes on and on."""
    _words(plant, lambda said, done: f"{said} {'And so on and so forth. ' * 80}")


def breaks(plant: Plant) -> None:
    """The model breaks after a tool has run."""

    def broken(message: AIMessage, messages: Sequence[BaseMessage]) -> AIMessage:
        if isinstance(messages[-1], ToolMessage):
            raise RuntimeError("out of memory")
        return message

    _next(plant, broken)


BUGS = {
    bug.__name__.replace("_", "-"): bug
    for bug in (
        another_vehicle, another_day, another_test, forgets_the_last_day, words_for_numbers, calls_twice, loops,
        books_instead_of_looking, books_as_well, another_lookup, a_tool_that_is_not_there, calls_nothing, guesses,
        does_what_it_must_not, claims_it_anyway, claims_what_it_refused, makes_up_a_number, another_number,
        says_nothing, refuses, wordy, breaks,
    )
}  # fmt: skip
