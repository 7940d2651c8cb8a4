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
SHORT: Final = 3
_word = re.compile(r"(\w+(?:[.,:'’/-]\w+)*|[^\w\s])(\s*)")

Word = tuple[str, str]
"""A word, a number or a sign, and the space after it."""


def has_useful_difference(one: str, other: str) -> bool:
    """Whether a difference of the two says more than both: neither is but a part of the other."""
    if one.casefold() in other.casefold() or other.casefold() in one.casefold():
        return False
    a, b = ([word for word, _ in _words(text)] for text in (one, other))
    if not a or not b or max(len(a), len(b)) > MOST_WORDS:
        return False
    matcher = SequenceMatcher(None, a, b, autojunk=False)
    return matcher.real_quick_ratio() >= ALIKE and matcher.quick_ratio() >= ALIKE and matcher.ratio() >= ALIKE


def difference(old: str, new: str) -> str:
    """HTML in which `del` is only in the first text and `ins` only in the second, with a space between the two."""
    start = new[: len(new) - len(new.lstrip())]
    return start + "".join(_pieces(_words(old)[:MOST_WORDS], _words(new)[:MOST_WORDS]))


def _pieces(a: list[Word], b: list[Word]) -> Iterator[str]:
    for gone, come, is_same in _runs(a, b):
        if is_same:
            yield escape_text(_text(come))
            continue
        changed = [
            f"<{tag}>{escape_text(_text(part).rstrip())}</{tag}>"
            for tag, part in (("del", gone), ("ins", come))
            if part
        ]
        yield " ".join(changed) + (come or gone)[-1][1]


def _runs(a: list[Word], b: list[Word]) -> Iterator[tuple[list[Word], list[Word], bool]]:
    """Parts of both texts that are the same, or that replace each other; a single short word between changes is one."""
    gone: list[Word] = []
    come: list[Word] = []
    old, new = ([word for word, _ in words] for words in (a, b))
    codes = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    for number, (tag, a1, a2, b1, b2) in enumerate(codes):
        short = b2 - b1 == 1 and len(b[b1][0]) <= SHORT and "\n" not in b[b1][1]
        if tag == "equal" and not (short and 0 < number < len(codes) - 1):
            if gone or come:
                yield gone, come, False
            # The end of one text may be in the middle of the other: its space is needed there.
            yield [], [(word, max(space, b[b1 + at][1], key=len)) for at, (word, space) in enumerate(a[a1:a2])], True
            gone, come = [], []
        else:
            gone, come = gone + a[a1:a2], come + b[b1:b2]
    if gone or come:
        yield gone, come, False


def _words(text: str) -> list[Word]:
    return _word.findall(text)


def _text(words: list[Word]) -> str:
    return "".join(word + space for word, space in words)
