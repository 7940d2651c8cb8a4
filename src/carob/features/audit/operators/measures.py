"""More than words and calls: what a turn cost, the state that it left, numbers and JSON, turns of a talk."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation

import regex
from msgspec import structs

from carob.checks.numbers.sources import results
from carob.evidence.merge import merge_turns
from carob.features.audit.operators.base import Mutant, Operator, Subject, of_answer, other_value
from carob.features.audit.operators.tool_calls import dropped
from carob.model.cost import COST, reported_cost
from carob.model.trace import Tokens
from carob.text.json_answers import json_answer
from carob.text.numbers.claimed import StatedNumber, numbers_in, stated_numbers

FAR_TOO_MUCH = 1000
BUDGET_FACTOR = 3
"""A figure that one run took is not a bound for the next: a budget allows so many times as much."""
HOUR_MS = 3_600_000.0
PADDING = " ".join(["and so on and so forth,"] * 100)
FIRST_TOKEN = "first_token_ms"
_DIGITS = regex.compile(r"[+-]?[0-9](?:[0-9,'. ]*[0-9])?")
_NO_DIGIT = regex.compile(r"[^0-9.]")
_NUMBER = regex.compile(r"(?<![\w.,-])\d+(?:,\d{3})*(?:\.\d+)?(?![\w-])")


def round_up(value: float) -> float | int:
    """The next number that people would choose: 1, 2, 5, 10, 20, 50, ..."""
    size = 10.0 ** math.floor(math.log10(value)) if value > 0 else 1.0
    chosen = next(step * size for step in (1, 2, 5, 10) if step * size >= value * 0.999999)
    return int(chosen) if chosen >= 1 else float(f"{chosen:.6g}")


def budget_for(value: float) -> float | int:
    """A bound for what was seen once."""
    return round_up(value * BUDGET_FACTOR)


def overspent(subject: Subject) -> Iterator[Mutant]:
    """Each measure that was taken."""
    trace = subject.trace
    if trace.duration_ms:
        slow = structs.replace(trace, duration_ms=trace.duration_ms + HOUR_MS)
        yield Mutant(slow, "it took an hour longer", {"max_seconds": 60})
    if trace.timings.get(FIRST_TOKEN):
        late = {**trace.timings, FIRST_TOKEN: trace.timings[FIRST_TOKEN] + HOUR_MS}
        slow = structs.replace(trace, timings=late)
        yield Mutant(slow, "the first word came an hour later", {"max_first_token_seconds": 10})
    if trace.steps:
        longer = structs.replace(trace, steps=trace.steps * FAR_TOO_MUCH)
        yield Mutant(longer, "it took a thousand times as many steps", {"max_steps": budget_for(trace.steps)})
    cost = reported_cost(trace.metadata)
    metadata = {**trace.metadata, COST: cost * FAR_TOO_MUCH} if cost else trace.metadata
    if cost:
        dear = structs.replace(trace, metadata=metadata)
        yield Mutant(dear, "it cost a thousand times as much", {"max_cost_usd": budget_for(cost)})
    tokens = trace.tokens
    if tokens and tokens.input and tokens.output:
        more = Tokens(tokens.input * FAR_TOO_MUCH, tokens.output * FAR_TOO_MUCH)
        fix = {"max_tokens": {"total": budget_for(tokens.input + tokens.output)}}
        spent = structs.replace(trace, tokens=more, metadata=metadata)
        yield Mutant(spent, "it used a thousand times as many tokens", fix)


def state_changed(subject: Subject) -> Iterator[Mutant]:
    """Each plain value at the top of the state."""
    for key, value in subject.trace.state.items():
        if isinstance(value, str | int | float):
            changed = structs.replace(subject.trace, state={**subject.trace.state, key: other_value(value)})
            path = f"$[{json.dumps(key)}]"
            yield Mutant(changed, f"{key} of the state was another", {"state": {path: value}})


def off_by_one(subject: Subject) -> Iterator[Mutant]:
    """Each amount in the answer, changed in its last digit."""
    text = subject.answer
    for stated in amounts(text):
        start, end = stated.span
        number = _next(stated, text[start:end])
        changed = subject.with_answer(f"{text[:start]}{number}{text[end:]}")
        yield Mutant(changed, f"{text[start:end]} became {number}", {"grounded_numbers": True})


def results_changed(subject: Subject) -> Iterator[Mutant]:
    """Each amount in the answer, changed in the results that hold it; not one that the page shows as well."""
    elsewhere = {*numbers_in(subject.trace.input), *numbers_in(subject.trace.page or "")}
    for value in dict.fromkeys(abs(stated.value) for stated in amounts(subject.answer)):
        if value in elsewhere:
            continue
        calls = tuple(structs.replace(call, result=_without(call.result, value)) for call in subject.trace.tool_calls)
        if calls != subject.trace.tool_calls and list(results(subject.trace)):
            changed = structs.replace(subject.trace, tool_calls=calls)
            yield Mutant(changed, f"no tool gave {value:f}, which it states", {"grounded_numbers": True})


def json_changed(subject: Subject) -> Iterator[Mutant]:
    """Each member of a JSON answer that is an object: another value, and none."""
    parsed = json_answer(subject.answer).value
    answer: dict[str, object] = parsed if isinstance(parsed, dict) else {}
    for key, value in answer.items():
        without = {name: member for name, member in answer.items() if name != key}
        fix = {"answer_json": {"type": "object", "required": [*answer]}}
        yield Mutant(subject.with_answer(json.dumps(without)), f"{key} was missing", fix)
        yield Mutant(subject.with_answer(json.dumps({**answer, key: other_value(value)})), f"{key} was another")


def padded(subject: Subject) -> Iterator[Mutant]:
    fix = {"max_words": budget_for(max(len(subject.answer.split()), 20))}
    yield Mutant(subject.with_answer(f"{subject.answer} {PADDING}"), "the answer went on for hundreds of words", fix)


def precondition_dropped(subject: Subject) -> Iterator[Mutant]:
    """Each call that others come after."""
    calls = subject.trace.tool_calls
    for mutant, call in zip(dropped(subject), calls[:-1], strict=False):
        needed = {later.name: [call.name] for later in calls[-1:] if later.name != call.name}
        yield mutant._replace(fix={"tool_requires": needed} if needed and call.success else {})


def turn_skipped(subject: Subject) -> Iterator[Mutant]:
    """The agent is one turn late: it gives the answer to the turn before; of a whole talk, each turn left out."""
    before, trace = subject.earlier, subject.trace
    if before is not None:
        late = structs.replace(before, case_id=trace.case_id, input=trace.input)
        yield Mutant(late, "it answered as in the turn before")
    for index in range(len(trace.turns) if len(trace.turns) > 1 else 0):
        fewer = [*trace.turns[:index], *trace.turns[index + 1 :]]
        yield Mutant(merge_turns(fewer), f"turn {index + 1} was skipped")


def amounts(text: str) -> Iterator[StatedNumber]:
    """Numbers that are claims whatever they count, and that can be read."""
    return (stated for stated in stated_numbers(text) if not stated.counts and not stated.unread)


def _next(stated: StatedNumber, text: str) -> str:
    scale = stated.step if stated.step < 1 else Decimal(1)
    digits = _DIGITS.match(text)
    try:
        plain = Decimal(_NO_DIGIT.sub("", digits[0]) if digits else "words")
    except InvalidOperation:  # it is written in words, or in another notation
        return f"{abs(stated.value) + scale:f}"
    return f"{plain + scale:f}{text[digits.end() if digits else 0 :]}"


def _without(value: object, amount: Decimal) -> object:
    """A result in which a number is another."""
    if isinstance(value, dict):
        return {key: _without(inner, amount) for key, inner in value.items()}
    if isinstance(value, list):
        return [_without(inner, amount) for inner in value]
    if isinstance(value, str):
        return _NUMBER.sub(lambda number: _another(number[0], amount), value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    return value + FAR_TOO_MUCH if abs(Decimal(repr(value))) == amount else value


def _another(number: str, amount: Decimal) -> str:
    value = Decimal(number.replace(",", ""))
    return f"{value + FAR_TOO_MUCH + 1:f}" if value == amount else number


OPERATORS = (
    Operator(
        "budget-spent",
        "the turn cost far too much",
        "limits what a turn may cost",
        overspent,
        ("max_seconds", "max_first_token_seconds", "max_steps", "max_tokens", "max_cost_usd"),
    ),
    Operator("state-changed", "the agent ended in another state", "looks at the state", state_changed, ("state",)),
    of_answer(
        "number-off-by-one",
        "a number is off by one",
        "checks where numbers come from",
        off_by_one,
        ("grounded_numbers", "answer_equals"),
    ),
    Operator(
        "result-changed",
        "the answer states a number that no tool returned",
        "checks where numbers come from",
        results_changed,
        ("grounded_numbers",),
    ),
    of_answer(
        "json-changed",
        "a member of a JSON answer is missing or different",
        "looks into the JSON",
        json_changed,
        ("answer_json", "answer_at", "answer_equals"),
    ),
    of_answer(
        "answer-padded",
        "the answer goes on and on",
        "limits the length of the answer",
        padded,
        ("max_words", "answer_equals"),
    ),
    Operator(
        "precondition-dropped",
        "a call that must come first was not made",
        "checks what must come first",
        precondition_dropped,
        ("tool_requires", "tool_order"),
    ),
    Operator(
        "turn-skipped",
        "the agent left out a turn of the conversation",
        "distinguishes one turn from another",
        turn_skipped,
        ("tool_calls", "must_say_any", "answer_equals"),
    ),
)
