"""The two forms of a text that checks look at, cached, with the way back to the text as written.

`fold` is what phrases are searched in: no case, one space between words. `lines` is what regexes see: lines and case
are kept. Both are in NFC with plain quotes, dashes and line ends and without invisible characters.
"""

from functools import lru_cache

from karat.text.forms.characters import folded, folded_plain, plain, plain_spaces
from karat.text.forms.offsets import OffsetMap, Span, fold_map, plain_map

# A text may have a mebibyte and is judged by many checks in a row: few entries, each used often.
_TEXTS = 8
_PHRASES = 16_384


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
    return fold_map(text, glyphs(text))


@lru_cache(maxsize=_TEXTS)
def _plain_map(text: str) -> OffsetMap | None:
    return plain_map(text, glyphs(text))
