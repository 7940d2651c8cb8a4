"""What the checks saw of a change that they let through."""

from __future__ import annotations

import msgspec

from karat.checks.base import excerpt
from karat.model.trace import ToolCall, Trace

AROUND = 40
CALLS = 20


def evidence(before: Trace, after: Trace) -> str:
    """One bounded line about the first part of the trace that differs."""
    if before.final_message != after.final_message:
        return f"answer: {_difference(before.final_message, after.final_message)}"
    if before.tool_calls != after.tool_calls:
        return f"calls: {_calls(before.tool_calls, after.tool_calls)}"
    if before.telemetry != after.telemetry:
        return f"telemetry: {len(after.telemetry)} lines, {len(before.telemetry)} before"
    if before.page != after.page:
        return f"page: without {excerpt(_taken(before.page or '', after.page or ''))}"
    if before.database == after.database:
        return _measured(before, after)
    changed = next((sql for sql, rows in after.database.items() if before.database.get(sql) != rows), "")
    return f"database: {excerpt(f'{changed} gives {after.database.get(changed)}')}"


def _measured(before: Trace, after: Trace) -> str:
    if before.state != after.state:
        return f"state: {excerpt(str(after.state))}"
    names = ("duration_ms", "timings", "steps", "tokens")
    changed = next((name for name in names if getattr(before, name) != getattr(after, name)), "turns")
    return f"{changed}: {excerpt(str(getattr(after, changed)))}"


def _calls(before: tuple[ToolCall, ...], after: tuple[ToolCall, ...]) -> str:
    """The calls, of one that was given other arguments these too."""
    if len(before) == len(after):
        for was, now in zip(before, after, strict=True):
            if was.name == now.name and was.arguments != now.arguments:
                return excerpt(f"{now} with {msgspec.json.encode(now.arguments).decode()}")
    shown = [*map(str, after[:CALLS]), *(["…"] if len(after) > CALLS else [])]
    return excerpt(", ".join(shown)) or "none"


def _difference(before: str, after: str) -> str:
    """The changed part in brackets with the words around it."""
    if not after.strip():
        return "empty"
    start = _common(before, after)
    end = len(after) - _common(before[start:][::-1], after[start:][::-1])
    while start > 0 and start < end and not after[start - 1].isspace():
        start -= 1
    while start < end < len(after) and not after[end].isspace():
        end += 1
    left = after[max(0, start - AROUND) : start]
    right = after[end : end + AROUND]
    return excerpt(f"{'…' * (start > AROUND)}{left}[{after[start:end]}]{right}{'…' * (len(after) - end > AROUND)}")


def _taken(before: str, after: str) -> str:
    start = _common(before, after)
    return before[start : start + len(before) - len(after)]


def _common(one: str, other: str) -> int:
    """The length of the start that both share."""
    length = min(len(one), len(other))
    if one[:length] == other[:length]:
        return length
    low, high = 0, length
    while low < high - 1:
        middle = (low + high) // 2
        low, high = (middle, high) if one[:middle] == other[:middle] else (low, middle)
    return low
