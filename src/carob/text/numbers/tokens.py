"""The free-standing numbers of a text, by value."""

import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import lru_cache
from typing import Final, Literal, NamedTuple
from unicodedata import category, digit, numeric

from carob.text.characters import is_word_char
from carob.text.regexes import lazy
from carob.text.words import PUBLISHED, alternatives

_GROUP_SPACES: Final = " \xa0\u2002-\u200a\u202f\u205f"
_JOINTS: Final = ".,:/'\u066b\u066c\xb7\\-"
_ARABIC_SEPARATORS: Final = {0x066B: ".", 0x066C: ","}
_VULGAR: Final = "\xbc-\xbe\u2150-\u215e\u2189"
"""Characters that are fractions: ½."""
_UNSPACED: Final = "\u0e00-\u0e7f\u3005\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
"""Letters of scripts that put no space between words: next to a number they are another word."""
_SPACED = rf"\d{{1,3}}([{_GROUP_SPACES}])\d{{3}}(?:\1\d{{3}})*(?!\d)(?:[.,]\d+)?"
_FRACTION = rf"(?:[ \xa0\u2009\u202f]\d{{1,2}}/\d{{1,2}}(?![\d/])|[ \xa0\u2009\u202f]?[{_VULGAR}])"
# Starts with one digit and no alternative, which the engine looks for six times as fast.
_RUN = lazy.pattern(
    rf"\d(?:(?<!\w\d)\d{{0,2}}([{_GROUP_SPACES}])\d{{3}}(?:\1\d{{3}})*(?!\d)(?:[{_JOINTS}]\d+)*|\d*(?:[{_JOINTS}]\d+)*)"
    rf"(?:(?<![{_JOINTS}]\d)(?<![{_JOINTS}]\d\d){_FRACTION})?"
)
_SINGLE = lazy.pattern(
    rf"{_SPACED}|\d{{1,3}}(?:(?:,\d{{3}})+|(?:'\d{{3}})+)(?:\.\d+)?|\d{{1,2}}(?:,\d{{2}})+,\d{{3}}(?:\.\d+)?"
    r"|\d+(?:\.\d+)?|\.\d+"
)
_MIXED = lazy.pattern(
    rf"(?:(?P<whole>\d{{1,4}})(?:[ \xa0\u2009\u202f]|(?=[{_VULGAR}])))?"
    rf"(?:(?P<over>\d+)/(?P<under>\d+)|(?P<sign>[{_VULGAR}]))"
)
_ALONE = lazy.pattern(rf"(?<![\w.,/])(?<!\d[ \xa0\u2009\u202f])[{_VULGAR}]")
# A comma before one, two or more than three digits can only begin a fraction, and two points can only group.
_POINTS_GROUP = lazy.pattern(r"\d{1,3}(?:\.\d{3})+,\d+|\d{1,3}(?:\.\d{3}){2,}|\d+,(?:\d{1,2}|\d{4,})")
_SWAPPED: Final = str.maketrans(".,", ",.")
_GROUPING = lazy.pattern(rf"[,'{_GROUP_SPACES}]")
_LIST_MARKER = lazy.pattern(r"[^\S\n]*(?:>[^\S\n]*)*(?:[-*+•][^\S\n]+)?(\d{1,3})[.)][^\S\n]+\S")
_LETTERS = lazy.pattern(rf"[^\W{_UNSPACED}]+")
_EXPONENT = lazy.pattern(r"[eE][+-]\d")
_SCIENTIFIC = lazy.pattern(r"(?:\d(?:\.\d+)?|\d+\.\d+)[eE][+-]?\d{1,2}(?![\w.])|\d+[eE][+-]\d{1,2}(?![\w.])")
"""4.12e2 is a number; 12e3 is more often an id."""
_RAISED: Final = frozenset("⁰¹²³⁴⁵⁶⁷⁸⁹₀₁₂₃₄₅₆₇₈₉")
"""A power, an index or a footnote: which one is not known."""
_SEPARATED = lazy.pattern(r"\d+(?:[.,']\d+)*")
_JOINED_BEFORE = lazy.pattern(r"[\w-]*-$")
_JOINED_AFTER = lazy.pattern(r"[^\W\d_]*-[\w-]{0,64}")
_LONGEST_JOINED: Final = 64
# Looking no further back for the start of a line keeps a mebibyte without one cheap.
_DEEPEST_INDENT: Final = 80

