"""The telemetry of a trace, line by line, with the calls that the lines report.

An agent that acts otherwise also logs otherwise: what is done to a call is done to its lines, and every other line and
every other byte of the changed ones stays as it was written.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from karat.evidence.logs.events import ARGUMENTS, Event, parse
from karat.model.trace import ToolCall, Trace
from karat.text.tool_results import MISSING

Change = Callable[[dict[str, object]], dict[str, object] | None]
Lines = tuple[str, ...]

ENDS = ("result", "error")
_STYLES = ((",", ":"), (", ", ": "))


class Log:
    """The lines, and for each call those that belong to it."""

    def __init__(self, trace: Trace) -> None:
        self._lines = trace.telemetry
        self._owned = _lines_of_calls(trace.tool_calls, [parse(line) for line in trace.telemetry])

    def reports_call(self, call: int) -> bool:
        return bool(self._owned[call])

    def without(self, call: int) -> Lines:
        gone = set(self._owned[call])
        return tuple(line for number, line in enumerate(self._lines) if number not in gone)

    def change_call(self, call: int, change: Change) -> Lines:
        """The events of a call changed, or left out where the change gives none."""
        lines: list[str | None] = list(self._lines)
        for number in self._owned[call]:
            lines[number] = _rewrite(self._lines[number], change)
        return tuple(line for line in lines if line is not None)

    def double_call(self, call: int) -> Lines:
        mine = self._owned[call]
        if not mine:
            return self._lines
        end = mine[-1] + 1
        return (*self._lines[:end], *(self._lines[number] for number in mine), *self._lines[end:])

    def swap_calls(self, first: int, second: int) -> Lines:
        """The lines of two calls, those of the second before those of the first."""
        places = sorted((*self._owned[first], *self._owned[second]))
        lines = list(self._lines)
        for place, number in zip(places, (*self._owned[second], *self._owned[first]), strict=True):
            lines[place] = self._lines[number]
        return tuple(lines)

    def and_start(self, tool: str) -> Lines:
        """One more call began, if calls are logged at all."""
        return (*self._lines, json.dumps({"source": f"tool.{tool}", "event": "start"})) if self._lines else ()


def with_source(event: dict[str, object], source: str) -> dict[str, object]:
    return {**event, "source": source}


def with_success(event: dict[str, object], success: bool) -> dict[str, object]:
    """The end of a call, if this is one, that came out the other way."""
    if event.get("event") not in ENDS:
        return event
    if event.get("event") == "error" and success:
        event = {"source": event.get("source"), "event": "result", "data": {}, "success": True}
    return _in_places(event, lambda place: _with_success(place, success))


def with_argument(event: dict[str, object], key: str, value: object) -> dict[str, object]:
    data = event.get("data")
    if not isinstance(data, dict):
        return event
    given = {
        name: {**data[name], key: value} for name in ARGUMENTS if isinstance(data.get(name), dict) and key in data[name]
    }
    return {**event, "data": {**data, **given}}


def without_end(event: dict[str, object]) -> dict[str, object] | None:
    return None if event.get("event") in ENDS else event


def _with_success(place: dict[str, object], success: bool) -> dict[str, object]:
    kept = {key: value for key, value in place.items() if not (success and key in MISSING)}
    return {**kept, "success": success} if isinstance(place.get("success"), bool) else kept


def _in_places(event: dict[str, object], change: Change) -> dict[str, object]:
    """The change made in the event, in its data and in the result therein: where success is looked for."""
    event = change(event) or event
    data = event.get("data")
    if not isinstance(data, dict):
        return event
    data = change(data) or data
    result = data.get("result")
    if isinstance(result, dict):
        data = {**data, "result": change(result)}
    return {**event, "data": data}


def _rewrite(line: str, change: Change) -> str | None:
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return line
    now = change(event)
    if now is None or now == event:
        return None if now is None else line
    style = next((s for s in _STYLES if json.dumps(event, separators=s, ensure_ascii=False) == line), _STYLES[0])
    return json.dumps(now, separators=style, ensure_ascii=False)


def _lines_of_calls(calls: Sequence[ToolCall], events: Sequence[Event | None]) -> list[tuple[int, ...]]:
    """The lines of each call: by the id that both have, else the first start belongs to the first call, and so on."""
    owned: list[list[int]] = [[] for _ in calls]
    by_id = {(call.name, call.id): index for index, call in enumerate(calls)}
    named: dict[str, list[int]] = {}
    for index, call in enumerate(calls):
        named.setdefault(call.name, []).append(index)
    seen: dict[tuple[str, str], int] = {}
    for number, event in enumerate(events):
        if event is None or event.tool not in named:
            continue
        call_id = event.call_id or event.loose_id
        own = by_id.get((event.tool, call_id)) if call_id is not None else None
        if own is None:
            kind = (event.tool, "start" if event.event == "start" else "end")
            among = named[event.tool]
            own = among[min(seen.get(kind, 0), len(among) - 1)]
            seen[kind] = seen.get(kind, 0) + 1
        owned[own].append(number)
    return [tuple(lines) for lines in owned]
