"""Tools that the model's provider runs on its side: web search, code, MCP. They stand in the blocks of an answer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from karat.model.trace import ToolCall
from karat.targets.langgraph.callbacks import WrittenMessage
from karat.telemetry.tool_results import ToolOutcome, read_outcome
from karat.traces.clean import jsonable

NAMED = frozenset({"server_tool_call", "server_tool_use", "mcp_tool_use", "mcp_call"})
"""Blocks that say in `name` which tool it was; of others it is a part of their type: `web_search_call`."""
OURS = frozenset(
    {"function_call", "tool_call", "custom_tool_call", "invalid_tool_call", "computer_call", "local_shell_call"}
)
"""Calls that the agent runs itself."""
_CALL = re.compile(r"(\w+)_call")
_RESULT = re.compile(r"server_tool_result|\w+_tool_result|\w+_call_output|code_execution_result")
_IDS = ("tool_call_id", "tool_use_id", "call_id", "id")
_ENDED = frozenset({"completed", "success", "done", "incomplete", "failed", "error"})


def provider_calls(written: Iterable[WrittenMessage]) -> list[tuple[int, ToolCall]]:
    """The calls of a turn that the provider ran, each with the place of its message."""
    found: list[tuple[int, ToolCall]] = []
    blocks = [(entry, block) for entry in written for block in _blocks(entry.message)]
    results = {_id(block): block for _, block in blocks if _RESULT.fullmatch(block["type"])}
    seen: set[tuple[str, str]] = set()
    for entry, block in blocks:
        name = _name(block)
        key = (name or "", str(_id(block)))
        if name is None or (block.get("id") and key in seen):
            continue
        seen.add(key)
        found.append((entry.order, _call(name, block, results.get(_id(block)), entry.parent)))
    return found


def _blocks(message: Any) -> Iterator[dict[str, Any]]:
    if message.type != "ai":
        return
    content = message.content if isinstance(message.content, list) else []
    for block in (*content, *(message.additional_kwargs.get("tool_outputs") or ())):
        if isinstance(block, dict) and isinstance(block.get("type"), str):
            yield block


def _name(block: dict[str, Any]) -> str | None:
    kind = block["type"]
    if kind in NAMED:
        return str(block.get("name") or kind)
    if kind == "executable_code":
        return "code_execution"
    found = _CALL.fullmatch(kind)
    return found[1] if found and kind not in OURS else None


def _call(name: str, block: dict[str, object], answer: dict[str, object] | None, parent: str | None) -> ToolCall:
    given = next((block[key] for key in ("args", "input", "arguments", "action", "code") if key in block), None)
    source = block if answer is None else answer
    result = next(
        (source[key] for key in ("output", "content", "result", "results") if source.get(key) is not None), None
    )
    status = block.get("status") if answer is None else answer.get("status")
    error = block.get("error") or (answer or {}).get("error")
    ended = answer is not None or (isinstance(status, str) and status in _ENDED)
    return ToolCall(
        name,
        jsonable(given),
        id=str(_id(block)) if _id(block) is not None else None,
        result=jsonable(result),
        error=str(error) if error else None,
        success=_success(status, result, error=bool(error)) if ended else None,
        kind="provider",
        parent=parent,
    )


def _success(status: object, result: object, *, error: bool) -> bool | None:
    if error or _tells_of_error(result):
        return False
    told = read_outcome({"status": status}) if isinstance(status, str) else ToolOutcome.NOTHING
    return told.as_success(default=True)


def _tells_of_error(result: object) -> bool:
    """Anthropic's results have a type of their own where they failed."""
    first = result[0] if isinstance(result, list) and result else result
    kind = first.get("type") if isinstance(first, dict) else None
    return (isinstance(kind, str) and kind.endswith("_error")) or read_outcome(result) is ToolOutcome.FAILURE


def _id(block: dict[str, object]) -> object:
    return next((block[key] for key in _IDS if block.get(key)), None)
