"""The free-standing numbers of a text, by value."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final, NamedTuple
from unicodedata import category, digit

from karat.text.forms.characters import is_word_char
from karat.text.numbers.magnitudes import UNREAD_MAGNITUDE
from karat.text.regexes import lazy

_GROUP_SPACES: Final = " \xa0\u2007\u2009\u202f"
_JOINTS: Final = ".,:/'\u066b\u066c\xb7\\-"
_ARABIC_SEPARATORS: Final = {0x066B: ".", 0x066C: ","}
_SPACED = rf"\d{{1,3}}([{_GROUP_SPACES}])\d{{3}}(?:\1\d{{3}})*(?!\d)(?:\.\d+)?"
# Starts with one digit and no alternative, which the engine looks for six times as fast.
_RUN = lazy.pattern(
    rf"\d(?:(?<!\w\d)\d{{0,2}}([{_GROUP_SPACES}])\d{{3}}(?:\1\d{{3}})*(?!\d)(?:[{_JOINTS}]\d+)*|\d*(?:[{_JOINTS}]\d+)*)"
)
_SINGLE = lazy.pattern(
    rf"{_SPACED}|\d{{1,3}}(?:(?:,\d{{3}})+|(?:'\d{{3}})+)(?:\.\d+)?|\d{{1,2}}(?:,\d{{2}})+,\d{{3}}|\d+(?:\.\d+)?|\.\d+"
)
# A comma before one, two or more than three digits can only begin a fraction, and two points can only group.
_POINTS_GROUP = lazy.pattern(r"\d{1,3}(?:\.\d{3})+,\d+|\d{1,3}(?:\.\d{3}){2,}|\d+,(?:\d{1,2}|\d{4,})")
_SWAPPED: Final = str.maketrans(".,", ",.")
_GROUPING = lazy.pattern(rf"[,'{_GROUP_SPACES}]")
_LIST_MARKER = lazy.pattern(r"[^\S\n]*(?:>[^\S\n]*)*(?:[-*+][^\S\n]+)?(\d{1,3})[.)][^\S\n]+\S")
_LETTERS = lazy.pattern(r"\w+")
_EXPONENT = lazy.pattern(r"[eE][+-]\d")
_LARGE_WORD = lazy.pattern(
    r"(?:\s{0,3}|-)(?:dozen|hundred|thousand|lakh|crore|million|billion|trillion|milliard)s?\b", re.IGNORECASE
)
_JOINED_BEFORE = lazy.pattern(r"[\w-]*-$")
_JOINED_AFTER = lazy.pattern(r"[^\W\d_]*-[\w-]{0,64}")
_LONGEST_JOINED: Final = 64
# Looking no further back for the start of a line keeps a mebibyte without one cheap.
_DEEPEST_INDENT: Final = 80
_MAGNITUDES: Final = ("k", "K", "M", "B", "T", "bn", "Bn", "BN", "tn", "mn", "mln", "mio", "Mio", "Mrd")
_TIMES: Final = ("am", "pm", "AM", "PM")
_OTHER_NUMBERS: Final = frozenset((*_MAGNITUDES, *_TIMES, "st", "nd", "rd", "th"))
"""Letters after a number that make it another one (12k), a rank (12th) or a time (12pm)."""
_OTHER_NUMBER_APART = lazy.pattern(rf"[^\S\n]{{1,3}}(?:{'|'.join((*_MAGNITUDES, *_TIMES))})(?!\w)")


class Number(NamedTuple):
    """A number of a text: its place, and whether it stands for itself (12, not 12k); `unread` if nobody can tell."""

    start: int
    end: int
    bare: bool
    unread: bool = False


class _Candidate(NamedTuple):
    """A number within a run of digits and joints; whether the run stands freely is looked at when it is asked for."""

    start: int
    end: int
    run_start: int
    run_end: int


def find_numbers(text: str, value: str) -> Iterator[Number]:
    """Where a text of plain glyphs holds the canonical value as a free-standing number."""
    sign, unsigned = ("-", value[1:]) if value[0] == "-" else ("", value)
    for candidate in _candidates(text).get(unsigned, ()):
        number = _free(text, candidate)
        if number is not None and number.start == candidate.start - len(sign):
            yield number


def all_numbers(text: str) -> list[tuple[str, Number]]:
    """Every free-standing number of a text of plain glyphs with its canonical value, in order."""
    found = [(value, _free(text, one)) for value, candidates in _candidates(text).items() for one in candidates]
    return sorted(((value, number) for value, number in found if number is not None), key=lambda pair: pair[1].start)


def _free(text: str, candidate: _Candidate) -> Number | None:
    """The number, with its sign, if it is no part of a longer token and numbers no item of a list."""
    start, end, run_start, run_end = candidate
    lead = _lead(text, run_start)
    if lead is None or _numbers_list_item(text, start, end):
        return None
    bare = _stands_for_itself(text, run_end)
    if bare is None:
        return None
    unread = bare and UNREAD_MAGNITUDE.match(text, run_end) is not None
    # In a range the sign belongs to the first number.
    return Number(start - (len(lead) if start == run_start else 0), end, bare and not unread, unread)


@lru_cache(maxsize=8)
def _candidates(text: str) -> dict[str, list[_Candidate]]:
    found: dict[str, list[_Candidate]] = {}
    for run in _RUN.finditer(text):
        start, end = run.span()
        if text[start - 1 : start] == "." and (start == 1 or not _joins(text[start - 2])):
            start -= 1  # .5
        for value, first, last in _parts(text[start:end]):
            found.setdefault(value, []).append(_Candidate(start + first, start + last, start, end))
    return found


def canonical(digits: str) -> str | None:
    """One number without its grouping and the zeros that end a fraction; None if it is not one number."""
    if digits.isascii() and digits.isdigit():
        return digits
    digits = digits.translate(_ARABIC_SEPARATORS)
    if _POINTS_GROUP.fullmatch(digits):
        digits = digits.translate(_SWAPPED)
    if not _SINGLE.fullmatch(digits):
        return None
    digits = _GROUPING.sub("", digits)
    if not digits.isascii():
        digits = "".join(str(digit(char)) if char.isdigit() else char for char in digits)
    whole, _, fraction = digits.partition(".")
    fraction = fraction.rstrip("0")
    return f"{whole or 0}.{fraction}" if fraction else whole or "0"


def _parts(run: str) -> list[tuple[str, int, int]]:
    """The numbers of a run of digits: itself, the two ends of a range, or none (a date, a version)."""
    value = canonical(run)
    if value is not None:
        return [(value, 0, len(run))]
    low, hyphen, high = run.partition("-")
    low_value, high_value = canonical(low), canonical(high) if hyphen else None
    if low_value is None or high_value is None or float(low_value) >= float(high_value):
        return []
    return [(low_value, 0, len(low)), (high_value, len(low) + 1, len(run))]


def _numbers_list_item(text: str, start: int, end: int) -> bool:
    if text[end : end + 1] not in (".", ")"):
        return False
    nearby = max(0, start - _DEEPEST_INDENT)
    line_start = text.rfind("\n", nearby, start) + 1
    marker = _LIST_MARKER.match(text, line_start) if line_start or not nearby else None
    return marker is not None and marker.start(1) == start


def _lead(text: str, start: int) -> str | None:
    """What stands before a run of digits and belongs to the number: "" or "-"; None if it is part of a token."""
    if start == 0:
        return ""
    char, before = text[start - 1], text[start - 2 : start - 1]
    if char == " " or char == "\n":
        return ""
    if is_word_char(char) or char in "/\\":
        return None
    if char == ".":
        return "" if before == "." else None
    if char == "-":
        if _is_minus(text, start - 1):
            return "-"
        joined = _JOINED_BEFORE.search(text, max(0, start - _LONGEST_JOINED), start)
        return None if joined and _has_digit(joined[0]) else ""
    # -$12: the sign stands before the currency.
    return "-" if before == "-" and category(char) == "Sc" and _is_minus(text, start - 2) else ""


def _is_minus(text: str, at: int) -> bool:
    before = text[at - 1 : at]
    return not before or not (is_word_char(before) or before in ")]}%-")


def _stands_for_itself(text: str, end: int) -> bool | None:
    """Whether the digits before `end` are the whole number (12ms), not another one (12k); None if part of a token."""
    char = text[end : end + 1]
    if not char:
        return True
    if char == "." and (after := text[end + 1 : end + 2]) and is_word_char(after):
        return None
    letters = _LETTERS.match(text, end)
    if letters and (not char.isalpha() or _has_digit(letters[0]) or "_" in letters[0] or _EXPONENT.match(text, end)):
        return None
    joined = _JOINED_AFTER.match(text, end)
    if joined and _has_digit(joined[0]):
        return None
    if letters and letters[0] in _OTHER_NUMBERS:
        return False
    return not (_LARGE_WORD.match(text, end) or _OTHER_NUMBER_APART.match(text, end))


def _joins(char: str) -> bool:
    return char in ".-" or is_word_char(char)


def _has_digit(text: str) -> bool:
    return any(char.isdecimal() for char in text)
