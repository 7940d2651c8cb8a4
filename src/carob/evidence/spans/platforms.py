"""How the SDKs of observability platforms spell what their spans tell: Langfuse, mlflow, Vercel's AI SDK."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from carob.evidence.spans.envelopes import passed_arguments
from carob.evidence.spans.otlp import NOT_RECORDED, SpanRecord
from carob.evidence.spans.tables import Place, SpanDialect, first, has, json_field
from carob.model.trace import SpanKind
from carob.providers.messages import decode_value


def given_messages(value: object) -> object:
    """The messages that a model, or an agent, was given: a list, an object that holds one, or a prompt."""
    value = decode_value(value)
    if isinstance(value, Mapping):
        inner = next((value[key] for key in ("messages", "input", "prompt") if value.get(key)), None)
        if inner is not None:
            system = value.get("system") or value.get("instructions")
            messages = given_messages(inner)
            listed = isinstance(messages, list) and isinstance(system, str)
            return (
                [{"role": "system", "content": system}, *messages]
                if listed and isinstance(messages, list)
                else messages
            )
        texts = [item for item in _without_envelope(value) if isinstance(item, str)]
        return given_messages(texts[0]) if len(texts) == 1 and "role" not in value else NOT_RECORDED
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], list):
        value = value[0]
    if isinstance(value, list):
        return value if all(isinstance(item, Mapping) for item in value) else NOT_RECORDED
    return [{"role": "user", "content": value}] if isinstance(value, str) and value else NOT_RECORDED


def _without_envelope(value: Mapping[str, object]) -> list[object]:
    """The values of the arguments of a function."""
    args, kwargs = value.get("args"), value.get("kwargs")
    if isinstance(args, list) and isinstance(kwargs, Mapping):
        return [*args, *kwargs.values()]
    return [*value.values()]


def answered_messages(value: object) -> object:
    """The messages that a model answered with: as its API has them, as LangChain has them, or a text."""
    value = decode_value(value)
    if isinstance(value, list):
        inner = [answered_messages(item) if isinstance(item, list) else item for item in value]
        return inner[0] if len(inner) == 1 and isinstance(inner[0], list) else inner
    if isinstance(value, str):
        return [{"role": "assistant", "content": value}] if value else NOT_RECORDED
    if not isinstance(value, Mapping):
        return NOT_RECORDED
    for key, inner_key in (("choices", "message"), ("generations", "message")):
        entries = value.get(key)
        if isinstance(entries, list):
            flat = [item for entry in entries for item in (entry if isinstance(entry, list) else [entry])]
            return [item[inner_key] for item in flat[:1] if isinstance(item, Mapping) and inner_key in item]
    for key in ("messages", "output", "message"):
        if key in value and "role" not in value:
            inner = value[key]
            return answered_messages([inner] if isinstance(inner, Mapping) else inner)
    return [value] if "role" in value or "content" in value or "tool_calls" in value else NOT_RECORDED


def finish_reason(value: object) -> object:
    """Why the model stopped, as the answer of its API says it."""
    value = decode_value(value)
    choices = value.get("choices") if isinstance(value, Mapping) else None
    choice = choices[0] if isinstance(choices, list) and choices else value
    if not isinstance(choice, Mapping):
        return NOT_RECORDED
    return next((choice[key] for key in ("finish_reason", "stop_reason") if choice.get(key)), NOT_RECORDED)


def _reading(read: Callable[[object], object], name: str) -> Place:
    return lambda span: read(span.attributes[name]) if name in span.attributes else NOT_RECORDED


def _read_passed(name: str) -> Place:
    """The arguments of a function, of which an envelope holds those by position and by name."""
    return lambda span: passed_arguments(span.attributes.get(name, NOT_RECORDED), None)


def kind_by_json(name: str, kinds: Mapping[str, SpanKind]) -> Callable[[SpanRecord], SpanKind | None]:
    return lambda span: kinds.get(str(decode_value(span.attributes.get(name, ""))).lower())


LANGFUSE_TYPE = "langfuse.observation.type"
LANGFUSE_IN, LANGFUSE_OUT = "langfuse.observation.input", "langfuse.observation.output"
LANGFUSE_USAGE = ("langfuse.observation.usage_details",)
LANGFUSE = SpanDialect(
    name="Langfuse",
    speaks=has(LANGFUSE_TYPE),
    kind=kind_by_json(LANGFUSE_TYPE, {"tool": "tool", "generation": "model", "agent": "agent"}),
    tool=(lambda span: span.name,),
    arguments=(_read_passed(LANGFUSE_IN),),
    result=(LANGFUSE_OUT,),
    verdict=(lambda s: "error" if s.attributes.get("langfuse.observation.level") == "ERROR" else NOT_RECORDED,),
    agent=(lambda span: span.name,),
    model=("langfuse.observation.model.name",),
    input_tokens=(json_field(LANGFUSE_USAGE, "input"), json_field(LANGFUSE_USAGE, "prompt_tokens")),
    output_tokens=(json_field(LANGFUSE_USAGE, "output"), json_field(LANGFUSE_USAGE, "completion_tokens")),
    cost=(json_field(("langfuse.observation.cost_details",), "total"),),
    input=(_reading(given_messages, LANGFUSE_IN), _reading(given_messages, "langfuse.trace.input")),
    output=(lambda s: answered_messages(s.attributes.get(LANGFUSE_OUT)) if _is_generation(s) else NOT_RECORDED,),
    finish=(_reading(finish_reason, LANGFUSE_OUT),),
    tools=(json_field((LANGFUSE_IN,), "tools"), json_field(("langfuse.observation.model.parameters",), "tools")),
    answer=(LANGFUSE_OUT,),
    state=(LANGFUSE_OUT,),
)


def _is_generation(span: SpanRecord) -> bool:
    return span.attributes.get(LANGFUSE_TYPE) == "generation"


MLFLOW_TYPE = "mlflow.spanType"
MLFLOW_IN, MLFLOW_OUT = "mlflow.spanInputs", "mlflow.spanOutputs"
MLFLOW_USAGE = ("mlflow.chat.tokenUsage",)
MLFLOW_KIND = kind_by_json(MLFLOW_TYPE, {"tool": "tool", "chat_model": "model", "llm": "model", "agent": "agent"})
MLFLOW = SpanDialect(
    name="mlflow",
    speaks=has(MLFLOW_TYPE),
    kind=MLFLOW_KIND,
    tool=(lambda span: span.name,),
    arguments=(_read_passed(MLFLOW_IN),),
    result=(MLFLOW_OUT,),
    agent=(lambda span: span.name,),
    model=(lambda span: decode_value(span.attributes.get("mlflow.llm.model", NOT_RECORDED)),),
    input_tokens=(json_field(MLFLOW_USAGE, "input_tokens"),),
    output_tokens=(json_field(MLFLOW_USAGE, "output_tokens"),),
    cost=(json_field(("mlflow.llm.cost",), "total_cost"),),
    input=(_reading(given_messages, MLFLOW_IN),),
    output=(lambda s: answered_messages(s.attributes.get(MLFLOW_OUT)) if MLFLOW_KIND(s) == "model" else NOT_RECORDED,),
    finish=(_reading(finish_reason, MLFLOW_OUT),),
    tools=("mlflow.chat.tools", json_field((MLFLOW_IN,), "tools")),
    answer=(lambda span: decode_value(span.attributes.get(MLFLOW_OUT, NOT_RECORDED)),),
    state=(MLFLOW_OUT,),
)

AI_SDK_KINDS: Mapping[str, SpanKind] = {
    "ai.toolCall": "tool",
    "ai.generateText.doGenerate": "model",
    "ai.streamText.doStream": "model",
    "ai.generateObject.doGenerate": "model",
    "ai.streamObject.doStream": "model",
    "ai.generateText": "agent",
    "ai.streamText": "agent",
    "ai.generateObject": "agent",
    "ai.streamObject": "agent",
}


def _ai_sdk_kind(span: SpanRecord) -> SpanKind | None:
    return AI_SDK_KINDS.get(str(span.attributes.get("ai.operationId", "")))


def _ai_sdk_output(span: SpanRecord) -> object:
    """The answer of a model: its text, and the calls that it asks for."""
    text, calls = (
        span.attributes.get("ai.response.text", ""),
        decode_value(span.attributes.get("ai.response.toolCalls")),
    )
    if _ai_sdk_kind(span) != "model" or (not text and not isinstance(calls, list)):
        return NOT_RECORDED
    return [{"role": "assistant", "content": text, "tool_calls": calls}]


AI_SDK = SpanDialect(
    name="AI SDK",
    speaks=has("ai.operationId"),
    kind=_ai_sdk_kind,
    tool=("ai.toolCall.name",),
    call_id=("ai.toolCall.id",),
    arguments=("ai.toolCall.args",),
    result=("ai.toolCall.result",),
    agent=("ai.telemetry.functionId",),
    model=("ai.response.model", "gen_ai.response.model", "ai.model.id"),
    input_tokens=("ai.usage.inputTokens", "ai.usage.promptTokens", "gen_ai.usage.input_tokens"),
    output_tokens=("ai.usage.outputTokens", "ai.usage.completionTokens", "gen_ai.usage.output_tokens"),
    input=(_reading(given_messages, "ai.prompt.messages"), _reading(given_messages, "ai.prompt")),
    output=(_ai_sdk_output,),
    finish=("ai.response.finishReason", "gen_ai.response.finish_reasons"),
    tools=(lambda span: _ai_sdk_tools(span),),
    answer=("ai.response.text",),
)


def _ai_sdk_tools(span: SpanRecord) -> object:
    tools = first(("ai.prompt.tools",), span)
    return [decode_value(tool) for tool in tools] if isinstance(tools, list) else tools


PLATFORMS: tuple[SpanDialect, ...] = (LANGFUSE, MLFLOW, AI_SDK)
