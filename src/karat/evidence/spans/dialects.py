"""How libraries spell what their spans tell: a table of places for each, read by one reader (`facts.py`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import cast

from msgspec import Struct, structs

from karat.evidence.spans.envelopes import parameters_in, passed_arguments
from karat.evidence.spans.otlp import NOT_RECORDED, SpanRecord
from karat.model.trace import SpanKind
from karat.providers.gemini import lower_types
from karat.providers.messages import ChatMessage, decode_value, read_messages

DEEPEST = 32
Place = str | Callable[[SpanRecord], object]
"""An attribute, or what reads a value from a span; NOT_RECORDED if it has none."""
Places = tuple[Place, ...]


class SpanDialect(Struct, frozen=True, kw_only=True):
    """The places of one dialect. Of several places the first that has a value counts."""

    name: str
    speaks: Callable[[SpanRecord], bool]
    """Whether a span is of this dialect."""
    kind: Callable[[SpanRecord], SpanKind | None]
    tool: Places
    call_id: Places = ()
    arguments: Places = ()
    result: Places = ()
    verdict: Places = ()
    """Where the library itself says how a call came out, in a word."""
    agent: Places = ()
    model: Places = ()
    input_tokens: Places = ()
    output_tokens: Places = ()
    cost: Places = ()
    input: Places = ()
    """What the model was given: the conversation so far."""
    output: Places = ()
    """What it answered."""
    finish: Places = ()
    tools: Places = ()
    """The definitions of the tools that the model was offered."""
    output_tools: Places = ()
    """Those of them that are not tools of the agent: by a call of one the model hands over its answer."""
    request: Places = ()
    """The parameters of the request, as the API of the model spells them."""
    answer: Places = ()
    """The answer of the whole turn, as its root reports it."""
    state: Places = ()


def first(places: Places, span: SpanRecord) -> object:
    """The first value that was recorded."""
    values = (span.attributes.get(at, NOT_RECORDED) if isinstance(at, str) else at(span) for at in places)
    return next((value for value in values if value is not NOT_RECORDED), NOT_RECORDED)


def first_messages(places: Places, span: SpanRecord) -> tuple[ChatMessage, ...] | None:
    """The messages at the first place that has any."""
    values = (read_messages(first((source,), span)) for source in places)
    return next((messages for messages in values if messages is not None), None)


def first_number(places: Places, span: SpanRecord) -> float | None:
    number = first(places, span)
    return cast(float, number) if isinstance(number, int | float) and not isinstance(number, bool) else None


def has(name: str) -> Callable[[SpanRecord], bool]:
    return lambda span: name in span.attributes


def kind_by(name: str, kinds: Mapping[str, SpanKind]) -> Callable[[SpanRecord], SpanKind | None]:
    return lambda span: kinds.get(str(span.attributes.get(name, "")).lower())


def json_field(outer: Places, *keys: str) -> Callable[[SpanRecord], object]:
    """The value within an envelope of JSON."""

    def read(span: SpanRecord) -> object:
        value = first(outer, span)
        for key in keys:
            value = decode_value(value)
            if not isinstance(value, Mapping) or key not in value:
                return NOT_RECORDED
            value = value[key]
        return value

    return read


def in_event(name: str, *keys: str) -> Place:
    """What the first such event of a span reports."""

    def read(span: SpanRecord) -> object:
        tables = (event.attributes for event in span.events if event.name == name)
        return next((table[key] for table in tables for key in keys if key in table), NOT_RECORDED)

    return read


def attribute_objects(prefix: str) -> Place:
    """Objects spread over attributes `prefix.0.x.y`; their last steps are the keys."""

    def read(span: SpanRecord) -> object:
        tables: dict[str, dict[str, object]] = {}
        for key, value in span.attributes.items():
            if key.startswith(f"{prefix}."):
                number, _, steps = key.removeprefix(f"{prefix}.").partition(".")
                tables.setdefault(number, {})[steps.rpartition(".")[2]] = value
        return list(tables.values()) or NOT_RECORDED

    return read


def attribute_list(prefix: str) -> Place:
    """A list spread over attributes `prefix.0.a.b`, `prefix.1.a.b`."""

    def read(span: SpanRecord) -> object:
        root: dict[str, object] = {}
        for key, value in span.attributes.items():
            if key.startswith(f"{prefix}."):
                _plant(root, key[len(prefix) + 1 :].split(".")[:DEEPEST], value)
        items = _as_lists(root)
        return items if isinstance(items, list) else NOT_RECORDED

    return read


def _plant(root: dict[str, object], steps: list[str], value: object) -> None:
    at: object = root
    for step in steps[:-1]:
        if not isinstance(at, dict):
            return
        at = at.setdefault(step, {})
    if isinstance(at, dict):
        at[steps[-1]] = value


def _as_lists(value: object) -> object:
    if not isinstance(value, dict):
        return value
    if value and all(key.isdecimal() for key in value):
        return [_as_lists(value[key]) for key in sorted(value, key=int)]
    return {key: _as_lists(item) for key, item in value.items()}


# OpenTelemetry's conventions for generative AI, in their present form and those that came before.
OPERATION = "gen_ai.operation.name"
GENAI = SpanDialect(
    name="OpenTelemetry GenAI",
    speaks=has(OPERATION),
    kind=kind_by(
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
    input=("gen_ai.input.messages", attribute_list("gen_ai.prompt")),
    output=("gen_ai.output.messages", attribute_list("gen_ai.completion")),
    finish=("gen_ai.response.finish_reasons", "gen_ai.response.finish_reason"),
    tools=("gen_ai.tool.definitions", "gen_ai.request.tools", "ai.prompt.tools"),
    request=("model_request_parameters", "gen_ai.request.parameters"),
    output_tools=(json_field(("model_request_parameters",), "output_tools"),),
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


def _event_messages(roles: dict[str, str]) -> Place:
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
    arguments=(*GENAI.arguments, in_event("gen_ai.tool.message", "content")),
    result=(*GENAI.result, in_event("gen_ai.choice", "message")),
    verdict=(*GENAI.verdict, "tool.status"),
    input=(*GENAI.input, in_event(DETAILS, "gen_ai.input.messages"), _event_messages(ROLES)),
    output=(*GENAI.output, in_event(DETAILS, "gen_ai.output.messages"), _event_messages(CHOICE)),
    finish=(*GENAI.finish, in_event("gen_ai.choice", "finish_reason")),
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


def _adk_messages(name: str) -> Place:
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


def _adk_content(name: str) -> Place:
    """What schema 1 has of a call; where content is not captured, all of it is an empty object."""

    def read(span: SpanRecord) -> object:
        is_empty = all(span.attributes.get(key) == "{}" for key in ADK_CONTENT)
        return NOT_RECORDED if is_empty else span.attributes.get(name, NOT_RECORDED)

    return read


def _adk_result(span: SpanRecord) -> object:
    """What a tool gave. ADK puts a value that is not an object into one, as `result`."""
    value = first((*GENAI.result, _adk_content(ADK_CONTENT[1])), span)
    content = decode_value(value)
    if not isinstance(content, Mapping) or content.keys() != {"result"}:
        return value
    return value if isinstance(content["result"], Mapping) else content["result"]


_adk_reply = json_field((f"{ADK_SCOPE}.llm_response",), "content")
_adk_tools = json_field(ADK_REQUEST, "config", "tools")


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
    input=(_adk_messages("gen_ai.input.messages"), json_field(ADK_REQUEST, "contents")),
    output=(_adk_messages("gen_ai.output.messages"), _adk_output),
    tools=(*GENAI.tools, lambda span: lower_types(_adk_tools(span))),
)

# Traceloop: the names are OpenTelemetry's, the values are what the framework handed over, wrapped.
TRACELOOP_KIND = kind_by("traceloop.span.kind", {"tool": "tool", "agent": "agent", "workflow": "agent"})
TRACELOOP_ARGUMENTS = ("gen_ai.tool.call.arguments", "traceloop.entity.input")
TRACELOOP_RESULT = ("gen_ai.tool.call.result", "traceloop.entity.output")
TRACELOOP_OUTPUT = json_field(("traceloop.entity.output",), "outputs")
TRACELOOP = structs.replace(
    GENAI,
    name="Traceloop",
    speaks=has("traceloop.span.kind"),
    kind=lambda span: TRACELOOP_KIND(span) or GENAI.kind(span),
    tool=(*GENAI.tool, "traceloop.entity.name"),
    call_id=(*GENAI.call_id, json_field(TRACELOOP_RESULT, "output", "kwargs", "tool_call_id")),
    arguments=(json_field(TRACELOOP_ARGUMENTS, "inputs"), *TRACELOOP_ARGUMENTS),
    result=(json_field(TRACELOOP_RESULT, "output"), *TRACELOOP_RESULT),
    agent=(*GENAI.agent, "traceloop.entity.name"),
    tools=(*GENAI.tools, attribute_objects("llm.request.functions")),
    answer=(TRACELOOP_OUTPUT,),
    state=(TRACELOOP_OUTPUT,),
)

# OpenInference: kinds in capitals, inputs and outputs as one value, messages spread over numbered attributes.
OPENINFERENCE_KIND = kind_by("openinference.span.kind", {"tool": "tool", "llm": "model", "agent": "agent"})
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
    return passed_arguments(first(("tool_call.function.arguments", "input.value"), span), names)


OPENINFERENCE = SpanDialect(
    name="OpenInference",
    speaks=has("openinference.span.kind"),
    kind=_openinference_kind,
    tool=("tool.name", _openinference_tool),
    call_id=("tool_call.id", "tool.id", json_field(("output.value",), "data", "tool_call_id")),
    arguments=(_openinference_arguments,),
    result=("output.value",),
    agent=("agent.name", "graph.node.id", lambda span: span.name),
    model=("llm.model_name",),
    input_tokens=("llm.token_count.prompt",),
    output_tokens=("llm.token_count.completion",),
    cost=("llm.cost.total",),
    input=(attribute_list("llm.input_messages"),),
    output=(attribute_list("llm.output_messages"),),
    finish=("llm.finish_reason",),
    tools=(attribute_objects("llm.tools"),),
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
REPLIES = json_field(("haystack.agent.step.llm.output",), "replies")


def _haystack_metadata(span: SpanRecord) -> object:
    """What the first reply of a model says of itself."""
    replies = decode_value(first((REPLIES,), span))
    reply = replies[0] if isinstance(replies, list) and replies else None
    return reply.get("meta", NOT_RECORDED) if isinstance(reply, Mapping) else NOT_RECORDED


HAYSTACK = SpanDialect(
    name="Haystack",
    speaks=lambda span: span.name in HAYSTACK_KINDS,
    kind=lambda span: HAYSTACK_KINDS.get(span.name),
    tool=("haystack.tool.name",),
    arguments=("haystack.agent.step.tool.input",),
    result=("haystack.agent.step.tool.output",),
    verdict=(lambda span: "error" if span.attributes.get("haystack.tool.error") is True else NOT_RECORDED,),
    model=(json_field((_haystack_metadata,), "model"),),
    input_tokens=(json_field((_haystack_metadata,), "usage", "prompt_tokens"),),
    output_tokens=(json_field((_haystack_metadata,), "usage", "completion_tokens"),),
    input=("haystack.agent.step.llm.input",),
    output=(REPLIES,),
    finish=(json_field((_haystack_metadata,), "finish_reason"),),
    tools=(json_field(("haystack.agent.step.llm.input",), "tools"), "haystack.agent.tools"),
    answer=("haystack.agent.output",),
)

DIALECTS: tuple[SpanDialect, ...] = (OPENINFERENCE, TRACELOOP, GOOGLE_ADK, STRANDS, GENAI, HAYSTACK)


def dialect_of(span: SpanRecord) -> SpanDialect | None:
    return next((dialect for dialect in DIALECTS if dialect.speaks(span)), None)
