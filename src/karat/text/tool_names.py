"""Names of tools as what is forbidden sees them: `Delete_User`, `functions.delete_user` and `delete_user ` are one."""

from __future__ import annotations

import re
from functools import lru_cache
from unicodedata import category, normalize

from karat.text.forms.characters import plain
from karat.text.forms.look_alikes import ASCII_OF
from karat.text.regexes import lazy

GENERIC = frozenset({"function", "functions", "tool", "tools", "defaultapi", "multitooluse", "mcp", "api"})
"""Name spaces that say nothing of which tool is meant."""
_JOINTS = lazy.pattern(r"[.:/\\|>#]|__+")
_PLUGIN = lazy.pattern(r"^([A-Z]\w*)-")
"""What some frameworks put before the name of a function: `Desk-send_email`."""
_REST = lazy.pattern(r"[\W_]+")


def is_same_tool(forbidden: str, called: str) -> bool:
    """Whether a call goes to a tool that is forbidden, under whatever spelling of its name."""
    if forbidden == called:
        return True
    ban = "".join(_own(forbidden))
    return bool(ban) and ban in ("".join(_own(called)), "".join(_parts(called)))


def may_be_same_tool(forbidden: str, called: str) -> bool:
    """Whether the name of a call ends with a forbidden one behind a name space, so that it may be the same tool."""
    ban, parts = "".join(_own(forbidden)), _parts(_PLUGIN.sub(r"\1.", called))
    return bool(ban) and any("".join(parts[at:]) == ban for at in range(1, len(parts)))


@lru_cache(maxsize=4096)
def is_word_of(tool: str, words: str) -> bool:
    """Whether a text names a tool, as a word of its own."""
    return re.search(rf"(?<![\w-]){re.escape(tool)}(?![\w-])", words, re.IGNORECASE) is not None


@lru_cache(maxsize=4096)
def named_in(tool: str, line: str) -> bool:
    """Whether a line names a tool, in whatever case and spelling."""
    ban = "".join(_own(tool))
    return bool(ban) and ban in "".join(_parts(line))


@lru_cache(maxsize=4096)
def _own(name: str) -> tuple[str, ...]:
    """The parts of a name without a name space that says nothing."""
    parts = _parts(name)
    while len(parts) > 1 and parts[0] in GENERIC:
        parts = parts[1:]
    return parts


@lru_cache(maxsize=4096)
def _parts(name: str) -> tuple[str, ...]:
    if not name.isascii():
        seen = normalize("NFKD", plain(normalize("NFKC", name)))
        name = "".join(ASCII_OF.get(char, char) for char in seen if category(char) not in ("Mn", "Cf", "Cc"))
    return tuple(part for piece in _JOINTS.split(name.casefold()) if (part := _REST.sub("", piece)))
