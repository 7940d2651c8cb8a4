"""What a dialect of spans is: a table of places, each an attribute or what reads a value from a span."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import cast

from msgspec import Struct

from carob.evidence.spans.otlp import NOT_RECORDED, SpanRecord
from carob.model.trace import SpanKind
from carob.providers.messages import ChatMessage, decode_value, read_messages

DEEPEST = 32
Place = str | Callable[[SpanRecord], object]
"""An attribute, or what reads a value from a span; NOT_RECORDED if it has none."""
Places = tuple[Place, ...]


class SpanDialect(Struct, frozen=True, kw_only=True):
    """The places of one dialect. Of several places the first that has a value counts."""

    name: str
    speaks: Callable[[SpanRecord], bool]
    """Whether a span is of this dialect."""
    kind: Callable[[SpanRecord], SpanKind | None]
    tool: Places
    call_id: Places = ()
    arguments: Places = ()
    result: Places = ()
    verdict: Places = ()
    """Where the library itself says how a call came out, in a word."""
    agent: Places = ()
    model: Places = ()
    input_tokens: Places = ()
    output_tokens: Places = ()
    cost: Places = ()
    input: Places = ()
    """What the model was given: the conversation so far."""
    output: Places = ()
    """What it answered."""
    finish: Places = ()
    tools: Places = ()
    """The definitions of the tools that the model was offered."""
    output_tools: Places = ()
    """Those of them that are not tools of the agent: by a call of one the model hands over its answer."""
    request: Places = ()
    """The parameters of the request, as the API of the model spells them."""
    answer: Places = ()
    """The answer of the whole turn, as its root reports it."""
    state: Places = ()


def first(places: Places, span: SpanRecord) -> object:
    """The first value that was recorded."""
    attributes = span.attributes
    for at in places:
        value = attributes.get(at, NOT_RECORDED) if isinstance(at, str) else at(span)
        if value is not NOT_RECORDED:
            return value
    return NOT_RECORDED


def first_messages(places: Places, span: SpanRecord) -> tuple[ChatMessage, ...] | None:
    """The messages at the first place that has any."""
    for place in places:
        value = span.attributes.get(place, NOT_RECORDED) if isinstance(place, str) else place(span)
        if value is not NOT_RECORDED and (messages := read_messages(value)) is not None:
            return messages
    return None


def first_number(places: Places, span: SpanRecord) -> float | None:
    number = first(places, span)
    return cast(float, number) if isinstance(number, int | float) and not isinstance(number, bool) else None


def has(name: str) -> Callable[[SpanRecord], bool]:
    return lambda span: name in span.attributes


def kind_by(name: str, kinds: Mapping[str, SpanKind]) -> Callable[[SpanRecord], SpanKind | None]:
    return lambda span: kinds.get(str(span.attributes.get(name, "")).lower())


def json_field(outer: Places, *keys: str) -> Callable[[SpanRecord], object]:
    """The value within an envelope of JSON."""

    def read(span: SpanRecord) -> object:
        value = first(outer, span)
        for key in keys:
            value = decode_value(value)
            if not isinstance(value, Mapping) or key not in value:
                return NOT_RECORDED
            value = value[key]
        return value

    return read


def in_event(name: str, *keys: str) -> Place:
    """What the first such event of a span reports."""

    def read(span: SpanRecord) -> object:
        tables = (event.attributes for event in span.events if event.name == name)
        return next((table[key] for table in tables for key in keys if key in table), NOT_RECORDED)

    return read


def attribute_objects(prefix: str) -> Place:
    """Objects spread over attributes `prefix.0.x.y`; their last steps are the keys."""

    start = f"{prefix}."

    def read(span: SpanRecord) -> object:
        tables: dict[str, dict[str, object]] = {}
        for key, value in span.attributes.items():
            if key.startswith(start):
                number, _, steps = key.removeprefix(start).partition(".")
                tables.setdefault(number, {})[steps.rpartition(".")[2]] = value
        return list(tables.values()) or NOT_RECORDED

    return read


def attribute_list(prefix: str) -> Place:
    """A list spread over attributes `prefix.0.a.b`, `prefix.1.a.b`."""

    start = f"{prefix}."

    def read(span: SpanRecord) -> object:
        root: dict[str, object] = {}
        for key, value in span.attributes.items():
            if key.startswith(start):
                _plant(root, key.removeprefix(start).split(".")[:DEEPEST], value)
        items = _as_lists(root)
        return items if isinstance(items, list) else NOT_RECORDED

    return read


def _plant(root: dict[str, object], steps: list[str], value: object) -> None:
    at: object = root
    for step in steps[:-1]:
        at = at.setdefault(step, {}) if isinstance(at, dict) else at
    if isinstance(at, dict):
        at[steps[-1]] = value


def _as_lists(value: object) -> object:
    if not isinstance(value, dict):
        return value
    if value and all(key.isdecimal() for key in value):
        return [_as_lists(value[key]) for key in sorted(value, key=int)]
    return {key: _as_lists(item) for key, item in value.items()}
