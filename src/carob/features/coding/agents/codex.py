"""`codex:` – Codex, in its own sandbox, which lets it write in the workspace and reach no network."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from carob.evidence.exports.record import RecordedConversation
from carob.evidence.exports.sessions.codex import CODEX
from carob.features.coding.agents.program import (
    KEY_FIX,
    RETRIES,
    AgentProgram,
    AgentRun,
    KnownFailure,
    read_session_files,
)

ADDRESS = "https://api.openai.com/v1"
SETTINGS = """\
check_for_update_on_startup = false
[analytics]
enabled = false
[features]
plugins = false
apps = false
[sandbox_workspace_write]
exclude_slash_tmp = true
"""
"""No list of plugins is fetched. Of all of /tmp, only the agent's own TMPDIR may be written."""
NO_REPOSITORY = (
    "Make the workspace a git repository, workspace = { folder = …, setup = ['git init -q'] }, or let Codex work "
    "without one: options = { arguments = ['--skip-git-repo-check'] }."
)


class Codex(AgentProgram):
    name = "codex"
    program = "codex"
    install = "npm install -g @openai/codex"
    tried = "0.169"
    format = CODEX
    passed_on = ("OPENAI_*", "CODEX_API_KEY")
    own_files = (".codex/**", "/tmp/newroot/**", "/tmp/newroot", "/tmp/oldroot", "/newroot/**", "/oldroot/**")
    made_files = (".agents", ".aws", ".codex")  # its sandbox puts empty ones there, and takes them away
    failures = (
        KnownFailure(re.compile(r"trusted directory|skip-git-repo-check"), NO_REPOSITORY),
        KnownFailure(re.compile(r"401|Missing environment variable|[Uu]nauthorized"), KEY_FIX.format("OPENAI_API_KEY")),
        KnownFailure(
            re.compile(r"[Ll]andlock|bwrap|sandbox.*(?:not supported|failed)"),
            "Its sandbox does not work here. Where the machine is one to lose: options = { arguments = ['--sandbox', "
            "'danger-full-access'] }.",
        ),
    )
    reads_stdin = True

    def prepare(self, run: AgentRun) -> None:
        home = run.home / ".codex"
        home.mkdir(exist_ok=True)
        (home / "config.toml").write_text(SETTINGS)

    def is_stuck(self, row: Mapping[str, Any]) -> bool:
        """It waits for the network for as long as there is none, whatever its retries."""
        return row.get("type") == "error" and "waiting for network" in str(row.get("message"))

    def variables(self, run: AgentRun) -> dict[str, str]:
        return {"CODEX_HOME": str(run.home / ".codex")}

    def arguments(self, run: AgentRun) -> list[str]:
        provider = {
            "name": "OpenAI",
            "base_url": run.environment.get("OPENAI_BASE_URL") or ADDRESS,
            "env_key": "OPENAI_API_KEY" if "CODEX_API_KEY" not in run.environment else "CODEX_API_KEY",
            "wire_api": "responses",
            "request_max_retries": RETRIES,
            "stream_max_retries": RETRIES,
        }
        table = ", ".join(f"{key} = {json.dumps(value)}" for key, value in provider.items())
        model = ["--model", run.model] if run.model else []
        own = ["-c", f"model_providers.carob={{{table}}}", "-c", 'model_provider="carob"']
        return ["exec", "--json", "-c", 'sandbox_mode="workspace-write"', *own, *model]

    def read_log(self, run: AgentRun, output: Sequence[Mapping[str, Any]]) -> RecordedConversation | None:
        """Its session: the output leaves out what was rejected."""
        session = read_session_files(self.format, run.home / ".codex" / "sessions", "*/*/*/rollout-*.jsonl")
        return session or super().read_log(run, output)
