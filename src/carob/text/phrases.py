"""Whether a phrase is in a text, and where.

What is required counts only in what a reader sees; `carob.text.forbidden` looks for what is forbidden. A phrase that
begins or ends with a digit does not stand inside a longer number.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache

from carob.text.folded_search import MAGNITUDE_AFTER, find_first, find_whole_words, is_within_number
from carob.text.folding import Span, fold, fold_phrase, original_span
from carob.text.numbers.spelling import spell_numbers, spelled_phrase, spelled_span
from carob.text.numbers.whole import holds_one_number, number_spans
from carob.text.regexes import lazy
from carob.text.views import View, is_plain, where_required

_NUMBER_START = lazy.pattern(r"[\d.,'\u066b\u066c]{1,40}\Z")
_NUMBER_END = lazy.pattern(r"[\w.,'\u066b\u066c]{0,40}\w")
_WORD_START = lazy.pattern(r"\w{1,40}\Z")
_WORD_END = lazy.pattern(r"\w{1,40}")
_UNSPACED = lazy.regex(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Hangul}]")


def find(text: str, phrase: str) -> Span | None:
    """Where a reader first sees the phrase, as offsets of the text as written.

    White space at an end of the phrase also means the start or end of the text. A phrase of nothing but white
    space and invisible characters is never found.
    """
    needle = fold_phrase(phrase)
    if is_plain(text):
        span = find_first(fold(text), needle, required=True)
        written = original_span(text, *span) if span else None
    else:
        views = where_required(text, phrase)
        spans = ((view, find_first(fold(view.text), needle, required=True)) for view in views)
        written = next((_written_span(view, span) for view, span in spans if span), None)
    if written or not spelled_phrase(phrase):
        return written
    views = where_required(text, phrase)
    spans = ((view, find_equal(view.text, phrase, find_first_required)) for view in views)
    return next((view.span(*span) for view, span in spans if span), None)


def find_equal(text: str, phrase: str, search: Callable[[str, str], Span | None]) -> Span | None:
    """Where a text holds the phrase with its numbers in another spelling; `search` looks in folded texts."""
    number_phrase = spelled_phrase(phrase)
    if not number_phrase:
        return None
    other = spell_numbers(text)
    if other.text != text or number_phrase != phrase:
        span = search(fold(other.text), number_phrase)
        if span:
            return spelled_span(other, *span)
    return next(number_spans(text, phrase), None) if holds_one_number(phrase) else None


def is_said(text: str, phrase: str) -> bool:
    """Whether a text without markup holds the phrase as whole words, and without a plural `s`."""

    def search(haystack: str, wanted: str) -> Span | None:
        spans = find_whole_words(haystack, wanted, plural=False)
        return next((span for span in spans if not is_within_number(haystack, *span, required=True)), None)

    return bool(search(fold(text), phrase) or find_equal(text, phrase, search))


def find_first_required(haystack: str, phrase: str) -> Span | None:
    return find_first(haystack, fold_phrase(phrase), required=True)


def find_required(text: str, phrase: str) -> Span | None:
    """Where a reader first sees a required phrase, as whole words; `*` at an end of it leaves that end open.

    An end in a script without spaces is open as well, and so is one in Hangul, to which particles are joined.
    """
    core, open_start, open_end = _open_ends(phrase)
    if open_start and open_end:
        return find(text, core)
    return next(_words_seen(text, core, open_start, open_end), None)


def find_any_required(text: str, phrases: Iterable[str]) -> Span | None:
    """Where the first of the required phrases is that is in the text."""
    return next(filter(None, (find_required(text, phrase) for phrase in phrases)), None)


def longer_word(text: str, phrases: Iterable[str]) -> tuple[str, str] | None:
    """A phrase that is in the text only within a longer word, and that word."""
    haystack = fold(text)
    for phrase in phrases:
        needle = fold_phrase(_open_ends(phrase)[0]).strip()
        start = haystack.find(needle) if needle else -1
        if start >= 0:
            before, after = (
                _WORD_START.search(haystack, max(0, start - 40), start),
                _WORD_END.match(haystack, start + len(needle)),
            )
            if (before and before[0]) or (after and after[0]):
                word = haystack[before.start() if before else start : after.end() if after else start + len(needle)]
                return phrase, word
    return None


def find_word(text: str, phrase: str) -> Span | None:
    """Where a reader first sees the phrase as whole words; an `s` may be after it.

    A letter, digit or underscore next to the phrase makes it part of another word. An end of the phrase that is itself
    no such character may touch anything.
    """
    return next(_words_seen(text, phrase), None)


def word_spans(text: str, phrase: str) -> list[Span]:
    """Every place where a reader sees the phrase as whole words, in order."""
    return sorted(set(_words_seen(text, phrase)))


def find_any(text: str, phrases: Iterable[str]) -> Span | None:
    """Where the first of the phrases is that is in the text."""
    return next(filter(None, (find(text, phrase) for phrase in phrases)), None)


def longer_number(text: str, phrases: Iterable[str]) -> tuple[str, str] | None:
    """A phrase that is in the text only as a part of a longer number, and that number."""
    haystack = fold(text)
    for phrase in phrases:
        needle = fold_phrase(phrase)
        start = haystack.find(needle) if needle else -1
        if start >= 0 and is_within_number(haystack, start, end := start + len(needle), required=True):
            before = _NUMBER_START.search(haystack, max(0, start - 40), start)
            after = MAGNITUDE_AFTER.match(haystack, end) or _NUMBER_END.match(haystack, end)
            return phrase, haystack[before.start() if before else start : after.end() if after else end]
    return None


def find_any_word(text: str, phrases: Iterable[str]) -> Span | None:
    """Where the first of the phrases is that is in the text as whole words."""
    return next(filter(None, (find_word(text, phrase) for phrase in phrases)), None)


def _words_seen(text: str, phrase: str, from_within: bool = False, into_word: bool = False) -> Iterator[Span]:
    def search(haystack: str, wanted: str) -> Span | None:
        spans = find_whole_words(haystack, wanted, from_within=from_within, into_word=into_word)
        return next((span for span in spans if not is_within_number(haystack, *span, required=True)), None)

    views = where_required(text, phrase)
    for view in views:
        haystack = fold(view.text)
        for start, end in find_whole_words(haystack, phrase, from_within=from_within, into_word=into_word):
            if not is_within_number(haystack, start, end, required=True):
                yield _written_span(view, (start, end))
    for view in views if spelled_phrase(phrase) else ():
        if span := find_equal(view.text, phrase, search):
            yield view.span(*span)


def _written_span(view: View, span: Span) -> Span:
    return view.span(*original_span(view.text, *span))


@lru_cache(maxsize=4096)
def _open_ends(phrase: str) -> tuple[str, bool, bool]:
    """A required phrase without the `*` at its ends, and whether each end is open. `**` is markup."""
    core = phrase.strip()
    starts = core.startswith("*") and not core.startswith("**")
    ends = core.endswith("*") and not core.endswith("**")
    core = core[starts : len(core) - ends].strip() if len(core) > starts + ends else core
    return core, starts or bool(_UNSPACED.match(core)), ends or bool(_UNSPACED.match(core[-1:]))


def distance_within(first: str, second: str, most: int) -> bool:
    """Whether at most so many letters added, removed or changed lead from one text to the other (Levenshtein).

    It takes the length times `most`, no more.
    """
    short, long = sorted((first, second), key=len)
    if len(long) - len(short) > most:
        return False
    far = most + 1
    row = [min(index, far) for index in range(len(short) + 1)]
    for line, letter in enumerate(long, 1):
        # Only cells this near the diagonal can be within the bound.
        start, end = max(1, line - most), min(len(short), line + most)
        before, row[0] = row[0], min(line, far)
        if start > 1:
            before, row[start - 1] = row[start - 1], far
        for column in range(start, end + 1):
            above = row[column] if column < line + most else far
            best = before if short[column - 1] == letter else min(before, above, row[column - 1]) + 1
            before, row[column] = row[column], min(best, far)
        if min(row[start - 1 : end + 1], default=far) > most:
            return False
    return row[len(short)] <= most
