"""Haystack's own tracer: steps of an agent, with what went in and came out as JSON, if it traces content."""

from collections.abc import Mapping

from karat.evidence.spans.dialect import NOT_RECORDED, Place, SpanDialect, attribute, messages, place_inside
from karat.evidence.spans.messages import decode_value
from karat.evidence.spans.record import SpanRecord
from karat.model.trace import SpanKind

KINDS: dict[str, SpanKind] = {
    "haystack.agent.run": "agent",
    "haystack.agent.step.llm": "model",
    "haystack.agent.step.tool": "tool",
}
REPLIES = place_inside(attribute("haystack.agent.step.llm.output"), "replies")
INPUT = attribute("haystack.agent.step.llm.input")


def _reply_metadata(*way: str) -> Place:
    """Return what the first reply of a model says of itself."""

    def first_reply(span: SpanRecord) -> object:
        replies = decode_value(REPLIES(span))
        found = replies[0] if isinstance(replies, list) and replies else None
        return found.get("meta", NOT_RECORDED) if isinstance(found, Mapping) else NOT_RECORDED

    return place_inside(first_reply, *way)


def _verdict(span: SpanRecord) -> object:
    return "error" if span.attributes.get("haystack.tool.error") is True else NOT_RECORDED


HAYSTACK = SpanDialect(
    name="Haystack",
    speaks=lambda span: span.name in KINDS,
    kind=lambda span: KINDS.get(span.name),
    tool=(attribute("haystack.tool.name"),),
    arguments=(attribute("haystack.agent.step.tool.input"),),
    result=(attribute("haystack.agent.step.tool.output"),),
    verdict=(_verdict,),
    model=(_reply_metadata("model"),),
    input_tokens=(_reply_metadata("usage", "prompt_tokens"),),
    output_tokens=(_reply_metadata("usage", "completion_tokens"),),
    given=(messages(INPUT),),
    said=(messages(REPLIES),),
    finish=(_reply_metadata("finish_reason"),),
    offered=(place_inside(INPUT, "tools"), attribute("haystack.agent.tools")),
    answer=(attribute("haystack.agent.output"),),
)
