"""Searching a text that is folded already: a phrase anywhere in it, or as whole words.

A phrase that begins or ends with a digit is not found inside a longer number.
"""

from collections.abc import Iterator
from functools import lru_cache

from carob.text.characters import is_word_char
from carob.text.folding import Span, fold_phrase
from carob.text.regexes import lazy

_NUMBER_BEFORE = lazy.pattern(r"\d[.,'\u066b\u066c]\Z")
_NUMBER_AFTER = lazy.pattern(r"[.,'\u066b\u066c]\d|[eE][+-]?\d")
_GROUPS_BEFORE = lazy.pattern(r"(?<![\w.,:/-])\d{1,3}(?: \d{3})* \Z")
_FIRST_GROUPS = lazy.pattern(r"(?<![\w.,:/-])\d{1,3}(?: \d{3})*\Z")
_GROUP = lazy.pattern(r" ?\d{3}(?![\w:/-])")
"""1 200 is one number, of groups of three digits."""
_LONGEST_GROUPS = 24
MAGNITUDE_AFTER = lazy.pattern(r"(?:k|m|bn|b|mn|tn)(?!\w)|[ -](?:thousand|million|billion|trillion)s?(?!\w)")


def find_first(haystack: str, needle: str, required: bool = False) -> Span | None:
    """Where a folded phrase first is in a folded text, and not inside a longer number."""
    if not needle:
        return None
    start = haystack.find(needle)
    while start >= 0:
        end = start + len(needle)
        if not is_within_number(haystack, start, end, required):
            return start, end
        start = haystack.find(needle, start + 1)
    if needle[0] == " " or needle[-1] == " ":
        start = f" {haystack} ".find(needle) - 1
        if start >= -1:
            return max(start, 0), min(start + len(needle), len(haystack))
    return None


def is_within_number(haystack: str, start: int, end: int, required: bool) -> bool:
    """Whether digits at an end of the span go on next to it; what is required is not another number in words either."""
    if haystack[start].isdecimal() and start and _goes_on_before(haystack, start):
        return True
    if not haystack[end - 1].isdecimal() or end == len(haystack):
        return False
    after = haystack[end]
    if after == " ":
        grouped = _GROUP.match(haystack, end) and _FIRST_GROUPS.search(haystack, max(0, end - _LONGEST_GROUPS), end)
        return bool(grouped or (required and MAGNITUDE_AFTER.match(haystack, end)))
    if after.isnumeric() or _NUMBER_AFTER.match(haystack, end):
        return True
    return required and MAGNITUDE_AFTER.match(haystack, end) is not None


def _goes_on_before(haystack: str, start: int) -> bool:
    before = haystack[start - 1]
    if before == " ":
        grouped = haystack[start - 2 : start - 1].isdecimal() and _GROUP.match(haystack, start)
        return bool(grouped and _GROUPS_BEFORE.search(haystack, max(0, start - _LONGEST_GROUPS), start))
    return before.isnumeric() or bool(before in ".,'\u066b\u066c" and _NUMBER_BEFORE.search(haystack, start - 2, start))


def find_whole_words(
    haystack: str, phrase: str, plural: bool = True, *, from_within: bool = False, into_word: bool = False
) -> Iterator[Span]:
    """Every place where the phrase is as whole words in a text that is folded already.

    It may begin within a word where that is allowed, and so may it end.
    """
    needle, open_start, open_end = _word(phrase)
    open_start, open_end = open_start or from_within, open_end or into_word
    start = haystack.find(needle) if needle else -1
    while start >= 0:
        end = start + len(needle)
        if open_start or start == 0 or not is_word_char(haystack[start - 1]):
            if open_end or _ends_word(haystack, end):
                yield start, end
            elif plural and haystack[end] == "s" and _ends_word(haystack, end + 1):
                yield start, end + 1
        start = haystack.find(needle, start + 1)


@lru_cache(maxsize=4096)
def _word(phrase: str) -> tuple[str, bool, bool]:
    """The folded phrase, and whether its start and its end may touch a word."""
    needle = fold_phrase(phrase).strip()
    return needle, not is_word_char(needle[:1] or " "), not is_word_char(needle[-1:] or " ")


def _ends_word(haystack: str, end: int) -> bool:
    return end == len(haystack) or not is_word_char(haystack[end])
