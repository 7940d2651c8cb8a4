"""The ways of building an agent that are held against the log of their tools: what each needs, how it starts."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

WAYS_FOLDER = Path(__file__).parent / "ways"
OPENAI = "openai==3.51.0"


class Way(NamedTuple):
    """One way of building an agent; `speech` is how its model asks for tools (`ways/models.py`)."""

    name: str
    use: str
    speech: str
    requirements: tuple[str, ...]
    environment: str
    unknown: tuple[str, ...] = ()
    """The situations in which a check stays UNKNOWN."""
    without: tuple[str, ...] = ()
    """The situations that it does not have: code of its own enters a plain function, and no tool."""


LANGCHAIN = ("langchain==1.4.7", "langchain-openai")
PYDANTIC_AI = ("pydantic-ai-slim[openai]==2.66.0",)
TOGETHER = ("parallel",)
LLAMAINDEX = ("llama-index-core==0.14.25", "llama-index-llms-openai-like==0.8.1")
SMOLAGENTS = ("smolagents==1.26.0", OPENAI)
IN_WORDS = ("in-words",)
WAYS = (
    Way("openai-agents 0.24", "python:openai_agents:answer", "call", ("openai-agents==0.24.0",), "openai-agents"),
    Way("pydantic-ai 2.66", "python:pydantic_ai_agent:answer", "call", PYDANTIC_AI, "pydantic-ai"),
    Way("pydantic-ai 2.66, typed answer", "python:pydantic_ai_agent:typed", "typed", PYDANTIC_AI, "pydantic-ai"),
    Way("LangChain 1.4, create_agent", "python:langchain_agent:answer", "call", LANGCHAIN, "langchain"),
    Way("LangGraph, tool node", "python:langchain_agent:answer_graph", "call", LANGCHAIN, "langchain"),
    Way("LangGraph, loop in a node", "python:langchain_agent:answer_looping", "call", LANGCHAIN, "langchain"),
    Way("LangGraph, functional", "python:langchain_agent:answer_functional", "call", LANGCHAIN, "langchain"),
    Way("langgraph:, create_agent", "langgraph:langchain_agent:agent_graph", "call", LANGCHAIN, "langchain"),
    Way("langgraph:, tool node", "langgraph:langchain_agent:node_graph", "call", LANGCHAIN, "langchain"),
    Way("langgraph:, loop in a node", "langgraph:langchain_agent:looping_graph", "call", LANGCHAIN, "langchain"),
    Way("CrewAI 1.15", "python:crewai_agent:answer", "call", ("crewai==1.15.30",), "crewai"),
    Way(
        "LlamaIndex 0.14, functions", "python:llamaindex_agent:answer", "call", LLAMAINDEX, "llamaindex", ("parallel",)
    ),
    Way("LlamaIndex 0.14, ReAct", "python:llamaindex_agent:react", "react", LLAMAINDEX, "llamaindex", IN_WORDS),
    Way("Agno 3.1", "python:agno_agent:answer", "call", ("agno==3.1.10", OPENAI), "agno"),
    Way(
        "AutoGen 0.7",
        "python:autogen_agent:answer",
        "call",
        ("autogen-agentchat==0.7.5", "autogen-ext[openai]==0.7.5"),
        "autogen",
    ),
    Way("Strands 1.62", "python:strands_agent:answer", "call", ("strands-agents==1.62.0", OPENAI), "strands"),
    Way("Strands 0.2.1", "python:strands_agent:answer", "call", ("strands-agents==0.2.1", OPENAI), "strands-0.2"),
    Way("smolagents 1.26, tools", "python:smolagents_agent:answer", "final", SMOLAGENTS, "smolagents"),
    Way("smolagents 1.26, code", "python:smolagents_agent:code", "code", SMOLAGENTS, "smolagents", IN_WORDS),
    Way("google-adk 2.13", "python:adk_agent:answer", "call", ("google-adk==2.13.0", OPENAI), "adk"),
    Way("Haystack 3.4", "python:haystack_agent:answer", "call", ("haystack-ai==3.4.0",), "haystack"),
    Way("DSPy 3.4, ReAct", "python:dspy_agent:answer", "dspy", ("dspy==3.4.1",), "dspy", IN_WORDS),
    Way(
        "Semantic Kernel 1.45",
        "python:semantic_kernel_agent:answer",
        "plugin",
        ("semantic-kernel==1.45.0",),
        "semantic-kernel",
    ),
    Way(
        "agent-framework 1.23",
        "python:agent_framework_agent:answer",
        "call",
        ("agent-framework-core==1.23.0", "agent-framework-openai==1.17.0"),
        "agent-framework",
    ),
    Way("MCP 2.3, client session", "python:loop_agent:mcp", "call", ("mcp==2.3", OPENAI), "loops"),
    Way("a loop, functions handed over", "python:loop_agent:handed", "call", ("mcp==2.3", OPENAI), "loops"),
    Way(
        "a loop, model traffic alone",
        "python:loop_agent:bare",
        "call",
        ("mcp==2.3", OPENAI),
        "loops",
        unknown=("raises",),
        without=("thread", "nested"),
    ),
)
SITUATIONS = {
    "right": "PASS",
    "wrong-argument": "FAIL",
    "forbidden": "FAIL",
    "raises": "FAIL",
    "parallel": "PASS",
    "two-turns": "PASS",
    "retried": "PASS",
    "claim": "FAIL",
    "thread": "FAIL",
    "nested": "PASS",
    "in-words": "PASS",
    "cancelled": "FAIL",
}
"""What happens in each, as the log of the tools has it, makes this verdict right."""


def table() -> str:
    """The table of the documentation: in how many situations each way gives the right verdict, and in which none."""
    alike: dict[tuple[tuple[str, ...], tuple[str, ...]], list[str]] = {}
    for way in WAYS:
        alike.setdefault((way.unknown, way.without), []).append(way.name)
    rows = ["| as the log says | ways | UNKNOWN | not tried |", "|---|---|---|---|"]
    for (unknown, without), names in alike.items():
        right = len(SITUATIONS) - len(unknown) - len(without)
        rows.append(
            f"| {right} of {len(SITUATIONS)} | {'; '.join(names)} | {', '.join(unknown)} | {', '.join(without)} |"
        )
    return "\n".join(rows)
