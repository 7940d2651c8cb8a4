"""A telemetry line → what it reports. Pure: nothing here reads a file.

A line proves nothing if it is not a JSON object, or an object of no known or configured spelling: it is kept as text.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache

import msgspec
from msgspec import Struct, structs

from carob.evidence.logs.dialects import MatchedLine, dialect
from carob.evidence.logs.spellings import of_source, read_spelling, speaks_of_calls
from carob.model.trace import ToolCall
from carob.providers.base import text_of
from carob.text.regexes import lazy
from carob.text.tool_results import MISSING, call_success, missing_fields, parse_result, shows_failure

PREFIX = "tool."
CALL_IDS = ("call_id", "toolCallId", "tool_call_id", "tool_use_id")
ARGUMENTS = ("args", "arguments", "input")
RESULTS = ("result", "output", "content")
MILLISECONDS_FROM = 1e11
"""An epoch this large is in milliseconds: as seconds it would lie in the year 5138."""

_NOTHING: Mapping[str, object] = {}
_decode = msgspec.json.Decoder().decode


class Event(Struct, frozen=True, kw_only=True):
    """One line of the telemetry. What it says of success and missing fields belongs to it alone.

    Of a tool call that is spelled otherwise than `tool.<name>`, `event` is what it reports: request, call, start, ...
    """

    source: str = ""
    event: str = ""
    tool: str | None = None
    is_known: bool = False
    """Whether its spelling is known, so that it is sure not to tell of any other call."""
    success: bool | None = None
    failed: bool = False
    """Whether anything in it is a sign that the call failed, which a `success` of true does not outweigh."""
    missing_fields: tuple[str, ...] = ()
    data: object = None
    arguments: object = None
    result: object = None
    call_id: str | None = None
    loose_id: str | None = None
    error: str | None = None
    level: str = ""
    at: float | None = None


def parse(line: str, dialect_json: str = "") -> Event | None:
    """The event of a line, or None if the line is none; `written` is the dialect of the target's configuration.

    Values of the wrong type count as absent.
    """
    top = read_object(line)
    configured = dialect(dialect_json)
    matched = configured.match(line, top) if configured is not None else None
    if matched is not None:
        return _build_event(matched, top or _NOTHING)
    return None if top is None else _event(top, line)


@lru_cache(maxsize=8)
def parse_all(lines: tuple[str, ...], dialect_json: str = "") -> tuple[Event | None, ...]:
    """The events of a segment, line by line."""
    return tuple(parse(line, dialect_json) for line in lines)


@lru_cache(maxsize=8)
def unread(lines: tuple[str, ...], dialect_json: str = "") -> tuple[str, ...]:
    """Return the lines whose meaning is unknown."""
    events = parse_all(lines, dialect_json)
    return tuple(line for line, event in zip(lines, events, strict=True) if event is None or not event.is_known)


def _event(top: Mapping[str, object], line: str) -> Event:
    source, event, data = text_of(top.get("source")), text_of(top.get("event")), top.get("data")
    inner = data if isinstance(data, dict) else _NOTHING
    tool, is_known = of_source(source), True
    if tool is None:
        spelling = read_spelling(top) if "tool" in (low := line.lower()) or "function" in low else None
        if spelling is not None:
            tool, event, inner = spelling.tool, spelling.stage, inner if spelling.inside is top else spelling.inside
        else:
            is_known = bool(source and event) and not speaks_of_calls(f"{source} {event}")
    result = inner.get("result")
    places = (top, inner, result if isinstance(result, dict) else _NOTHING)
    return Event(
        source=source if tool is None else f"{PREFIX}{tool}",
        event=event,
        tool=tool,
        is_known=is_known,
        success=_success(places),
        failed=tool is not None and shows_failure({**top, "data": inner}),
        missing_fields=_missing(places),
        data=data,
        arguments=_first((inner, top), ARGUMENTS),
        result=_result(top, inner, data),
        call_id=_id(places[:2], CALL_IDS),
        loose_id=_id(places[:2], ("id",)),
        error=_error(inner) or _error(top),
        level=text_of(top.get("level", top.get("severity"))),
        at=moment(top.get("ts", top.get("timestamp", top.get("time")))),
    )


def _build_event(matched: MatchedLine, top: Mapping[str, object]) -> Event:
    values = matched.values
    tool, success, error = values.get("tool"), values.get("success"), values.get("error")
    missing = values.get("missing_fields")
    return Event(
        source=f"{PREFIX}{tool}" if tool else "",
        event=matched.stage,
        tool=tool,
        is_known=True,
        success=success if isinstance(success, bool) else None,
        missing_fields=missing_fields({"missing_fields": missing}) or missing_fields(values.get("result")),
        arguments=values.get("arguments"),
        result=values.get("result"),
        call_id=_id((values,), ("id",)),
        error=_error({"error": error}) if error is not None else None,
        at=moment(top.get("ts", top.get("timestamp", top.get("time")))),
    )


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


def read_object(line: str) -> dict[str, object] | None:
    """The object that a line is; None for any other line."""
    text = line.strip("\ufeff \t\r\n")
    if not (text.startswith("{") and text.endswith("}")):
        return None
    try:
        value = _decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        value = _lenient(text)
    return value if isinstance(value, dict) else None


def _lenient(text: str) -> object:
    """NaN and lone surrogates are bad JSON, but what loggers do write: such a line must not hide a tool call."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _success(places: tuple[Mapping[str, object], ...]) -> bool | None:
    return next((value for table in places if isinstance(value := table.get("success"), bool)), None)


