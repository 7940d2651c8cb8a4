"""`opencode:PROVIDER/MODEL` – opencode."""

from __future__ import annotations

import json
import re

from carob.evidence.exports.sessions.opencode import OPENCODE
from carob.features.coding.agents.program import AgentProgram, AgentRun, KnownFailure

ADDRESSES = {"openai": ("OPENAI_BASE_URL", ""), "anthropic": ("ANTHROPIC_BASE_URL", "/v1")}
"""Where each provider's address is, and what opencode expects at its end."""


class OpenCode(AgentProgram):
    name = "opencode"
    program = "opencode"
    install = "npm install -g opencode-ai"
    tried = "1.18"
    format = OPENCODE
    passed_on = ("OPENAI_*", "ANTHROPIC_*", "GEMINI_*", "GOOGLE_*", "OPENCODE_API_KEY", "OPENROUTER_API_KEY")
    own_files = (".npm", ".npm/**", ".bun", ".bun/**", ".opencode", ".opencode/**")
    made_files = (".opencode/**",)
    failures = (
        KnownFailure(
            re.compile(r"API key|[Uu]nauthorized|401|LoadAPIKeyError"),
            "Set the key of the model's provider in the environment of Carob, such as OPENAI_API_KEY.",
        ),
        KnownFailure(
            re.compile(r"ModelNotFound|ProviderModelNotFound|no model"),
            "Name a model that it knows, such as 'opencode:openai/gpt-5'.",
        ),
    )
    reads_stdin = True

    def variables(self, run: AgentRun) -> dict[str, str]:
        providers: dict[str, dict[str, object]] = {
            name: {"options": {"baseURL": address.rstrip("/").removesuffix(end) + end}}
            for name, (variable, end) in ADDRESSES.items()
            if (address := run.environment.get(variable))
        }
        provider, _, model = run.model.partition("/")
        if model:
            providers.setdefault(provider, {})["models"] = {model: {}}  # one that is newer than its list
        settings = {"autoupdate": False, "share": "disabled", "provider": providers}
        return {
            "OPENCODE_CONFIG_CONTENT": json.dumps(settings),
            "OPENCODE_DISABLE_AUTOUPDATE": "true",
            "OPENCODE_DISABLE_MODELS_FETCH": "true",
            "OPENCODE_DISABLE_SHARE": "true",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "true",
        }

    def arguments(self, run: AgentRun) -> list[str]:
        return ["run", "--format", "json", *(["--model", run.model] if run.model else [])]
