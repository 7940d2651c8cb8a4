"""Texts of others as HTML that is nothing but text, with the evidence of checks marked in them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from itertools import pairwise
from typing import Final, NamedTuple

from karat.reports.escaping import replace_hidden

_RANK: Final = ("error", "failed", "unknown", "passed")
# A joiner between pictures makes one of several, and hides nothing.
_joined = re.compile("(?<=[\u2600-\u27bf\ufe0f\U0001f000-\U0001faff])\u200d(?=[\u2600-\u27bf\U0001f000-\U0001faff])")
_JOINER: Final = "\ue000"
_careful = re.compile(r"[^\w .,;:!?()\[\]{}/|*+=#%$@^~-]", re.ASCII)


class Mark(NamedTuple):
    """A span of a text in which a check found its evidence."""

    start: int
    end: int
    check: int
    status: str


def escape_text(text: str) -> str:
    """Text as HTML, within a line or in an attribute: no tags, and nothing hidden or reordered."""
    if not _careful.search(text):
        return text  # most texts are short and plain
    kept = "\u200d" in text and _JOINER not in text
    text = replace_hidden(_joined.sub(_JOINER, text) if kept else text, _wrap_mark)
    text = escape(text).replace(_OPEN, '<span class="unseen">').replace(_CLOSE, "</span>")
    return text.replace(_JOINER, "\u200d") if kept else text


def escape_body(text: str) -> str:
    """Text as HTML within an element alone, where quotes may be: they are a tenth of all JSON."""
    return escape_text(text).replace("&quot;", '"').replace("&#x27;", "'")


_OPEN, _CLOSE = "\x00(", "\x00)"


def _wrap_mark(spelled: str) -> str:
    return f"{_OPEN}{spelled}{_CLOSE}"


def attribute(text: str) -> str:
    """Text for an attribute: what is hidden is spelled out without a tag around it."""
    return escape(replace_hidden(text, str))


def worst_status(statuses: Sequence[str]) -> str:
    """The status shown for all of these; none for none."""
    return min(statuses, key=lambda status: _RANK.index(status) if status in _RANK else 0, default="")


class Marker:
    """Marks the evidence in one text, piece by piece; the first mark of each check carries its anchor."""

    def __init__(self, marks: Iterable[Mark], anchor: str) -> None:
        self._marks = sorted(mark for mark in marks if mark.end > mark.start)
        self._anchor = anchor
        self.placed: set[int] = set()

    @property
    def wanted(self) -> set[int]:
        """The checks that have evidence in this text."""
        return {mark.check for mark in self._marks}

    def html(self, text: str, offset: int | None = 0) -> str:
        """A piece of the text that begins at `offset`; None: its place is unknown."""
        if offset is None or not self._marks:
            return escape_text(text)
        end = offset + len(text)
        here = [mark for mark in self._marks if mark.start < end and mark.end > offset]
        cuts = sorted({offset, end, *(cut for mark in here for cut in mark[:2] if offset < cut < end)})
        return "".join(
            self._piece(text[a - offset : b - offset], [mark for mark in here if mark.start <= a and mark.end >= b])
            for a, b in pairwise(cuts)
        )

    def _piece(self, text: str, marks: Sequence[Mark]) -> str:
        if not marks or not text.strip():
            return escape_text(text)
        checks = dict.fromkeys(mark.check for mark in marks)
        status = worst_status([mark.status for mark in marks])
        first = [check for check in checks if check not in self.placed]
        self.placed.update(checks)
        anchors = "".join(f'<a id="{self._anchor}-e{check}"></a>' for check in first)
        numbers = " ".join(map(str, checks))
        return f'{anchors}<mark class="{status}" data-c="{numbers}">{escape_text(text)}</mark>'
