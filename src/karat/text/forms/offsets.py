"""From offsets in a normalised text back to offsets in the text as written."""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import NamedTuple
from unicodedata import is_normalized, normalize

from msgspec import Struct

from karat.text.forms.characters import INVISIBLE, all_spaces, folded, plain
from karat.text.regexes import lazy

Span = tuple[int, int]

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
    units: list[Stretch]

    def source_span(self, start: int, end: int) -> Span:
        source_start = self._of_char(start)[0]
        return source_start, self._of_char(end - 1)[1] if end > start else source_start

    def _of_char(self, index: int) -> Span:
        found = bisect_right(self.starts, index) - 1
        if found < 0:
            return index, index + 1
        unit = self.units[found]
        if index < unit.end:
            return unit.source_start, unit.source_end
        offset = unit.source_end + index - unit.end
        return offset, offset + 1


def fold_map(text: str, plain_text: str) -> OffsetMap | None:
    """The map from folded(text) to text; None if all offsets agree."""
    if text.isascii() or (_plain_keeps_offsets(text, plain_text) and _case_keeps_offsets(text)):
        # ASCII with \r\n is shorter as plain text, but has no other white space than all_spaces knows.
        return _map_of(_gap_units(text if text.isascii() else plain_text))
    return _map_of(_segment_units(text, _FOLD_SEGMENT, folded))


def plain_map(text: str, plain_text: str) -> OffsetMap | None:
    """The map from plain(text) to text; None if all offsets agree."""
    if _plain_keeps_offsets(text, plain_text):
        return None
    return _map_of(_segment_units(text, _PLAIN_SEGMENT, plain))


def _plain_keeps_offsets(text: str, plain_text: str) -> bool:
    # In a text that is in NFC already nothing grows: of the same length is one for one.
    return len(text) == len(plain_text) and (text.isascii() or is_normalized("NFC", text))


def _case_keeps_offsets(text: str) -> bool:
    # Folding case never shrinks, and composing what it took apart never grows.
    caseless = text.casefold()
    return len(caseless) == len(text) == len(normalize("NFC", caseless))


def _map_of(units: Iterator[Stretch]) -> OffsetMap | None:
    listed = list(units)
    return OffsetMap([unit.start for unit in listed], listed) if listed else None


def _gap_units(plain_text: str) -> Iterator[Stretch]:
    """Units of a text in which nothing but runs of white space changes its length."""
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


def _segment_units(text: str, segments: re.Pattern[str], change: Callable[[str], str]) -> Iterator[Stretch]:
    """Units of a text in which characters may vanish, melt together or grow."""
    shift = 0
    pieces_of = _Pieces(change)
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


class _Pieces:
    """Lengths of the pieces of a run before and after; each run and each cluster is looked at once."""

    def __init__(self, change: Callable[[str], str]) -> None:
        self._change = lru_cache(maxsize=None)(change)
        self._known: dict[str, list[tuple[int, int]]] = {}

    def __call__(self, run: str) -> list[tuple[int, int]]:
        pieces = self._known.get(run)
        if pieces is None:
            pieces = self._known[run] = self._split(run)
        return pieces

    def _split(self, run: str) -> list[tuple[int, int]]:
        """Cluster by cluster, or as one piece where clusters melt together; nothing if it changes one for one."""
        changed = self._change(run)
        if len(changed) == len(run) and _plain_keeps_offsets(run, plain(run)) and _case_keeps_offsets(run):
            return []
        clusters = _CLUSTER.findall(run)
        parts = [self._change(cluster) for cluster in clusters]
        if "".join(parts) != changed:
            return [(len(run), len(changed))]
        return [(len(cluster), len(part)) for cluster, part in zip(clusters, parts, strict=True)]
