"""ATIF, the trajectories of Harbor: steps with words, calls and what was observed. It has no field for exit codes.

Agents' adapters put one next to a result, or leave it in the text, where the agent it came from says how it is read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from carob.evidence.exports.base import ExportFormat, ExportRow, KeySign, Table
from carob.evidence.exports.facts import read_time
from carob.evidence.exports.record import RecordedConversation
from carob.evidence.exports.sessions.claude_code import read_failure
from carob.evidence.exports.sessions.codex import read_header
from carob.evidence.exports.sessions.gemini_cli import read_exit_code
from carob.evidence.exports.sessions.mini_swe_agent import read_returned
from carob.evidence.exports.sessions.session import AgentSession, join_text
from carob.model.trace import ToolCall
from carob.providers.base import objects, table, text_of

NAME: Final = "atif"
CODE_KEYS = ("exit_code", "returncode", "exitCode", "return_code", "exit")
DEEPEST: Final = 3
ReadText = Callable[[str], tuple[int | None, str] | None]
IN_TEXT: Mapping[str, ReadText] = {
    "claude-code": read_failure,
    "codex": read_header,
    "gemini-cli": read_exit_code,
    "mini-swe-agent": read_returned,
}
"""How the text of a result says the exit code, by the name of the agent."""


def read_trajectory(row: ExportRow) -> RecordedConversation:
    """The conversation of a trajectory. Raises ValueError for one without steps."""
    value, agent = row.value, table(row.value.get("agent"))
    if not isinstance(value["steps"], list):
        raise ValueError("`steps` is not a list")
    name = text_of(value.get("trajectory_id")) or text_of(value.get("session_id")) or row.place
    session = AgentSession(name, NAME, row.place)
    session.version, session.model = text_of(agent.get("version")), text_of(agent.get("model_name"))
    session.metadata = {"agent": text_of(agent.get("name"))}
    read_text = IN_TEXT.get(text_of(agent.get("name")), lambda text: None)
    for number, step in enumerate(objects(value["steps"])):
        if not step.get("is_copied_context"):
            _read_step(session, step, f"step-{number}", read_text)
    return session.build()


def _read_step(session: AgentSession, step: Table, message: str, read_text: ReadText) -> None:
    time, words = read_time(step.get("timestamp")), join_text(step.get("message"))
    if step.get("source") == "user":
        session.add_prompt(words, time)
        return
    if step.get("source") != "agent":
        return
    session.add_words(words, message, time)
    calls = objects(step.get("tool_calls"))
    for call in calls:
        id, name = text_of(call.get("tool_call_id")), text_of(call.get("function_name"))
        session.add_call(ToolCall(name, call.get("arguments"), id=id, message=message, started_at=time))
    for result in objects(table(step.get("observation")).get("results")):
        id = text_of(result.get("source_call_id"))
        if not id and len(calls) == 1:  # what is observed after one call came of it
            id = text_of(calls[0].get("tool_call_id"))
        if id:
            _end_call(session, id, result, step, read_text)


def _end_call(session: AgentSession, id: str, result: Table, step: Table, read_text: ReadText) -> None:
    text = join_text(result.get("content"))
    extra = (table(result.get("extra")), table(step.get("extra")) if len(objects(step.get("tool_calls"))) == 1 else {})
    code = next((code for values in extra if (code := _find_code(values)) is not None), None)
    said = read_text(text) if code is None else None
    failed = any(values.get("is_error") is True or values.get("tool_result_is_error") is True for values in extra)
    session.end_call(
        id,
        said[1] if said is not None and said[0] is not None else text,
        exit_code=code if said is None else said[0],
        success=False if failed else None,
    )


def _find_code(values: Mapping[str, Any], depth: int = 0) -> int | None:
    """An exit code next to a result, or within what an adapter kept of it."""
    for key in CODE_KEYS:
        if isinstance(code := values.get(key), int) and not isinstance(code, bool):
            return code
    within = (inner for inner in values.values() if isinstance(inner, Mapping) and depth < DEEPEST)
    return next((code for inner in within if (code := _find_code(inner, depth + 1)) is not None), None)


def _is_trajectory(row: Table) -> bool:
    return text_of(row["schema_version"]).startswith("ATIF-")


ATIF = ExportFormat(
    name=NAME, signs=(KeySign(("schema_version", "steps"), _is_trajectory),), read_conversation=read_trajectory
)
