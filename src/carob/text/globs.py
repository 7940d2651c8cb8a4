"""Patterns for paths: `*` and `?` stay within a folder, `**` goes through folders, `[ab]` is one of these.

`folder/**` is the folder as well: who may write all that is in it may make it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from carob.text.words import PUBLISHED


@lru_cache(maxsize=4096)
def compile_glob(pattern: str) -> re.Pattern[str]:
    """What a path must be as a whole; `folder/` is all in it, and `**/x` is found at the top too."""
    pattern = pattern.removeprefix("./")
    pattern = f"{pattern}**" if pattern.endswith("/") else pattern
    parts, at = [], 0
    while at < len(pattern):
        if pattern.startswith("**/", at):
            parts.append("(?:[^/]+/)*")
            at += 3
        elif pattern[at:] == "/**" and at:
            parts.append("(?:/.*)?")
            at += 3
        elif pattern.startswith("**", at):
            parts.append(".*")
            at += 2
        elif pattern[at] == "[" and (end := pattern.find("]", at + 2)) > 0:
            inner = pattern[at + 1 : end].replace("\\", r"\\")
            parts.append(f"[{'^' + inner[1:] if inner[0] == '!' else inner}]")
            at = end + 1
        else:
            parts.append({"*": "[^/]*", "?": "[^/]"}.get(pattern[at], re.escape(pattern[at])))
            at += 1
    return re.compile("".join(parts), re.DOTALL)


def matches_glob(pattern: str, path: str) -> bool:
    return compile_glob(pattern).fullmatch(path) is not None


def matches_any(patterns: Iterable[str], path: str) -> bool:
    return any(matches_glob(pattern, path) for pattern in patterns)


def why_bad_glob(pattern: str) -> str:
    """Why no path can be matched by a pattern; nothing where one can."""
    if not pattern.strip():
        return "an empty pattern is the path of no file."
    if pattern.startswith("../") or "/../" in pattern:
        return "`..` is in no path of a workspace: write paths as they are below it."
    try:
        compile_glob(pattern)
    except re.error as error:
        return f"the pattern cannot be read: {error}."
    return ""


IGNORED = PUBLISHED.entries("agent_caches")
