"""Gemini CLI: `~/.gemini/tmp/*/chats/session-*.jsonl`, and what `gemini -p … --output-format stream-json` writes.

The stream says `success` of a command that exited 1, and no code: there it is unknown. The session has what the model
was given, which ends with the exit code unless that is 0.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from carob.evidence.exports.base import ExportFormat, ExportRow, KeySign, Table
from carob.evidence.exports.facts import read_time
from carob.evidence.exports.sessions.session import AgentSession, SessionCollector, join_text
from carob.model.trace import BY_ITSELF, ToolCall
from carob.providers.base import count_tokens, objects, table, text_of

NAME: Final = "gemini-cli"
SHELL: Final = "run_shell_command"
STREAMED = frozenset({"init", "message", "tool_use", "tool_result", "result", "error"})
_TAIL = re.compile(r"(Exit Code|Error|Signal|Background PIDs|Process Group PGID): ?(.*)")
_REFUSED = re.compile(r"Tool execution (?:for \"[^\"]*\" )?denied by policy|\[Operation Cancelled\]|User denied")


class _Reader:
    """One session, from its own file or from the stream."""

    def __init__(self, name: str, place: str) -> None:
        self.session = AgentSession(name, NAME, place)
        self._messages = 0
        self._tools: dict[str, str] = {}
        self._words = ""
        self._streamed_at: float | None = None

    @property
    def _message(self) -> str:
        return f"message-{self._messages}"

    def read(self, row: Table) -> None:
        time = read_time(row.get("timestamp"))
        listed = table(row.get("$set")).get("messages")
        for message in objects(listed) if isinstance(listed, list) else [row]:
            self._read_message(message, read_time(message.get("timestamp")) or time)

    def _read_message(self, row: Table, time: float | None) -> None:
        kind = row.get("type")
        if kind == "user" and "id" in row:
            text = join_text(row.get("content"))
            if text and not text.startswith("<session_context>"):
                self._messages += 1
                self.session.add_prompt(text, time)
        elif kind == "gemini":
            self._read_answer(row, time)
        elif kind == "message":
            self._read_piece(row, time)
        elif kind == "tool_use":
            self._flush()
            self._add_call(row.get("tool_id"), row.get("tool_name"), row.get("parameters"), time)
        elif kind == "tool_result":
            failure = text_of(table(row.get("error")).get("message"))
            self._end_call(text_of(row.get("tool_id")), row.get("status"), row.get("output") or failure, time, None)
            self._messages += 1
        elif kind == "init":
            self.session.model = text_of(row.get("model"))
        elif kind in ("result", "error"):
            self._read_end(row)

    def _read_answer(self, row: Table, time: float | None) -> None:
        """A message of the model in the session; it is written again once its calls have ended."""
        message = text_of(row.get("id"))
        self.session.model = text_of(row.get("model")) or self.session.model
        calls = objects(row.get("toolCalls"))
        if message != self._words:
            self._words = message
            self.session.add_words(text_of(row.get("content")), message, time)
        for call in calls:
            id = text_of(call.get("id"))
            if not self.session.has_call(id):
                self._add_call(id, call.get("name"), call.get("args"), time, message)
            given = [table(table(part.get("functionResponse")).get("response")) for part in objects(call.get("result"))]
            text = "\n".join(text_of(part.get("output")) or text_of(part.get("error")) for part in given)
            self._end_call(id, call.get("status"), text, read_time(call.get("timestamp")), text)
        self.session.ended_by = "" if calls else BY_ITSELF

    def _read_piece(self, row: Table, time: float | None) -> None:
        text = text_of(row.get("content"))
        if row.get("role") == "user":
            self.session.add_prompt(text, time)
            return
        self._words += text
        self._streamed_at = time
        if not row.get("delta"):
            self._flush()

    def _flush(self) -> None:
        """The pieces of the stream until now are what the agent said."""
        if self._words:
            self.session.add_words(self._words, self._message, self._streamed_at)
            self._words = ""

    def _add_call(self, id: object, name: object, arguments: object, time: float | None, message: str = "") -> None:
        call = ToolCall(text_of(name), arguments, id=text_of(id), message=message or self._message, started_at=time)
        self._tools[text_of(id)] = call.name
        self.session.add_call(call)

    def _end_call(self, id: str, status: object, result: object, time: float | None, given: str | None) -> None:
        """How a call ended; `given` is what the model was given, which the stream does not have."""
        is_shell, failed = self._tools.get(id) == SHELL, status in ("error", "cancelled")
        code, output = read_exit_code(given) if given is not None and is_shell and not failed else (None, result)
        self.session.end_call(
            id,
            output,
            exit_code=code,
            success=False if failed else None if is_shell else True,
            refused=failed and (status == "cancelled" or _REFUSED.search(text_of(result)) is not None),
            time=time,
        )

    def _read_end(self, row: Table) -> None:
        self._flush()
        if row.get("type") == "result" and row.get("status") == "success":
            self.session.ended_by = BY_ITSELF
            self.session.tokens = count_tokens(row.get("stats"), ("input_tokens",), ("output_tokens",))
        elif row.get("type") == "result" or row.get("severity") == "error":
            error = table(row.get("error"))
            self.session.fail("agent", text_of(error.get("message")) or text_of(row.get("message")) or "it failed")

    def finish(self) -> None:
        if self._streamed_at is not None:
            self._flush()


def read_exit_code(given: str) -> tuple[int | None, str]:
    """The exit code of a command, and its output, by what the model was given; only its last lines say it."""
    lines = given.replace("</untrusted_context>", "").rstrip().splitlines()
    facts: dict[str, str] = {}
    while lines and (match := _TAIL.fullmatch(lines[-1])) and match[1] not in facts:
        facts[match[1]] = match[2]
        lines.pop()
    output = "\n".join(lines).removeprefix("<untrusted_context>\n").removeprefix("Output: ")
    code = facts.get("Exit Code", "")
    if re.fullmatch(r"-?\d{1,9}", code):
        return int(code), output
    is_plain = "Process Group PGID" in facts and facts.keys().isdisjoint(("Exit Code", "Error", "Signal"))
    return (0 if is_plain and "Background PIDs" not in facts else None), output


def _is_session(row: Table) -> bool:
    if isinstance(row.get("$set"), Mapping) or {"sessionId", "projectHash"} <= row.keys():
        return True
    is_message = isinstance(row.get("id"), str) and isinstance(row.get("timestamp"), str)
    if row.get("type") == "gemini":
        return is_message and "content" in row
    return text_of(row.get("type")) in ("user", "info", "error", "warning") and is_message and set(row) <= _MESSAGE_KEYS


_MESSAGE_KEYS = frozenset({"id", "timestamp", "type", "content", "displayContent"})


def _is_streamed(row: Table) -> bool:
    kind = text_of(row.get("type"))
    if kind not in STREAMED or not isinstance(row.get("timestamp"), str) or ("message" in row and kind != "error"):
        return False
    own: Any = {"init": "session_id", "message": "role", "tool_use": "tool_name", "tool_result": "tool_id"}
    own |= {"result": "stats", "error": "severity"}
    return own[kind] in row


def _id_of(row: ExportRow) -> str:
    return text_of(row.value.get("sessionId")) or text_of(row.value.get("session_id"))


GEMINI_CLI = ExportFormat(
    name=NAME,
    signs=(KeySign((), _is_session), KeySign((), _is_streamed)),
    collect=lambda: SessionCollector(_Reader, _id_of),
)
