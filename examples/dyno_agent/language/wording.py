"""The words after the tools: their own messages, with the rows that a message leaves out."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import ToolMessage

MAX_ROWS = 20
UNREADABLE = "Sorry, I could not read the answer of a tool. Please try again."


def words_for(results: Sequence[ToolMessage]) -> str:
    """The answer to the user after one round of tools."""
    return "\n".join(_words(result) for result in results)


def _words(result: ToolMessage) -> str:
    content = _structured(result)
    if content is None:
        return UNREADABLE
    words = str(content["message"])
    rows = content.get("rows")
    if isinstance(rows, list) and rows:
        words += "\n" + "\n".join(_row(row) for row in rows[:MAX_ROWS])
        if len(rows) > MAX_ROWS:
            words += f"\n… and {len(rows) - MAX_ROWS} more rows"
    if content.get("missing_fields"):
        words += " What shall I use?"
    return words


def _structured(result: ToolMessage) -> Mapping[str, Any] | None:
    try:
        content = json.loads(result.text)
    except ValueError:
        return None
    return content if isinstance(content, dict) and "message" in content else None


def _row(row: Mapping[str, Any]) -> str:
    return "- " + ", ".join(f"{name}: {value}" for name, value in row.items())
