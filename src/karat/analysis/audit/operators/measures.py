"""More than words and calls: what a turn cost, the state that it left, numbers and JSON, turns of a talk."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from decimal import Decimal, InvalidOperation

import regex
from msgspec import structs

from karat.analysis.audit.operators.base import Mutant, Operator, Subject
from karat.analysis.audit.operators.tool_calls import BOOKED, dropped
from karat.analysis.audit.room import with_room
from karat.checks.numbers.sources import results
from karat.evidence.merge import merge_turns
from karat.model.cost import COST, reported_cost
from karat.model.trace import Tokens, ToolCall, Trace
from karat.text.json_answers import json_answer
from karat.text.numbers.claimed import StatedNumber, numbers_in, stated_numbers

FAR_TOO_MUCH = 1000
HOUR_MS = 3_600_000.0
PADDING = " ".join(["and so on and so forth,"] * 100)
SOMETHING_ELSE = "something else"
FIRST_TOKEN = "first_token_ms"
_DIGITS = regex.compile(r"[+-]?[0-9](?:[0-9,'. ]*[0-9])?")
_NO_DIGIT = regex.compile(r"[^0-9.]")
_NUMBER = regex.compile(r"(?<![\w.,-])\d+(?:,\d{3})*(?:\.\d+)?(?![\w-])")

REPORTED = Trace(
    case_id="example",
    final_message="There were 12 rides.",
    tool_calls=(ToolCall("rides", {}, result={"count": 12, "city": "Lyon"}, success=True),),
    state={"step": "answered", "retries": 0},
    duration_ms=1200.0,
    timings={FIRST_TOKEN: 300.0},
    steps=3,
    tokens=Tokens(900, 100),
    metadata={COST: 0.01},
)
IN_JSON = Trace(case_id="example", final_message='{"order": "A-17", "total": 12}', tool_calls=())
ASKED = Trace(case_id="example", input="I want my money back.", final_message="Which order?", tool_calls=())
PAID = Trace(case_id="example", input="A-17.", final_message="Paid.", tool_calls=(ToolCall("pay", {}, success=True),))
TALK = merge_turns([ASKED, PAID])


def overspent(subject: Subject) -> Iterator[Mutant]:
    """Each measure that was taken."""
    trace = subject.trace
    if trace.duration_ms:
        slow = structs.replace(trace, duration_ms=trace.duration_ms + HOUR_MS)
        yield Mutant(slow, "it took an hour longer", {"max_seconds": 60})
    if trace.timings.get(FIRST_TOKEN):
        late = {**trace.timings, FIRST_TOKEN: trace.timings[FIRST_TOKEN] + HOUR_MS}
        fix = {"max_first_token_seconds": 10}
        yield Mutant(structs.replace(trace, timings=late), "the first word came an hour later", fix)
    if trace.steps:
        lost = structs.replace(trace, steps=trace.steps * FAR_TOO_MUCH)
        yield Mutant(lost, "it took a thousand times as many steps", {"max_steps": with_room(trace.steps)})
    cost = reported_cost(trace.metadata)
    dearer = {COST: cost * FAR_TOO_MUCH} if cost else {}
    if dearer:
        dear = structs.replace(trace, metadata={**trace.metadata, **dearer})
        yield Mutant(dear, "it cost a thousand times as much", {"max_cost_usd": with_room(cost or 0)})
    if trace.tokens and trace.tokens.input and trace.tokens.output:
        read, written = trace.tokens.input, trace.tokens.output
        more = Tokens(read * FAR_TOO_MUCH, written * FAR_TOO_MUCH)
        spent = structs.replace(trace, tokens=more, metadata={**trace.metadata, **dearer})
        yield Mutant(
            spent, "it used a thousand times as many tokens", {"max_tokens": {"total": with_room(read + written)}}
        )


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
        other = _next(stated, text[start:end])
        changed = subject.with_answer(f"{text[:start]}{other}{text[end:]}")
        yield Mutant(changed, f"{text[start:end]} became {other}", {"grounded_numbers": True})


def results_changed(subject: Subject) -> Iterator[Mutant]:
    """Each amount in the answer, changed in the results that hold it; not one that the page shows as well."""
    own = {*numbers_in(subject.trace.input), *numbers_in(subject.trace.page or "")}
    for value in dict.fromkeys(abs(stated.value) for stated in amounts(subject.answer)):
        if value in own:
            continue
        calls = tuple(structs.replace(call, result=_without(call.result, value)) for call in subject.trace.tool_calls)
        if calls != subject.trace.tool_calls and list(results(subject.trace)):
            changed = structs.replace(subject.trace, tool_calls=calls)
            yield Mutant(changed, f"no tool gave {value:f}, which it states", {"grounded_numbers": True})


def json_changed(subject: Subject) -> Iterator[Mutant]:
    """Each member of a JSON answer that is an object: another value, and none."""
    found = json_answer(subject.answer).value
    answer: dict[str, object] = found if isinstance(found, dict) else {}
    for key, value in answer.items():
        rest = {name: one for name, one in answer.items() if name != key}
        fix = {"answer_json": {"type": "object", "required": [*answer]}}
        yield Mutant(subject.with_answer(json.dumps(rest)), f"{key} was missing", fix)
        yield Mutant(subject.with_answer(json.dumps({**answer, key: other_value(value)})), f"{key} was another")


def padded(subject: Subject) -> Iterator[Mutant]:
    words = len(subject.answer.split())
    text = f"{subject.answer} {PADDING}"
    yield Mutant(
        subject.with_answer(text), "the answer went on for hundreds of words", {"max_words": with_room(max(words, 20))}
    )


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
        rest = [*trace.turns[:index], *trace.turns[index + 1 :]]
        yield Mutant(merge_turns(rest), f"turn {index + 1} was skipped")


def other_value(value: object) -> object:
    """Another value of the same kind."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    return [SOMETHING_ELSE] if isinstance(value, list) else SOMETHING_ELSE


