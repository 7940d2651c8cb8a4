"""The same turns as OpenTelemetry spans, named and attributed by the GenAI conventions."""

import json
from collections import Counter
from collections.abc import Mapping

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, set_span_in_context

from canvas_app.telemetry.json_lines import bounded
from canvas_app.telemetry.observer import ToolCall, TurnInfo
from canvas_app.tools.base import ToolResult

AGENT = "canvas-assistant"


def _told(value: object) -> str:
    return json.dumps(bounded(value), ensure_ascii=False, default=str)


class Spans:
    """A turn is an `invoke_agent` span; tool calls and model requests are its children."""

    def __init__(self, endpoint: str) -> None:
        self._provider = TracerProvider(resource=Resource.create({"service.name": "canvas-app"}))
        exporter = OTLPSpanExporter(endpoint=f"{endpoint.rstrip('/')}/v1/traces", timeout=5)
        self._provider.add_span_processor(BatchSpanProcessor(exporter, schedule_delay_millis=500))
        self._tracer = self._provider.get_tracer("canvas_app")
        self._turns: dict[str, Span] = {}
        self._tools: dict[str, Span] = {}
        self._called: Counter[str] = Counter()
        self._models: dict[str, Span] = {}

    def _child(self, turn: TurnInfo, name: str, kind: SpanKind, attributes: Mapping[str, str]) -> Span:
        context = set_span_in_context(self._turns[turn.id])
        shared = {"gen_ai.conversation.id": turn.correlation_id}
        return self._tracer.start_span(name, context=context, kind=kind, attributes={**shared, **attributes})

    def turn_started(self, turn: TurnInfo) -> None:
        attributes = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": AGENT,
            "gen_ai.provider.name": "rule-based" if turn.brain == "rule-based" else "openai",
            "gen_ai.conversation.id": turn.correlation_id,
            "canvas.turn": turn.number,
            "canvas.trigger": turn.trigger,
        }
        name = f"invoke_agent {AGENT}"
        self._turns[turn.id] = self._tracer.start_span(name, kind=SpanKind.INTERNAL, attributes=attributes)

    def tool_started(self, turn: TurnInfo, call: ToolCall) -> None:
        self._called[turn.id] += 1
        attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": call.name,
            "gen_ai.tool.call.id": call.id,
            "gen_ai.tool.type": "function",
            "gen_ai.tool.call.arguments": _told(call.arguments),
        }
        self._tools[call.id] = self._child(turn, f"execute_tool {call.name}", SpanKind.INTERNAL, attributes)

    def tool_finished(self, turn: TurnInfo, call: ToolCall, result: ToolResult, milliseconds: float) -> None:
        span = self._tools.pop(call.id)
        span.set_attribute("gen_ai.tool.call.result", _told(result.as_json()))
        span.set_attribute("canvas.tool.success", result.success)
        if result.pending is not None:
            span.set_attribute("canvas.tool.missing_fields", [result.pending.field])
        if result.code is not None:
            span.set_attribute("error.type", result.code)
        if not result.success:
            span.set_status(Status(StatusCode.ERROR, result.code or "missing_field"))
        span.end()

    def tool_crashed(self, turn: TurnInfo, call: ToolCall, error: str, milliseconds: float) -> None:
        _end_with_error(self._tools.pop(call.id), error)

    def model_asked(self, turn: TurnInfo, model: str) -> None:
        attributes = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": "openai",
            "gen_ai.request.model": model,
        }
        self._models[turn.id] = self._child(turn, f"chat {model}", SpanKind.CLIENT, attributes)

    def model_answered(self, turn: TurnInfo, usage: Mapping[str, int], error: str | None) -> None:
        span = self._models.pop(turn.id)
        span.set_attribute("gen_ai.usage.input_tokens", usage.get("input", 0))
        span.set_attribute("gen_ai.usage.output_tokens", usage.get("output", 0))
        if error is not None:
            _end_with_error(span, error)
        else:
            span.end()

    def turn_ended(self, turn: TurnInfo, status: str, error: str | None, milliseconds: float) -> None:
        span = self._turns.pop(turn.id)
        span.set_attribute("canvas.turn.status", status)
        span.set_attribute("canvas.turn.tool_calls", self._called.pop(turn.id, 0))
        if status == "ok":
            span.end()
        else:
            _end_with_error(span, error or status)

    def close(self) -> None:
        self._provider.shutdown()


def _end_with_error(span: Span, error: str) -> None:
    span.set_attribute("error.type", error.split(":", 1)[0])
    span.set_status(Status(StatusCode.ERROR, error))
    span.end()
