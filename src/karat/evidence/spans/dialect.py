"""How a library spells what its spans tell: a table of places, read by one reader."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import cast

from msgspec import Struct

from karat.evidence.spans.messages import Utterance, conversation, decode_value, nest_attributes
from karat.evidence.spans.record import SpanRecord
from karat.model.trace import SpanKind


class NotRecorded:
    """What a span does not carry, which is not the same as None."""

    def __bool__(self) -> bool:
        return False


NOT_RECORDED = NotRecorded()
Place = Callable[[SpanRecord], object]
"""Reads a value from a span; NOT_RECORDED if it has none."""
Messages = Callable[[SpanRecord], tuple[Utterance, ...] | None]


class SpanDialect(Struct, frozen=True, kw_only=True):
    """The places of one dialect. Of several places for one thing the first that holds something counts."""

    name: str
    speaks: Callable[[SpanRecord], bool]
    """Whether a span is of this dialect."""
    kind: Callable[[SpanRecord], SpanKind | None]
    tool: tuple[Place, ...]
    call_id: tuple[Place, ...] = ()
    arguments: tuple[Place, ...] = ()
    result: tuple[Place, ...] = ()
    verdict: tuple[Place, ...] = ()
    """Where the library itself says how a call came out, in a word."""
    agent: tuple[Place, ...] = ()
    model: tuple[Place, ...] = ()
    input_tokens: tuple[Place, ...] = ()
    output_tokens: tuple[Place, ...] = ()
    cost: tuple[Place, ...] = ()
    given: tuple[Messages, ...] = ()
    """What the model was given: the conversation so far."""
    said: tuple[Messages, ...] = ()
    """What it answered."""
    finish: tuple[Place, ...] = ()
    offered: tuple[Place, ...] = ()
    """The definitions of the tools that the model was offered."""
    output_tools: tuple[Place, ...] = ()
    """Those of them that are not tools of the agent: by a call of one the model hands over its answer."""
    answer: tuple[Place, ...] = ()
    """The answer of the whole turn, as its root reports it."""
    state: tuple[Place, ...] = ()


def first(places: tuple[Place, ...], span: SpanRecord) -> object:
    """Return the first value that was recorded."""
    return next((found for place in places if (found := place(span)) is not NOT_RECORDED), NOT_RECORDED)


def find_messages(places: tuple[Messages, ...], span: SpanRecord) -> tuple[Utterance, ...] | None:
    """The messages at the first place that holds any."""
    return next((found for place in places if (found := place(span)) is not None), None)


def attribute(*names: str) -> Place:
    def place(span: SpanRecord) -> object:
        return next((span.attributes[name] for name in names if name in span.attributes), NOT_RECORDED)

    return place


def numbered_place(prefix: str) -> Place:
    """What is spread over attributes `prefix.0.x.y`, as a list of objects; their last steps are the keys."""

    def place(span: SpanRecord) -> object:
        found: dict[str, dict[str, object]] = {}
        for key, value in span.attributes.items():
            if key.startswith(f"{prefix}."):
                number, _, rest = key.removeprefix(f"{prefix}.").partition(".")
                found.setdefault(number, {})[rest.rpartition(".")[2]] = value
        return list(found.values()) or NOT_RECORDED

    return place


def place_inside(outer: Place, *way: str) -> Place:
    """Return the value within an envelope of JSON."""

    def place(span: SpanRecord) -> object:
        found = outer(span)
        for step in way:
            found = decode_value(found)
            if not isinstance(found, Mapping) or step not in found:
                return NOT_RECORDED
            found = found[step]
        return found

    return place


def event(name: str, *keys: str) -> Place:
    """What the first such event of a span reports."""

    def place(span: SpanRecord) -> object:
        tables = (one.attributes for one in span.events if one.name == name)
        return next((table[key] for table in tables for key in keys if key in table), NOT_RECORDED)

    return place


def messages(place: Place) -> Messages:
    def read(span: SpanRecord) -> tuple[Utterance, ...] | None:
        return conversation(place(span))

    return read


def spread(prefix: str) -> Messages:
    """Messages that are spread over numbered attributes."""

    def read(span: SpanRecord) -> tuple[Utterance, ...] | None:
        return conversation(nest_attributes(span.attributes, prefix)) or None

    return read


def has(*names: str) -> Callable[[SpanRecord], bool]:
    def speaks(span: SpanRecord) -> bool:
        return any(name in span.attributes for name in names)

    return speaks


def kind_by(name: str, table: Mapping[str, SpanKind]) -> Callable[[SpanRecord], SpanKind | None]:
    def kind(span: SpanRecord) -> SpanKind | None:
        return table.get(str(span.attributes.get(name, "")).lower())

    return kind


def number(found: object) -> float | None:
    plain = isinstance(found, int | float) and not isinstance(found, bool)
    return cast(float, found) if plain else None
