"""What is forbidden is found however it is written: phrases, regexes, secrets and names of tools.

Every check that forbids looks here: in the text as it is written, then in its wide forms (`carob.text.views`).
"""

from __future__ import annotations

import codecs
from functools import lru_cache
from typing import Final, NamedTuple

from carob.text.characters import is_word_char
from carob.text.encodings import LONG_ENOUGH, SecretSearch
from carob.text.folded_search import find_first, is_within_number
from carob.text.folding import Span, fold, fold_phrase, original_span
from carob.text.numbers.spelling import spelled_phrase, ungroup
from carob.text.phrases import find_equal
from carob.text.regexes import lazy
from carob.text.regexes.safe_regex import denies, search
from carob.text.views import SIGN, join_words, wide_forms, wide_phrase

_TEXTS: Final = 8
FEWEST_APART = 4
"""Letters of a phrase that is found with its letters apart."""
_HYPHEN = lazy.pattern(r"(?<=[^\W\d_])-(?=[^\W\d_])")
_LETTERS_APART = lazy.regex(rf"(?V1)(?<![^\W_])[^\W\d_](?:(?:[ _]|{SIGN}){{1,3}}[^\W\d_](?![^\W_])){{3,}}")
_SIGNS = lazy.regex(rf"(?V1){SIGN}")
_WORD_ENDS = lazy.pattern(r"(?:e?s|e?d|ing|er)?(?!\w)")


def find_phrase(text: str, phrase: str) -> Span | None:
    """Where the phrase first is in any form of the text, as offsets of the text as written."""
    return find_disguised(text, phrase) or _find_equal_number(text, phrase)


def find_disguised(text: str, phrase: str) -> Span | None:
    """The same, with its numbers as they are written."""
    if span := find_first(fold(text), fold_phrase(phrase)):
        return original_span(text, *span)
    for form in wide_forms(text):
        if span := find_first(form.folded, wide_phrase(phrase)):
            return form.original_span(*span)
    return _find_otherwise_joined(text, phrase)


def find_if_grouped(text: str, phrase: str) -> Span | None:
    """Where the phrase is if points group digits: 1.200 may be 1200."""
    form = ungroup(text)
    if form.text == text and ungroup(phrase).text == phrase:
        return None
    span = find_phrase(form.text, ungroup(phrase).text)
    return form.span(*span) if span else None


def _find_equal_number(text: str, phrase: str) -> Span | None:
    """Where a number of the phrase is spelled in another way, in any form of the text."""
    if not spelled_phrase(phrase):
        return None
    if span := find_equal(text, phrase, _find_folded):
        return span
    spans = ((form, find_equal(form.widened.text, phrase, _find_folded)) for form in wide_forms(text))
    return next((form.written_span(*span) for form, span in spans if span), None)


def _find_folded(haystack: str, phrase: str) -> Span | None:
    return find_first(haystack, fold_phrase(phrase))


class _PhraseParts(NamedTuple):
    """A phrase as it is looked for in other joints."""

    without_hyphens: str
    longest_word: str
    """Of a phrase of several words: a text without this word has none of the others' joints either."""
    undivided: str
    """Without signs within its words."""
    letters: str
    """All of its letters; empty where they are not looked for apart."""
    squeezed: bytes


@lru_cache(maxsize=1024)
def _parts_of(phrase: str) -> _PhraseParts:
    folded = fold_phrase(phrase)
    without_hyphens, letters = _HYPHEN.sub(" ", folded), "".join(folded.split())
    is_apart = len(letters) >= FEWEST_APART and letters.isalpha()
    words = without_hyphens.split()
    longest_word = max(words, key=len) if len(words) > 1 or "-" in phrase else ""
    closed = join_words(folded).text.strip()
    return _PhraseParts(without_hyphens, longest_word, closed, letters if is_apart else "", _squeeze(folded))


