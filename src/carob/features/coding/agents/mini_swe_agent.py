"""`mini-swe-agent:PROVIDER/MODEL` – mini-swe-agent, which runs commands without asking first."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from carob.evidence.exports.record import RecordedConversation
from carob.evidence.exports.sessions.mini_swe_agent import MINI_SWE_AGENT
from carob.features.coding.agents.program import RETRIES, AgentProgram, AgentRun, KnownFailure, read_session_files

FOLDER = Path(".config") / "mini-swe-agent"
TRAJECTORY = "carob.traj.json"


class MiniSweAgent(AgentProgram):
    name = "mini-swe-agent"
    program = "mini"
    install = "pip install mini-swe-agent"
    tried = "2.4"
    format = MINI_SWE_AGENT
    passed_on = ("OPENAI_*", "ANTHROPIC_*", "GEMINI_*", "GOOGLE_*", "OPENROUTER_API_KEY", "MSWEA_*")
    own_files = (".config", ".config/mini-swe-agent", ".config/mini-swe-agent/**", ".cache", ".cache/**")
    failures = (
        KnownFailure(
            re.compile(r"AuthenticationError|API key|api_key"),
            "Set the key of the model's provider in the environment of Carob, such as OPENAI_API_KEY.",
        ),
        KnownFailure(
            re.compile(r"No module named '?(\w+)"), "Install what it lacks next to it: pip install mini-swe-agent mcp."
        ),
        KnownFailure(
            re.compile(r"[Nn]o (?:default )?model|LLM Provider NOT provided"),
            "Name a model, such as 'mini-swe-agent:openai/gpt-5'.",
        ),
    )
    asks_version = False

    def prepare(self, run: AgentRun) -> None:
        (run.home / FOLDER).mkdir(parents=True, exist_ok=True)

    def variables(self, run: AgentRun) -> dict[str, str]:
        return {
            "MSWEA_CONFIGURED": "true",
            "MSWEA_SILENT_STARTUP": "1",
            "MSWEA_GLOBAL_CONFIG_DIR": str(run.home / FOLDER),
            "MSWEA_COST_TRACKING": "ignore_errors",
            "MSWEA_MODEL_RETRY_STOP_AFTER_ATTEMPT": str(RETRIES),
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        }

    def arguments(self, run: AgentRun) -> list[str]:
        model = ["--model", run.model] if run.model else []
        output = f"--output={run.home / FOLDER / TRAJECTORY}"
        return [f"--task={run.prompt}", "--yolo", "--exit-immediately", output, *model]

    def read_log(self, run: AgentRun, output: Sequence[Mapping[str, Any]]) -> RecordedConversation | None:
        return read_session_files(self.format, run.home / FOLDER, TRAJECTORY)
