"""The free-standing numbers of a text, by value."""

import re
from functools import lru_cache
from typing import Final, NamedTuple
from unicodedata import category, digit

from karat.text.phrases import is_word_char

_GROUP_SPACES: Final = "\xa0\u2007\u2009\u202f"
_SPACED = rf"\d{{1,3}}([{_GROUP_SPACES}])\d{{3}}(?:\1\d{{3}})*(?!\d)(?:\.\d+)?"
_RUN = re.compile(rf"{_SPACED}|\d+(?:[.,:/'\-]\d+)*")
_SINGLE = re.compile(rf"{_SPACED}|\d{{1,3}}(?:(?:,\d{{3}})+|(?:'\d{{3}})+)(?:\.\d+)?|\d+(?:\.\d+)?")
_GROUPING = re.compile(rf"[,'{_GROUP_SPACES}]")
_LIST_MARKER = re.compile(r"^[^\S\n]*(?:>[^\S\n]*)*(?:[-*+][^\S\n]+)?(\d{1,3})[.)][^\S\n]+\S", re.MULTILINE)
_LETTERS = re.compile(r"\w+")
_EXPONENT = re.compile(r"[eE][+-]\d")
_LARGE_WORD = re.compile(r"[^\S\n]?(?:hundred|thousand|million|billion|trillion)s?\b", re.IGNORECASE)
_JOINED_BEFORE = re.compile(r"[\w-]*-$")
_JOINED_AFTER = re.compile(r"[^\W\d_]*-[\w-]{0,64}")
_LONGEST_JOINED: Final = 64
_OTHER_NUMBERS: Final = frozenset(
    (
        "k",
        "K",
        "M",
        "B",
        "T",
        "bn",
        "Bn",
        "BN",
        "mn",
        "mln",
        "mio",
        "Mio",
        "st",
        "nd",
        "rd",
        "th",
        "am",
        "pm",
        "AM",
        "PM",
    )
)
"""Letters after a number that make it another one (12k), a rank (12th) or a time (12pm)."""


class Number(NamedTuple):
    """A number of a text: its canonical value, its place, and whether it stands for itself (12, not 12k)."""

    value: str
    start: int
    end: int
    bare: bool


@lru_cache(maxsize=8)
def numbers_by_value(text: str) -> dict[str, list[Number]]:
    """The numbers of a text of plain glyphs."""
    list_markers = {marker.start(1) for marker in _LIST_MARKER.finditer(text)}
    found: dict[str, list[Number]] = {}
    for run in _RUN.finditer(text):
        start, end = run.span()
        lead = None if start in list_markers else _lead(text, start)
        bare = None if lead is None else _stands_for_itself(text, end)
        if lead is None or bare is None:
            continue
        for value, first, last in _parts(run[0], lead):
            found.setdefault(value, []).append(Number(value, start + first, start + last, bare))
    return found


def canonical(digits: str) -> str | None:
    """One number without its grouping and the zeros that end a fraction; None if it is not one number."""
    if not _SINGLE.fullmatch(digits):
        return None
    if not digits.isdigit() or not digits.isascii():
        digits = _GROUPING.sub("", digits)
        digits = "".join(str(digit(char)) if char.isdigit() else char for char in digits)
    whole, _, fraction = digits.partition(".")
    fraction = fraction.rstrip("0")
    return f"{whole}.{fraction}" if fraction else whole


def _parts(run: str, lead: str) -> list[tuple[str, int, int]]:
    """The numbers of a run of digits: itself, the two ends of a range, or none (a date, a version)."""
    if lead == ".":
        value = canonical("0." + run) if run.isdigit() else None
        return [(value, -1, len(run))] if value else []
    value = canonical(run)
    if value is not None:
        return [(lead + value, -len(lead) if lead == "-" else 0, len(run))]
    low, hyphen, high = run.partition("-")
    low_value, high_value = canonical(low), canonical(high) if hyphen else None
    if low_value is None or high_value is None or float(low_value) >= float(high_value):
        return []
    return [(lead + low_value, 0, len(low)), (high_value, len(low) + 1, len(run))]


def _lead(text: str, start: int) -> str | None:
    """What stands before a run of digits and belongs to the number: "", "-" or "."; None if it is part of a token."""
    if start == 0:
        return ""
    char, before = text[start - 1], text[start - 2 : start - 1]
    if char == " " or char == "\n":
        return ""
    if is_word_char(char) or char in "/\\":
        return None
    if char == ".":
        if before == ".":
            return ""
        return None if before and (is_word_char(before) or before == "-") else "."
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
    return not (letters and letters[0] in _OTHER_NUMBERS) and not _LARGE_WORD.match(text, end)


def _has_digit(text: str) -> bool:
    return any(char.isdecimal() for char in text)
