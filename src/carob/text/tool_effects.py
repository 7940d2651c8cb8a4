"""Which tools most likely change something, and the words that claim it: by their names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

from carob.text.tool_names import effect_tools, is_any_named, is_named
from carob.text.words import PUBLISHED

READING = frozenset(PUBLISHED.entries("reading_tools"))
IRREGULAR = dict(entry.split(" ", 1) for entry in PUBLISHED.entries("irregular_verbs"))
CHANGING = frozenset(PUBLISHED.entries("changing_tools"))
_JOINING = frozenset(("and", "or", "then"))
_NOUNS = frozenset(PUBLISHED.entries("changed_things"))
_LOOKED_AT = frozenset(PUBLISHED.entries("looked_at"))
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_DOUBLED = frozenset(PUBLISHED.entries("doubled_verbs"))
_BRITISH = frozenset(("cancel",))
_HANDOFF = re.compile(r"(?:.*[.:/]|.*__)?(?:transfer|hand_?off|delegate)(?:_back)?_to_", re.IGNORECASE)
"""Names that frameworks give to tools by which one agent hands a conversation over to another."""
_MONEY = frozenset(("account", "accounts", "bank", "card", "iban", "recipient", "savings", "wallet"))


def is_handoff(tool: str) -> bool:
    """Whether a tool most likely hands the conversation over, which changes nothing outside of it."""
    match = _HANDOFF.match(tool)
    return match is not None and _MONEY.isdisjoint(tool[match.end() :].lower().split("_"))


@lru_cache(maxsize=4096)
def changing_words(tool: str) -> tuple[str, ...]:
    """The words of a tool's name that say what it changes; none for one that most likely only looks."""
    if is_handoff(tool):
        return ()
    deeds: list[list[str]] = [[]]
    for word in _WORDS.findall(tool.rpartition(".")[2]):
        if word.lower() in _JOINING:
            deeds.append([])
        else:
            deeds[-1].append(word.lower())
    changes = (word for words in deeds if not _looks(words) for word in words if word in CHANGING)
    return tuple(dict.fromkeys(changes))


def _looks(words: list[str]) -> bool:
    """Whether the words of a name say that something is looked at: `get_order`, `order_status`."""
    return bool(words) and (words[0] in READING or (words[0] in _NOUNS and words[-1] in _LOOKED_AT))


def participles(verb: str) -> list[str]:
    """How an answer says that it was done."""
    if verb in IRREGULAR:
        return [IRREGULAR[verb]]
    if verb.endswith("e"):
        return [f"{verb}d"]
    if verb.endswith("y") and verb[-2:-1] not in "aeiou":
        return [f"{verb[:-1]}ied"]
    if verb in _DOUBLED and verb != "mail":
        doubled = f"{verb}{verb[-1]}ed"
        return [doubled, f"{verb}ed"] if verb in _BRITISH else [doubled]
    return [f"{verb}ed"]


def known_effects(tools: Iterable[str], declared: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """What these tools change: as declared, and by its name for a tool that no declaration names."""
    patterns = effect_tools(declared)
    used = {key: words for key, words in declared.items() if any(is_named(key, tool) for tool in tools)}
    general = {key: words for key, words in declared.items() if key not in patterns} if used else {}
    return {**used, **likely_effects(tool for tool in tools if not is_any_named(patterns, tool)), **general}


def likely_effects(tools: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """The tools that most likely change something, each with the words that claim it."""
    words_of = {tool: changing_words(tool) for tool in sorted(tools)}
    return {
        tool: tuple(participle for word in words for participle in participles(word))
        for tool, words in words_of.items()
        if words
    }
