"""What to write instead of what YAML refuses: its own messages name a token, and seldom the cause."""

from __future__ import annotations

import re
from collections.abc import Sequence

from yaml import Mark, MarkedYAMLError

_RESERVED = "@`%"
"""Characters that begin no plain text in YAML."""
_BRACE_TEXT = re.compile(r"(?:^|[:-]\s)\s*\{[^{}]*\}\s*[^\s,}\]#]")
_KEY_IN_VALUE = re.compile(r"^\s*(?:- )?[^\s'\"{\[][^:]*:\s+[^'\"{\[].*:(?:\s|$)")
_BEFORE_KEY = re.compile(r" *(?:- +)*")
_NO_SPACE = re.compile(r"^\s*(?:- +)*([\w-]+:)(?!//)[^\s:]")
_ENDS = {"sequence": ("list", "]"), "mapping": ("object", "}")}


def advise(error: MarkedYAMLError, text: str) -> str:
    """How to fix the text at the place of an error; empty where its message says enough."""
    mark = error.problem_mark or error.context_mark
    if mark is None:
        return ""
    lines = text.split("\n")
    line = lines[mark.line] if mark.line < len(lines) else ""
    problem, context = error.problem or "", error.context or ""
    if "\t" in line[: len(line) - len(line.lstrip())]:
        return "Indent with spaces: there is a tab."
    if "cannot start any token" in problem and line[mark.column : mark.column + 1] in tuple(_RESERVED):
        return f"Put a text that begins with {line[mark.column]} in quotes."
    if "escape character" in problem:
        return r"Write it in single quotes, as in '\d+': double quotes read \ themselves."
    if "scanning a quoted scalar" in context:
        return f"Close the quotes that begin in line {_line_of(error.context_mark)}."
    for kind, (noun, end) in _ENDS.items():
        if f"parsing a flow {kind}" in context:
            return f"Close the {noun} that begins in line {_line_of(error.context_mark)} with {end}."
    if "scanning an alias" in context or "scanning an anchor" in context:
        return f"Put a text that begins with {'*' if 'alias' in context else '&'} in quotes."
    if any(map(_BRACE_TEXT.search, lines[max(mark.line - 1, 0) : mark.line + 1])):
        return "Put a text that begins with { in quotes."
    if "mapping values" in problem and _KEY_IN_VALUE.match(line):
        return "Put a text with ': ' in quotes."
    if "mapping values" in problem or "expected ':'" in problem:
        for number in range(mark.line, max(mark.line - 2, -1), -1):
            if joined := _NO_SPACE.match(lines[number]) if number < len(lines) else None:
                return f"Put a space after '{joined[1]}' in line {number + 1}."
    return _advise_indentation(lines, mark.line)


def _line_of(mark: Mark | None) -> int:
    return 1 if mark is None else mark.line + 1


def _advise_indentation(lines: Sequence[str], number: int) -> str:
    """Where a line begins further in or out than the one above it."""
    above = next((line for line in reversed(lines[:number]) if line.strip()), "")
    line = lines[number] if number < len(lines) else ""
    if not above or not line.strip():
        return ""
    own, other = (len(each) - len(_BEFORE_KEY.sub("", each, count=1)) for each in (line, above))
    if own == other:
        return ""
    return f"Line up the keys of one object: this one begins in column {own + 1}, the one above it in {other + 1}."