def _missing(places: tuple[Mapping[str, object], ...]) -> tuple[str, ...]:
    names = next((value for table in places for key in MISSING if isinstance(value := table.get(key), list)), [])
    return tuple(name for name in names if isinstance(name, str))


def _id(places: tuple[Mapping[str, object], ...], keys: tuple[str, ...]) -> str | None:
    for table in places:
        for key in keys:
            value = table.get(key)
            if isinstance(value, str | int) and not isinstance(value, bool) and value != "":
                return str(value) if isinstance(value, str) or abs(value) < 1 << 64 else None
    return None


def _error(table: Mapping[str, object]) -> str | None:
    for key in ("error", "message"):
        value = table.get(key)
        if isinstance(value, dict):
            value = value.get("message")
        if isinstance(value, str) and value:
            return value
    return None


def _first(places: tuple[Mapping[str, object], ...], keys: tuple[str, ...]) -> object:
    return next((table[key] for table in places for key in keys if key in table), None)


def _result(top: Mapping[str, object], inner: Mapping[str, object], data: object) -> object:
    """What the tool gave: by its key, else all of `data`."""
    value = _first((inner, top), RESULTS)
    return data if value is None else value


_BROKE = lazy.pattern(
    r"stream[\W_]*(?:error|fail|abort|broke|interrupt|closed)|rate[\W_]*limit|too many requests|overloaded|quota"
    r"|(?:llm|model|provider|backend|upstream|inference|completion|gateway)[\W_]*(?:error|fail|timeout|unavailable|down)"
    r"|(?:status|code|http)\W{0,4}(?:429|502|503|529)\b|service unavailable",
    re.IGNORECASE,
)
_BAD = lazy.pattern(r"error|fail|exception|abort|rate[\W_]*limit|overloaded|unavailable", re.IGNORECASE)
_BAD_LEVEL = lazy.pattern(r"error|fatal|critical", re.IGNORECASE)
_RECOVERED = lazy.pattern(r"end|complete|finish|done|response|result|success|recover", re.IGNORECASE)
_BAD_LINE = lazy.pattern(r"[^\w{]*[^{]{0,80}\b(?:ERROR|FATAL|CRITICAL)\b")


def find_broken_backend(lines: tuple[str, ...], dialect_json: str = "") -> str | None:
    """Return the line that shows that the backend broke; none if the same source recovered later in the turn.

    The verdict on such a turn would be one on the backend, not on the agent.
    """
    events = parse_all(lines, dialect_json)
    for index, (line, event) in enumerate(zip(lines, events, strict=True)):
        if _reports_failure(line, event) and not _has_recovered(event, events[index + 1 :]):
            return line
    return None


def _reports_failure(line: str, event: Event | None) -> bool:
    if event is None:
        return _BAD_LINE.match(line[:400]) is not None and _BROKE.search(line[:2_000]) is not None
    if event.tool is not None or not (_BAD.search(event.event) or _BAD_LEVEL.fullmatch(event.level)):
        return False
    return _BROKE.search(f"{event.source} {event.event} {(event.error or '')[:2_000]}") is not None


