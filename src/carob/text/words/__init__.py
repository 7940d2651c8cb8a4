"""Published word lists: every word that Carob looks for in prose, in the files of this folder.

Checks and telemetry take words from here alone, docs/words.md is written from here, and a suite or carob.toml may
replace a list (`words: {refusal: [...]}`) or add to one (`words: {refusal: {add: [...]}}`). No list holds a word of an
example application.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final
from unicodedata import normalize

from msgspec import Struct

if TYPE_CHECKING:
    import regex

Replaced = Mapping[str, Iterable[str]]
"""Lists of a suite, by name, in place of the built-in ones."""

_HERE: Final = Path(__file__).parent
_REPLACEABLE: Final = ("claims.txt", "denials.txt", "asking.txt", "outcomes.txt", "consent.txt", "sentences.txt")
_FIXED: Final = ("results.txt", "tools.txt", "commands.txt", "numbers.txt", "ages.txt")
"""Read when no suite is known, or independent of language."""
_FEW = r"(?:[^\S\n]+[\w'’-]+){0,4}?"
_FEW_SIGNS = r"[^\n.。!！?？]{0,20}?"
_START, _END = r"(?:(?<!\w)|(?!\w))", r"(?:(?!\w)|(?<!\w))"
"""A word does not go on there; an entry may begin or end with another character."""


WORD_START, WORD_END = r"(?<!\w)(?<!\d[.,'](?=\d))", r"(?!\w)(?!(?<=\d)[.,']\d)"
"""Neither a word nor a number goes on there."""


class WordList(Struct, frozen=True):
    """One published list; not `replaceable` if it is read when no suite is known, or does not depend on language."""

    name: str
    about: str
    entries: tuple[str, ...]
    replaceable: bool


def _read_lists(text: str, replaceable: bool) -> Iterator[tuple[str, WordList]]:
    """Lists as they are written down: a name and what it is about, and below that, indented, the entries.

    Entries are separated by `;`, or by white space in a list that has none. After `|` an entry may wrap.
    """
    for paragraph in text.strip().split("\n\n"):
        heading, _, body = paragraph.partition("\n    ")
        name, _, about = heading.replace("\n", " ").partition(": ")
        body = body.replace("|\n        ", "|")
        entries = map(str.strip, body.removesuffix(";").split(";")) if ";" in body else body.split()
        yield name, WordList(name, about, tuple(entries), replaceable)


@cache
def published_lists() -> Mapping[str, WordList]:
    """All lists by name, read when the first is asked for."""
    return {
        name: word_list
        for file in (*_REPLACEABLE, *_FIXED)
        for name, word_list in _read_lists(_HERE.joinpath(file).read_text("utf-8"), file in _REPLACEABLE)
    }


class WordLists(Struct, frozen=True):
    """The lists that hold for a case: its own, and the published ones for all others."""

    replaced: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @classmethod
    def of(cls, replaced: Replaced) -> WordLists:
        if not replaced:
            return PUBLISHED
        return cls(tuple((name, tuple(entries)) for name, entries in sorted(replaced.items())))

    def entries(self, name: str) -> tuple[str, ...]:
        own = dict(self.replaced).get(name) if self.replaced else None
        return published_lists()[name].entries if own is None else own

    def pattern(self, *names: str) -> re.Pattern[str]:
        """What finds an entry of these lists as whole words, the longest first. It reads prose: small letters."""
        return _pattern(self, names)

    def regex(self, source: str) -> regex.Pattern[str]:
        """The same with a source in which `«name»` means an entry of that list."""
        return _regex(self, source)


PUBLISHED = WordLists()


@lru_cache(maxsize=512)
def _pattern(words: WordLists, names: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(any_of({entry for name in names for entry in words.entries(name)}))


@lru_cache(maxsize=512)
def _regex(words: WordLists, source: str) -> regex.Pattern[str]:
    import regex  # it is loaded by the first pattern that needs it

    return regex.compile(re.sub("«(.*?)»", lambda name: any_of(words.entries(name[1])), source), regex.V0)


def any_of(entries: Iterable[str]) -> str:
    """A pattern for one of these entries, the longest first; nothing for none."""
    longest_first = sorted(entries, key=lambda entry: (-len(entry), entry))
    words = [entry for entry in longest_first if _begins_and_ends_words(entry)]
    sources = [entry_pattern(entry) for entry in longest_first if entry not in words]
    if words:
        # Where no entry can begin, none is tried: most places of a text are such.
        letters = "".join(sorted({first for entry in words for first in _firsts(entry)}))
        sources.append(rf"\b(?=[{letters}])(?:{'|'.join(map(_source, words))}){_END}")
    return f"(?:{'|'.join(sources)})" if sources else "(?!)"


def _begins_and_ends_words(entry: str) -> bool:
    is_unspaced = not entry.isascii() and _unspaced_letters().search(entry) is not None
    return not is_unspaced and all(first.isalnum() for first in _firsts(entry))


def _firsts(entry: str) -> list[str]:
    starts = entry[1:].partition(")")[0].split("|") if entry.startswith("(") else [entry]
    return [start[:1].lower() or " " for start in starts]


def alternatives(name: str) -> str:
    """A pattern for the plain words of a published list, the longest first."""
    return "|".join(map(re.escape, sorted(published_lists()[name].entries, key=len, reverse=True)))


def literal(phrases: Iterable[str]) -> str:
    """A pattern for one of these phrases as they are written, the longest first."""
    plain = {" ".join(normalize("NFC", phrase).lower().replace("’", "'").split()) for phrase in phrases}
    longest_first = sorted(plain, key=lambda phrase: (-len(phrase), phrase))
    unspaced = [phrase for phrase in longest_first if is_unspaced(phrase)]
    spaced = "|".join(_literal(phrase) for phrase in longest_first if phrase not in unspaced)
    sources = [*([rf"{WORD_START}(?:{spaced}){WORD_END}"] if spaced else []), *map(_literal, unspaced)]
    return f"(?:{'|'.join(sources)})" if sources else "(?!)"


def _literal(phrase: str) -> str:
    import regex

    return regex.escape(phrase, literal_spaces=True).replace(" ", r"[^\S\n]+")


@lru_cache(maxsize=1)
def _unspaced_letters() -> regex.Pattern[str]:
    """Letters of scripts that put no space between words, and of Hangul, to which particles are joined."""
    import regex

    return regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Hangul}]")


def is_unspaced(phrase: str) -> bool:
    """Whether its ends are in a script without spaces, so that they are found within a run of letters."""
    return not phrase.isascii() and all(_unspaced_letters().match(end) for end in (phrase[:1], phrase[-1:]))


def entry_pattern(entry: str) -> str:
    """The pattern of an entry: `(a|b)` are alternatives, `...` means up to four words, ends are those of words."""
    if entry.isascii():
        return f"{_START}{_source(entry)}{_END}"
    core = entry.strip("()")
    start = "" if _unspaced_letters().match(core) else _START
    return f"{start}{_source(entry)}{'' if _unspaced_letters().match(core[-1:]) else _END}"


def _source(entry: str) -> str:
    import regex

    source = regex.escape(entry.lower().replace("’", "'").strip(), literal_spaces=True)
    source = source.replace(r"\(", "(?:").replace(r"\)", ")").replace(r"\|", "|")
    few = _FEW_SIGNS if not entry.isascii() and _unspaced_letters().search(entry) else _FEW
    return source.replace(r" \.\.\.", few).replace(" ", r"[^\S\n]+")
