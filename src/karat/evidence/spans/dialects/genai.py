"""OpenTelemetry's conventions for generative AI, in their present form and those that came before."""

from karat.evidence.spans.dialect import SpanDialect, attribute, has, kind_by, messages, place_inside, spread
from karat.model.trace import SpanKind

OPERATION = "gen_ai.operation.name"
KINDS: dict[str, SpanKind] = {
    "execute_tool": "tool",
    "chat": "model",
    "text_completion": "model",
    "generate_content": "model",
    "invoke_agent": "agent",
    "invoke_workflow": "agent",
    "create_agent": "other",
}

GENAI = SpanDialect(
    name="OpenTelemetry GenAI",
    speaks=has(OPERATION),
    kind=kind_by(OPERATION, KINDS),
    tool=(attribute("gen_ai.tool.name"),),
    call_id=(attribute("gen_ai.tool.call.id"),),
    arguments=(attribute("gen_ai.tool.call.arguments", "tool_arguments"),),
    result=(attribute("gen_ai.tool.call.result", "tool_response"),),
    verdict=(attribute("gen_ai.tool.status"),),
    agent=(attribute("gen_ai.agent.name"),),
    model=(attribute("gen_ai.response.model", "gen_ai.request.model"),),
    input_tokens=(attribute("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens"),),
    output_tokens=(attribute("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens"),),
    cost=(attribute("gen_ai.usage.cost", "operation.cost"),),
    given=(messages(attribute("gen_ai.input.messages")), spread("gen_ai.prompt")),
    said=(messages(attribute("gen_ai.output.messages")), spread("gen_ai.completion")),
    finish=(attribute("gen_ai.response.finish_reasons", "gen_ai.response.finish_reason"),),
    offered=(attribute("gen_ai.tool.definitions", "gen_ai.request.tools", "ai.prompt.tools"),),
    output_tools=(place_inside(attribute("model_request_parameters"), "output_tools"),),
    answer=(attribute("final_result"),),
)
