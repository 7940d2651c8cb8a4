"""strands: OpenTelemetry's operations, with what was said in the events of a span."""

from collections.abc import Callable

from karat.evidence.spans.dialect import SpanDialect, event, messages
from karat.evidence.spans.dialects.genai import GENAI
from karat.evidence.spans.messages import Utterance, decode_value, utterance
from karat.evidence.spans.record import SpanRecord

DETAILS = "gen_ai.client.inference.operation.details"
ROLES = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
}
CHOICE = {"gen_ai.choice": "assistant"}


def _speaks(span: SpanRecord) -> bool:
    return GENAI.speaks(span) and any(one.name == DETAILS or one.name in {**ROLES, **CHOICE} for one in span.events)


def _messages_in(roles: dict[str, str]) -> Callable[[SpanRecord], tuple[Utterance, ...] | None]:
    def read(span: SpanRecord) -> tuple[Utterance, ...] | None:
        events = [(roles[one.name], one.attributes) for one in span.events if one.name in roles]
        said = [
            {"role": role, **table, "content": table.get("content", table.get("message"))} for role, table in events
        ]
        return tuple(utterance({**one, "content": decode_value(one["content"])}) for one in said) or None

    return read


STRANDS = SpanDialect(
    name="strands events",
    speaks=_speaks,
    kind=GENAI.kind,
    tool=GENAI.tool,
    call_id=GENAI.call_id,
    arguments=(*GENAI.arguments, event("gen_ai.tool.message", "content")),
    result=(*GENAI.result, event("gen_ai.choice", "message")),
    verdict=GENAI.verdict,
    agent=GENAI.agent,
    model=GENAI.model,
    input_tokens=GENAI.input_tokens,
    output_tokens=GENAI.output_tokens,
    cost=GENAI.cost,
    given=(*GENAI.given, messages(event(DETAILS, "gen_ai.input.messages")), _messages_in(ROLES)),
    said=(*GENAI.said, messages(event(DETAILS, "gen_ai.output.messages")), _messages_in(CHOICE)),
    offered=GENAI.offered,
    output_tools=GENAI.output_tools,
    finish=(*GENAI.finish, event("gen_ai.choice", "finish_reason")),
    answer=GENAI.answer,
)
