"""Which characters count as the same: the rules of normalisation, without caches and offsets.

Invisible characters (soft hyphens, zero-width and bidirectional marks, variation selectors, tags) are dropped: a reader
does not see them, so they must neither hide a phrase ("err<U+200B>or") nor split a number ("12<U+200B>4" is 124).

The letters that look like ASCII ones are made from `confusables.txt` of Unicode Security Mechanisms (UTS #39), version
17.0.0, © 2025 Unicode, Inc., under the Unicode License v3: letters that are confusable with ASCII letters and that NFKC
leaves as they are, in small letters (what looks like both `I` and `l` is `i` where it is a capital). To them come
small, circled and squared capitals, by their names in the Unicode Character Database. Letters of scripts that run from
right to left are left out, because no reader takes them so within a Latin word.
"""

from pathlib import Path
from typing import Final
from unicodedata import category, normalize

from carob.text.regexes import lazy

SINGLE_QUOTES: Final = "‘’‚‛′‹›"
DOUBLE_QUOTES: Final = "“”„‟″«»"
DASHES: Final = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"
LINE_ENDS: Final = "\r\x85\u2028\u2029"
WIDE_SPACES: Final = "\xa0\u1680\u2000-\u200a\u202f\u205f\u3000"
"""White space other than ASCII's, as the inside of a character class."""
INVISIBLE: Final = (
    "\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
"""Default_Ignorable_Code_Point of Unicode: characters without a glyph, as the inside of a character class."""

PLAIN_FORMS: Final = (
    dict.fromkeys(SINGLE_QUOTES, "'")
    | dict.fromkeys(DOUBLE_QUOTES, '"')
    | dict.fromkeys(DASHES, "-")
    | dict.fromkeys(LINE_ENDS, "\n")
)

_INVISIBLE = lazy.pattern(f"[{INVISIBLE}]")
_WIDE_SPACES = "\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
_CONTROL_SPACES = "\n\r\t\x0b\x0c\x1c\x1d\x1e\x1f"


def plain(text: str) -> str:
    """The text in NFC with plain quotes, dashes and line ends and without invisible characters."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if text.isascii():
        return text
    # One pass of C code for each character that occurs beats one call of Python for each occurrence.
    for char, form in PLAIN_FORMS.items():
        if char in text:
            text = text.replace(char, form)
    return normalize("NFC", _INVISIBLE.sub("", text))


def plain_spaces(text: str) -> str:
    """The text with every wide or no-break space as a plain one; tabs and lines stay."""
    return text if text.isascii() else _spaces_for(_WIDE_SPACES, text)


def all_spaces(text: str) -> str:
    """The text with every character of white space as a plain space."""
    return _spaces_for(_CONTROL_SPACES, plain_spaces(text))


def folded(text: str) -> str:
    """The plain text without case and with every run of white space as one space."""
    return folded_plain(text if text.isascii() else plain(text))


def folded_plain(text: str) -> str:
    """The folded form of a text that is plain already (or ASCII)."""
    # NFC again, because folding a composed character can take it apart ("ǰ").
    text = all_spaces(text.lower() if text.isascii() else normalize("NFC", text.casefold().replace("i\u0307", "i")))
    # The same as " ".join(text.split()), in less than half the time on prose.
    while "  " in text:
        text = text.replace("  ", " ")
    return text.strip(" ")


def _spaces_for(chars: str, text: str) -> str:
    for char in chars:
        if char in text:
            text = text.replace(char, " ")
    return text


def is_word_char(char: str) -> bool:
    """Whether a character continues a word: letters, digits, the underscore and marks upon letters."""
    return char.isalnum() or char == "_" or (not char.isascii() and category(char)[0] == "M")


_LOOK_ALIKES: Final = Path(__file__).with_name("look_alikes.txt").read_text("utf-8")
ASCII_OF: Final = {char: letters for letters, chars in map(str.split, _LOOK_ALIKES.splitlines()) for char in chars}
"""The ASCII letters that each of these letters looks like."""


def widen_name(name: str) -> str:
    """The name of a tool in plain letters: no accents, no look-alikes, nothing that a reader does not see."""
    if name.isascii():
        return name
    letters = normalize("NFKD", plain(normalize("NFKC", name)))
    return "".join(ASCII_OF.get(char, char) for char in letters if category(char) not in ("Mn", "Cf", "Cc"))
