"""Regexes as JavaScript means them, for suites of tools that are written in it: no flags, `$` is the very end."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

import regex

from karat.text.regexes import lazy, safe_regex
from karat.text.regexes.syntax import BadPattern

_FLAGS: Final = regex.VERSION0
_TOKEN: Final = lazy.pattern(r"\\k<\w+>|\\.|\(\?[a-z]+[:)]|\[\^?\]?|\]|[$.^]", re.DOTALL)
_ASCII: Final = {r"\d": "0-9", r"\w": "A-Za-z0-9_"}
_DENIED: Final = {r"\D": "0-9", r"\W": "A-Za-z0-9_"}
_NEWLINES: Final = "\\n\\r\\u2028\\u2029"


@lru_cache(maxsize=4096)
def translate(pattern: str) -> str:
    """The pattern for the `regex` module. Raises BadPattern for what JavaScript does not know."""
    in_class = False

    def token(match: re.Match[str]) -> str:
        nonlocal in_class
        found = match[0]
        if found.startswith("(?"):
            return found if in_class or found == "(?P" else _refuse(found)
        if found.startswith("\\k<"):
            return f"(?P={found[3:-1]})"
        if found.startswith("\\"):
            if found in _ASCII:
                return _ASCII[found] if in_class else f"[{_ASCII[found]}]"
            return f"[^{_DENIED[found]}]" if found in _DENIED and not in_class else found
        if found.startswith("[") and not in_class:
            in_class = not found.endswith("]")
            return {"[]": "(?!)", "[^]": r"[\s\S]"}.get(found, found)
        if found == "]":
            in_class = False
            return found
        if in_class:
            return found.replace("[", r"\[")
        return {"$": r"\Z", ".": f"[^{_NEWLINES}]"}.get(found, found)

    return _TOKEN.sub(token, pattern)


def _refuse(flags: str) -> str:
    raise BadPattern(f"JavaScript has no {flags}: write both letters, such as [Aa]")


def find(pattern: str, text: str, *, ignore_case: bool = False) -> tuple[int, int] | None:
    """Where the pattern first matches. Raises RegexTimeout."""
    return safe_regex.search_plain(translate(pattern), text, _FLAGS | (regex.IGNORECASE if ignore_case else 0))


def why_bad(pattern: str) -> str:
    """What is wrong with a pattern, if anything."""
    try:
        safe_regex.compile_pattern(translate(pattern), _FLAGS)
    except BadPattern as error:
        return str(error)
    return ""
