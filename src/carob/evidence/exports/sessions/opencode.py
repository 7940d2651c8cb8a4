"""opencode: what `opencode run --format json` writes. `completed` says nothing: the exit code is in the metadata."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from carob.evidence.exports.base import ExportFormat, ExportRow, KeySign, Table
from carob.evidence.exports.facts import read_time
from carob.evidence.exports.sessions.session import AgentSession, SessionCollector
from carob.model.trace import BY_ITSELF, Tokens, ToolCall
from carob.providers.base import number_of, table, text_of

NAME: Final = "opencode"
SHELL: Final = "bash"
EVENTS = frozenset({"step_start", "step_finish", "text", "tool_use", "reasoning", "error"})
_REFUSED = re.compile(
    r"(?:Error: )?The user (?:rejected permission|has specified a rule which prevents)|(?:Error: )?Permission denied: "
)


class _Reader:
    """One session."""

    def __init__(self, name: str, place: str) -> None:
        self.session = AgentSession(name, NAME, place)

    def read(self, row: Table) -> None:
        kind, part, time = row.get("type"), table(row.get("part")), read_time(row.get("timestamp"))
        message = text_of(part.get("messageID"))
        if kind == "text":
            self.session.add_words(text_of(part.get("text")), message, time)
        elif kind == "tool_use":
            self._read_call(part, message, time)
        elif kind == "step_finish":
            self._read_step(part)
        elif kind == "error":
            error = table(row.get("error"))
            said = text_of(table(error.get("data")).get("message")) or text_of(error.get("name"))
            self.session.fail("agent", said or "the model failed")

    def _read_call(self, part: Mapping[str, Any], message: str, time: float | None) -> None:
        id, name, state = text_of(part.get("callID")), text_of(part.get("tool")), table(part.get("state"))
        times, error = table(state.get("time")), text_of(state.get("error"))
        began, ended = read_time(times.get("start")) or time, read_time(times.get("end")) or time
        if not self.session.has_call(id):
            call = ToolCall(name, state.get("input"), id=id, message=message, started_at=began)
            self.session.add_call(call)
        status, code = state.get("status"), table(state.get("metadata")).get("exit")
        if status not in ("completed", "error"):
            return
        self.session.end_call(
            id,
            error if status == "error" else state.get("output"),
            exit_code=code if name == SHELL and isinstance(code, int) else None,
            success=False if status == "error" else None if name == SHELL else True,
            refused=status == "error" and _REFUSED.match(error) is not None,
            time=ended,
        )

    def _read_step(self, part: Mapping[str, Any]) -> None:
        reason, used, before = part.get("reason"), table(part.get("tokens")), self.session.tokens or Tokens(0, 0)
        self.session.tokens = Tokens(
            (before.input or 0) + number_of(used.get("input")), (before.output or 0) + number_of(used.get("output"))
        )
        self.session.ended_by = BY_ITSELF if reason == "stop" else "length" if reason == "length" else ""

    def finish(self) -> None:
        """Nothing is left to be read."""


def _is_row(row: Table) -> bool:
    return isinstance(row.get("sessionID"), str) and text_of(row.get("type")) in EVENTS


def _id_of(row: ExportRow) -> str:
    return text_of(row.value.get("sessionID"))


OPENCODE = ExportFormat(name=NAME, signs=(KeySign((), _is_row),), collect=lambda: SessionCollector(_Reader, _id_of))
