"""Claude Code: `~/.claude/projects/*/ID.jsonl`, and what `claude -p … --output-format stream-json --verbose` writes.

A command that failed says "Exit code 1"; one that succeeded says no number. A row may be in both, with one `uuid`.
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

NAME: Final = "claude-code"
SHELL: Final = "Bash"
ROWS_WITHOUT_ID = {"summary": "leafUuid", "file-history-snapshot": "snapshot"}
STREAMED = frozenset({"system", "assistant", "user", "result", "stream_event", "rate_limit_event", "tool_progress"})
INPUT_TOKENS = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
_EXIT = re.compile(r"(?:Error: )?Exit code (\d{1,3})(?:\n|$)")
_REFUSED = re.compile(
    r"(?:Error: )?(?:This command requires approval|Permission to use .{1,200} (?:has been )?denied"
    r"|Permission for this (?:action|tool use) |The user doesn't want to |Claude requested permissions to "
    r"|[^\n]{1,400} was blocked\. For security|<tool_use_error>[^\n]{0,200}(?:denied|not permitted|not allowed))"
)
_ASIDE = ("<local-command-stdout>", "<local-command-stderr>", "<command-name>", "Caveat: ", "<bash-stdout>")


class _Reader:
    """One session, and those of the agents that it started within it."""

    def __init__(self, name: str, place: str) -> None:
        self.session = AgentSession(name, NAME, place)
        self._seen: set[str] = set()
        self._tools: dict[str, str] = {}

    def read(self, row: Table) -> None:
        uuid = text_of(row.get("uuid"))
        if uuid in self._seen:
            return
        self._seen |= {uuid} if uuid else set()
        kind = row.get("type")
        version = text_of(row.get("version")) or text_of(row.get("claude_code_version"))
        self.session.version = self.session.version or version
        if kind == "user":
            self._read_user(row)
        elif kind == "assistant":
            self._read_assistant(row)
        elif kind == "result":
            self._read_result(row)
        elif kind == "system" and row.get("subtype") == "init":
            self.session.model = text_of(row.get("model"))

    def _read_user(self, row: Table) -> None:
        content, time = table(row.get("message")).get("content"), read_time(row.get("timestamp"))
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else objects(content)
        is_result = any(block.get("type") == "tool_result" for block in blocks)
        for block in blocks:
            text = text_of(block.get("text"))
            if block.get("type") == "tool_result":
                self._end_call(block, row, time)
            elif text.startswith("[Request interrupted by user"):
                self.session.ended_by = "interrupted"
            elif text and not (is_result or _is_aside(row) or text.startswith(_ASIDE)):
                self.session.ended_by = ""
                self.session.add_prompt(text, time)

    def _end_call(self, block: Mapping[str, Any], row: Table, time: float | None) -> None:
        about = table(row.get("toolUseResult", row.get("tool_use_result")))
        id, result, failed = text_of(block.get("tool_use_id")), block.get("content"), block.get("is_error") is True
        text = join_text(result)
        code, is_shell = _EXIT.match(text) if failed else None, self._tools.get(id) == SHELL
        is_unclear = about.get("interrupted") or about.get("backgroundTaskId") or about.get("returnCodeInterpretation")
        self.session.end_call(
            id,
            text[code.end() :] if code and is_shell else text or result,
            exit_code=int(code[1]) if code and is_shell else 0 if is_shell and not (failed or is_unclear) else None,
            success=None if is_shell and is_unclear else not failed,
            refused=failed and _REFUSED.match(text) is not None,
            time=time,
        )

    def _read_assistant(self, row: Table) -> None:
        message, time = table(row.get("message")), read_time(row.get("timestamp"))
        name = text_of(message.get("id")) or text_of(row.get("uuid"))
        is_within = bool(row.get("isSidechain") or row.get("parent_tool_use_id"))
        content = message.get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else objects(content)
        if row.get("isApiErrorMessage") or (row.get("error") and message.get("model") == "<synthetic>"):
            self.session.fail("agent", join_text(blocks) or "the model failed")
            return
        if not is_within:
            self.session.model = text_of(message.get("model")) or self.session.model
            self.session.ended_by = BY_ITSELF if message.get("stop_reason") in ("end_turn", "stop_sequence") else ""
        for block in blocks:
            if block.get("type") == "text" and not is_within:
                self.session.add_words(text_of(block.get("text")), name, time)
            elif block.get("type") == "tool_use":
                self._read_call(block, row, name, time)

    def _read_call(self, block: Mapping[str, Any], row: Table, message: str, time: float | None) -> None:
        id, name = text_of(block.get("id")), text_of(block.get("name"))
        outer = self._tools.get(text_of(row.get("parent_tool_use_id")), "Task" if row.get("isSidechain") else None)
        self._tools[id] = name
        self.session.add_call(ToolCall(name, block.get("input"), id=id, message=message, parent=outer, started_at=time))

    def _read_result(self, row: Table) -> None:
        subtype = text_of(row.get("subtype"))
        self.session.tokens = count_tokens(row.get("usage"), INPUT_TOKENS, ("output_tokens",))
        for denial in objects(row.get("permission_denials")):
            id = text_of(denial.get("tool_use_id"))
            self.session.rename_call(id, refused=True, started=False, unfinished=True, success=False, exit_code=None)
        if subtype.startswith("error_max"):
            self.session.ended_by = subtype.removeprefix("error_")
        elif row.get("is_error") or subtype.startswith("error"):
            errors = "; ".join(text_of(error) for error in row.get("errors") or () if isinstance(error, str))
            self.session.fail("agent", text_of(row.get("result")) or errors or subtype)
        else:
            self.session.ended_by = BY_ITSELF

    def finish(self) -> None:
        """Nothing is left to be read."""


def read_failure(text: str) -> tuple[int | None, str] | None:
    """The exit code that a text begins with, which only failures have; anything may begin with "Exit code 0"."""
    match = _EXIT.match(text)
    return (int(match[1]), text[match.end() :]) if match and match[1].strip("0") else None


def _is_aside(row: Table) -> bool:
    """Whether a row of the user is of the program, or of an agent that the agent started."""
    asides = ("isMeta", "isSidechain", "parent_tool_use_id", "isCompactSummary", "isSynthetic")
    return any(row.get(key) for key in asides)


def _is_row(row: Table) -> bool:
    kind = row.get("type")
    if not isinstance(kind, str):
        return False
    if ROWS_WITHOUT_ID.get(kind, "") in row:
        return True
    if isinstance(row.get("sessionId"), str):
        return kind.islower() and "traceId" not in row
    return kind in STREAMED and isinstance(row.get("session_id"), str)


def _id_of(row: ExportRow) -> str:
    return text_of(row.value.get("sessionId")) or text_of(row.value.get("session_id"))


CLAUDE_CODE = ExportFormat(name=NAME, signs=(KeySign((), _is_row),), collect=lambda: SessionCollector(_Reader, _id_of))
