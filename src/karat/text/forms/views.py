"""Views of a text: what a reader sees of it, and the text as written without what is hidden, each with the way back."""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final

from msgspec import Struct

from karat.text.forms.markup import MARKS, Edit, Markup, scan
from karat.text.forms.offsets import OffsetMap, Span, Stretch
from karat.text.regexes import lazy

_TEXTS: Final = 8
_NOT_PLAIN: Final = MARKS.encode() + bytes((*range(0x09), *range(0x0E, 0x1C), 0x7F))
"""Without these, and dots and hyphens in some places, a reader of ASCII sees what is written."""
_HYPHEN_AT_LINE_END = lazy.pattern(r"-[ \t]*\r?\n")
_INITIALS: Final = lazy.pattern(r"(?<!\w)(?:[^\W\d_]\.)+[^\W\d_]\b\.?")
_LAST_INITIAL: Final = lazy.pattern(r"\.[^\W\d_](?!\w)")  # found fast, because it begins with a dot
_MARKUP: Final = frozenset("*_~`[]<>&\\/")


class View(Struct, frozen=True):
    """A text made from another one; `offsets` of None means that they are the same."""

    text: str
    offsets: OffsetMap | None = None

    def span(self, start: int, end: int) -> Span:
        """The span of the source that a span of this text came from."""
        return (start, end) if self.offsets is None else self.offsets.source_span(start, end)


@lru_cache(maxsize=_TEXTS)
def is_plain(text: str) -> bool:
    """Whether all views and forms of a text are the same: most answers are plain, and finding out is cheap."""
    if not text.isascii() or _HYPHEN_AT_LINE_END.search(text):
        return False
    written = text.encode()
    if len(written.translate(None, _NOT_PLAIN)) < len(written):  # in a third of the time of a regex
        return False
    return next(initials(text), None) is None


def initials(text: str) -> Iterator[re.Match[str]]:
    """Letters with dots between them, as in "A.I."."""
    return _INITIALS.finditer(text) if _LAST_INITIAL.search(text) else iter(())


@lru_cache(maxsize=_TEXTS)
def rendered_view(text: str) -> View:
    """What a reader sees: markup rendered, what is hidden or is only in markup left out."""
    found = _markup(text)
    if found is None:
        return View(text)
    return apply_edits(text, [*found.edits, *_removals(found.hidden), *_removals(found.unseen)])


@lru_cache(maxsize=_TEXTS)
def without_hidden(text: str) -> View:
    """The text as written, with its markup, without what is hidden."""
    found = _markup(text)
    return View(text) if found is None else apply_edits(text, list(_removals(found.hidden)))


@lru_cache(maxsize=_TEXTS)
def visible_words(text: str) -> View:
    """The text as written, with its markup, without what is hidden and what is only in markup."""
    found = _markup(text)
    return View(text) if found is None else apply_edits(text, [*_removals(found.hidden), *_removals(found.unseen)])


@lru_cache(maxsize=_TEXTS)
def all_words(text: str) -> View:
    """All words of the text, hidden ones too, without the markup between them."""
    found = _markup(text)
    return View(text) if found is None else apply_edits(text, [*found.edits, *found.loose])


def where_required(text: str, wanted: str) -> tuple[View, ...]:
    """Where wanted words count: in what a reader sees, and as written if they speak of markup themselves."""
    return (without_hidden(text), rendered_view(text)) if has_markup(wanted) else (rendered_view(text),)


def has_markup(wanted: str) -> bool:
    """Whether a phrase or regex holds characters of markup, or may be an address."""
    return not _MARKUP.isdisjoint(wanted)


def apply_edits(text: str, edits: list[Edit]) -> View:
    """The text with these edits; of two that overlap the one that begins first counts, and the longer one."""
    if not edits:
        return View(text)
    edits.sort(key=lambda edit: (edit.start, -edit.end))
    pieces: list[str] = []
    stretches: list[Stretch] = []
    done = length = 0
    for start, end, replacement in edits:
        if end <= done and start < done:
            continue
        start = max(start, done)
        pieces += text[done:start], replacement
        length += start - done
        stretches.append(Stretch(start, end, length, length + len(replacement)))
        length += len(replacement)
        done = end
    pieces.append(text[done:])
    return View("".join(pieces), OffsetMap([stretch.start for stretch in stretches], stretches))


@lru_cache(maxsize=_TEXTS)
def _markup(text: str) -> Markup | None:
    return scan(text)


def _removals(spans: Iterable[Span]) -> Iterable[Edit]:
    return (Edit(start, end) for start, end in spans)
