"""What a recorded case used: its tools with what they gave, and which of that the agent's words and deeds hang on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from karat.model.faults import Fault
from karat.model.suite import Case
from karat.model.trace import ToolCall, Trace
from karat.proxy.faults.result_mutations import change
from karat.text.phrases import find
from karat.text.tool_names import is_any_named
from karat.text.tool_results import parse_result

SHORTEST, LONGEST = 3, 80
"""Values of so many characters can be recognised in an answer."""
MOST_VALUES = 20
AGE_KEYS = frozenset(
    {
        "asof",
        "checkedat",
        "fetchedat",
        "lastmodified",
        "lastupdated",
        "retrievedat",
        "snapshotat",
        "updated",
        "updatedat",
    }
)
"""Keys under which a result says when it was true."""


class ToolUse(Struct, frozen=True):
    """A tool that a case called in its judged turns, with every call that ran."""

    name: str
    calls: tuple[ToolCall, ...]
    is_effect: bool


def tools_used(trace: Trace, effects: Sequence[str]) -> tuple[ToolUse, ...]:
    """The tools of a trace in the order of their first calls."""
    made = [call for call in trace.tool_calls if call.called and call.kind == "tool"]
    names = dict.fromkeys(call.name for call in made)
    return tuple(
        ToolUse(name, tuple(call for call in made if call.name == name), is_any_named(effects, name)) for name in names
    )


def calls_models(trace: Trace) -> bool:
    """Whether a run shows calls of a model: tokens that it used, a span, or traffic that was read."""
    spent = trace.tokens is not None and bool(trace.tokens.input or trace.tokens.output)
    return spent or any(span.kind == "model" for span in trace.spans)


def last_model_call(trace: Trace) -> int:
    """The number of the last call of a model, with tools used before it; 0: there is none, or it is not known.

    Without spans each message of the agent counts as one call.
    """
    models = [span.model for span in trace.spans if span.kind == "model"]
    count = len(models) or sum(message.role == "assistant" for message in trace.messages)
    used_before = count > 1 and any(call.called for call in trace.tool_calls)
    return count if used_before and len(set(models)) < 2 else 0


def applies(fault: Fault, use: ToolUse) -> bool:
    """Whether a fault would change what the tool gave; one that keeps the result away always does."""
    if fault.kind == "stale" and not any(_states_age(parse_result(call.result)) for call in use.calls):
        return False
    return fault.stage != "result" or any(changed != given for given, changed in _changes(fault, use))


def own_values(use: ToolUse, case: Case, trace: Trace) -> tuple[str, ...]:
    """The values that this tool gave, and neither the user nor another tool."""
    others = [call for call in trace.tool_calls if call.name != use.name]
    asked = [*case.user_texts, *(_text(call.arguments) for call in use.calls)]

    def is_own(value: str) -> bool:
        # A tool that was called with a value and gives it back does not bring it in.
        sources = (_text(call.result) for call in others if value not in _leaves(call.arguments))
        return not any(find(text, value) for text in (*asked, *sources))

    given = dict.fromkeys(_leaves([call.result for call in use.calls]))
    return tuple(value for value in given if is_own(value))[:MOST_VALUES]


def lost_values(fault: Fault, use: ToolUse, own: Sequence[str]) -> tuple[str, ...]:
    """Those among a tool's own values that a fault takes away."""
    if fault.stage != "result":
        return tuple(own)
    left = {value for _, changed in _changes(fault, use) for value in _leaves(changed)}
    return tuple(value for value in own if value not in left)


def vanished_values(fault: Fault, use: ToolUse, own: Sequence[str]) -> tuple[str, ...]:
    """Those among a tool's own values that what it gives with the fault does not show at all."""
    texts = [_text(changed) for _, changed in _changes(fault, use)]
    return tuple(value for value in own if not any(value in text for text in texts))


def find_values_in(values: Sequence[str], answer: str) -> list[str]:
    return [value for value in values if find(answer, value)]


def effects_on(values: Sequence[str], trace: Trace, effects: Sequence[str]) -> set[str]:
    """The effects that were called with one of these values."""
    return {
        call.name
        for call in trace.tool_calls
        if is_any_named(effects, call.name) and not set(values).isdisjoint(_leaves(call.arguments))
    }


def _changes(fault: Fault, use: ToolUse) -> Iterator[tuple[object, object]]:
    for number, call in enumerate(use.calls, 1):
        if call.success is True and call.result is not None:
            yield call.result, change(fault, call.result, call.arguments, None, f"{fault.seed}:{use.name}:{number}")


def _states_age(value: Any) -> bool:
    """Whether a result says how old it is: a date of something else is not its age."""
    if isinstance(value, dict):
        flat = {str(key).replace("_", "").replace("-", "").lower() for key in value}
        return not flat.isdisjoint(AGE_KEYS) or any(_states_age(one) for one in value.values())
    return isinstance(value, list) and any(_states_age(one) for one in value)


def _leaves(value: Any) -> list[str]:
    """Texts and numbers that are in a value, as an answer would write them."""
    value = parse_result(value)
    if isinstance(value, dict):
        return [leaf for one in value.values() for leaf in _leaves(one)]
    if isinstance(value, list | tuple):
        return [leaf for one in value for leaf in _leaves(one)]
    if value is None or isinstance(value, bool):
        return []
    text = f"{value:g}" if isinstance(value, float) and value.is_integer() else str(value).strip()
    return [text] if SHORTEST <= len(text) <= LONGEST or (text.isdigit() and len(text) > 1) else []


def _text(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value, enc_hook=str).decode()
