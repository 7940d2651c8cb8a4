"""`gemini:` – Gemini CLI, which has a shell without a person only where it may do everything."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import structs

from carob.evidence.exports.record import RecordedConversation
from carob.evidence.exports.sessions.gemini_cli import GEMINI_CLI
from carob.features.coding.agents.program import (
    KEY_FIX,
    RETRIES,
    AgentProgram,
    AgentRun,
    KnownFailure,
    read_session_files,
)

SETTINGS = {
    "security": {"auth": {"selectedType": "gemini-api-key"}},
    "general": {"maxAttempts": RETRIES, "enableAutoUpdate": False, "disableAutoUpdate": True},
    "telemetry": {"enabled": False},
    "privacy": {"usageStatisticsEnabled": False},
}


class GeminiCli(AgentProgram):
    name = "gemini"
    program = "gemini"
    install = "npm install -g @google/gemini-cli"
    tried = "0.61"
    format = GEMINI_CLI
    passed_on = ("GEMINI_*", "GOOGLE_*")
    own_files = (".gemini", ".gemini/**", ".cache", ".cache/**")
    failures = (
        KnownFailure(re.compile(r"GEMINI_API_KEY|API[_ ]key|API_KEY_INVALID|401"), KEY_FIX.format("GEMINI_API_KEY")),
    )

    def prepare(self, run: AgentRun) -> None:
        folder = run.home / ".gemini"
        folder.mkdir(exist_ok=True)
        (folder / "settings.json").write_text(json.dumps(SETTINGS))

    def variables(self, run: AgentRun) -> dict[str, str]:
        return {"GEMINI_CLI_TRUST_WORKSPACE": "true"}

    def arguments(self, run: AgentRun) -> list[str]:
        model = ["--model", run.model] if run.model else []
        return [f"--prompt={run.prompt}", "--output-format", "stream-json", "--approval-mode", "yolo", *model]

    def read_log(self, run: AgentRun, output: Sequence[Mapping[str, Any]]) -> RecordedConversation | None:
        """Its session, which has exit codes; whether it failed, its output says."""
        session = read_session_files(self.format, run.home / ".gemini" / "tmp", "*/chats/session-*.jsonl")
        streamed = super().read_log(run, output)
        if session is None or streamed is None:
            return session or streamed
        trace = structs.replace(session.trace, error=streamed.trace.error, ended_by=streamed.trace.ended_by)
        return structs.replace(session, trace=trace)
