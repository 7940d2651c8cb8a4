"""The spans of one turn → its tool calls, and those that models asked for and no span shows."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from karat.evidence.spans.dialect import NOT_RECORDED
from karat.evidence.spans.envelopes import arguments_within, result_within
from karat.evidence.spans.facts import MCP, SpanFacts
from karat.evidence.spans.messages import AskedCall, since_the_prompt
from karat.model.trace import CallKind, ToolCall
from karat.text.tool_results import call_success, missing_fields, parse_result

NO_ARGUMENTS = "the span of the call does not carry its arguments: have the agent's instrumentation capture content"
NO_RESULT = "the span of the call does not carry its result: have the agent's instrumentation capture content"
HANDOFF = "handoff"


def tool_calls(turn: Sequence[SpanFacts]) -> list[ToolCall]:
    """The calls of a turn in the order in which they began."""
    within = {entry.span.span_id: entry for entry in turn}
    tools = tool_spans(turn)
    asked = _match_requests(tools, turn)
    failed = _find_failed(turn, within)
    return [
        _call(entry, asked.get(entry.span.span_id), _parent(entry, within), inner=failed.get(entry.span.span_id))
        for entry in tools
    ]


def _find_failed(turn: Sequence[SpanFacts], within: Mapping[str, SpanFacts]) -> dict[str, SpanFacts]:
    """The calls of which a span within, of the same call, failed as the last of its kind, by the outer span."""
    last: dict[str, SpanFacts] = {}
    for entry in sorted((one for one in turn if one.kind == "tool"), key=lambda one: one.span.started):
        for outer in ancestors(entry, within):
            if _is_same_call(entry, outer):
                last[outer.span.span_id] = entry
    return {outer: entry for outer, entry in last.items() if entry.span.failed}


def tool_spans(turn: Sequence[SpanFacts]) -> list[SpanFacts]:
    """The spans that are calls: one within another of the same tool is the same call, seen again."""
    within = {entry.span.span_id: entry for entry in turn}
    tools = [entry for entry in turn if entry.kind == "tool" and entry.name]
    return sorted(
        (entry for entry in tools if not any(_is_same_call(entry, outer) for outer in ancestors(entry, within))),
        key=lambda entry: entry.span.started,
    )


def find_unseen_calls(turn: Sequence[SpanFacts], answer: str = "") -> list[AskedCall]:
    """Return the calls that models asked for, in answers or in later messages, and that have no span.

    A call whose arguments are the answer of the turn hands it over: it is not one of a tool.
    """
    handed_over = parse_result(answer)
    tools = tool_spans(turn)
    ids = {entry.call_id for entry in tools if entry.call_id}
    nameless = Counter(entry.name for entry in tools if not entry.call_id)
    numbered = Counter(entry.name for entry in tools)
    found: dict[str, AskedCall] = {}
    for entry in turn:
        if entry.kind != "model":
            continue
        heard = [*since_the_prompt(entry.given or (), entry.output_tools), *(entry.said or ())]
        asked = [call for one in heard for call in one.calls if not entry.hands_over(call.name)]
        counted: Counter[str] = Counter()
        for call in asked:
            if call.id in ids or (call.arguments and call.arguments == handed_over):
                continue
            counted[call.name] += 1
            if counted[call.name] > (nameless if call.id else numbered)[call.name]:
                found.setdefault(f"{call.name} {call.id or counted[call.name]}", call)
    return list(found.values())


def _is_same_call(entry: SpanFacts, outer: SpanFacts) -> bool:
    if outer.kind != "tool":
        return False
    if MCP in entry.span.attributes:
        return True  # a call that a tool hands on to a server, or the server's own view of it
    return outer.name == entry.name and (not entry.call_id or not outer.call_id or entry.call_id == outer.call_id)


def ancestors(entry: SpanFacts, within: Mapping[str, SpanFacts]) -> list[SpanFacts]:
    found: list[SpanFacts] = []
    at = within.get(entry.span.parent_id)
    while at is not None and len(found) < len(within):
        found.append(at)
        at = within.get(at.span.parent_id)
    return found


def _parent(entry: SpanFacts, within: Mapping[str, SpanFacts]) -> str | None:
    return next((one.name for one in ancestors(entry, within) if one.kind in ("tool", "agent") and one.name), None)


def _match_requests(tools: Sequence[SpanFacts], turn: Sequence[SpanFacts]) -> dict[str, AskedCall]:
    """What the model asked for with each call: by the call's id, or by its number among those of its tool."""
    asked = [call for entry in turn if entry.kind == "model" for call in entry.asked]
    by_id = {call.id: call for call in asked if call.id}
    by_name: dict[str, list[AskedCall]] = defaultdict(list)
    for call in asked:
        by_name[call.name].append(call)
    numbered: Counter[str] = Counter()
    found = {}
    for entry in tools:
        same = by_name[entry.name]
        whole = len(same) == sum(other.name == entry.name for other in tools)
        match = by_id.get(entry.call_id) or (same[numbered[entry.name]] if whole else None)
        numbered[entry.name] += 1
        if match is not None and match.name == entry.name:
            found[entry.span.span_id] = match
    return found


def _call(entry: SpanFacts, asked: AskedCall | None, parent: str | None, inner: SpanFacts | None) -> ToolCall:
    span = entry.span
    asked_with = NOT_RECORDED if asked is None else asked.arguments
    arguments = arguments_within(entry.arguments, asked_with, lossy=span.lossy)
    result = result_within(entry.result)
    lost = {"arguments": NO_ARGUMENTS} if arguments is NOT_RECORDED else {}
    raised = next((one.attributes for one in span.events if one.name == "exception"), None)
    error = None
    if span.failed and (raised is not None or result is NOT_RECORDED):
        error = str(
            (raised or {}).get("exception.message") or span.status or span.attributes.get("error.type") or "error"
        )
    elif result is NOT_RECORDED and entry.verdict != "success":
        lost["result"] = NO_RESULT
    plain = None if result is NOT_RECORDED else result
    return ToolCall(
        entry.name,
        None if arguments is NOT_RECORDED else arguments,
        id=entry.call_id or (asked.id if asked else "") or None,
        result=None if error is not None else plain,
        error=error,
        success=_success(entry, result, failed=error is not None or span.failed or inner is not None),
        missing_fields=missing_fields(plain),
        started_at=span.started,
        ended_at=span.ended,
        kind=_kind(entry),
        parent=parent,
        unobserved=lost,
    )


def _kind(entry: SpanFacts) -> CallKind:
    return "handoff" if HANDOFF in str(entry.span.attributes.get("gen_ai.operation.name", "")) else "tool"


def _success(entry: SpanFacts, result: object, *, failed: bool) -> bool | None:
    claimed = entry.verdict == "success" if entry.verdict in ("success", "error") else None
    seen = result is not NOT_RECORDED
    return call_success(result if seen else None, raised=failed, claimed=claimed, ended=seen)
