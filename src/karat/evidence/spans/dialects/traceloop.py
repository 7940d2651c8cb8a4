"""Traceloop's envelopes: the names are OpenTelemetry's, the values are what the framework handed over, wrapped."""

from karat.evidence.spans.dialect import SpanDialect, attribute, has, numbered_place, place_inside
from karat.evidence.spans.dialects.genai import GENAI
from karat.evidence.spans.record import SpanRecord
from karat.model.trace import SpanKind

KIND = "traceloop.span.kind"
KINDS: dict[object, SpanKind] = {"tool": "tool", "agent": "agent", "workflow": "agent"}
ARGUMENTS = attribute("gen_ai.tool.call.arguments", "traceloop.entity.input")
RESULT = attribute("gen_ai.tool.call.result", "traceloop.entity.output")
OUTPUT = place_inside(attribute("traceloop.entity.output"), "outputs")


def _kind(span: SpanRecord) -> SpanKind | None:
    return KINDS.get(span.attributes.get(KIND)) or GENAI.kind(span)


TRACELOOP = SpanDialect(
    name="Traceloop",
    speaks=has(KIND),
    kind=_kind,
    tool=(*GENAI.tool, attribute("traceloop.entity.name")),
    call_id=(*GENAI.call_id, place_inside(RESULT, "output", "kwargs", "tool_call_id")),
    arguments=(place_inside(ARGUMENTS, "inputs"), ARGUMENTS),
    result=(place_inside(RESULT, "output"), RESULT),
    agent=(*GENAI.agent, attribute("traceloop.entity.name")),
    model=GENAI.model,
    input_tokens=GENAI.input_tokens,
    output_tokens=GENAI.output_tokens,
    cost=GENAI.cost,
    given=GENAI.given,
    said=GENAI.said,
    finish=GENAI.finish,
    offered=(*GENAI.offered, numbered_place("llm.request.functions")),
    answer=(OUTPUT,),
    state=(OUTPUT,),
)
