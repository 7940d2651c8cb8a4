"""What is forbidden is found however it is written: phrases, regexes, secrets and names of tools.

Every check that forbids looks here: in the text as it is written, then in its wide forms (`carob.text.views`).
"""

from __future__ import annotations

import codecs
from functools import lru_cache
from typing import NamedTuple
from unicodedata import category, normalize

from carob.text.characters import ASCII_OF, plain
from carob.text.encodings import LONG_ENOUGH, SecretSearch
from carob.text.folding import Span, fold, fold_phrase, original_span
from carob.text.phrases import find_first
from carob.text.regexes import lazy
from carob.text.regexes.safe_regex import denies, search
from carob.text.views import wide_forms, wide_phrase

FEWEST_APART = 4
"""Letters of a phrase that is found with its letters apart."""
_HYPHEN = lazy.pattern(r"(?<=[^\W\d_])-(?=[^\W\d_])")
_LETTERS_APART = lazy.pattern(r"(?<![^\W_])[^\W\d_](?:[ ._*|-]{1,3}[^\W\d_](?![^\W_])){3,}")


def find_phrase(text: str, phrase: str) -> Span | None:
    """Where the phrase first is in any form of the text, as offsets of the text as written."""
    if span := find_first(fold(text), fold_phrase(phrase)):
        return original_span(text, *span)
    for form in wide_forms(text):
        if span := find_first(form.folded, wide_phrase(phrase)):
            return form.original_span(*span)
    return _find_otherwise_joined(text, phrase)


class _PhraseParts(NamedTuple):
    """A phrase as it is looked for in other joints."""

    without_hyphens: str
    longest_word: str
    """Of a phrase of several words: a text without this word has none of the others' joints either."""
    letters: str
    """All of its letters; empty where they are not looked for apart."""


@lru_cache(maxsize=1024)
def _parts_of(phrase: str) -> _PhraseParts:
    folded = fold_phrase(phrase)
    without_hyphens, letters = _HYPHEN.sub(" ", folded), "".join(folded.split())
    is_apart = len(letters) >= FEWEST_APART and letters.isalpha()
    words = without_hyphens.split()
    longest_word = max(words, key=len) if len(words) > 1 or "-" in phrase else ""
    return _PhraseParts(without_hyphens, longest_word, letters if is_apart else "")


def _close_up(folded: str) -> bytes:
    """A text without what may be between letters that are apart: a quick test, as few texts have such letters."""
    return folded.encode(errors="surrogatepass").translate(None, b" ._*|-")


def _find_otherwise_joined(text: str, phrase: str) -> Span | None:
    """Where a phrase is with hyphens for its spaces or the other way round, or with its letters apart."""
    folded, parts = fold(text), _parts_of(phrase)
    if parts.longest_word and parts.longest_word in folded:
        span = find_first(_HYPHEN.sub(" ", folded), parts.without_hyphens)
        if span:
            return original_span(text, *span)
    letters = parts.letters
    if not letters or letters.encode(errors="surrogatepass") not in _close_up(folded):
        return None
    for run in _LETTERS_APART.finditer(folded):
        at = [run.start() + offset for offset, char in enumerate(run[0]) if char.isalpha()]
        start = "".join(folded[offset] for offset in at).find(letters)
        if start >= 0:
            return original_span(text, at[start], at[start + len(letters) - 1] + 1)
    return None


def find_regex(text: str, pattern: str) -> Span | None:
    """Where the pattern first matches in any form of the text, as offsets of the text as written."""
    if span := search(pattern, text):
        return span
    # What a regex denies must be missing from all of the text: without its markup, more would match.
    for form in wide_forms(text, rendered=not denies(pattern)):
        if span := search(pattern, form.widened.text):
            return form.written_span(*span)
    return None


class SecretText:
    """Finds one text in others: as it is, encoded, reversed, and with other characters between its letters."""

    def __init__(self, text: str) -> None:
        self._text = text
        turned = (text, text[::-1], codecs.encode(text, "rot13"), text.swapcase())
        self._search = SecretSearch(dict.fromkeys(turned))
        codes = "".join(str(ord(char)) for char in text).encode()
        letters = (*(_letters(form.encode()) for form in turned[:2]), codes)
        self._letters = [run for run in letters if len(run) >= LONG_ENOUGH]

    def is_in(self, text: str, *, rendered: bool = True) -> bool:
        """Whether it is in any form of a text; `rendered`: also without the markup of the text."""
        if rendered and find_phrase(text, self._text):
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


def widen_name(name: str) -> str:
    """The name of a tool in plain letters: no accents, no look-alikes, nothing that a reader does not see."""
    if name.isascii():
        return name
    letters = normalize("NFKD", plain(normalize("NFKC", name)))
    return "".join(ASCII_OF.get(char, char) for char in letters if category(char) not in ("Mn", "Cf", "Cc"))
