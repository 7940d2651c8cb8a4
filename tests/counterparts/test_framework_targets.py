"""Twelve cases with an agent of each framework, named and no more: no verdict contradicts the log of its tools.

The model of each is a script behind the API of OpenAI, because no test may need a real one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from counterparts.environments import ROOT, python_with
from counterparts.framework_cases import FOLDER, check_run, suite
from counterparts.ways_of_building import WAYS_FOLDER

pytestmark = [pytest.mark.counterpart, pytest.mark.limit(900)]
OPENAI = "openai"
SERVE = """
import sys; sys.path[:0] = {folders!r}
import models, threading
print(models.serve().server_port, flush=True)
threading.Event().wait()
"""
QUIET = {"CREWAI_TELEMETRY_OPT_OUT": "true", "OTEL_SDK_DISABLED": "true", "OPENAI_API_KEY": "none"}


class Agent(NamedTuple):
    """An agent of a framework; `speech` is how its model asks for tools (`ways/models.py`)."""

    kind: str
    name: str
    packages: tuple[str, ...]
    speech: str = "call"
    version: str = "newest"
    unknown: tuple[str, ...] = ()
    """Cases in which a check stays UNKNOWN, because code names a tool."""

    @property
    def use(self) -> str:
        return f"{self.kind}:{self.kind.replace('-', '_')}_desk:{self.name}"


# The oldest releases need older releases of what they are built on than they say themselves.
LANGCHAIN = ("langchain", "langchain-openai")
LLAMA_INDEX = ("llama-index-core", "llama-index-llms-openai-like")
AGENTS = (
    Agent("openai-agents", "agent", ("openai-agents",)),
    Agent("openai-agents", "agent", ("openai-agents==0.1.0", "openai==1.97.0"), version="0.1"),
    Agent("pydantic-ai", "agent", ("pydantic-ai-slim[openai]",)),
    Agent("pydantic-ai", "typed", ("pydantic-ai-slim[openai]",), "typed"),
    Agent("pydantic-ai", "agent", ("pydantic-ai-slim[openai]==1.0.0", "opentelemetry-api==1.36.0"), version="1.0"),
    Agent("adk", "agent", ("google-adk", OPENAI)),
    Agent("adk", "runner", ("google-adk", OPENAI)),
    Agent("adk", "agent", ("google-adk==1.0.0", OPENAI, "deprecated"), version="1.0"),
    Agent("crewai", "crew", ("crewai",)),
    Agent("crewai", "agent", ("crewai",)),
    Agent("crewai", "crew", ("crewai==1.0.0",), "crew", version="1.0"),
    Agent("llama-index", "agent", LLAMA_INDEX),
    Agent("llama-index", "workflow", LLAMA_INDEX),
    Agent("llama-index", "react", LLAMA_INDEX, "react"),
    Agent("llama-index", "agent", ("llama-index-core==0.12.40", "llama-index-llms-openai-like<0.5"), version="0.12"),
    Agent("smolagents", "agent", ("smolagents", OPENAI), "final"),
    Agent("smolagents", "code", ("smolagents", OPENAI), "code", unknown=("in-words", "async", "unknown-tool")),
    Agent("agno", "agent", ("agno", OPENAI)),
    Agent("agno", "team", ("agno", OPENAI)),
    Agent("strands", "agent", ("strands-agents", OPENAI)),
    Agent("strands", "graph", ("strands-agents", OPENAI)),
    Agent("agent-framework", "agent", ("agent-framework-core", "agent-framework-openai")),
    Agent("autogen", "agent", ("autogen-agentchat", "autogen-ext[openai]")),
    Agent("autogen", "team", ("autogen-agentchat", "autogen-ext[openai]")),
    Agent("langchain", "agent", LANGCHAIN),
    Agent("langchain", "kept", LANGCHAIN),
    Agent("dspy", "agent", ("dspy",), "dspy"),
    Agent("haystack", "agent", ("haystack-ai",)),
)


@pytest.fixture(scope="module")
def model() -> Iterator[str]:
    """The address of the server that plays the cases."""
    script = SERVE.format(folders=[str(FOLDER), str(WAYS_FOLDER)])
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: f"{agent.kind}-{agent.name}-{agent.version}")
def test_verdicts_agree_with_the_log_of_the_tools(agent: Agent, model: str, tmp_path: Path) -> None:
    newest = ("--upgrade",) if agent.version == "newest" else ()
    python = python_with(f"kind-{agent.kind}-{agent.version}", "--editable", str(ROOT), *newest, *agent.packages)
    (tmp_path / "suite.json").write_text(json.dumps(suite()))
    paths = [str(FOLDER), str(WAYS_FOLDER)]
    (tmp_path / "carob.toml").write_text(f'[targets.desk]\nuse = "{agent.use}"\npython_path = {paths}\ntimeout = 90\n')
    log = tmp_path / "tools.jsonl"
    log.touch()
    served = {"OPENAI_BASE_URL": f"{model}/{agent.speech}/v1", "TOOL_LOG": str(log), **QUIET}
    command = [python.with_name("carob"), "run", "suite.json", "--target", "desk", "--workers", "1"]
    done = subprocess.run(
        [*command, "--results-dir", "runs"], cwd=tmp_path, env={**os.environ, **served}, capture_output=True, text=True
    )
    assert [*(tmp_path / "runs").glob("suite-*Z.jsonl")], done.stdout + done.stderr
    check_run(tmp_path / "runs", log, agent.unknown)
