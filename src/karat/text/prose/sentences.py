"""What a reader sees of a text, as prose: small letters, wrapped lines joined, every other line end kept."""

import re
from functools import lru_cache
from typing import Final

from msgspec import Struct

from karat.text.forms.characters import is_word_char, plain
from karat.text.forms.folding import lines, original_span_of_lines
from karat.text.forms.offsets import Span
from karat.text.forms.views import View, seen
from karat.text.regexes import lazy

SOFT_END: Final = "\v"
"""The end of a line within prose. A clause may go on behind it, a value does not."""
_LINE_END = lazy.pattern(
    r"(?P<value>(?i:[:=|][^\S\n]*(?:no|none|not|nothing|zero|0))[^\S\n]*)?\n(?=[^\S\n]*[a-zß-öø-ÿ])"
)
_REACH: Final = 160


def spaced(pattern: str) -> str:
    """A pattern in which a blank stands for white space within a line."""
    return pattern.replace(" ", r"[^\S\n]+")


class Prose(Struct, frozen=True):
    """Text in which words and their clauses are looked for, with the way back to the text as written."""

    text: str
    view: View

    def written(self, start: int, end: int) -> Span:
        return self.view.span(*original_span_of_lines(self.view.text, start, end))

    def places(self, phrase: str, whole: bool = True) -> list[Span]:
        """Every place of a phrase, as whole words with or without a plural `s`, or anywhere."""
        return [m.span() for m in _spelled(phrase, whole).finditer(self.text)]

    def clause_before(self, at: int) -> str:
        """The words of the same clause before a place."""
        return _CLAUSE_STARTS.split(self.text[max(0, at - _REACH) : at])[-1]

    def clause_after(self, at: int) -> str:
        """The words of the same clause behind a place."""
        return _CLAUSE_ENDS.split(self.text[at : at + _REACH], maxsplit=1)[0]

    def asks(self, at: int) -> bool:
        """Whether the sentence that goes on here is a question that nobody answers with a yes."""
        end = _SENTENCE_END.search(self.text, at, at + _REACH)
        return end is not None and end["mark"] == "?" and not end["yes"]


_CLAUSE_STARTS = lazy.pattern(r"[.!?](?=\s)\s*|[;\n]|[^\S\n]-[^\S\n]|(?:,[^\S\n]*|[^\S\n])(?:but|however|yet)\b,?")
_CLAUSE_ENDS = lazy.pattern(r"[.!?](?=\s|\Z)|[;\n]|[^\S\n]-[^\S\n]|(?:,[^\S\n]*|[^\S\n])(?:but|however|yet)\b")
_SENTENCE_END = lazy.pattern(r"(?P<mark>[.!?](?=[\s\"')\]]|\Z)|\n)\s*(?P<yes>(?:yes|yep|yeah|it is|it was)\b)?")


@lru_cache(maxsize=8)
def prose(text: str) -> Prose:
    """The prose of a text; offsets in it are those of the lines of what a reader sees."""
    view = seen(text)
    # A long dash ends a clause, which its plain form would not show.
    return Prose(_small(_LINE_END.sub(_joined, lines(view.text.replace("\u2014", ";")))), view)


@lru_cache(maxsize=4096)
def _spelled(phrase: str, whole: bool) -> re.Pattern[str]:
    words = " ".join(plain(phrase).lower().split())
    spelled = re.escape(words).replace(r"\ ", r"\s+")
    if not whole or not words:
        return re.compile(spelled or r"(?!)")
    start = r"(?<!\w)" if is_word_char(words[0]) else ""
    end = r"s?(?!\w)" if is_word_char(words[-1]) else ""
    return re.compile(start + spelled + end)


def _joined(line_end: re.Match[str]) -> str:
    return line_end[0] if line_end["value"] else SOFT_END


def _small(text: str) -> str:
    """The text in small letters, of the same length."""
    small = text.lower()
    return small if len(small) == len(text) else "".join(c if len(c.lower()) != 1 else c.lower() for c in text)
