"""One span → what it reports, in the words of no dialect."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from karat.evidence.spans.dialect import NOT_RECORDED, SpanDialect, find_messages, first, number
from karat.evidence.spans.dialects.genai import GENAI
from karat.evidence.spans.dialects.haystack import HAYSTACK
from karat.evidence.spans.dialects.openinference import OPENINFERENCE
from karat.evidence.spans.dialects.strands import STRANDS
from karat.evidence.spans.dialects.traceloop import TRACELOOP
from karat.evidence.spans.messages import AskedCall, Utterance, conversation, decode_value
from karat.evidence.spans.record import SpanRecord
from karat.model.trace import SpanKind, Tokens
from karat.providers.base import tool_schemas
from karat.text.tool_names import is_helper

DIALECTS: tuple[SpanDialect, ...] = (OPENINFERENCE, TRACELOOP, STRANDS, GENAI, HAYSTACK)


def dialect_of(span: SpanRecord) -> SpanDialect | None:
    return next((dialect for dialect in DIALECTS if dialect.speaks(span)), None)


PENDING = ("logfire.span_type", "pending_span")
NOISE = "asgi.event.type"
"""Spans of single messages of a stream: there is one per chunk, and they tell nothing."""
MCP = "mcp.method.name"
ASKS = frozenset({"tool_call", "tool_calls", "tool_use", "tool-calls", "function_call", "function_calls"})


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
    given: tuple[Utterance, ...] | None = None
    said: tuple[Utterance, ...] | None = None
    asks: bool = False
    """Whether the model ended by asking for tools, as its finish reason says."""
    finish: tuple[str, ...] = ()
    """Why the model stopped, in its own words."""
    offered: object = NOT_RECORDED
    """The definitions of the tools that the model was offered."""
    output_tools: tuple[str, ...] = ()
    """The names of those by which the model hands over its answer."""
    answer: object = NOT_RECORDED
    state: object = NOT_RECORDED

    @property
    def asked(self) -> tuple[AskedCall, ...]:
        return tuple(call for one in self.said or () for call in one.calls)

    @property
    def asks_for_tools(self) -> bool:
        """Whether the model ended by asking for something else than to hand over its answer."""
        return self.asks and not (self.asked and all(self.hands_over(call.name) for call in self.asked))

    def hands_over(self, tool: str) -> bool:
        """Whether a call of this tool is the answer of the model, and not a call of a tool of the agent."""
        return is_helper(tool) or tool in self.output_tools


def facts(span: SpanRecord) -> SpanFacts | None:
    """Return what a span records, or None if it is not a span of the turn itself."""
    key, pending = PENDING
    if span.attributes.get(key) == pending or NOISE in span.attributes or not span.ended:
        return None
    dialect = dialect_of(span)
    kind = dialect.kind(span) if dialect is not None else None
    if dialect is None:
        return SpanFacts(span)
    name = _text(first(dialect.tool if kind == "tool" else dialect.agent, span)) if kind in ("tool", "agent") else ""
    finish = _words(first(dialect.finish, span))
    counted = [number(first(places, span)) for places in (dialect.input_tokens, dialect.output_tokens)]
    return SpanFacts(
        span,
        kind=kind or "other",
        name=name,
        plugin=_plugin(span, name) if kind == "tool" else "",
        call_id=_text(first(dialect.call_id, span)),
        arguments=first(dialect.arguments, span) if kind == "tool" else NOT_RECORDED,
        result=first(dialect.result, span) if kind == "tool" else NOT_RECORDED,
        verdict=_text(first(dialect.verdict, span)).lower(),
        model=_text(first(dialect.model, span)),
        tokens=Tokens(*(None if n is None else int(n) for n in counted)) if any(counted) and kind == "model" else None,
        cost=number(first(dialect.cost, span)) if kind == "model" else None,
        given=find_messages(dialect.given, span),
        said=find_messages(dialect.said, span),
        asks=not ASKS.isdisjoint(finish),
        finish=tuple(finish) if kind == "model" else (),
        offered=first(dialect.offered, span) if kind in ("model", "agent") else NOT_RECORDED,
        output_tools=tuple(tool_schemas(first(dialect.output_tools, span))) if kind == "model" else (),
        answer=first(dialect.answer, span),
        state=first(dialect.state, span),
    )


def final_words(entry: SpanFacts) -> str:
    """The answer that a root reports."""
    if entry.said:
        return entry.said[-1].text.strip()
    found = decode_value(entry.answer)
    messages = conversation(found)
    if messages:
        return messages[-1].text.strip()
    if entry.state is NOT_RECORDED:  # where it has a place of its own, an object is the answer, and not a state
        found = entry.answer
    return found if isinstance(found, str) else ""


def final_state(entry: SpanFacts) -> dict[str, object]:
    """The state that a root ends with, without its messages."""
    found = decode_value(entry.state)
    return {str(key): value for key, value in found.items() if key != "messages"} if isinstance(found, Mapping) else {}


def _plugin(span: SpanRecord, name: str) -> str:
    """Semantic Kernel allows no hyphen in the names of plugins and functions: the one between them is its own."""
    plugin, hyphen, function = name.partition("-")
    known = span.scope.startswith("semantic_kernel.") and plugin and function and "-" not in function
    return plugin + hyphen if known else ""


def _text(found: object) -> str:
    return found if isinstance(found, str) else ""


def _words(found: object) -> list[str]:
    found = decode_value(found)
    words = found if isinstance(found, list) else [found]
    return [word.rpartition(".")[2].lower() for word in words if isinstance(word, str)]  # also of FinishReason.STOP
