"""The exit code that the result of a command states, as data or as a line of text: `Process exited with code 1`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from carob.text.tool_names import is_any_named
from carob.text.tool_results import ENVELOPES, EXIT_CODES, fold_key, parse_result
from carob.text.words import PUBLISHED

HEAD_LINES = 8
TAIL_LINES = 6
"""Where tools state it: before the output of the command, or after it. The output itself states nothing."""
LINE = 200
DEEPEST = 4
_AROUND = frozenset((*ENVELOPES, "metadata", "extra", "observation", "state"))
_OUTPUT = re.compile(r"\s*(?:output|stdout)\s*:", re.IGNORECASE)


@lru_cache(maxsize=4096)
def is_shell_tool(name: str) -> bool:
    """Whether a tool runs a command line."""
    return is_any_named(PUBLISHED.entries("shell_tools"), name)


def stated_exit_code(result: object) -> int | None:
    """The exit code that a result of a command line states; None if it states none."""
    return _read(parse_result(result), 0)


def _read(result: object, depth: int) -> int | None:
    if isinstance(result, str):
        return _read_text(result)
    if isinstance(result, list) and all(isinstance(block, Mapping) for block in result):
        texts = [block["text"] for block in result if isinstance(block.get("text"), str)]
        return _read_text("\n".join(texts)) if texts else None
    if not isinstance(result, Mapping) or depth > DEEPEST:
        return None
    table = {fold_key(str(key)): value for key, value in result.items()}
    for key in EXIT_CODES:
        value = table.get(key)
        if key != "grpcstatus" and isinstance(value, int) and not isinstance(value, bool):
            return value
        if key != "grpcstatus" and isinstance(value, str) and re.fullmatch(r"-?\d{1,9}", value):
            return int(value)
    inner = (_read(value, depth + 1) for key, value in table.items() if key in _AROUND)
    return next((code for code in inner if code is not None), None)


def _read_text(text: str) -> int | None:
    """The first statement before the output, else the last one after it."""
    lines = text[: HEAD_LINES * LINE * 4].splitlines()[:HEAD_LINES]
    for line in lines:
        if _OUTPUT.match(line):
            break
        if (code := _read_line(line)) is not None:
            return code
    ends = [_read_line(line) for line in text[-TAIL_LINES * LINE * 4 :].splitlines()[-TAIL_LINES:]]
    return next((code for code in reversed(ends) if code is not None), None)


def _read_line(line: str) -> int | None:
    match = _statement().fullmatch(" ".join(line[:LINE].split()))
    return int(next(group for group in match.groups() if group is not None)) if match else None


@lru_cache(maxsize=1)
def _statement() -> re.Pattern[str]:
    forms = [re.escape(entry).replace("N", r"(-?\d{1,9})", 1) for entry in PUBLISHED.entries("exit_code_texts")]
    return re.compile("|".join(forms), re.IGNORECASE)
