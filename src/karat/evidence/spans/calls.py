"""The spans of one turn → its tool calls, and those that models asked for and no span shows."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import cached_property

from karat.evidence.spans.envelopes import arguments_within, result_within
from karat.evidence.spans.facts import SpanFacts
from karat.evidence.spans.otlp import NOT_RECORDED
from karat.model.trace import ToolCall
from karat.providers.messages import CallRequest, since_last_prompt
from karat.text.tool_results import call_success, missing_fields, parse_result

NO_ARGUMENTS = "the span of the call does not carry its arguments: have the agent's instrumentation capture content"
NO_RESULT = "the span of the call does not carry its result: have the agent's instrumentation capture content"


class TurnSpans:
    """What the spans of a turn report, in the order in which they began."""

    def __init__(self, entries: Sequence[SpanFacts]) -> None:
        self.entries = entries
        self.models = [entry for entry in entries if entry.kind == "model"]
        self._by_id = {entry.span.span_id: entry for entry in entries}

    def ancestors(self, entry: SpanFacts) -> list[SpanFacts]:
        """The spans around a span, from the inside."""
        around: list[SpanFacts] = []
        outer = self._by_id.get(entry.span.parent_id)
        while outer is not None and len(around) < len(self._by_id):  # hostile spans may be within each other
            around.append(outer)
            outer = self._by_id.get(outer.span.parent_id)
        return around

    @cached_property
    def tools(self) -> list[SpanFacts]:
        """The spans that are calls: one within another of the same tool is the same call, seen again."""
        tool_spans = [entry for entry in self.entries if entry.kind == "tool" and entry.name]
        outermost = [
            entry for entry in tool_spans if not any(_is_same_call(entry, outer) for outer in self.ancestors(entry))
        ]
        return sorted(outermost, key=lambda entry: entry.span.started)

    def tool_calls(self) -> list[ToolCall]:
        """The calls of the turn in the order in which they began."""
        requests, failed = self._match_requests(), self._find_failed()
        return [
            _build_call(entry, requests.get(entry.span.span_id), self._parent(entry), entry.span.span_id in failed)
            for entry in self.tools
        ]

    def unseen_calls(self, answer: str = "") -> list[CallRequest]:
        """The calls that models asked for, in answers or in later messages, and that have no span.

        A call of a tool that the model had to call hands over the answer, if its arguments are the answer.
        """
        handed_over = parse_result(answer)
        ids = {entry.call_id for entry in self.tools if entry.call_id}
        without_id = Counter(entry.name for entry in self.tools if not entry.call_id)
        spans = Counter(entry.name for entry in self.tools)
        unseen: dict[str, CallRequest] = {}
        for entry in self.models:
            messages = [*since_last_prompt(entry.input or (), entry.output_tools), *(entry.output or ())]
            requested = [call for message in messages for call in message.calls if not entry.hands_over(call.name)]
            counts: Counter[str] = Counter()
            for call in requested:
                if call.id in ids or (call.name in entry.forced_tools and call.arguments == handed_over):
                    continue
                counts[call.name] += 1
                if counts[call.name] > (without_id if call.id else spans)[call.name]:
                    unseen.setdefault(f"{call.name} {call.id or counts[call.name]}", call)
        return list(unseen.values())

    def _parent(self, entry: SpanFacts) -> str | None:
        around = self.ancestors(entry)
        return next((outer.name for outer in around if outer.kind in ("tool", "agent") and outer.name), None)

    def _find_failed(self) -> set[str]:
        """The spans of calls within which a span of the same call failed, as the last of its kind."""
        last: dict[str, SpanFacts] = {}
        for entry in sorted(self.entries, key=lambda entry: entry.span.started):
            for outer in self.ancestors(entry) if entry.kind == "tool" else ():
                if _is_same_call(entry, outer):
                    last[outer.span.span_id] = entry
        return {outer_id for outer_id, entry in last.items() if entry.span.failed}

    def _match_requests(self) -> dict[str, CallRequest]:
        """What the model asked for with each call: by the call's id, or by its number among those of its tool."""
        requested = [call for entry in self.models for call in entry.requested_calls]
        by_id = {call.id: call for call in requested if call.id}
        by_name: dict[str, list[CallRequest]] = defaultdict(list)
        for call in requested:
            by_name[call.name].append(call)
        spans = Counter(entry.name for entry in self.tools)
        numbers: Counter[str] = Counter()
        matches = {}
        for entry in self.tools:
            same_tool = by_name[entry.name]
            by_number = same_tool[numbers[entry.name]] if len(same_tool) == spans[entry.name] else None
            match = by_id.get(entry.call_id) or by_number
            numbers[entry.name] += 1
            if match is not None and match.name == entry.name:
                matches[entry.span.span_id] = match
        return matches


def _is_same_call(entry: SpanFacts, outer: SpanFacts) -> bool:
    """Whether a call within another is that one, as a server or a second instrumentation shows it."""
    if outer.kind != "tool":
        return False
    if entry.call_id and outer.call_id:
        return entry.call_id == outer.call_id
    if outer.name != entry.name:
        return False
    inner, around = (arguments_within(each.arguments, NOT_RECORDED) for each in (entry, outer))
    return inner is NOT_RECORDED or around is NOT_RECORDED or inner == around


def _build_call(entry: SpanFacts, request: CallRequest | None, parent: str | None, inner_failed: bool) -> ToolCall:
    span = entry.span
    requested = NOT_RECORDED if request is None else request.arguments
    arguments = arguments_within(entry.arguments, requested, lossy=span.lossy)
    result = result_within(entry.result)
    has_result = result is not NOT_RECORDED
    unobserved = {"arguments": NO_ARGUMENTS} if arguments is NOT_RECORDED else {}
    raised = next((event.attributes for event in span.events if event.name == "exception"), None)
    error = None
    if span.failed and (raised is not None or not has_result):
        message = (raised or {}).get("exception.message")
        error = str(message or span.status or span.attributes.get("error.type") or "error")
    elif not has_result and entry.verdict != "success":
        unobserved["result"] = NO_RESULT
    plain = result if has_result else None
    claimed = entry.verdict == "success" if entry.verdict in ("success", "error") else None
    return ToolCall(
        entry.name,
        None if arguments is NOT_RECORDED else arguments,
        id=entry.call_id or (request.id if request else "") or None,
        result=None if error is not None else plain,
        error=error,
        success=call_success(plain, raised=span.failed or inner_failed, claimed=claimed, ended=has_result),
        missing_fields=missing_fields(plain),
        started_at=span.started,
        ended_at=span.ended,
        kind="handoff" if "handoff" in str(span.attributes.get("gen_ai.operation.name", "")) else "tool",
        parent=parent,
        unobserved=unobserved,
        with_words=None if request is None else request.with_words,
    )
