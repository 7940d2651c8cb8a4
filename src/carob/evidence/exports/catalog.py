"""All formats of exports; each is recognised by its keys."""

from __future__ import annotations

from carob.evidence.exports.base import ExportFormat
from carob.evidence.exports.carob_records import CAROB
from carob.evidence.exports.guard_journal import GUARD_JOURNAL
from carob.evidence.exports.langfuse import LANGFUSE
from carob.evidence.exports.langsmith import LANGSMITH
from carob.evidence.exports.messages import ANTHROPIC, OPENAI_CHAT
from carob.evidence.exports.mlflow import MLFLOW
from carob.evidence.exports.openai_agents import OPENAI_AGENTS
from carob.evidence.exports.otlp import OTLP
from carob.evidence.exports.patronus import PATRONUS
from carob.evidence.exports.phoenix import PHOENIX
from carob.evidence.exports.responses import RESPONSES
from carob.evidence.exports.sessions.atif import ATIF
from carob.evidence.exports.sessions.claude_code import CLAUDE_CODE
from carob.evidence.exports.sessions.codex import CODEX
from carob.evidence.exports.sessions.gemini_cli import GEMINI_CLI
from carob.evidence.exports.sessions.mini_swe_agent import MINI_SWE_AGENT
from carob.evidence.exports.sessions.opencode import OPENCODE
from carob.evidence.exports.sessions.openhands import OPENHANDS

FORMATS: tuple[ExportFormat, ...] = (
    *(OTLP, PHOENIX, PATRONUS, MLFLOW, LANGFUSE, LANGSMITH, OPENAI_AGENTS, OPENAI_CHAT, ANTHROPIC, RESPONSES, CAROB),
    GUARD_JOURNAL,
    *(CLAUDE_CODE, CODEX, GEMINI_CLI, OPENCODE, MINI_SWE_AGENT, OPENHANDS, ATIF),
)
