"""OpenHands: the events of a conversation, `~/.openhands/conversations/ID/events/*.json`, one file per event.

A command that exited 1 has `is_error: false`: what counts is `exit_code`, which is -1 while it runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any, Final

from carob.evidence.exports.base import ExportFormat, ExportRow, KeySign, Table
from carob.evidence.exports.facts import read_time
from carob.evidence.exports.sessions.session import AgentSession, SessionCollector, join_text
from carob.model.trace import BY_ITSELF, ToolCall
from carob.providers.base import table, text_of
from carob.providers.messages import decode_value

NAME: Final = "openhands"
FINISH: Final = "finish"
EVENTS = frozenset(
    {
        *("ActionEvent", "ObservationEvent", "MessageEvent", "SystemPromptEvent", "AgentErrorEvent", "PauseEvent"),
        *("UserRejectObservation", "ConversationStateUpdateEvent", "ConversationErrorEvent", "Condensation"),
        *("CondensationRequest", "TokenEvent", "LLMCompletionLogEvent", "HookExecutionEvent", "InterruptEvent"),
    }
)


class _Reader:
    """One conversation."""

    def __init__(self, name: str, place: str) -> None:
        self.session = AgentSession(name, NAME, place)

    def read(self, row: Table) -> None:
        kind, time = row.get("kind"), read_time(row.get("timestamp"))
        id = text_of(row.get("tool_call_id"))
        if kind == "MessageEvent":
            self._read_message(row, time)
        elif kind == "ActionEvent":
            self._read_action(row, id, time)
        elif kind == "ObservationEvent":
            self._read_observation(table(row.get("observation")), id, time)
        elif kind == "UserRejectObservation":
            self.session.end_call(id, row.get("rejection_reason"), refused=True, time=time)
        elif kind == "AgentErrorEvent":
            self.session.end_call(id, row.get("error"), success=False, time=time)
        elif kind == "ConversationErrorEvent":
            self.session.fail("agent", f"{text_of(row.get('code'))}: {text_of(row.get('detail'))}")

    def _read_message(self, row: Table, time: float | None) -> None:
        text = join_text(table(row.get("llm_message")).get("content"))
        if row.get("source") == "user":
            self.session.ended_by = ""
            self.session.add_prompt(text, time)
        elif row.get("source") == "agent":
            self.session.add_words(text, text_of(row.get("id")), time)
            self.session.ended_by = BY_ITSELF

    def _read_action(self, row: Table, id: str, time: float | None) -> None:
        action, name = table(row.get("action")), text_of(row.get("tool_name"))
        message = text_of(row.get("llm_response_id")) or text_of(row.get("id"))
        self.session.add_words(join_text(row.get("thought")), message, time)
        if name == FINISH:
            self.session.add_words(text_of(action.get("message")), message, time)
            self.session.ended_by = BY_ITSELF
            return
        arguments: object = {key: value for key, value in action.items() if key != "kind"}
        if not action:  # what the model asked for was not understood, and so not run
            arguments = decode_value(table(row.get("tool_call")).get("arguments"))
        self.session.add_call(ToolCall(name, arguments, id=id, message=message, started_at=time))

    def _read_observation(self, observation: Mapping[str, Any], id: str, time: float | None) -> None:
        if not self.session.has_call(id):  # that of the call by which it finishes
            return
        code = observation.get("exit_code")
        has_code = isinstance(code, int) and code >= 0
        content = observation.get("content", observation.get("output"))
        self.session.end_call(
            id,
            join_text(content) or content,
            exit_code=code if has_code else None,
            success=None if "exit_code" in observation else observation.get("is_error") is not True,
            time=time,
        )

    def finish(self) -> None:
        """Nothing is left to be read."""


def _is_event(row: Table) -> bool:
    return text_of(row.get("kind")) in EVENTS and isinstance(row.get("source"), str) and isinstance(row.get("id"), str)


def _id_of(row: ExportRow) -> str:
    """The folder of the conversation, whose events are files in a folder within it."""
    folder = PurePath(row.place).parent
    return folder.parent.name if folder.name == "events" else ""


OPENHANDS = ExportFormat(name=NAME, signs=(KeySign((), _is_event),), collect=lambda: SessionCollector(_Reader, _id_of))
