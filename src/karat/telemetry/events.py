"""A telemetry line → an event; a turn's events → the tool calls they tell of. Pure: nothing here reads a file."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

import msgspec
from msgspec import Struct, structs

from karat.model.trace import ToolCall

PREFIX = "tool."
CALL_IDS = ("call_id", "toolCallId", "tool_call_id")
ARGUMENTS = ("args", "arguments", "input")
MISSING = ("missingFields", "missing_fields")
MILLISECONDS_FROM = 1e11
"""An epoch this large is in milliseconds: as seconds it would lie in the year 5138."""

_NOTHING: Mapping[str, Any] = {}
_decode = msgspec.json.Decoder().decode


class Event(Struct, frozen=True, kw_only=True):
    """One JSON object of the telemetry. What it says of success and missing fields belongs to it alone."""

    source: str = ""
    event: str = ""
    tool: str | None = None
    success: bool | None = None
    missing_fields: tuple[str, ...] = ()
    data: Any = None
    call_id: str | None = None
    loose_id: str | None = None
    error: str | None = None
    at: float | None = None


def parse(line: str) -> Event | None:
    """The event of a line, or None if the line is no JSON object. Values of the wrong type count as absent."""
    top = _object(line)
    if top is None:
        return None
    data = top.get("data")
    inner = data if isinstance(data, dict) else _NOTHING
    result = inner.get("result")
    places = (top, inner, result if isinstance(result, dict) else _NOTHING)
    source = _text(top.get("source"))
    return Event(
        source=source,
        event=_text(top.get("event")),
        tool=(source[len(PREFIX) :] or None) if source.startswith(PREFIX) else None,
        success=_success(places),
        missing_fields=_missing(places),
        data=data,
        call_id=_id(places[:2], CALL_IDS),
        loose_id=_id(places[:2], ("id",)),
        error=_error(inner) or _error(top),
        at=moment(top.get("ts")),
    )


@lru_cache(maxsize=8)
def parse_all(lines: tuple[str, ...]) -> tuple[Event, ...]:
    """The events of a segment, in order; lines that are none are left out."""
    return tuple(event for line in lines if (event := parse(line)) is not None)


def tool_calls(lines: tuple[str, ...]) -> tuple[ToolCall, ...]:
    """The tool calls that the `tool.<name>` events tell of, in the order of their first event.

    `start` opens a call; `result` or `error` ends the one with the same call id, else the earliest open one of that
    name. Ended without a start, it is a call all the same; and so is any other event of a tool never heard of before.
    """
    calls: list[ToolCall] = []
    open_calls: dict[str, list[tuple[int, Event]]] = {}
    heard: set[str] = set()
    for event in parse_all(lines):
        if event.tool is None:
            continue
        if event.event == "start":
            open_calls.setdefault(event.tool, []).append((len(calls), event))
            calls.append(_started(event, event.tool))
        elif event.event in ("result", "error"):
            index = _take(open_calls.get(event.tool, []), event)
            if index is None:
                calls.append(_ended(ToolCall(event.tool, id=event.call_id or event.loose_id, started=False), event))
            else:
                calls[index] = _ended(calls[index], event)
        elif event.tool not in heard:
            calls.append(ToolCall(event.tool, id=event.call_id or event.loose_id, started=False))
        heard.add(event.tool)
    return tuple(calls)


def moment(value: object) -> float | None:
    """Seconds since the epoch, from ISO 8601 (UTC unless it says otherwise) or an epoch in seconds or milliseconds."""
    if value is None:
        return None
    if isinstance(value, str):
        try:
            stamp = datetime.fromisoformat(value)
            return (stamp if stamp.tzinfo else stamp.replace(tzinfo=UTC)).timestamp()
        except (ValueError, OverflowError):
            return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        seconds = float(value)
    except OverflowError:
        return None
    if not math.isfinite(seconds):
        return None
    return seconds / 1000 if abs(seconds) >= MILLISECONDS_FROM else seconds


def _object(line: str) -> dict[str, Any] | None:
    text = line.strip("\ufeff \t\r\n")
    if not (text.startswith("{") and text.endswith("}")):
        return None
    try:
        value = _decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        value = _lenient(text)
    return value if isinstance(value, dict) else None


def _lenient(text: str) -> Any:
    """NaN and lone surrogates are bad JSON, but what loggers do write: such a line must not hide a tool call."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _success(places: tuple[Mapping[str, Any], ...]) -> bool | None:
    for place in places:
        value = place.get("success")
        if isinstance(value, bool):
            return value
    return None


def _missing(places: tuple[Mapping[str, Any], ...]) -> tuple[str, ...]:
    for place in places:
        for key in MISSING:
            value = place.get(key)
            if isinstance(value, list):
                return tuple(name for name in value if isinstance(name, str))
    return ()


def _id(places: tuple[Mapping[str, Any], ...], keys: tuple[str, ...]) -> str | None:
    for place in places:
        for key in keys:
            value = place.get(key)
            if isinstance(value, str | int) and not isinstance(value, bool) and value != "":
                return str(value) if isinstance(value, str) or abs(value) < 1 << 64 else None
    return None


def _error(place: Mapping[str, Any]) -> str | None:
    for key in ("error", "message"):
        value = place.get(key)
        if isinstance(value, dict):
            value = value.get("message")
        if isinstance(value, str) and value:
            return value
    return None


def _started(event: Event, name: str) -> ToolCall:
    data = event.data if isinstance(event.data, dict) else _NOTHING
    arguments = next((data[key] for key in ARGUMENTS if key in data), None)
    return ToolCall(name, arguments, id=event.call_id or event.loose_id, started_at=event.at)


def _ended(call: ToolCall, event: Event) -> ToolCall:
    failed = event.event == "error"
    data = event.data
    return structs.replace(
        call,
        result=None if failed else data.get("result", data) if isinstance(data, dict) else data,
        error=(event.error or "error") if failed else None,
        success=False if failed and event.success is None else event.success,
        missing_fields=event.missing_fields,
        ended_at=event.at,
    )


def _take(waiting: list[tuple[int, Event]], event: Event) -> int | None:
    """The open call that an event ends. A plain `id` may number the log's lines, so it can match but not tell apart."""
    chosen = next((n for n, (_, start) in enumerate(waiting) if _same(start, event)), None)
    if chosen is None:
        chosen = next((n for n, (_, start) in enumerate(waiting) if not (start.call_id and event.call_id)), None)
    return None if chosen is None else waiting.pop(chosen)[0]


def _same(start: Event, event: Event) -> bool:
    if start.call_id or event.call_id:
        return start.call_id == event.call_id
    return start.loose_id is not None and start.loose_id == event.loose_id
