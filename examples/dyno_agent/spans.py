"""What a turn does as OpenTelemetry spans, named and attributed by the GenAI conventions."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, LLMResult
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.propagate import extract
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer, set_span_in_context

AGENT = "dyno-agent"


class AgentSpans:
    """Turns as spans, sent to an OTLP endpoint; without one, to nobody."""

    def __init__(self, endpoint: str | None) -> None:
        self._provider = TracerProvider(resource=Resource.create({"service.name": AGENT}))
        if endpoint:
            exporter = OTLPSpanExporter(endpoint=f"{endpoint.rstrip('/')}/v1/traces", timeout=5)
            self._provider.add_span_processor(BatchSpanProcessor(exporter, schedule_delay_millis=200))
        self._tracer = self._provider.get_tracer("dyno_agent")

    @contextmanager
    def turn(self, conversation: str, headers: Mapping[str, str]) -> Iterator["TurnSpans"]:
        """A turn that stands below the span of whoever asked, if the request's headers name one."""
        with self._tracer.start_as_current_span(f"invoke_agent {AGENT}", extract(headers)) as span:
            span.set_attributes({"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": AGENT})
            span.set_attribute("gen_ai.conversation.id", conversation)
            yield TurnSpans(self._tracer, set_span_in_context(span))

    def close(self) -> None:
        self._provider.shutdown()


class TurnSpans(BaseCallbackHandler):
    """Model calls and tool calls as children of their turn."""

    run_inline = True
    raise_error = True

    def __init__(self, tracer: Tracer, turn: Context) -> None:
        self._tracer = tracer
        self._turn = turn
        self._open: dict[UUID, Span] = {}

    def on_chat_model_start(
        self, serialized: Mapping[str, Any], messages: list[list[BaseMessage]], *, run_id: UUID, **told: Any
    ) -> None:
        model = str(told.get("invocation_params", {}).get("model") or told["invocation_params"]["_type"])
        given = {"gen_ai.request.model": model, "gen_ai.input.messages": _conversation(messages[0])}
        self._begin(run_id, "chat", model, SpanKind.CLIENT, given)

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **told: Any) -> None:
        span, answer = self._open.pop(run_id), response.generations[0][0]
        if isinstance(answer, ChatGeneration) and isinstance(answer.message, AIMessage):
            span.set_attribute("gen_ai.output.messages", _conversation([answer.message]))
            if answer.message.usage_metadata:
                span.set_attribute("gen_ai.usage.input_tokens", answer.message.usage_metadata["input_tokens"])
                span.set_attribute("gen_ai.usage.output_tokens", answer.message.usage_metadata["output_tokens"])
        span.end()

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **told: Any) -> None:
        self._break(run_id, error)

    def on_tool_start(self, serialized: Mapping[str, Any], input_str: str, *, run_id: UUID, **told: Any) -> None:
        name = str(serialized["name"])
        given = {"gen_ai.tool.name": name, "gen_ai.tool.call.arguments": json.dumps(told["inputs"], default=str)}
        if told.get("tool_call_id"):
            given["gen_ai.tool.call.id"] = told["tool_call_id"]
        self._begin(run_id, "execute_tool", name, SpanKind.INTERNAL, given)

    def on_tool_end(self, output: Any, *, run_id: UUID, **told: Any) -> None:
        span = self._open.pop(run_id)
        span.set_attribute("gen_ai.tool.call.result", output.text if isinstance(output, ToolMessage) else str(output))
        span.end()

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **told: Any) -> None:
        self._break(run_id, error)

    def _begin(self, run: UUID, operation: str, name: str, kind: SpanKind, attributes: Mapping[str, str]) -> None:
        told = {"gen_ai.operation.name": operation, **attributes}
        self._open[run] = self._tracer.start_span(f"{operation} {name}", self._turn, kind, told)

    def _break(self, run: UUID, error: BaseException) -> None:
        span = self._open.pop(run)
        span.record_exception(error)
        span.set_attribute("error.type", type(error).__name__)
        span.set_status(Status(StatusCode.ERROR, str(error)))
        span.end()


def _conversation(messages: Sequence[BaseMessage]) -> str:
    told = [{"role": _role(message), "parts": list(_parts(message))} for message in messages if _role(message)]
    return json.dumps(told, ensure_ascii=False)


def _role(message: BaseMessage) -> str:
    """Whose words they are; the system's own are left out."""
    roles = ((HumanMessage, "user"), (AIMessage, "assistant"), (ToolMessage, "tool"))
    return next((role for kind, role in roles if isinstance(message, kind)), "")


def _parts(message: BaseMessage) -> Iterator[dict[str, object]]:
    if isinstance(message, ToolMessage):
        yield {"type": "tool_call_response", "id": message.tool_call_id, "response": message.text}
    elif message.text:
        yield {"type": "text", "content": message.text}
    for call in message.tool_calls if isinstance(message, AIMessage) else ():
        yield {"type": "tool_call", "id": call["id"], "name": call["name"], "arguments": call["args"]}