NUMBER_WORDS: Final = dict(
    zip(
        (word for name in ("small_numbers", "teens", "tens") for word in PUBLISHED.entries(name)),
        (*range(1, 20), *range(20, 100, 10)),
        strict=True,
    )
)
"""The number that each of these words is."""
POWERS: Final = (2, 3, 4, 5, 6, 7, 8, 9, 12)
_MAGNITUDES: Final = dict.fromkeys(PUBLISHED.entries("magnitude_dozen"), 12) | {
    word: 10**power for power in POWERS for word in PUBLISHED.entries(f"magnitude_{power}")
}
_FACTORS: Final = _MAGNITUDES | dict(zip(PUBLISHED.entries("money_magnitudes"), (10**6, 10**9, 10**12), strict=True))
_LETTER = "|".join(word for word in _MAGNITUDES if word.isascii() and len(word) <= 3)
_WORD = "|".join(word for word in _MAGNITUDES if word.isascii() and len(word) > 3)
_SIGN = "".join(word for word in _MAGNITUDES if not word.isascii())
_CODE = alternatives("currency_codes")
# Letters keep their case (12M is not 12m); a word may begin the next line.
_MAGNITUDE = lazy.pattern(
    rf"[^\S\n]{{0,3}}(?P<letter>{_LETTER})(?![^\W{_UNSPACED}]|-\w)|(?:\s{{0,3}}|-)(?P<word>(?i:{_WORD}))(?i:s?)\b"
    rf"|[^\S\n]?(?P<signs>[{_SIGN}]{{1,2}})"
)
_MONEY_MAGNITUDE = lazy.pattern(rf"[^\S\n]?(?P<letter>(?i:{alternatives('money_magnitudes')}))(?!\w|'|-\w)")
_MONEY_AFTER = lazy.pattern(rf"[^\S\n]?(?:[$€£¥₹₩₽]|(?:{_CODE}|(?i:dollars|euros|pounds))\b)")
_CODE_BEFORE = lazy.pattern(rf"(?<![A-Za-z0-9_])-?(?:{_CODE})\Z")
_CODE_APART = lazy.pattern(rf"(?:\b(?:{_CODE})|\$)[^\S\n]?-?\Z")
_LONGEST_CODE: Final = 5
_RANKS: Final = PUBLISHED.entries("ranks")
_FOREIGN, _JOINED_FOREIGN = PUBLISHED.entries("unread_magnitudes"), PUBLISHED.entries("unread_joined_magnitudes")
_UNREAD = lazy.pattern(
    rf"(?i)(?:[^\S\n]{{0,3}}|-)(?:(?:{'|'.join(_FOREIGN)})(?!\w)|{'|'.join(_JOINED_FOREIGN)}|[×x*·⋅][^\S\n]?10(?!\d))"
)
_UNREAD_FIRSTS: Final = frozenset((*"×x*·⋅", *(magnitude[0] for magnitude in (*_FOREIGN, *_JOINED_FOREIGN))))
_TIME = lazy.pattern(rf"(?i)[^\S\n]{{0,3}}(?:{alternatives('times_of_day')})(?!\w)")
_NO_MAGNITUDE: Final = frozenset(' \n.,;:!?)]}%"*|')
"""Characters after a number such that next to them only a word that is apart can belong to it."""

Kind = Literal["amount", "rank", "time", "unread"]


class Number(NamedTuple):
    """A number of a text: its place, what a magnitude after it multiplies it with, and where that ends."""

    start: int
    end: int
    factor: int = 1
    tail: int = 0
    kind: Kind = "amount"

    @property
    def bare(self) -> bool:
        """Whether it means itself: 12, not 12k."""
        return self.kind == "amount" and self.factor == 1


_Candidate = tuple[int, int, int, int]
"""Where a number is, and the run of digits and joints around it; whether that is free is seen when it is asked for."""


def find_numbers(text: str, value: str) -> Iterator[Number]:
    """Where a text of plain glyphs holds the canonical value as a free-standing number."""
    sign, unsigned = ("-", value[1:]) if value[0] == "-" else ("", value)
    for candidate in _candidates(text).get(unsigned, ()):
        number = _free(text, candidate)
        if number is not None and number.start == candidate[0] - len(sign):
            yield number


