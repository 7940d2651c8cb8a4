"""OpenInference: kinds in capitals, inputs and outputs as one value, messages spread over numbered attributes.

A tool that takes one plain argument has that value alone for its input: which argument it was, the model's span says.
`tool.parameters` holds the arguments of a call, or the schema of them, as the instrumentation has it.
"""

from collections.abc import Mapping

from karat.evidence.spans.dialect import (
    SpanDialect,
    attribute,
    first,
    has,
    kind_by,
    numbered_place,
    place_inside,
    spread,
)
from karat.evidence.spans.envelopes import parameters_in, passed_arguments
from karat.evidence.spans.messages import decode_value
from karat.evidence.spans.record import SpanRecord
from karat.model.trace import SpanKind

KIND = "openinference.span.kind"
INPUT, OUTPUT = attribute("input.value"), attribute("output.value")
PARAMETERS = attribute("tool.parameters")
GIVEN = (attribute("tool_call.function.arguments"), INPUT)
KINDS: dict[str, SpanKind] = {"tool": "tool", "llm": "model", "agent": "agent"}
METHODS = (".__call__", ".acall")
"""What follows the name of a tool in the name of a span of a method of it."""


def _kind(span: SpanRecord) -> SpanKind | None:
    kind = kind_by(KIND, KINDS)(span)
    made = decode_value(OUTPUT(span)) if kind == "model" else None
    asks = isinstance(made, Mapping) and isinstance(made.get("messages"), list)
    return None if asks and not _answers(span) else kind  # what made a request is not a call of the model


def _answers(span: SpanRecord) -> bool:
    return any(key.startswith(("llm.output_messages.", "llm.token_count.")) for key in span.attributes)


def _name(span: SpanRecord) -> object:
    return next((span.name.removesuffix(method) for method in METHODS if span.name.endswith(method)), span.name)


def _arguments(span: SpanRecord) -> object:
    stated = decode_value(PARAMETERS(span))
    known = () if stated == {} else parameters_in(stated)  # no arguments, or the schema of none
    if isinstance(stated, Mapping) and known is None:
        return stated
    return passed_arguments(first(GIVEN, span), known)


OPENINFERENCE = SpanDialect(
    name="OpenInference",
    speaks=has(KIND),
    kind=_kind,
    tool=(attribute("tool.name"), _name),
    call_id=(attribute("tool_call.id", "tool.id"), place_inside(OUTPUT, "data", "tool_call_id")),
    arguments=(_arguments,),
    result=(OUTPUT,),
    agent=(attribute("agent.name", "graph.node.id"), lambda span: span.name),
    model=(attribute("llm.model_name"),),
    input_tokens=(attribute("llm.token_count.prompt"),),
    output_tokens=(attribute("llm.token_count.completion"),),
    cost=(attribute("llm.cost.total"),),
    given=(spread("llm.input_messages"),),
    said=(spread("llm.output_messages"),),
    finish=(attribute("llm.finish_reason"),),
    offered=(numbered_place("llm.tools"),),
    answer=(OUTPUT,),
    state=(OUTPUT,),
)
