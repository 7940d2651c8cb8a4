"""What a file with a JSON value on each line is meant as, where a suite is wanted."""

from __future__ import annotations

import json
from typing import Any, Final

from carob.errors import UsageError

SUFFIXES: Final = (".jsonl", ".ndjson")
PROMPTS: Final = ("prompt", "input", "question", "query")
RECORDED: Final = frozenset({"messages", "trace", "tool_calls", "final_message", "resourceSpans", "case_id", "kind"})
"""Keys of lines of journals, recordings and exports."""


def refuse_lines(data: bytes, path: str) -> None:
    """Raise UsageError if this is a recording, or has one case on each line."""
    if not path.endswith(SUFFIXES):
        return
    try:
        first: Any = json.loads(data.lstrip().split(b"\n", 1)[0])
        json.loads(data.rstrip().rsplit(b"\n", 1)[-1])
    except ValueError:
        return  # what is wrong with the line says more
    if not isinstance(first, dict):
        return
    if first.get("kind") == "header":
        fix = f"Judge it again: carob rescore {path}"
        raise UsageError("is the journal of a run, not a suite.", where=path, fix=fix, slug="not-a-suite")
    if RECORDED & first.keys():
        fix = f"Judge it: carob run SUITE --target replay:{path}, or carob check {path} --rules RULES"
        raise UsageError("is a recording, not a suite.", where=path, fix=fix, slug="not-a-suite")
    if prompt := next((key for key in PROMPTS if key in first), ""):
        name = next((key for key in ("id", "name") if key in first), "row")
        fix = f"Name the file in one: cases: [{{each: {path}, id: '{{{name}}}', prompt: '{{{prompt}}}'}}]"
        raise UsageError("has one case on each line, and is not a suite.", where=path, fix=fix, slug="not-a-suite")
