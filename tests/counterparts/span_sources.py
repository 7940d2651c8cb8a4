"""The libraries whose spans are read: what is installed for each, how its agent is started, where spans are kept."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

EMITTERS = Path(__file__).parent / "emitters"
RECORDINGS = Path(__file__).parents[1] / "telemetry" / "spans" / "recordings"
EXPORTER = ("opentelemetry-sdk", "opentelemetry-exporter-otlp-proto-http", "httpx<1")
GENAI = {
    "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "SPAN_ONLY",
    "OTEL_SEMCONV_STABILITY_OPT_IN": "gen_ai_latest_experimental",
}


class SpanSource(NamedTuple):
    """One library with one dialect."""

    name: str
    dialect: str
    requirements: tuple[str, ...]
    command: str
    env: dict[str, str]

    @property
    def recording(self) -> Path:
        return RECORDINGS / f"{self.name}.jsonl"


SOURCES = (
    SpanSource("pydantic-ai", "OpenTelemetry GenAI", ("pydantic-ai-slim==2.66.0",), "pydantic_ai_agent.py", {}),
    SpanSource(
        "genai-langchain",
        "OpenTelemetry GenAI",
        ("opentelemetry-instrumentation-genai-langchain==1.3b0", "langchain==1.4.7"),
        "langchain_agent.py genai",
        GENAI,
    ),
    SpanSource(
        "openinference-langchain",
        "OpenInference",
        ("openinference-instrumentation-langchain==0.1.80", "langchain==1.4.7"),
        "langchain_agent.py openinference",
        {},
    ),
    SpanSource(
        "traceloop-langchain",
        "Traceloop",
        ("opentelemetry-instrumentation-langchain==0.62.0", "langchain==1.4.7"),
        "langchain_agent.py traceloop",
        {},
    ),
    SpanSource("strands", "strands events", ("strands-agents==1.62.0",), "strands_agent.py", {}),
    SpanSource("strands-latest", "strands events", ("strands-agents==1.62.0",), "strands_agent.py", GENAI),
)

PROMPTS = {
    "where": ["Where is A-17?"],
    "cancel": ["Cancel B-04."],
    "list": ["List them, please"],
    "hello": ["Hello there"],
    "two-turns": ["Where is A-17?", "List them, please"],
}
"""The cases that are recorded."""
