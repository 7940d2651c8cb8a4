"""The spans of a turn → its tool calls. What a span does not carry is unknown, unless the model's own span tells it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from karat.model.trace import CallKind, ToolCall
from karat.telemetry.spans.dialect import NOT_TOLD
from karat.telemetry.spans.facts import MCP, SpanFacts
from karat.telemetry.spans.messages import AskedCall, decoded, since_the_prompt
from karat.telemetry.tool_results import missing_fields, said, structured

NO_ARGUMENTS = "the span of the call does not carry its arguments: let the agent's instrumentation capture content"
NO_RESULT = "the span of the call does not carry its result: let the agent's instrumentation capture content"
HANDOFF = "handoff"


def tool_calls(turn: Sequence[SpanFacts]) -> list[ToolCall]:
    """The calls of a turn in the order in which they began."""
    within = {told.span.span_id: told for told in turn}
    tools = called(turn)
    asked = _asked_for(tools, turn)
    return [_call(told, asked.get(told.span.span_id), _parent(told, within)) for told in tools]


def called(turn: Sequence[SpanFacts]) -> list[SpanFacts]:
    """The spans that are calls: one that stands within another of the same tool is the same call, seen again."""
    within = {told.span.span_id: told for told in turn}
    tools = [told for told in turn if told.kind == "tool" and told.name]
    return sorted(
        (told for told in tools if not any(_same(told, outer) for outer in _ancestors(told, within))),
        key=lambda told: told.span.started,
    )


def unseen(turn: Sequence[SpanFacts]) -> list[AskedCall]:
    """What models asked for, in their answers or in what they were told later, without a span to tell of it."""
    tools = called(turn)
    ids = {told.call_id for told in tools if told.call_id}
    nameless = Counter(told.name for told in tools if not told.call_id)
    numbered = Counter(told.name for told in tools)
    found: dict[str, AskedCall] = {}
    for told in turn:
        if told.kind != "model":
            continue
        heard = [*since_the_prompt(told.given or ()), *(told.said or ())]
        asked = [call for one in heard for call in one.calls]
        counted: Counter[str] = Counter()
        for call in asked:
            if call.id in ids:
                continue
            counted[call.name] += 1
            if counted[call.name] > (nameless if call.id else numbered)[call.name]:
                found.setdefault(f"{call.name} {call.id or counted[call.name]}", call)
    return list(found.values())


def _same(told: SpanFacts, outer: SpanFacts) -> bool:
    if outer.kind != "tool":
        return False
    if MCP in told.span.attributes:
        return True  # a call that a tool hands on to a server, or the server's own view of it
    return outer.name == told.name and (not told.call_id or not outer.call_id or told.call_id == outer.call_id)


def _ancestors(told: SpanFacts, within: Mapping[str, SpanFacts]) -> list[SpanFacts]:
    found: list[SpanFacts] = []
    at = within.get(told.span.parent_id)
    while at is not None and len(found) < len(within):
        found.append(at)
        at = within.get(at.span.parent_id)
    return found


def _parent(told: SpanFacts, within: Mapping[str, SpanFacts]) -> str | None:
    return next((one.name for one in _ancestors(told, within) if one.kind in ("tool", "agent") and one.name), None)


def _asked_for(tools: Sequence[SpanFacts], turn: Sequence[SpanFacts]) -> dict[str, AskedCall]:
    """What the model asked for with each call: by the call's id, or by its number among those of its tool."""
    asked = [call for told in turn if told.kind == "model" for call in told.asked]
    by_id = {call.id: call for call in asked if call.id}
    by_name: dict[str, list[AskedCall]] = defaultdict(list)
    for call in asked:
        by_name[call.name].append(call)
    numbered: Counter[str] = Counter()
    found = {}
    for told in tools:
        same = by_name[told.name]
        whole = len(same) == sum(other.name == told.name for other in tools)
        match = by_id.get(told.call_id) or (same[numbered[told.name]] if whole else None)
        numbered[told.name] += 1
        if match is not None and match.name == told.name:
            found[told.span.span_id] = match
    return found


def _call(told: SpanFacts, asked: AskedCall | None, parent: str | None) -> ToolCall:
    span = told.span
    arguments, result = _arguments(told, asked), _result(told.result)
    lost = {"arguments": NO_ARGUMENTS} if arguments is NOT_TOLD else {}
    raised = next((one.attributes for one in span.events if one.name == "exception"), None)
    error = None
    if span.failed and (raised is not None or result is NOT_TOLD):
        error = str(
            (raised or {}).get("exception.message") or span.status or span.attributes.get("error.type") or "error"
        )
    elif result is NOT_TOLD and told.verdict != "success":
        lost["result"] = NO_RESULT
    plain = None if result is NOT_TOLD else result
    return ToolCall(
        told.name,
        None if arguments is NOT_TOLD else arguments,
        id=told.call_id or (asked.id if asked else "") or None,
        result=None if error is not None else plain,
        error=error,
        success=_success(told, result, failed=error is not None or span.failed),
        missing_fields=missing_fields(plain),
        started_at=span.started,
        ended_at=span.ended,
        kind=_kind(told),
        parent=parent,
        unobserved=lost,
    )


def _kind(told: SpanFacts) -> CallKind:
    return "handoff" if HANDOFF in str(told.span.attributes.get("gen_ai.operation.name", "")) else "tool"


def _arguments(told: SpanFacts, asked: AskedCall | None) -> object:
    """An object as the span has it; for a bare value, or none, what the model asked for."""
    given = decoded(told.arguments)
    if isinstance(given, Mapping) and not told.span.lossy:
        return given
    if asked is not None and isinstance(asked.arguments, Mapping):
        fits = told.arguments is NOT_TOLD or told.span.lossy or given in asked.arguments.values()
        if fits or str(given) in map(str, asked.arguments.values()):
            return asked.arguments
    return NOT_TOLD


def _result(found: object) -> object:
    """What the tool gave, without the envelope of its framework."""
    if found is NOT_TOLD:
        return NOT_TOLD
    found = structured(found)
    for inner in ("data", "kwargs"):
        if isinstance(found, Mapping) and isinstance(held := found.get(inner), Mapping) and "content" in held:
            found = held
    if isinstance(found, Mapping) and "content" in found and "tool_call_id" in found:
        return (
            {"status": "error", "content": found["content"]}
            if found.get("status") == "error"
            else structured(found["content"])
        )
    if (
        isinstance(found, list)
        and found
        and all(isinstance(part, Mapping) and part.keys() == {"text"} for part in found)
    ):
        return structured("".join(str(part["text"]) for part in found))
    return found


def _success(told: SpanFacts, result: object, *, failed: bool) -> bool | None:
    if failed:
        return False
    if told.verdict in ("success", "error"):
        return told.verdict == "success" and said(None if result is NOT_TOLD else result).told(otherwise=True)
    return None if result is NOT_TOLD else said(result).told(otherwise=True)