def all_numbers(text: str, may_be: Callable[[str], bool] = bool) -> list[tuple[str, Number]]:
    """Every free-standing number of a text of plain glyphs with its canonical value, if that may be it, in order."""
    values = ((value, candidates) for value, candidates in _candidates(text).items() if may_be(value))
    numbers = ((value, _free(text, candidate)) for value, candidates in values for candidate in candidates)
    return sorted(((value, number) for value, number in numbers if number is not None), key=lambda pair: pair[1].start)


def _free(text: str, candidate: _Candidate) -> Number | None:
    """The number, with its sign, if it is not part of a longer token and numbers no item of a list."""
    start, end, run_start, run_end = candidate
    lead = _lead(text, run_start)
    if lead is None or _numbers_list_item(text, start, end) or _goes_on(text, run_end):
        return None
    factor, tail, kind = _words_after(text, run_start, run_end)
    # In a range the sign belongs to the first number.
    return Number(start - (len(lead) if start == run_start else 0), end, factor, max(tail, end), kind)


@lru_cache(maxsize=8)
def _candidates(text: str) -> dict[str, list[_Candidate]]:
    candidates: dict[str, list[_Candidate]] = {}
    for run in _RUN.finditer(text):
        start, end = run.span()
        if text[start - 1 : start] == ".":
            before = text[start - 2 : start - 1] or " "
            start -= not (before in ".-" or is_word_char(before))  # .5
        if text[end : end + 1] in ("e", "E") and (scientific := _SCIENTIFIC.match(text, start)):
            end = scientific.end()
            candidates.setdefault(_from_scientific(scientific[0]), []).append((start, end, start, end))
            continue
        value = canonical(text[start:end])
        if value is not None:
            candidates.setdefault(value, []).append((start, end, start, end))
            continue
        if _has_two_separators(text[start:end]):
            unread = re.sub("[.,']", "", text[start:end])
            candidates.setdefault(unread, []).append((start, end, start, end))
            continue
        for value, first, last in _ends_of_range(text[start:end]):
            candidates.setdefault(value, []).append((start + first, start + last, start, end))
    for alone in _ALONE.finditer(text) if not text.isascii() else ():
        part = _parse_mixed(alone[0])
        if part is not None:
            candidates.setdefault(part, []).append((*alone.span(), *alone.span()))
    return candidates


def _has_two_separators(run: str) -> bool:
    """Whether it is not known which of its separators begins a fraction: 1234.56,30."""
    return "," in run and "." in run and _SEPARATED.fullmatch(run) is not None and canonical(run) is None


def _from_scientific(digits: str) -> str:
    return canonical(format(Decimal(digits), "f")) or "0"


def canonical(digits: str) -> str | None:
    """One number without its grouping and the zeros that end a fraction; None if it is not one number."""
    integer, point, fraction = digits.partition(".")
    if not (digits.isascii() and integer.isdigit() and (fraction.isdigit() or not point)):
        digits = digits.translate(_ARABIC_SEPARATORS)
        if _POINTS_GROUP.fullmatch(digits):
            digits = digits.translate(_SWAPPED)
        single = _SINGLE.fullmatch(digits)
        if single is None:
            return _parse_mixed(digits)
        if single[1]:
            digits = digits.replace(",", ".")  # after groups of spaces it begins a fraction
        digits = _GROUPING.sub("", digits)
        if not digits.isascii():
            digits = "".join(str(digit(char)) if char.isdigit() else char for char in digits)
        integer, _, fraction = digits.partition(".")
    fraction = fraction.rstrip("0")
    return f"{integer or 0}.{fraction}" if fraction else integer or "0"


def _parse_mixed(digits: str) -> str | None:
    """12 1/2 or 12½ as 12.5, to hundredths where it has no end; None if it is something else, as 3/12 alone."""
    mixed = _MIXED.fullmatch(digits)
    if mixed is None or not (mixed["sign"] or mixed["whole"]):
        return None
    from fractions import Fraction

    if mixed["sign"]:
        part = Fraction(numeric(mixed["sign"])).limit_denominator(10)
    else:
        over, under = int(mixed["over"]), int(mixed["under"])
        if not 0 < over < under:
            return None
        part = Fraction(over, under)
    total = int(mixed["whole"] or 0) + part
    exact = 1000 % total.denominator == 0
    return canonical(f"{float(total):.3f}" if exact else f"{float(total):.2f}")


