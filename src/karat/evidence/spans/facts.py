"""One span → what it reports, in the words of no dialect."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from karat.evidence.spans.dialects import dialect_of, first, first_messages, first_number
from karat.evidence.spans.otlp import NOT_RECORDED, SpanRecord
from karat.model.trace import SpanKind, Tokens
from karat.providers.base import forced_tools, text_of, tool_schemas
from karat.providers.messages import CallRequest, ChatMessage, decode_value, read_messages
from karat.text.tool_names import is_helper

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
        plugin=_plugin(span, name) if is_tool else "",
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
    answer = entry.answer if entry.state is NOT_RECORDED else decode_value(entry.answer)
    return text_of(answer)


def final_state(entry: SpanFacts) -> dict[str, object]:
    """The state that a root ends with, without its messages."""
    state = decode_value(entry.state)
    return {str(key): value for key, value in state.items() if key != "messages"} if isinstance(state, Mapping) else {}


def _plugin(span: SpanRecord, name: str) -> str:
    """Semantic Kernel allows no hyphen in the names of plugins and functions: the one between them is its own."""
    plugin, hyphen, function = name.partition("-")
    is_split = span.scope.startswith("semantic_kernel.") and plugin and function and "-" not in function
    return plugin + hyphen if is_split else ""


def _finish_reasons(value: object) -> tuple[str, ...]:
    value = decode_value(value)
    reasons = value if isinstance(value, list) else [value]
    return tuple(
        reason.rpartition(".")[2].lower() for reason in reasons if isinstance(reason, str)
    )  # FinishReason.STOP
