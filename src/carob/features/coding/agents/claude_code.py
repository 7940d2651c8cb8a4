"""`claude-code:` – Claude Code, without a person to ask: what its own rules do not forbid is allowed."""

from __future__ import annotations

import re

from carob.evidence.exports.sessions.claude_code import CLAUDE_CODE
from carob.features.coding.agents.program import KEY_FIX, RETRIES, AgentProgram, AgentRun, KnownFailure

TOOLS = ("Bash", "Edit", "Write", "MultiEdit", "NotebookEdit", "Read", "Glob", "Grep", "Skill", "Task", "TodoWrite")


class ClaudeCode(AgentProgram):
    name = "claude-code"
    program = "claude"
    install = "npm install -g @anthropic-ai/claude-code"
    tried = "2.1"
    format = CLAUDE_CODE
    passed_on = ("ANTHROPIC_*", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_USE_*", "AWS_*", "GOOGLE_*", "VERTEX_*")
    own_files = (".claude", ".claude/**", ".claude.json*", "/tmp/claude*", "/tmp/claude*/**")
    failures = (
        KnownFailure(
            re.compile(r"Invalid API key|/login|authentication_error|401"), KEY_FIX.format("ANTHROPIC_API_KEY")
        ),
        KnownFailure(
            re.compile(r"cannot be used with root"),
            "Leave --dangerously-skip-permissions out of `arguments`: the preset allows the tools by their names.",
        ),
    )
    reads_stdin = True

    def variables(self, run: AgentRun) -> dict[str, str]:
        return {
            "CLAUDE_CODE_MAX_RETRIES": str(RETRIES),
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "DISABLE_AUTOUPDATER": "1",
        }

    def arguments(self, run: AgentRun) -> list[str]:
        model = ["--model", run.model] if run.model else []
        output = ["--output-format", "stream-json", "--verbose"]
        return ["-p", *output, "--permission-mode", "acceptEdits", f"--allowedTools={','.join(TOOLS)}", *model]
