"""Which characters count as the same: the rules of normalisation, without caches and offsets.

Invisible characters (soft hyphens, zero-width and bidirectional marks, variation selectors, tags) are dropped: a reader
does not see them, so they must neither hide a phrase ("err<U+200B>or") nor split a number ("12<U+200B>4" is 124).
"""

import re
from typing import Final
from unicodedata import normalize

SINGLE_QUOTES: Final = "‘’‚‛′‹›"
DOUBLE_QUOTES: Final = "“”„‟″«»"
DASHES: Final = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"
LINE_ENDS: Final = "\r\x85\u2028\u2029"
WIDE_SPACES: Final = "\xa0\u1680\u2000-\u200a\u202f\u205f\u3000"
"""White space other than ASCII's, as the inside of a character class."""
INVISIBLE: Final = (
    "\xad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e"
    "\u2060-\u2064\u2066-\u2069\ufe0e\ufe0f\ufeff\U000e0001\U000e0020-\U000e007f"
)
"""Characters without a glyph, as the inside of a character class."""

PLAIN_FORMS: Final = (
    dict.fromkeys(SINGLE_QUOTES, "'")
    | dict.fromkeys(DOUBLE_QUOTES, '"')
    | dict.fromkeys(DASHES, "-")
    | dict.fromkeys(LINE_ENDS, "\n")
    | {"\r\n": "\n"}
)

_SPECIAL = re.compile(f"\r\n|[{SINGLE_QUOTES}{DOUBLE_QUOTES}{DASHES}{LINE_ENDS}{INVISIBLE}]")
_WIDE_SPACE = re.compile(f"[{WIDE_SPACES}]")


def plain(text: str) -> str:
    """The text in NFC with plain quotes, dashes and line ends and without invisible characters."""
    if text.isascii():
        return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text
    return normalize("NFC", _SPECIAL.sub(_plain_form, text))


def plain_spaces(text: str) -> str:
    """The text with every wide or no-break space as a plain one; tabs and lines stay."""
    return text if text.isascii() else _WIDE_SPACE.sub(" ", text)


def folded(text: str) -> str:
    """The plain text without case and with every run of white space as one space."""
    if text.isascii():
        return _one_spaced(text.lower())
    # NFC again, because folding a composed character can take it apart ("ǰ").
    return " ".join(normalize("NFC", plain(text).casefold()).split())


def _plain_form(match: re.Match[str]) -> str:
    return PLAIN_FORMS.get(match[0], "")


def _one_spaced(text: str) -> str:
    """Same as " ".join(text.split()) for ASCII, in a third of the time on prose."""
    if not text.isprintable():
        for control in "\n\r\t\x0b\x0c\x1c\x1d\x1e\x1f":
            text = text.replace(control, " ")
    while "  " in text:
        text = text.replace("  ", " ")
    return text.strip(" ")
