"""The libraries whose spans are read: what is installed for each, how its agent is started, where spans are kept."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

EMITTERS = Path(__file__).parent / "emitters"
RECORDINGS = Path(__file__).parents[1] / "evidence" / "spans" / "recordings"
EXPORTER = ("opentelemetry-sdk", "opentelemetry-exporter-otlp-proto-http", "httpx<1")
GENAI = {
    "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "SPAN_ONLY",
    "OTEL_SEMCONV_STABILITY_OPT_IN": "gen_ai_latest_experimental",
}
MODEL_SPANS = ("openinference-instrumentation-openai==0.1.66",)


class Unknown(NamedTuple):
    """The cases that a library does not send enough for, and why."""

    cases: tuple[str, ...] = ()
    why: str = "-"


ALL_TOLD = Unknown()
NO_MESSAGES = Unknown(
    ("where", "wrong-arguments", "hello", "no-tool", "two-turns"),
    "that a tool was not called: spans of model calls carry no messages. Instrument the client of the model as well, "
    "or vouch by `complete`",
)
NO_TOOL_SPANS = Unknown(
    ("where", "wrong-arguments", "cancel", "list", "two-turns"),
    "what became of the calls that the model asked for: tools have no spans. Use the tracer of Haystack itself",
)


class SpanSource(NamedTuple):
    """One library with one dialect."""

    name: str
    dialect: str
    requirements: tuple[str, ...]
    command: str
    env: Mapping[str, str] = MappingProxyType({})
    clients: tuple[str, ...] = ()
    """What else it needs, to reach a model."""
    environment: str = ""
    """The environment that it shares with another."""
    note: str = ""
    unknown: Unknown = ALL_TOLD
    tool_spans: bool = True

    @property
    def recording(self) -> Path:
        return RECORDINGS / f"{self.name}.jsonl"

    @property
    def tool_log(self) -> Path:
        """What its tools themselves wrote while it was recorded."""
        return RECORDINGS / f"{self.name}.tools.jsonl"

    @property
    def tells_by(self) -> str:
        """The kind of spans that tell of its calls."""
        return "tool" if self.tool_spans else "model"

    @property
    def held_against(self) -> str:
        """Library and version, as the documentation shows it."""
        return " with ".join(self.requirements).replace("==", " ") + (f" ({self.note})" if self.note else "")


PYDANTIC_AI = ("pydantic-ai-slim==2.66.0",)
LANGCHAIN = "langchain==1.4.7"
STRANDS = ("strands-agents==1.62.0",)
SMOLAGENTS = ("smolagents==1.26.0", "openinference-instrumentation-smolagents==0.1.43")
LLAMAINDEX = ("llama-index-core==0.14.25", "openinference-instrumentation-llama-index==4.6.1")
LLAMAINDEX_LLM = ("llama-index-llms-openai-like==0.8.1",)
OPENAI = ("openai==3.51.0",)
SEMANTIC_KERNEL = ("semantic-kernel==1.45.0",)
GOOGLE_ADK = ("google-adk==2.13.0",)
HAYSTACK = "haystack-ai==3.4.0"

SOURCES = (
    SpanSource("pydantic-ai", "OpenTelemetry GenAI", PYDANTIC_AI, "pydantic_ai_agent.py"),
    SpanSource(
        "pydantic-ai-typed",
        "OpenTelemetry GenAI",
        PYDANTIC_AI,
        "pydantic_ai_agent.py typed",
        environment="pydantic-ai",
        note="with an output type",
    ),
    SpanSource(
        "genai-langchain",
        "OpenTelemetry GenAI",
        ("opentelemetry-instrumentation-genai-langchain==1.3b0", LANGCHAIN),
        "langchain_agent.py genai",
        GENAI,
    ),
    SpanSource(
        "agent-framework",
        "OpenTelemetry GenAI",
        ("agent-framework-core==1.23.0",),
        "agent_framework_agent.py",
        clients=("agent-framework-openai==1.17.0",),
    ),
    SpanSource(
        "semantic-kernel",
        "OpenTelemetry GenAI",
        SEMANTIC_KERNEL,
        "semantic_kernel_agent.py alone",
        clients=MODEL_SPANS,
        unknown=NO_MESSAGES,
    ),
    SpanSource(
        "semantic-kernel-openai",
        "OpenTelemetry GenAI",
        (*SEMANTIC_KERNEL, *MODEL_SPANS),
        "semantic_kernel_agent.py openai",
        environment="semantic-kernel",
    ),
    SpanSource(
        "openinference-langchain",
        "OpenInference",
        ("openinference-instrumentation-langchain==0.1.80", LANGCHAIN),
        "langchain_agent.py openinference",
    ),
    SpanSource(
        "smolagents-code",
        "OpenInference",
        SMOLAGENTS,
        "smolagents_agent.py code",
        clients=OPENAI,
        environment="smolagents",
        note="CodeAgent",
    ),
    SpanSource(
        "smolagents-tools",
        "OpenInference",
        SMOLAGENTS,
        "smolagents_agent.py tools",
        clients=OPENAI,
        environment="smolagents",
        note="ToolCallingAgent",
    ),
    SpanSource(
        "llamaindex-function",
        "OpenInference",
        LLAMAINDEX,
        "llamaindex_agent.py function",
        clients=LLAMAINDEX_LLM,
        environment="llamaindex",
        note="FunctionAgent",
    ),
    SpanSource(
        "llamaindex-react",
        "OpenInference",
        LLAMAINDEX,
        "llamaindex_agent.py react",
        clients=LLAMAINDEX_LLM,
        environment="llamaindex",
        note="ReActAgent",
    ),
    SpanSource(
        "crewai",
        "OpenInference",
        ("crewai==1.15.30", "openinference-instrumentation-crewai==1.1.21", *MODEL_SPANS),
        "crewai_agent.py",
    ),
    SpanSource(
        "autogen",
        "OpenInference",
        ("autogen-agentchat==0.7.5", "openinference-instrumentation-autogen-agentchat==0.1.22"),
        "autogen_agent.py",
        clients=("autogen-ext[openai]==0.7.5",),
    ),
    SpanSource("dspy", "OpenInference", ("dspy==3.4.1", "openinference-instrumentation-dspy==0.1.48"), "dspy_agent.py"),
    SpanSource(
        "agno",
        "OpenInference",
        ("agno==3.1.10", "openinference-instrumentation-agno==1.0.15"),
        "agno_agent.py",
        clients=OPENAI,
    ),
    SpanSource(
        "haystack-openinference",
        "OpenInference",
        (HAYSTACK, "openinference-instrumentation-haystack==0.1.46"),
        "haystack_agent.py openinference",
        unknown=NO_TOOL_SPANS,
        tool_spans=False,
    ),
    SpanSource("haystack", "Haystack", (HAYSTACK, "opentelemetry-haystack==2.0.0"), "haystack_agent.py own"),
    SpanSource(
        "traceloop-langchain",
        "Traceloop",
        ("opentelemetry-instrumentation-langchain==0.62.0", LANGCHAIN),
        "langchain_agent.py traceloop",
    ),
    SpanSource("google-adk", "Google ADK", GOOGLE_ADK, "adk_agent.py", GENAI),
    SpanSource(
        "google-adk-schema-1",
        "Google ADK",
        GOOGLE_ADK,
        "adk_agent.py",
        {"ADK_TELEMETRY_SCHEMA_VERSION_OPT_IN": "1"},
        environment="google-adk",
        note="schema 1",
    ),
    SpanSource("strands", "strands events", STRANDS, "strands_agent.py"),
    SpanSource("strands-0.2", "strands events", ("strands-agents==0.2.1",), "strands_agent.py"),
    SpanSource(
        "strands-latest",
        "strands events",
        STRANDS,
        "strands_agent.py",
        GENAI,
        environment="strands",
        note="latest conventions",
    ),
)

PROMPTS = {
    "where": ["Where is A-17?"],
    "cancel": ["Cancel B-04."],
    "list": ["List them, please"],
    "hello": ["Hello there"],
    "two-turns": ["Where is A-17?", "List them, please"],
}
"""The cases that are recorded."""
