"""One span → what it reports, in the words of no dialect; the spans of a turn → its calls, and those without a span."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property

from msgspec import Struct

from carob.evidence.spans.dialects import dialect_of
from carob.evidence.spans.envelopes import arguments_within, result_within
from carob.evidence.spans.otlp import NOT_RECORDED, SpanRecord
from carob.evidence.spans.tables import first, first_messages, first_number
from carob.model.trace import SpanKind, Tokens, ToolCall
from carob.providers.base import forced_tools, text_of, tool_schemas
from carob.providers.messages import CallRequest, ChatMessage, decode_value, read_messages, since_last_prompt
from carob.text.tool_names import is_helper, split_plugin
from carob.text.tool_results import call_success, missing_fields, parse_result

PENDING = ("logfire.span_type", "pending_span")
NOISE = "asgi.event.type"
"""Spans of single messages of a stream: there is one per chunk, and they tell nothing."""
MCP = "mcp.method.name"
TOOL_REASONS = frozenset({"tool_call", "tool_calls", "tool_use", "tool-calls", "function_call", "function_calls"})


class SpanFacts(Struct, frozen=True):
    """What a span reports. What it does not carry is NOT_RECORDED."""

    span: SpanRecord
    kind: SpanKind = "other"
    name: str = ""
    """Of the tool or the agent."""
    plugin: str = ""
    """What the framework put before the name of the tool, as a part of `name`."""
    call_id: str = ""
    arguments: object = NOT_RECORDED
    result: object = NOT_RECORDED
    verdict: str = ""
    model: str = ""
    tokens: Tokens | None = None
    cost: float | None = None
    input: tuple[ChatMessage, ...] | None = None
    output: tuple[ChatMessage, ...] | None = None
    finish: tuple[str, ...] = ()
    """Why the model stopped, in its own words."""
    tools: object = NOT_RECORDED
    """The definitions of the tools that the model was offered."""
    output_tools: tuple[str, ...] = ()
    """The names of those by which the model hands over its answer."""
    forced_tools: frozenset[str] = frozenset()
    """The tool that the model had to call: so an answer of a given form is asked for."""
    answer: object = NOT_RECORDED
    state: object = NOT_RECORDED

    @property
    def requested_calls(self) -> tuple[CallRequest, ...]:
        return tuple(call for message in self.output or () for call in message.calls)

    @property
    def ends_by_call(self) -> bool:
        """Whether the model ended by asking for tools, as its finish reason says."""
        return not TOOL_REASONS.isdisjoint(self.finish)

    @property
    def asks_for_tools(self) -> bool:
        """Whether the model ended by asking for something else than to hand over its answer."""
        calls = self.requested_calls
        return self.ends_by_call and not (calls and all(self.hands_over(call.name) for call in calls))

    def hands_over(self, tool: str) -> bool:
        """Whether a call of this tool is the answer of the model, and not a call of a tool of the agent."""
        return is_helper(tool) or tool in self.output_tools


def read_facts(span: SpanRecord) -> SpanFacts | None:
    """What a span records, or None if it is not a span of the turn itself."""
    key, pending = PENDING
    if span.attributes.get(key) == pending or NOISE in span.attributes or not span.ended:
        return None
    dialect = dialect_of(span)
    if dialect is None:
        return SpanFacts(span)
    kind = dialect.kind(span)
    is_tool, is_model = kind == "tool", kind == "model"
    name = text_of(first(dialect.tool if is_tool else dialect.agent, span)) if kind in ("tool", "agent") else ""
    counts = [first_number(places, span) for places in (dialect.input_tokens, dialect.output_tokens)]
    return SpanFacts(
        span,
        kind=kind or "other",
        name=name,
        plugin=split_plugin(name) if is_tool and span.scope.startswith("semantic_kernel.") else "",
        call_id=text_of(first(dialect.call_id, span)),
        arguments=first(dialect.arguments, span) if is_tool else NOT_RECORDED,
        result=first(dialect.result, span) if is_tool else NOT_RECORDED,
        verdict=text_of(first(dialect.verdict, span)).lower(),
        model=text_of(first(dialect.model, span)),
        tokens=Tokens(*(None if n is None else int(n) for n in counts)) if any(counts) and is_model else None,
        cost=first_number(dialect.cost, span) if is_model else None,
        input=first_messages(dialect.input, span),
        output=first_messages(dialect.output, span),
        finish=_finish_reasons(first(dialect.finish, span)) if is_model else (),
        tools=first(dialect.tools, span) if kind in ("model", "agent") else NOT_RECORDED,
        output_tools=tuple(tool_schemas(first(dialect.output_tools, span))) if is_model else (),
        forced_tools=forced_tools(decode_value(first(dialect.request, span))) if is_model else frozenset(),
        answer=first(dialect.answer, span),
        state=first(dialect.state, span),
    )


def final_words(entry: SpanFacts) -> str:
    """The answer that a root reports."""
    messages = entry.output or read_messages(entry.answer)
    if messages:
        return messages[-1].text.strip()
    # Where the state has a place of its own, an object is the answer, and not a state.
    return text_of(entry.answer if entry.state is NOT_RECORDED else decode_value(entry.answer))


def final_state(entry: SpanFacts) -> dict[str, object]:
    """The state that a root ends with, without its messages."""
    state = decode_value(entry.state)
    return {str(key): value for key, value in state.items() if key != "messages"} if isinstance(state, Mapping) else {}


def _finish_reasons(value: object) -> tuple[str, ...]:
    value = decode_value(value)
    reasons = value if isinstance(value, list) else [value]
    return tuple(
        reason.rpartition(".")[2].lower() for reason in reasons if isinstance(reason, str)
    )  # FinishReason.STOP


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
