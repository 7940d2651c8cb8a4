"""All formats of exports; each is recognised by its keys."""

from __future__ import annotations

from karat.evidence.exports.base import ExportFormat
from karat.evidence.exports.guard_journal import GUARD_JOURNAL
from karat.evidence.exports.karat_records import KARAT
from karat.evidence.exports.langfuse import LANGFUSE
from karat.evidence.exports.langsmith import LANGSMITH
from karat.evidence.exports.messages import ANTHROPIC, OPENAI_CHAT
from karat.evidence.exports.mlflow import MLFLOW
from karat.evidence.exports.openai_agents import OPENAI_AGENTS
from karat.evidence.exports.otlp import OTLP
from karat.evidence.exports.patronus import PATRONUS
from karat.evidence.exports.phoenix import PHOENIX
from karat.evidence.exports.responses import RESPONSES
from karat.evidence.exports.sessions.atif import ATIF
from karat.evidence.exports.sessions.claude_code import CLAUDE_CODE
from karat.evidence.exports.sessions.codex import CODEX
from karat.evidence.exports.sessions.gemini_cli import GEMINI_CLI
from karat.evidence.exports.sessions.mini_swe_agent import MINI_SWE_AGENT
from karat.evidence.exports.sessions.opencode import OPENCODE
from karat.evidence.exports.sessions.openhands import OPENHANDS

FORMATS: tuple[ExportFormat, ...] = (
    *(OTLP, PHOENIX, PATRONUS, MLFLOW, LANGFUSE, LANGSMITH, OPENAI_AGENTS, OPENAI_CHAT, ANTHROPIC, RESPONSES, KARAT),
    GUARD_JOURNAL,
    *(CLAUDE_CODE, CODEX, GEMINI_CLI, OPENCODE, MINI_SWE_AGENT, OPENHANDS, ATIF),
)
