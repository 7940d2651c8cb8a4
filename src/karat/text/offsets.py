"""From offsets in a normalised text back to offsets in the text as written."""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple
from unicodedata import is_normalized

import regex

from karat.text.characters import INVISIBLE, folded, plain

Span = tuple[int, int]

# Characters that may melt into a neighbour or vanish; without them a normal text changes one for one.
_MELTING = regex.compile(rf"[{INVISIBLE}\p{{M}}\u1100-\u11ff\ua960-\ua97c\ud7b0-\ud7fb]")
_WIDE_GAP = re.compile(r"\s{2,}")
_FOLD_SEGMENT = re.compile(rf"(?P<gap>[{INVISIBLE}]*\s[\s{INVISIBLE}]*)|\S?[^\x00-\x7f\s]+")
_PLAIN_SEGMENT = re.compile(r"\r\n|[^\r]?[^\x00-\x7f]+")
_CLUSTER = regex.compile(rf"[{INVISIBLE}]++$|[{INVISIBLE}]*+\X(?:[{INVISIBLE}]|\p{{M}})*+")


class _Unit(NamedTuple):
    """A stretch of the source that became a stretch of another length, with no finer correspondence."""

    source_start: int
    source_end: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class OffsetMap:
    """The stretches that changed their length, in order; everything between them changed one for one."""

    starts: list[int]
    units: list[_Unit]

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


def fold_map(text: str) -> OffsetMap | None:
    """The map from folded(text) to text; None if all offsets agree."""
    if text.isascii() or (_keeps_characters(text) and len(text.casefold()) == len(text)):
        return _map_of(_gap_units(text))
    return _map_of(_segment_units(text, _FOLD_SEGMENT, folded))


def plain_map(text: str) -> OffsetMap | None:
    """The map from plain(text) to text; None if all offsets agree."""
    if "\r\n" not in text and _keeps_characters(text):
        return None
    return _map_of(_segment_units(text, _PLAIN_SEGMENT, plain))


def _keeps_characters(text: str) -> bool:
    return text.isascii() or (is_normalized("NFC", text) and not _MELTING.search(text))


def _map_of(units: Iterator[_Unit]) -> OffsetMap | None:
    listed = list(units)
    return OffsetMap([unit.start for unit in listed], listed) if listed else None


def _gap_units(text: str) -> Iterator[_Unit]:
    lead = len(text) - len(text.lstrip())
    if lead:
        yield _Unit(0, lead, 0, 0)
    shift = lead
    for gap in _WIDE_GAP.finditer(text, lead):
        start, end = gap.span()
        yield _Unit(start, end, start - shift, start - shift + 1)
        shift += end - start - 1


def _segment_units(text: str, segments: re.Pattern[str], change: Callable[[str], str]) -> Iterator[_Unit]:
    """Units of a text in which characters may vanish, melt together or grow."""
    shift = 0
    for segment in segments.finditer(text):
        start, end = segment.span()
        if segment.lastgroup == "gap":
            outer = start == shift or end == len(text)
            pieces: list[tuple[int, int]] = [(end - start, 0 if outer else 1)]
        else:
            pieces = _pieces(segment[0], change)
        for source_length, length in pieces:
            if source_length != 1 or length != 1:
                yield _Unit(start, start + source_length, start - shift, start - shift + length)
            start += source_length
            shift += source_length - length


def _pieces(run: str, change: Callable[[str], str]) -> list[tuple[int, int]]:
    """Lengths before and after, cluster by cluster; as one piece where clusters melt together."""
    changed = change(run)
    if len(changed) == len(run) == len(run.casefold()) and _keeps_characters(run):
        return []
    clusters = _CLUSTER.findall(run)
    parts = [change(cluster) for cluster in clusters]
    if "".join(parts) != changed:
        return [(len(run), len(changed))]
    return [(len(cluster), len(part)) for cluster, part in zip(clusters, parts, strict=True)]
