"""Names of tools: a suite may name several with `*`, and what is forbidden is seen under every spelling of its name.

Every door reads names here. What is called is the full name of a call: its tool, and the MCP server where it is known.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from fnmatch import translate
from functools import lru_cache
from re import Pattern
from re import compile as compile_pattern
from typing import NamedTuple
from unicodedata import category

from carob.model.trace import SERVER_MARK
from carob.text.characters import widen_name
from carob.text.regexes import lazy
from carob.text.words import PUBLISHED

GENERIC = frozenset({"function", "functions", "tool", "tools", "defaultapi", "multitooluse", "mcp", "api"})
"""Name spaces that say nothing of which tool is meant."""
_JOINTS = lazy.pattern(r"[.:/\\|>#]|__+")
_OF_HOST = lazy.pattern(r"mcp__(.+?)__(.+)")
_PLUGIN = lazy.pattern(r"^([A-Z]\w*)-")
"""What some frameworks put before the name of a function: `Desk-send_email`."""
_REST = lazy.pattern(r"[\W_]+")
_WORD_ENDS = lazy.pattern(r"(?<=[a-z0-9])(?=[A-Z])")
_STAR_AT_WORD = lazy.pattern(r"[^\W_][\W_]+\*|\*[\W_]+[^\W_]")
_NAME = lazy.pattern(r"[^\W\d][\w.:/-]*")
GROUP_MARK = "@"
"""What the name of a group of tools begins with."""
ANY_EFFECT = "@effects"
"""In a suite: all tools of `effects`; among them: words that claim any of them."""
NO_TOOL = "none"
"""The key of `effects` for deeds that no tool of the agent can do."""
OR = " | "
"""Between the names that one means: `@effects` is read as `book_* | issue_refund`."""


def effect_tools(effects: Iterable[str]) -> list[str]:
    """The tools among the keys of `effects`."""
    return [tool for tool in effects if tool not in (ANY_EFFECT, NO_TOOL)]


@lru_cache(maxsize=4096)
def is_named(pattern: str, called: str) -> bool:
    """Whether a name of a suite, which may hold `*`, is that of a call."""
    return is_any_named((pattern,), called)


def is_any_named(patterns: Collection[str], called: str) -> bool:
    if SERVER_MARK in called:
        return any(is_any_named(patterns, spelling) for spelling in find_spellings(called))
    if called in patterns:
        return True
    return any(_pattern(name).fullmatch(called) for name in patterns if "*" in name or OR in name)


def read_host_name(spelled: str) -> tuple[str, str]:
    """The server and the tool of a name as coding agents spell it: `mcp__desk__pay`; no server for any other name."""
    match = _OF_HOST.fullmatch(spelled)
    return (match[1], match[2]) if match else ("", spelled)


def full_name(server: str, tool: str) -> str:
    return f"{server}{SERVER_MARK}{tool}" if server else tool


@lru_cache(maxsize=4096)
def find_spellings(called: str) -> tuple[str, ...]:
    """The names that a full name answers to: `pay` and `mcp__desk__pay` for the tool pay of the server desk."""
    server, mark, tool = called.partition(SERVER_MARK)
    return (tool, f"mcp__{server}__{tool}") if mark else (called,)


def why_may_be(patterns: Iterable[str], called: str) -> str | None:
    """Why a call may go to one of these tools, of which it is not known; None where it is known."""
    tool = _find_possible(tuple(patterns), called)
    if tool is None:
        return None
    shown = find_spellings(called)[-1]
    line = f"tool_names: {{{shown!r}: {tool!r}}}"
    return f"{shown!r} was called, which may be {tool!r} with a namespace. If it is, say so: {line}"


@lru_cache(maxsize=4096)
def _find_possible(patterns: tuple[str, ...], called: str) -> str | None:
    """The tool that a call may go to: its name ends in it after a name space; none where one is that tool."""
    names = [name for pattern in patterns for name in pattern.split(OR) if not is_every_tool(name)]
    if any(is_same_tool(name, called) for name in names):
        return None
    return next((name for name in names if may_be_same_tool(name, called)), None)


@lru_cache(maxsize=4096)
def is_helper(called: str) -> bool:
    """Whether a framework hands over the answer by such a call: it is not one of a tool of the agent."""
    return is_any_named(PUBLISHED.entries("framework_helpers"), called)


@lru_cache(maxsize=4096)
def plain_name(called: str) -> str:
    """The name of a call in plain letters, without a name space that says nothing: the same for all its spellings."""
    called = find_spellings(called)[0]
    return "".join(_own_parts(called)) or called


@lru_cache(maxsize=4096)
def is_same_tool(forbidden: str, called: str) -> bool:
    """Whether a call goes to a tool that is forbidden, under whatever spelling of its name."""
    if SERVER_MARK in called:
        return any(is_same_tool(forbidden, spelling) for spelling in find_spellings(called))
    return forbidden == called or any(
        ban.pattern.fullmatch(ban.joint.join(parts(called, ban.joint)))
        for ban in _bans(forbidden)
        for parts in (_own_parts, _parts)
    )


@lru_cache(maxsize=4096)
def may_be_same_tool(forbidden: str, called: str) -> bool:
    """Whether the name of a call ends with a forbidden one after a name space, so that it may be the same tool."""
    named = _PLUGIN.sub(r"\1.", find_spellings(called)[-1])
    return any(
        ban.pattern.fullmatch(ban.joint.join(parts[at:]))
        for ban in _bans(forbidden)
        for parts in (_parts(named, ban.joint),)
        for at in range(1, len(parts))
    )


def split_plugin(name: str) -> str:
    """What Semantic Kernel put before the name of a function, `Desk-`: it allows no other hyphen; empty for nothing."""
    plugin, hyphen, function = name.partition("-")
    return plugin + hyphen if plugin and function and "-" not in function else ""


@lru_cache(maxsize=4096)
def is_word_of(tool: str, words: str) -> bool:
    """Whether a text names a tool, as a word of its own."""
    return re.search(rf"(?<![\w-]){re.escape(tool)}(?![\w-])", words, re.IGNORECASE) is not None


def names_unseen_tool(tool: str, words: str, known: Collection[str]) -> bool:
    """Whether a text names a tool, or one that a pattern means, as a word of its own, and it is none of the known."""
    if "*" not in tool and OR not in tool:
        return tool not in known and is_word_of(tool, words)
    return any(name not in known and is_same_tool(tool, name) for name in _words_of(words))


@lru_cache(maxsize=64)
def _words_of(text: str) -> frozenset[str]:
    """The words of a text that may be names of tools: whole, and without the name space before them."""
    found = {word.strip("-.:/") for word in _NAME.findall(text)}
    return frozenset(found | {re.split(r"[.:/]", word)[-1] for word in found})


@lru_cache(maxsize=4096)
def is_named_in(tool: str, line: str) -> bool:
    """Whether a line names a tool, in whatever case and spelling."""
    return any(ban.pattern.search(ban.joint.join(_parts(line, ban.joint))) for ban in _bans(tool))


def is_every_tool(name: str) -> bool:
    """Whether a name of a suite means any tool at all."""
    return bool(name) and not name.strip("*")


def can_be_written(name: str) -> bool:
    """Whether a name in a suite means this tool, and not a group of tools, every tool or none."""
    is_plain = name == name.strip() != "" and name.isprintable() and not invisible_in(name)
    return is_plain and not name.startswith(GROUP_MARK) and not is_every_tool(name)


def invisible_in(name: str) -> str:
    """The first character of a name that no reader sees; the empty string if there is none."""
    return next((char for char in name if category(char) in ("Cf", "Cc", "Zl", "Zp")), "")


@lru_cache(maxsize=4096)
def _pattern(name: str) -> Pattern[str]:
    return compile_pattern("|".join(translate(part.replace("[", "[[]").replace("?", "[?]")) for part in name.split(OR)))


class _Ban(NamedTuple):
    """What finds a name in the letters of others, and what is between the words of these: `get_*` is not `getaway`."""

    pattern: Pattern[str]
    joint: str


@lru_cache(maxsize=4096)
def _bans(name: str) -> tuple[_Ban, ...]:
    """What finds each of the names, folded; nothing for one that has no letter."""
    bans = ((_ban_source(part), part) for part in name.split(OR))
    return tuple(_Ban(compile_pattern(source), _joint(part)) for source, part in bans if source)


def _joint(name: str) -> str:
    return "_" if _STAR_AT_WORD.search(name) else ""


def _ban_source(name: str) -> str:
    pieces = name.split("*")
    if not _joint(name):
        return ".*".join("".join(_own_parts(piece)) for piece in pieces)
    sources = ["_?".join("".join(_own_parts(piece))) for piece in pieces]
    for at, piece in enumerate(pieces):
        starts, ends = at > 0 and _REST.match(piece), at < len(pieces) - 1 and _REST.match(piece[-1:])
        sources[at] = "_" * bool(starts) + sources[at] + "_" * bool(ends)
    return ".*".join(sources)


@lru_cache(maxsize=4096)
def _own_parts(name: str, joint: str = "") -> tuple[str, ...]:
    """The parts of a name without a name space that says nothing."""
    parts = _parts(name, joint)
    while len(parts) > 1 and parts[0] in GENERIC:
        parts = parts[1:]
    return parts


@lru_cache(maxsize=4096)
def _parts(name: str, joint: str = "") -> tuple[str, ...]:
    """The parts of a name in small letters, with this joint between the words of one."""
    letters = _WORD_ENDS.sub(joint, widen_name(name)) if joint else widen_name(name)
    pieces = _JOINTS.split(letters.casefold())
    return tuple(part for piece in pieces if (part := _REST.sub(joint, piece).strip("_")))
