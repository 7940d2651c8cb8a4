"""What a key of a file was meant to be: typing errors, other spellings, and the words that other tools use for it."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import cache

from carob.text.wording import find_nearest, join_words, likeness, quoted
from carob.text.words import PUBLISHED

_WORD_START = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_TYPING_ERROR = 0.85
"""As much as a key must be like a known one to be suggested next to the words of other tools."""
MOST = 2
"""As many keys as a message suggests."""


@cache
def synonym_groups() -> tuple[tuple[str, ...], ...]:
    """Words for one thing, the keys of Carob first."""
    return tuple(tuple(group.split()) for group in PUBLISHED.entries("key_synonyms"))


def meant_keys(key: str, valid: Collection[str]) -> list[str]:
    """The valid keys that an unknown one may mean, the likeliest first, at most MOST."""
    words = synonyms_of(key, valid)
    near = find_nearest(key, valid)
    if near and (not words or likeness(key, near) >= _TYPING_ERROR):
        words.append(near)
    return list(dict.fromkeys(words))[:MOST]


def suggest_keys(key: str, valid: Collection[str]) -> str:
    """`Did you mean 'x' or 'y'?`, or nothing."""
    keys = meant_keys(key, valid)
    return f"Did you mean {join_words(map(quoted, keys))}?" if keys else ""


def synonyms_of(key: str, valid: Collection[str]) -> list[str]:
    """The valid keys that are another spelling of this one, or another word for it."""
    spelled = _spelling(key)
    alike = [name for name in valid if _spelling(name) == spelled]
    return alike or [name for group in synonym_groups() if spelled in group for name in group if name in valid]


def _spelling(key: str) -> str:
    """A key as Carob spells its own: `mustSayAny` and `must-say-any` are `must_say_any`."""
    return _WORD_START.sub("_", key).replace("-", "_").replace(" ", "_").casefold()