@lru_cache(maxsize=_TEXTS)
def _squeeze(folded: str) -> bytes:
    """A text without what may be between letters: a quick test, as few texts hide a phrase so."""
    letters = folded if folded.isascii() else _SIGNS.sub("", folded)
    return letters.encode(errors="surrogatepass").translate(None, b" ._*|~-")


def _find_otherwise_joined(text: str, phrase: str) -> Span | None:
    """Where a phrase is with hyphens for its spaces or the other way round, or with its words or letters apart."""
    folded, parts = fold(text), _parts_of(phrase)
    if parts.longest_word and parts.longest_word in folded:
        span = find_first(_HYPHEN.sub(" ", folded), parts.without_hyphens)
        if span:
            return original_span(text, *span)
    if not parts.squeezed or parts.squeezed not in _squeeze(folded):
        return None
    if span := _find_divided(text, parts.undivided):
        return span
    apart = _find_apart(folded, parts.letters) if parts.letters else None
    return original_span(text, *apart) if apart else None


def _find_divided(text: str, phrase: str) -> Span | None:
    """Where a folded phrase is if signs within words are left out: as whole words, because others may run together."""
    closed = join_words(text)
    folded = fold(closed.text)
    start = folded.find(phrase)
    while start >= 0:
        end = start + len(phrase)
        if _is_whole(folded, start, end) and not is_within_number(folded, start, end, required=False):
            return closed.span(*original_span(closed.text, start, end))
        start = folded.find(phrase, start + 1)
    return None


def _is_whole(text: str, start: int, end: int) -> bool:
    return not is_word_char(text[start - 1 : start] or " ") and _WORD_ENDS.match(text, end) is not None


def _find_apart(folded: str, letters: str) -> Span | None:
    for run in _LETTERS_APART.finditer(folded):
        at = [run.start() + offset for offset, char in enumerate(run[0]) if char.isalpha()]
        start = "".join(folded[offset] for offset in at).find(letters)
        if start >= 0:
            return at[start], at[start + len(letters) - 1] + 1
    return None


def find_regex(text: str, pattern: str) -> Span | None:
    """Where the pattern first matches in any form of the text, as offsets of the text as written."""
    if span := search(pattern, text):
        return span
    # What a regex denies must be missing from all of the text: without its markup, more would match.
    for form in wide_forms(text, rendered=not denies(pattern)):
        if span := search(pattern, form.widened.text):
            return form.written_span(*span)
    closed = join_words(text)
    span = search(pattern, closed.text) if closed.offsets and not denies(pattern) else None
    return closed.span(*span) if span and _is_whole(closed.text, *span) else None


class SecretText:
    """Finds one text in others: as it is, encoded, reversed, and with other characters between its letters."""

    def __init__(self, text: str) -> None:
        self._text = text
        turned = (text, text[::-1], codecs.encode(text, "rot13"), text.swapcase())
        self._search = SecretSearch(dict.fromkeys(turned))
        codes = "".join(str(ord(char)) for char in text).encode()
        spelled = (
            "".join(code.format(ord(char)) for char in text).encode()
            for code in ("0x{:x}", "x{:02x}", "u{:04x}", "{:02x}", "{:08b}")
        )
        letters = (*(_letters(form.encode()) for form in turned[:2]), codes, *spelled)
        self._letters = [run for run in letters if len(run) >= LONG_ENOUGH]

    def is_in(self, text: str, *, rendered: bool = True) -> bool:
        """Whether it is in any form of a text; `rendered`: also without the markup of the text."""
        if rendered and find_disguised(text, self._text):
            return True
        return any(map(self._is_written_in, (text, *(form.widened.text for form in wide_forms(text, rendered)))))

    def _is_written_in(self, text: str) -> bool:
        data = text.encode(errors="surrogatepass")
        letters = _letters(data)
        return any(run in letters for run in self._letters) or bool(self._search.spans(data))


_NO_LETTERS = bytes(code for code in range(128) if not chr(code).isalnum())


def _letters(data: bytes) -> bytes:
    """Letters and digits alone, in small letters."""
    return data.lower().translate(None, _NO_LETTERS)
