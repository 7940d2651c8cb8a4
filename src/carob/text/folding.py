"""The two forms of a text that checks look at, cached, with the way back to the text as written.

`fold` is what phrases are searched in: no case, one space between words. `lines` is what regexes see: lines and case
are kept. Both are in NFC with plain quotes, dashes and line ends and without invisible characters.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from functools import cache, lru_cache
from typing import NamedTuple
from unicodedata import is_normalized, normalize

from msgspec import Struct

from carob.text.characters import INVISIBLE, all_spaces, folded, folded_plain, plain, plain_spaces
from carob.text.regexes import lazy

Span = tuple[int, int]

# A text may have a mebibyte and is judged by many checks in a row: few entries, each used often.
_TEXTS = 8
_PHRASES = 16_384
_NO_SPACE = lazy.pattern("[^ ]")
_FOLD_SEGMENT = lazy.pattern(rf"(?P<gap>[{INVISIBLE}]*\s[\s{INVISIBLE}]*)|\S?[^\x00-\x7f\s]+")
_PLAIN_SEGMENT = lazy.pattern(r"\r\n|[^\r]?[^\x00-\x7f]+")
_CLUSTER = lazy.regex(rf"[{INVISIBLE}]++$|[{INVISIBLE}]*+\X(?:[{INVISIBLE}]|\p{{M}})*+")


class Stretch(NamedTuple):
    """A stretch of the source that became a stretch of another length, with no finer correspondence."""

    source_start: int
    source_end: int
    start: int
    end: int


class OffsetMap(Struct, frozen=True):
    """The stretches that changed their length, in order; everything between them changed one for one."""

    starts: list[int]
    stretches: list[Stretch]

    @classmethod
    def of(cls, stretches: Iterable[Stretch]) -> "OffsetMap | None":
        """The map of these stretches; None if there are none, so that all offsets agree."""
        listed = list(stretches)
        return cls([stretch.start for stretch in listed], listed) if listed else None

    def source_span(self, start: int, end: int) -> Span:
        source_start = self._source_of(start)[0]
        return source_start, self._source_of(end - 1)[1] if end > start else source_start

    def _source_of(self, index: int) -> Span:
        number = bisect_right(self.starts, index) - 1
        if number < 0:
            return index, index + 1
        stretch = self.stretches[number]
        if index < stretch.end:
            return stretch.source_start, stretch.source_end
        offset = stretch.source_end + index - stretch.end
        return offset, offset + 1


@lru_cache(maxsize=_TEXTS)
def glyphs(text: str) -> str:
    """Like `lines`, with wide and no-break spaces as they are: they group the digits of a number."""
    return plain(text)


@lru_cache(maxsize=_TEXTS)
def fold(text: str) -> str:
    """The text as phrases are searched in it."""
    return folded_plain(text if text.isascii() else glyphs(text))


def lines(text: str) -> str:
    """The text as regexes see it; offsets are those of `glyphs`."""
    # Most texts are seen as they are written, and finding that out costs less than remembering it.
    return text if text.isascii() and "\r" not in text else _lines(text)


@lru_cache(maxsize=_TEXTS)
def _lines(text: str) -> str:
    return plain_spaces(glyphs(text))


@lru_cache(maxsize=_PHRASES)
def fold_phrase(phrase: str) -> str:
    """The folded phrase; white space at an end stays as one space, because there it asks for the end of a word."""
    core, edges = folded(phrase), plain(phrase)
    if not core:
        return ""
    return " " * edges[0].isspace() + core + " " * edges[-1].isspace()


def original_span(text: str, start: int, end: int) -> Span:
    """The span of `text` that a span of `fold(text)` came from."""
    if text.isascii() and len(fold(text)) == len(text):
        return start, end  # of ASCII nothing but white space can change its length
    offsets = _fold_map(text)
    return (start, end) if offsets is None else offsets.source_span(start, end)


def original_span_of_lines(text: str, start: int, end: int) -> Span:
    """The span of `text` that a span of `lines(text)` (or of `glyphs(text)`) came from."""
    offsets = _plain_map(text)
    return (start, end) if offsets is None else offsets.source_span(start, end)


@lru_cache(maxsize=_TEXTS)
def _fold_map(text: str) -> OffsetMap | None:
    if text.isascii() or (_plain_keeps_offsets(text, glyphs(text)) and _case_keeps_offsets(text)):
        # ASCII with \r\n is shorter as plain text, but has no other white space than all_spaces knows.
        return OffsetMap.of(_gap_stretches(text if text.isascii() else glyphs(text)))
    return OffsetMap.of(_segment_stretches(text, _FOLD_SEGMENT, folded))


@lru_cache(maxsize=_TEXTS)
def _plain_map(text: str) -> OffsetMap | None:
    if _plain_keeps_offsets(text, glyphs(text)):
        return None
    return OffsetMap.of(_segment_stretches(text, _PLAIN_SEGMENT, plain))


def _plain_keeps_offsets(text: str, plain_text: str) -> bool:
    # In a text that is in NFC already nothing grows: of the same length is one for one.
    return len(text) == len(plain_text) and (text.isascii() or is_normalized("NFC", text))


def _case_keeps_offsets(text: str) -> bool:
    # Folding case never shrinks, and composing what it took apart never grows.
    caseless = text.casefold()
    return len(caseless) == len(text) == len(normalize("NFC", caseless))


def _gap_stretches(plain_text: str) -> Iterator[Stretch]:
    """Stretches of a text in which nothing but runs of white space changes its length."""
    spaced = all_spaces(plain_text)
    shift = len(spaced) - len(spaced.lstrip(" "))
    if shift:
        yield Stretch(0, shift, 0, 0)
    start = spaced.find("  ", shift)
    while start >= 0:
        word = _NO_SPACE.search(spaced, start)
        end = word.start() if word else len(spaced)
        yield Stretch(start, end, start - shift, start - shift + 1)
        shift += end - start - 1
        start = spaced.find("  ", end)


def _segment_stretches(text: str, segments: re.Pattern[str], change: Callable[[str], str]) -> Iterator[Stretch]:
    """Stretches of a text in which characters may vanish, melt together or grow."""
    shift = 0
    change = cache(change)
    # Each run is looked at once: a long text repeats its own.
    pieces_of = cache(lambda run: _split_run(run, change))
    for segment in segments.finditer(text):
        start, end = segment.span()
        if segment.lastgroup == "gap":
            outer = start == shift or end == len(text)
            pieces = [(end - start, 0 if outer else 1)]
        else:
            pieces = pieces_of(segment[0])
        for source_length, length in pieces:
            if source_length != 1 or length != 1:
                yield Stretch(start, start + source_length, start - shift, start - shift + length)
            start += source_length
            shift += source_length - length


def _split_run(run: str, change: Callable[[str], str]) -> list[Span]:
    """The length before and after of each cluster, or of the run where clusters melt; none if it is one for one."""
    changed = change(run)
    if len(changed) == len(run) and _plain_keeps_offsets(run, plain(run)) and _case_keeps_offsets(run):
        return []
    clusters = _CLUSTER.findall(run)
    parts = [change(cluster) for cluster in clusters]
    if "".join(parts) != changed:
        return [(len(run), len(changed))]
    return [(len(cluster), len(part)) for cluster, part in zip(clusters, parts, strict=True)]