def _has_recovered(broke: Event | None, later: Sequence[Event | None]) -> bool:
    if broke is None or not broke.source:
        return False
    return any(
        event is not None
        and event.source == broke.source
        and _RECOVERED.search(event.event)
        and not _BAD.search(event.event)
        for event in later
    )


BEGINS = ("request", "call", "start")
ENDS = ("result", "error")


class _Calls:
    """Calls in the order of their first event, and those of them that have not ended."""

    def __init__(self) -> None:
        self.calls: list[ToolCall] = []
        self._open: dict[str, list[tuple[int, Event]]] = {}
        self._heard: set[str] = set()

    def hear(self, event: Event, tool: str) -> None:
        if event.event in BEGINS:
            self._begin(event, tool)
        elif event.event in ENDS:
            index = _take(self._open.get(tool, []), event)
            if index is None:
                self.calls.append(_end_call(ToolCall(tool, id=event.call_id or event.loose_id, started=False), event))
            else:
                self.calls[index] = _end_call(self.calls[index], event)
        elif tool not in self._heard:
            self.calls.append(ToolCall(tool, id=event.call_id or event.loose_id, started=False))
        self._heard.add(tool)

    def _begin(self, event: Event, tool: str) -> None:
        """A start begins the call that was asked for before it, if one was; else a call of its own."""
        waiting = self._open.setdefault(tool, [])
        if event.event != "start" and any(_is_asked_again(start, event) for _, start in waiting):
            return
        requested = [entry for entry in waiting if entry[1].event != "start"] if event.event == "start" else []
        index = _take(requested, event)
        if index is None:
            waiting.append((len(self.calls), event))
            self.calls.append(_start_call(event, tool))
            return
        position = next(n for n, (call, _) in enumerate(waiting) if call == index)
        waiting[position] = index, event
        began = _start_call(event, tool)
        arguments = self.calls[index].arguments if began.arguments is None else began.arguments
        self.calls[index] = structs.replace(began, arguments=arguments, id=began.id or self.calls[index].id)


def tool_calls(lines: tuple[str, ...], dialect_json: str = "") -> tuple[ToolCall, ...]:
    """The tool calls that a log reports, in the order of their first event.

    `start` opens a call; `result` or `error` ends the one with the same call id, else the earliest open one of that
    name. Ended without a start, it is a call all the same; and so is any other event of a tool never heard of before.
    What was asked for and neither started nor ended is not a call.
    """
    calls = _Calls()
    for event in parse_all(lines, dialect_json):
        if event is not None and event.tool is not None:
            calls.hear(event, event.tool)
    return tuple(calls.calls)


def _start_call(event: Event, name: str) -> ToolCall:
    arguments, call_id = parse_result(event.arguments), event.call_id or event.loose_id
    asked = event.event == "request"
    return ToolCall(name, arguments, id=call_id, started=not asked, started_at=event.at, unfinished=asked)


def _end_call(call: ToolCall, event: Event) -> ToolCall:
    failed = event.event == "error"
    return structs.replace(
        call,
        arguments=parse_result(event.arguments) if call.arguments is None else call.arguments,
        result=None if failed else parse_result(event.result),
        error=(event.error or "error") if failed else None,
        success=call_success(event.result, raised=failed or event.failed, claimed=event.success),
        missing_fields=event.missing_fields or missing_fields(parse_result(event.result)),
        ended_at=event.at,
        unfinished=False,
    )


def _take(waiting: list[tuple[int, Event]], event: Event) -> int | None:
    """The open call that an event ends. A plain `id` may number the log's lines, so it can match but not tell apart."""
    chosen = next((n for n, (_, start) in enumerate(waiting) if _is_same_call(start, event)), None)
    if chosen is None:
        chosen = next((n for n, (_, start) in enumerate(waiting) if not (start.call_id and event.call_id)), None)
    return None if chosen is None else waiting.pop(chosen)[0]


def _is_asked_again(asked: Event, event: Event) -> bool:
    """Whether two lines speak of one request: layers of an app log the same one, each in its words."""
    is_same = event.call_id is not None and asked.call_id == event.call_id
    return is_same and (None in (asked.arguments, event.arguments) or asked.arguments == event.arguments)


def _is_same_call(start: Event, event: Event) -> bool:
    if start.call_id or event.call_id:
        return start.call_id == event.call_id
    return start.loose_id is not None and start.loose_id == event.loose_id
