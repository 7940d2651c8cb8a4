"""Codex: `$CODEX_HOME/sessions/*/*/*/rollout-*.jsonl`, and what `codex exec --json` writes.

The rollout has every call, rejected ones too, and the exit code in the event that ends a command, else in the first
lines that the model was given. The output of `exec` has exit codes, but leaves out what was rejected.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from carob.evidence.exports.base import ExportFormat, ExportRow, KeySign, Table
from carob.evidence.exports.facts import read_time
from carob.evidence.exports.sessions.session import AgentSession, SessionCollector, join_text, unwrap_shell
from carob.model.trace import BY_ITSELF, PossibleCall, Tokens, ToolCall
from carob.providers.base import count_tokens, table, text_of
from carob.providers.messages import decode_value

NAME: Final = "codex"
NOT_SHOWN: Final = (
    "the output of `codex exec --json` leaves out calls that were rejected. Read the session that it wrote: "
    "$CODEX_HOME/sessions/*/*/*/rollout-*.jsonl"
)
CALLS = frozenset({"function_call", "custom_tool_call", "local_shell_call", "web_search_call"})
RESULTS = frozenset({"function_call_output", "custom_tool_call_output"})
SHELL_TOOLS = frozenset({"shell", "local_shell", "container.exec"})
HEADER: Final = 400
_CODE = re.compile(r"(?:Process exited with code|Exit code:) (-?\d{1,9})$", re.MULTILINE)
_OUTPUT = re.compile(r"^Output:\n?", re.MULTILINE)
_RUNNING = re.compile(r"^Process running with session ID", re.MULTILINE)
_REJECTED = re.compile(
    r"(?:[\w ]{1,40} failed: )?(?:CreateProcess \{ message: \"?)?Rejected\(|exec(?:_| )command rejected|patch rejected"
    r"|rejected by user|approval (?:denied|policy)"
)
_LOGIN_SHELL = re.compile(r"\S*/(?:ba|z)?sh -l?c ('|\")(.*)\1", re.DOTALL)


class _Reader:
    """One session, from its rollout or from the output of the program."""

    def __init__(self, name: str, place: str) -> None:
        self.session = AgentSession(name, NAME, place)
        self._messages = 0
        self._is_output = False

    @property
    def _message(self) -> str:
        return f"message-{self._messages}"

    def read(self, row: Table) -> None:
        kind, payload, time = text_of(row.get("type")), table(row.get("payload")), read_time(row.get("timestamp"))
        if kind.startswith(("thread.", "turn.", "item.")) or (kind == "error" and not payload):
            self._is_output = True
            self._read_output(kind, row)
        elif kind == "session_meta":
            self.session.version = text_of(payload.get("cli_version"))
        elif kind == "turn_context":
            self.session.model = text_of(payload.get("model")) or self.session.model
        elif kind == "response_item":
            self._read_item(payload, time)
        elif kind == "event_msg":
            self._read_event(payload, time)

    def _read_item(self, item: Mapping[str, Any], time: float | None) -> None:
        kind = text_of(item.get("type"))
        if kind == "message" and item.get("role") == "assistant":
            words = join_text(item.get("content"))
            self._messages += 1
            self.session.add_words(words, self._message, time)
        elif kind in CALLS:
            self._read_call(kind, item, time)
        elif kind in RESULTS:
            self._messages += 1
            self._end_call(text_of(item.get("call_id")), item.get("output"), time)

    def _read_call(self, kind: str, item: Mapping[str, Any], time: float | None) -> None:
        name, arguments = text_of(item.get("name")), decode_value(item.get("arguments", item.get("input")))
        if kind in ("local_shell_call", "web_search_call"):
            name, arguments = kind.removesuffix("_call"), table(item.get("action"))
        if kind == "custom_tool_call":
            arguments = {"input": arguments}
        if name in SHELL_TOOLS and isinstance(arguments, Mapping):
            arguments = {**arguments, "command": unwrap_shell(arguments.get("command"))}
        id = text_of(item.get("call_id")) or text_of(item.get("id"))
        is_hosted = kind == "web_search_call"
        call = ToolCall(
            name, arguments, id=id, message=self._message, started_at=time, kind="provider" if is_hosted else "tool"
        )
        self.session.add_call(call)
        if is_hosted:
            self.session.end_call(id, None, time=time)

    def _end_call(self, id: str, output: object, time: float | None) -> None:
        """The result as the model was given it: text with a header, or JSON with the exit code next to the output."""
        whole = decode_value(output)
        if isinstance(whole, Mapping) and "output" in whole:
            code = table(whole.get("metadata")).get("exit_code")
            result = whole["output"]
            self.session.end_call(id, result, exit_code=code if isinstance(code, int) else None, time=time)
            return
        text = join_text(whole)
        code, body = read_header(text)
        if code is None and _RUNNING.search(text[:HEADER]):
            return
        self.session.end_call(
            id,
            body or whole,
            exit_code=code,
            success=False if text.startswith("unsupported call") else None,
            refused=code is None and _REJECTED.match(text) is not None,
            time=time,
        )

    def _read_event(self, event: Mapping[str, Any], time: float | None) -> None:
        kind, item = text_of(event.get("type")), table(event.get("item"))
        if kind == "user_message":
            self._add_prompt(text_of(event.get("message")), time)
        elif kind == "item_completed" and item.get("type") == "UserMessage":
            self._add_prompt(join_text(item.get("content")), time)
        elif kind == "item_completed" and item.get("type") == "CommandExecution":
            self._end_command(text_of(item.get("id")), item, time)
        elif kind == "exec_command_end":
            self._end_command(text_of(event.get("call_id")), event, time)
        elif kind == "task_complete":
            self.session.ended_by = BY_ITSELF
        elif kind == "turn_aborted":
            self.session.ended_by = text_of(event.get("reason")) or "interrupted"
        elif kind == "error":
            self.session.fail("agent", text_of(event.get("message")) or "the turn failed")

    def _end_command(self, id: str, event: Mapping[str, Any], time: float | None) -> None:
        code, output = event.get("exit_code"), event.get("aggregated_output")
        if isinstance(code, int) and event.get("status") != "declined":
            self.session.end_call(id, text_of(output), exit_code=code, time=time)

    def _add_prompt(self, text: str, time: float | None) -> None:
        self._messages += 1
        self.session.ended_by = ""
        self.session.add_prompt(text, time)

    def _read_output(self, kind: str, row: Table) -> None:
        """A line that `codex exec --json` wrote."""
        if kind == "turn.completed":
            self.session.ended_by = BY_ITSELF
            self.session.tokens = count_tokens(row.get("usage"), ("input_tokens",), ("output_tokens",)) or Tokens()
        elif kind in ("turn.failed", "error"):
            error = row.get("error")
            message = text_of(table(error).get("message")) or text_of(error) or text_of(row.get("message"))
            if kind == "turn.failed" or not message.startswith("Reconnecting"):
                self.session.fail("agent", message or "the turn failed")
        elif kind.startswith("item."):
            self._read_output_item(table(row.get("item")), is_done=kind == "item.completed")

    def _read_output_item(self, item: Mapping[str, Any], *, is_done: bool) -> None:
        kind, id = text_of(item.get("type")), text_of(item.get("id"))
        if kind == "agent_message" and is_done:
            self._messages += 1
            self.session.add_words(text_of(item.get("text")), self._message)
        elif kind in OUTPUT_CALLS:
            self._begin_item(kind, id, item)
            code = item.get("exit_code")
            if is_done:
                result = next((item[key] for key in ("aggregated_output", "result", "error") if item.get(key)), "")
                is_code = isinstance(code, int)
                self.session.end_call(
                    id,
                    result,
                    exit_code=code if is_code else None,
                    success=None if kind == "command_execution" else item.get("status", "completed") == "completed",
                    refused=item.get("status") == "declined",
                )

    def _begin_item(self, kind: str, id: str, item: Mapping[str, Any]) -> None:
        if self.session.has_call(id):
            return
        name = text_of(item.get("tool")) if kind == "mcp_tool_call" else kind
        arguments: object = {key: item[key] for key in OUTPUT_CALLS[kind] if key in item}
        if kind == "mcp_tool_call":
            arguments = item.get("arguments")
        elif kind == "command_execution":
            arguments = {"command": _unwrap_line(text_of(item.get("command")))}
        self.session.add_call(ToolCall(name, arguments, id=id, message=self._message))

    def finish(self) -> None:
        if self._is_output:
            self.session.possible_calls.append(PossibleCall("", NOT_SHOWN, "any"))


OUTPUT_CALLS = {
    "command_execution": ("command",),
    "file_change": ("changes",),
    "mcp_tool_call": ("arguments",),
    "web_search": ("query",),
}
"""The items of `exec --json` that are calls, with what they were called with."""


def read_header(text: str) -> tuple[int | None, str]:
    """The exit code that Codex puts above what a command wrote, where nothing that it wrote may pass for one."""
    start = _OUTPUT.search(text[:HEADER])
    found = _CODE.search(text[: start.start()]) if start else None
    return (int(found[1]), text[start.end() :]) if start and found else (None, text)


def _unwrap_line(line: str) -> str:
    """The line that `/bin/bash -lc '…'` runs."""
    match = _LOGIN_SHELL.fullmatch(line)
    return match[2].replace("'\"'\"'", "'").replace("'\\''", "'") if match else line


def _is_rollout(row: Table) -> bool:
    return isinstance(row.get("payload"), Mapping) and isinstance(row.get("type"), str) and "timestamp" in row


def _is_output(row: Table) -> bool:
    kind = row.get("type")
    if kind == "error":
        return set(row) == {"type", "message"}
    return (
        (kind == "thread.started" and "thread_id" in row)
        or (kind in ("item.started", "item.updated", "item.completed") and isinstance(row.get("item"), Mapping))
        or kind in ("turn.started", "turn.completed", "turn.failed")
    )


def _id_of(row: ExportRow) -> str:
    payload = table(row.value.get("payload"))
    if row.value.get("type") == "session_meta":
        return text_of(payload.get("id"))
    return text_of(row.value.get("thread_id"))


CODEX = ExportFormat(
    name=NAME,
    signs=(KeySign((), _is_rollout), KeySign((), _is_output)),
    collect=lambda: SessionCollector(_Reader, _id_of),
)
