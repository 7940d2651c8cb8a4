"""The telemetry of a trace, line by line, with the calls that the lines report.

An agent that acts otherwise also logs otherwise: what is done to a call is done to its lines, and every other line and
every other byte of the changed ones stays as it was written.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence

from carob.evidence.logs.events import ARGUMENTS, Event, parse
from carob.model.trace import ToolCall, Trace
from carob.text.tool_results import MISSING

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
        return tuple(line for number, line in enumerate(self._lines) if number not in self._owned[call])

    def change_call(self, call: int, change: Change) -> Lines:
        """The events of a call changed, or left out where the change gives none."""
        lines: list[str | None] = list(self._lines)
        for number in self._owned[call]:
            lines[number] = _rewrite(self._lines[number], change)
        return tuple(line for line in lines if line is not None)

    def double_call(self, call: int) -> Lines:
        numbers = self._owned[call]
        if not numbers:
            return self._lines
        end = numbers[-1] + 1
        return (*self._lines[:end], *(self._lines[number] for number in numbers), *self._lines[end:])

    def swap_calls(self, first: int, second: int) -> Lines:
        """The lines of two calls, those of the second before those of the first."""
        swapped = (*self._owned[second], *self._owned[first])
        lines = list(self._lines)
        for number, source in zip(sorted(swapped), swapped, strict=True):
            lines[number] = self._lines[source]
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
    # Success is looked for in the event, in its data and in the result therein.
    event = _set_success(event, success)
    data = event.get("data")
    if not isinstance(data, dict):
        return event
    data = _set_success(data, success)
    if isinstance(result := data.get("result"), dict):
        data["result"] = _set_success(result, success)
    return {**event, "data": data}


def with_argument(event: dict[str, object], key: str, value: object) -> dict[str, object]:
    data = event.get("data")
    if not isinstance(data, dict):
        return event
    changed = {
        name: {**data[name], key: value} for name in ARGUMENTS if isinstance(data.get(name), dict) and key in data[name]
    }
    return {**event, "data": {**data, **changed}}


def without_end(event: dict[str, object]) -> dict[str, object] | None:
    return None if event.get("event") in ENDS else event


def _set_success(table: dict[str, object], success: bool) -> dict[str, object]:
    changed = {key: value for key, value in table.items() if not (success and key in MISSING)}
    return {**changed, "success": success} if isinstance(table.get("success"), bool) else changed


def _rewrite(line: str, change: Change) -> str | None:
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return line
    changed = change(event)
    if changed is None or changed == event:
        return None if changed is None else line
    style = next((s for s in _STYLES if json.dumps(event, separators=s, ensure_ascii=False) == line), _STYLES[0])
    return json.dumps(changed, separators=style, ensure_ascii=False)


def _lines_of_calls(calls: Sequence[ToolCall], events: Sequence[Event | None]) -> list[tuple[int, ...]]:
    """The lines of each call: by the id that both have, else the first start belongs to the first call, and so on."""
    owned: list[list[int]] = [[] for _ in calls]
    by_id = {(call.name, call.id): index for index, call in enumerate(calls)}
    by_name: dict[str, list[int]] = {}
    for index, call in enumerate(calls):
        by_name.setdefault(call.name, []).append(index)
    counts: Counter[tuple[str, bool]] = Counter()
    for number, event in enumerate(events):
        if event is None or event.tool not in by_name:
            continue
        call_id = event.call_id or event.loose_id
        owner = by_id.get((event.tool, call_id)) if call_id is not None else None
        if owner is None:
            kind, candidates = (event.tool, event.event == "start"), by_name[event.tool]
            owner = candidates[min(counts[kind], len(candidates) - 1)]
            counts[kind] += 1
        owned[owner].append(number)
    return [tuple(lines) for lines in owned]