def _ends_of_range(run: str) -> list[tuple[str, int, int]]:
    """The two ends of a range; none of what is another thing than one number (a date, a version)."""
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
    """What is before a run of digits and belongs to the number: "" or "-"; None if it is part of a token."""
    if start == 0:
        return ""
    char, before = text[start - 1], text[start - 2 : start - 1]
    if char == " " or char == "\n":
        return ""
    if is_word_char(char):
        if char in "nrt" and before == "\\":
            return ""  # an escaped line end
        if char.isalpha() and _is_unspaced(char):
            return ""
        code = _CODE_BEFORE.search(text, max(0, start - _LONGEST_CODE), start)
        return None if code is None else "-" if code[0][0] == "-" and _is_minus(text, code.start()) else ""
    if char in "/\\":
        return None
    if char == ".":
        return "" if before == "." else None
    if char == "-":
        if _is_minus(text, start - 1):
            return "-"
        joined = _JOINED_BEFORE.search(text, max(0, start - _LONGEST_JOINED), start)
        return None if joined and _has_digit(joined[0]) else ""
    # -$12: the sign is before the currency.
    return "-" if before == "-" and category(char) == "Sc" and _is_minus(text, start - 2) else ""


def _is_minus(text: str, at: int) -> bool:
    before = text[at - 1 : at]
    return not before or not (is_word_char(before) or before in ")]}%-")


def _is_unspaced(char: str) -> bool:
    return not char.isascii() and _LETTERS.match(char) is None


def _goes_on(text: str, end: int) -> bool:
    """Whether the digits before `end` are part of a longer token: 12f4, 12.x, 12-rc1."""
    char = text[end : end + 1]
    if not char or char in " \n" or char in _RAISED:
        return False
    if char == "." and (after := text[end + 1 : end + 2]) and is_word_char(after):
        return not _is_unspaced(after)
    letters = _LETTERS.match(text, end)
    if letters and (not char.isalpha() or _has_digit(letters[0]) or "_" in letters[0] or _EXPONENT.match(text, end)):
        return True
    joined = _JOINED_AFTER.match(text, end)
    return joined is not None and _has_digit(joined[0])


def _words_after(text: str, start: int, end: int) -> tuple[int, int, Kind]:
    """What the words after a number make of it: a factor with its end, a rank, a time, or what cannot be read."""
    char = text[end : end + 1]
    if (char and char in _RAISED) or _has_two_separators(text[start:end]):
        return 1, end, "unread"
    if not char or (char in _NO_MAGNITUDE and char not in " \n"):
        return 1, end, "amount"
    if text[end : end + 2] in _RANKS and not is_word_char(text[end + 2 : end + 3] or " "):
        return 1, end, "rank"
    if _TIME.match(text, end):
        return 1, end, "time"
    magnitude = _MAGNITUDE.match(text, end) or _money_magnitude(text, start, end)
    if magnitude is not None:
        name = magnitude.lastgroup or ""
        factor = 1
        for word in magnitude[name] if name == "signs" else (magnitude[name],):
            factor *= _FACTORS.get(word) or _FACTORS[word.lower()]
        # 3億2000万 is one number of two parts.
        unread = name == "signs" and text[magnitude.end() : magnitude.end() + 1].isdecimal()
        return factor, magnitude.end(), "unread" if unread else "amount"
    first = text[end : end + 4].lstrip().lstrip("-")[:1].lower()
    return 1, end, "unread" if first in _UNREAD_FIRSTS and _UNREAD.match(text, end) else "amount"


def _money_magnitude(text: str, start: int, end: int) -> re.Match[str] | None:
    """The m of $12m, which is a unit elsewhere."""
    magnitude = _MONEY_MAGNITUDE.match(text, end)
    if magnitude is None:
        return None
    before = text[max(0, start - _LONGEST_CODE) : start]
    money = (
        category(before[-1:] or " ") == "Sc" or _CODE_APART.search(before) or _MONEY_AFTER.match(text, magnitude.end())
    )
    return magnitude if money else None


def _has_digit(text: str) -> bool:
    return any(char.isdecimal() for char in text)
