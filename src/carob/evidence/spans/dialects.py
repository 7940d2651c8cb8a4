"""How libraries spell what their spans tell: a table of places for each, read by one reader (`facts.py`)."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import structs

from carob.evidence.spans import tables
from carob.evidence.spans.envelopes import parameters_in, passed_arguments
from carob.evidence.spans.otlp import NOT_RECORDED, SpanRecord
from carob.evidence.spans.platforms import PLATFORMS
from carob.model.trace import SpanKind
from carob.providers.gemini import lower_types
from carob.providers.messages import decode_value

# OpenTelemetry's conventions for generative AI, in their present form and those that came before.
OPERATION = "gen_ai.operation.name"
GENAI = tables.SpanDialect(
    name="OpenTelemetry GenAI",
    speaks=tables.has(OPERATION),
    kind=tables.kind_by(
        OPERATION,
        {
            "execute_tool": "tool", "chat": "model", "text_completion": "model", "generate_content": "model",
            "invoke_agent": "agent", "invoke_workflow": "agent", "create_agent": "other",
        },
    ),
    tool=("gen_ai.tool.name",),
    call_id=("gen_ai.tool.call.id",),
    arguments=("gen_ai.tool.call.arguments", "tool_arguments"),
    result=("gen_ai.tool.call.result", "tool_response"),
    verdict=("gen_ai.tool.status",),
    agent=("gen_ai.agent.name",),
    model=("gen_ai.response.model", "gen_ai.request.model"),
    input_tokens=("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens"),
    output_tokens=("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens"),
    cost=("gen_ai.usage.cost", "operation.cost"),
    input=("gen_ai.input.messages", tables.attribute_list("gen_ai.prompt")),
    output=("gen_ai.output.messages", tables.attribute_list("gen_ai.completion")),
    finish=("gen_ai.response.finish_reasons", "gen_ai.response.finish_reason"),
    tools=("gen_ai.tool.definitions", "gen_ai.request.tools", "ai.prompt.tools"),
    request=("model_request_parameters", "gen_ai.request.parameters"),
    output_tools=(tables.json_field(("model_request_parameters",), "output_tools"),),
    answer=("final_result",),
)  # fmt: skip

# strands: OpenTelemetry's operations, with what was said in the events of a span.
DETAILS = "gen_ai.client.inference.operation.details"
ROLES = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
}
CHOICE = {"gen_ai.choice": "assistant"}


def _event_messages(roles: dict[str, str]) -> tables.Place:
    def read(span: SpanRecord) -> object:
        events = [(roles[event.name], event.attributes) for event in span.events if event.name in roles]
        messages = [
            {"role": role, **table, "content": decode_value(table.get("content", table.get("message")))}
            for role, table in events
        ]
        return messages or NOT_RECORDED

    return read


STRANDS = structs.replace(
    GENAI,
    name="strands events",
    speaks=lambda span: GENAI.speaks(span) and any(event.name in {DETAILS, *ROLES, *CHOICE} for event in span.events),
    arguments=(*GENAI.arguments, tables.in_event("gen_ai.tool.message", "content")),
    result=(*GENAI.result, tables.in_event("gen_ai.choice", "message")),
    verdict=(*GENAI.verdict, "tool.status"),
    input=(*GENAI.input, tables.in_event(DETAILS, "gen_ai.input.messages"), _event_messages(ROLES)),
    output=(*GENAI.output, tables.in_event(DETAILS, "gen_ai.output.messages"), _event_messages(CHOICE)),
    finish=(*GENAI.finish, tables.in_event("gen_ai.choice", "finish_reason")),
)

# google-adk: OpenTelemetry's operations, or those of its own schema 1, with calls and contents as Gemini has them.
ADK_SCOPE = "gcp.vertex.agent"
ADK_MERGED = "(merged tools)"
"""The name of a span around the results of parallel calls, each of which has a span of its own."""
ADK_REQUEST = (f"{ADK_SCOPE}.llm_request",)
ADK_CONTENT = (f"{ADK_SCOPE}.tool_call_args", f"{ADK_SCOPE}.tool_response")


def _adk_kind(span: SpanRecord) -> SpanKind | None:
    if span.attributes.get("gen_ai.tool.name") == ADK_MERGED:
        return None
    return "model" if span.name == "call_llm" else GENAI.kind(span)


def _adk_call_id(span: SpanRecord) -> object:
    call_id = span.attributes.get("gen_ai.tool.call.id", NOT_RECORDED)
    return NOT_RECORDED if call_id == "<not specified>" else call_id


def _adk_messages(name: str) -> tables.Place:
    """Messages without the ids that calls without one are given: name and place, which recur in each message."""

    def read(span: SpanRecord) -> object:
        messages = decode_value(span.attributes.get(name, NOT_RECORDED))
        if not isinstance(messages, list):
            return messages
        return [_without_made_up_ids(message) if isinstance(message, Mapping) else message for message in messages]

    return read


def _without_made_up_ids(message: Mapping[str, object]) -> Mapping[str, object]:
    parts = message.get("parts")
    if not isinstance(parts, list):
        return message
    return {**message, "parts": [_without_made_up_id(part, index) for index, part in enumerate(parts)]}


def _without_made_up_id(part: object, index: int) -> object:
    if not isinstance(part, Mapping) or part.get("id") != f"{part.get('name')}_{index}":
        return part
    return {key: value for key, value in part.items() if key != "id"}


def _adk_content(name: str) -> tables.Place:
    """What schema 1 has of a call; where content is not captured, all of it is an empty object."""

    def read(span: SpanRecord) -> object:
        is_empty = all(span.attributes.get(key) == "{}" for key in ADK_CONTENT)
        return NOT_RECORDED if is_empty else span.attributes.get(name, NOT_RECORDED)

    return read


def _adk_result(span: SpanRecord) -> object:
    """What a tool gave. ADK puts a value that is not an object into one, as `result`."""
    value = tables.first((*GENAI.result, _adk_content(ADK_CONTENT[1])), span)
    content = decode_value(value)
    if not isinstance(content, Mapping) or content.keys() != {"result"}:
        return value
    return value if isinstance(content["result"], Mapping) else content["result"]


_adk_reply = tables.json_field((f"{ADK_SCOPE}.llm_response",), "content")
_adk_tools = tables.json_field(ADK_REQUEST, "config", "tools")


def _adk_output(span: SpanRecord) -> object:
    content = _adk_reply(span)
    return [content] if isinstance(content, Mapping) else NOT_RECORDED


GOOGLE_ADK = structs.replace(
    GENAI,
    name="Google ADK",
    speaks=lambda span: span.scope == ADK_SCOPE,
    kind=_adk_kind,
    call_id=(_adk_call_id,),
    arguments=(*GENAI.arguments, _adk_content(ADK_CONTENT[0])),
    result=(_adk_result,),
    input=(_adk_messages("gen_ai.input.messages"), tables.json_field(ADK_REQUEST, "contents")),
    output=(_adk_messages("gen_ai.output.messages"), _adk_output),
    tools=(*GENAI.tools, lambda span: lower_types(_adk_tools(span))),
)

# Traceloop: the names are OpenTelemetry's, the values are what the framework handed over, wrapped.
TRACELOOP_KIND = tables.kind_by("traceloop.span.kind", {"tool": "tool", "agent": "agent", "workflow": "agent"})
TRACELOOP_ARGUMENTS = ("gen_ai.tool.call.arguments", "traceloop.entity.input")
TRACELOOP_RESULT = ("gen_ai.tool.call.result", "traceloop.entity.output")
TRACELOOP_OUTPUT = tables.json_field(("traceloop.entity.output",), "outputs")
TRACELOOP = structs.replace(
    GENAI,
    name="Traceloop",
    speaks=tables.has("traceloop.span.kind"),
    kind=lambda span: TRACELOOP_KIND(span) or GENAI.kind(span),
    tool=(*GENAI.tool, "traceloop.entity.name"),
    call_id=(*GENAI.call_id, tables.json_field(TRACELOOP_RESULT, "output", "kwargs", "tool_call_id")),
    arguments=(
        tables.json_field(TRACELOOP_ARGUMENTS, "inputs"),
        lambda s: passed_arguments(tables.first(TRACELOOP_ARGUMENTS, s), None),
    ),
    result=(tables.json_field(TRACELOOP_RESULT, "output"), *TRACELOOP_RESULT),
    agent=(*GENAI.agent, "traceloop.entity.name"),
    tools=(*GENAI.tools, tables.attribute_objects("llm.request.functions")),
    answer=(TRACELOOP_OUTPUT,),
    state=(TRACELOOP_OUTPUT,),
)

# OpenInference: kinds in capitals, inputs and outputs as one value, messages spread over numbered attributes.
OPENINFERENCE_KIND = tables.kind_by("openinference.span.kind", {"tool": "tool", "llm": "model", "agent": "agent"})
METHODS = (".__call__", ".acall")
"""What follows the name of a tool in the name of a span of a method of it."""


def _openinference_kind(span: SpanRecord) -> SpanKind | None:
    kind = OPENINFERENCE_KIND(span)
    output = decode_value(span.attributes.get("output.value")) if kind == "model" else None
    is_request = isinstance(output, Mapping) and isinstance(output.get("messages"), list)
    answers = any(key.startswith(("llm.output_messages.", "llm.token_count.")) for key in span.attributes)
    return None if is_request and not answers else kind  # what made a request is not a call of the model


def _openinference_tool(span: SpanRecord) -> object:
    return next((span.name.removesuffix(method) for method in METHODS if span.name.endswith(method)), span.name)


def _openinference_arguments(span: SpanRecord) -> object:
    """The arguments of a call.

    `tool.parameters` holds them, or the schema of them, as the instrumentation has it. A tool that takes one plain
    argument has that value alone for its input: which argument it was, the model's span says.
    """
    parameters = decode_value(span.attributes.get("tool.parameters", NOT_RECORDED))
    names = () if parameters == {} else parameters_in(parameters)  # no arguments, or the schema of none
    if isinstance(parameters, Mapping) and names is None:
        return parameters
    return passed_arguments(tables.first(("tool_call.function.arguments", "input.value"), span), names)


OPENINFERENCE = tables.SpanDialect(
    name="OpenInference",
    speaks=tables.has("openinference.span.kind"),
    kind=_openinference_kind,
    tool=("tool.name", _openinference_tool),
    call_id=("tool_call.id", "tool.id", tables.json_field(("output.value",), "data", "tool_call_id")),
    arguments=(_openinference_arguments,),
    result=("output.value",),
    agent=("agent.name", "graph.node.id", lambda span: span.name),
    model=("llm.model_name",),
    input_tokens=("llm.token_count.prompt",),
    output_tokens=("llm.token_count.completion",),
    cost=("llm.cost.total",),
    input=(tables.attribute_list("llm.input_messages"),),
    output=(tables.attribute_list("llm.output_messages"),),
    finish=("llm.finish_reason",),
    tools=(tables.attribute_objects("llm.tools"),),
    request=("llm.invocation_parameters",),
    answer=("output.value",),
    state=("output.value",),
)

# Haystack's own tracer: steps of an agent, with what went in and came out as JSON, if it traces content.
HAYSTACK_KINDS: dict[str, SpanKind] = {
    "haystack.agent.run": "agent",
    "haystack.agent.step.llm": "model",
    "haystack.agent.step.tool": "tool",
}
REPLIES = tables.json_field(("haystack.agent.step.llm.output",), "replies")


def _haystack_metadata(span: SpanRecord) -> object:
    """What the first reply of a model says of itself."""
    replies = decode_value(tables.first((REPLIES,), span))
    reply = replies[0] if isinstance(replies, list) and replies else None
    return reply.get("meta", NOT_RECORDED) if isinstance(reply, Mapping) else NOT_RECORDED


HAYSTACK = tables.SpanDialect(
    name="Haystack",
    speaks=lambda span: span.name in HAYSTACK_KINDS,
    kind=lambda span: HAYSTACK_KINDS.get(span.name),
    tool=("haystack.tool.name",),
    arguments=("haystack.agent.step.tool.input",),
    result=("haystack.agent.step.tool.output",),
    verdict=(lambda span: "error" if span.attributes.get("haystack.tool.error") is True else NOT_RECORDED,),
    model=(tables.json_field((_haystack_metadata,), "model"),),
    input_tokens=(tables.json_field((_haystack_metadata,), "usage", "prompt_tokens"),),
    output_tokens=(tables.json_field((_haystack_metadata,), "usage", "completion_tokens"),),
    input=("haystack.agent.step.llm.input",),
    output=(REPLIES,),
    finish=(tables.json_field((_haystack_metadata,), "finish_reason"),),
    tools=(tables.json_field(("haystack.agent.step.llm.input",), "tools"), "haystack.agent.tools"),
    answer=("haystack.agent.output",),
)

DIALECTS: tuple[tables.SpanDialect, ...] = (*PLATFORMS, OPENINFERENCE, TRACELOOP, GOOGLE_ADK, STRANDS, GENAI, HAYSTACK)


def dialect_of(span: SpanRecord) -> tables.SpanDialect | None:
    return next((dialect for dialect in DIALECTS if dialect.speaks(span)), None)