def amounts(text: str) -> Iterator[StatedNumber]:
    """Numbers that are claims whatever they count, and that can be read."""
    return (stated for stated in stated_numbers(text) if not stated.counts and not stated.unread)


def _next(stated: StatedNumber, written: str) -> str:
    scale = stated.step if stated.step < 1 else Decimal(1)
    digits = _DIGITS.match(written)
    try:
        plain = Decimal(_NO_DIGIT.sub("", digits[0]) if digits else "words")
    except InvalidOperation:  # it is written in words, or in another notation
        return f"{abs(stated.value) + scale:f}"
    return f"{plain + scale:f}{written[digits.end() if digits else 0 :]}"


def _without(value: object, amount: Decimal) -> object:
    """A result in which a number is another."""
    if isinstance(value, dict):
        return {key: _without(below, amount) for key, below in value.items()}
    if isinstance(value, list):
        return [_without(below, amount) for below in value]
    if isinstance(value, str):
        return _NUMBER.sub(lambda found: _another(found[0], amount), value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    return value + FAR_TOO_MUCH if abs(Decimal(repr(value))) == amount else value


def _another(written: str, amount: Decimal) -> str:
    value = Decimal(written.replace(",", ""))
    return f"{value + FAR_TOO_MUCH + 1:f}" if value == amount else written


BUDGETS: Mapping[str, object] = {
    "max_seconds": 2,
    "max_first_token_seconds": 1,
    "max_steps": 3,
    "max_tokens": {"total": 1000},
    "max_cost_usd": 0.02,
}
OPERATORS = (
    Operator(
        name="budget-spent",
        about="the turn cost far too much",
        nothing="limits what a turn may cost",
        mutants=overspent,
        kills=BUDGETS,
        trace=REPORTED,
    ),
    Operator(
        name="state-changed",
        about="the agent ended in another state",
        nothing="looks at the state",
        mutants=state_changed,
        kills={"state": {"$.step": "answered", "$.retries": {"$lt": 1}}},
        trace=REPORTED,
    ),
    Operator(
        name="number-off-by-one",
        about="a number is off by one",
        nothing="checks where numbers come from",
        mutants=off_by_one,
        kills={"grounded_numbers": True, "answer_equals": REPORTED.final_message},
        trace=REPORTED,
        of_answer=True,
    ),
    Operator(
        name="result-changed",
        about="the answer states a number that no tool returned",
        nothing="checks where numbers come from",
        mutants=results_changed,
        kills={"grounded_numbers": True},
        trace=REPORTED,
    ),
    Operator(
        name="json-changed",
        about="a member of a JSON answer is missing or different",
        nothing="looks into the JSON",
        mutants=json_changed,
        kills={
            "answer_json": {"required": ["order", "total"]},
            "answer_at": {"$.order": "A-17"},
            "answer_equals": IN_JSON.final_message,
        },
        trace=IN_JSON,
        of_answer=True,
    ),
    Operator(
        name="answer-padded",
        about="the answer goes on and on",
        nothing="limits the length of the answer",
        mutants=padded,
        kills={"max_words": 10, "answer_equals": REPORTED.final_message},
        trace=REPORTED,
        of_answer=True,
    ),
    Operator(
        name="precondition-dropped",
        about="a call that must come first was not made",
        nothing="checks what must come first",
        mutants=precondition_dropped,
        kills={"tool_requires": {"book": ["find"]}, "tool_order": ["find", "book"]},
        trace=BOOKED,
    ),
    Operator(
        name="turn-skipped",
        about="the agent left out a turn of the conversation",
        nothing="distinguishes one turn from another",
        mutants=turn_skipped,
        kills={"tool_calls": [{"tool": "pay"}], "must_say_any": ["paid"], "answer_equals": "Paid."},
        trace=TALK,
    ),
)
