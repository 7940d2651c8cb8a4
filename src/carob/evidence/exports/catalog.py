"""All formats of recorded conversations; each is recognised by its keys."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from carob.evidence.exports.base import ExportFormat, Table, has_key
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
from carob.evidence.exports.results import format_of_results
from carob.evidence.exports.sessions.atif import ATIF
from carob.evidence.exports.sessions.claude_code import CLAUDE_CODE
from carob.evidence.exports.sessions.codex import CODEX
from carob.evidence.exports.sessions.gemini_cli import GEMINI_CLI
from carob.evidence.exports.sessions.mini_swe_agent import MINI_SWE_AGENT
from carob.evidence.exports.sessions.opencode import OPENCODE
from carob.evidence.exports.sessions.openhands import OPENHANDS
from carob.plugins.features import RecordingFormat, all_features

FORMATS: tuple[ExportFormat, ...] = (
    *(OTLP, PHOENIX, PATRONUS, MLFLOW, LANGFUSE, LANGSMITH, OPENAI_AGENTS, OPENAI_CHAT, ANTHROPIC, RESPONSES, CAROB),
    GUARD_JOURNAL,
    *(CLAUDE_CODE, CODEX, GEMINI_CLI, OPENCODE, MINI_SWE_AGENT, OPENHANDS, ATIF),
)


@cache
def result_formats() -> tuple[RecordingFormat, ...]:
    """Results of other tools, which features read."""
    return tuple(declared for feature in all_features() for declared in feature.recordings)


_load = cache(format_of_results)


def find_formats(row: Table, name: str = "") -> Sequence[ExportFormat]:
    """The formats that a row fits, or that one which is named. One of a tool comes before those of APIs."""
    declared = [each for each in result_formats() if name in ("", each.name)]
    loaded = [_load(each) for each in declared if any(all(has_key(row, key) for key in keys) for keys in each.keys)]
    fits = [format for format in loaded if format.recognizes(row)]
    fits = fits or [format for format in FORMATS if name in ("", format.name) and format.recognizes(row)]
    is_own = not fits and "case_id" in row and name in ("", CAROB.name)
    return [CAROB] if is_own else fits  # which says what no recording of Carob has
