"""The events of a turn → the tool calls that they tell of."""

from __future__ import annotations

from msgspec import structs

from karat.evidence.logs.events import Event, parse_all
from karat.model.trace import ToolCall
from karat.text.tool_results import call_success, missing_fields, parse_result

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
    is_request = event.event == "request"
    call_id = event.call_id or event.loose_id
    return ToolCall(
        name,
        parse_result(event.arguments),
        id=call_id,
        started=not is_request,
        started_at=event.at,
        unfinished=is_request,
    )


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


def _is_same_call(start: Event, event: Event) -> bool:
    if start.call_id or event.call_id:
        return start.call_id == event.call_id
    return start.loose_id is not None and start.loose_id == event.loose_id
