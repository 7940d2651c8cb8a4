"""Two texts word by word: what one has and the other has not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Final

from karat.reports.html.marks import escape_text

MOST_WORDS: Final = 1_500
ALIKE: Final = 0.35
"""Texts that have less in common are clearer side by side."""
_word = re.compile(r"\s+|\w+|[^\w\s]")


def alike(one: str, other: str) -> bool:
    """Whether a difference of the two says more than both: neither is but a part of the other."""
    if one.casefold() in other.casefold() or other.casefold() in one.casefold():
        return False
    a, b = _words(one), _words(other)
    if not a or not b or max(len(a), len(b)) > MOST_WORDS:
        return False
    matcher = SequenceMatcher(None, a, b, autojunk=False)
    return matcher.real_quick_ratio() >= ALIKE and matcher.quick_ratio() >= ALIKE and matcher.ratio() >= ALIKE


def difference(old: str, new: str) -> str:
    """HTML in which `del` is only in the first text and `ins` only in the second."""
    return "".join(_pieces(_words(old)[:MOST_WORDS], _words(new)[:MOST_WORDS]))


def _pieces(a: list[str], b: list[str]) -> Iterator[str]:
    for tag, a1, a2, b1, b2 in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        gone, come = "".join(a[a1:a2]), "".join(b[b1:b2])
        if tag == "equal":
            yield escape_text(gone)
            continue
        if gone:
            yield f"<del>{escape_text(gone)}</del>"
        if come:
            yield f"<ins>{escape_text(come)}</ins>"


def _words(text: str) -> list[str]:
    return _word.findall(text)
