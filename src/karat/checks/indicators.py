"""Words of success and of failure in an answer: which comes first, and which of them are negated."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal, NamedTuple

import regex

from karat.text.folding import fold, fold_phrase, original_span

SUCCESS = (
    "allocated",
    "allocation confirmed",
    "assigned",
    "available",
    "booked",
    "confirmed",
    "found",
    "reserved",
    "scheduled",
    "success",
    "successful",
    "successfully",
)
FAILURE = (
    "already allocated",
    "already booked",
    "already reserved",
    "already scheduled",
    "cannot",
    "can't",
    "conflict",
    "conflicts",
    "could not",
    "couldn't",
    "denied",
    "error",
    "exceeds",
    "failed",
    "failure",
    "impossible",
    "incompatible",
    "invalid",
    "missing",
    "no available",
    "no compatible",
    "no dyno",
    "no dyno available",
    "no dyno is available",
    "no dynos",
    "no dynos are available",
    "no dynos available",
    "none available",
    "none is available",
    "not allocated",
    "not assigned",
    "not available",
    "not booked",
    "not compatible",
    "not confirmed",
    "not found",
    "not possible",
    "not reserved",
    "not scheduled",
    "not successful",
    "not supported",
    "refused",
    "rejected",
    "unable",
    "unavailable",
    "unsuccessful",
)
NEUTRAL = (
    "no conflict",
    "no conflicts",
    "no error",
    "no errors",
    "without a conflict",
    "without conflict",
    "without conflicts",
    "without error",
    "without errors",
)

Span = tuple[int, int]

_FAR = 120
_NEW_CLAUSE = "although|and|as|because|but|hence|if|since|so|then|therefore|though|thus|unless|until|when|which|while"
_MARKS = r'[*_`"]*'
_WORD = rf"(?: (?!(?:{_NEW_CLAUSE})\b)(?:[*`\"]*\w+(?:['/-]\w+)*[*`\"]*|\(\w+\)))"
_ASIDE = "(?:, (?:however|in fact|regrettably|sadly|unfortunately),)?"
_NOT = (
    r"(?:(?<!whether or )not|\w*n't|(?:are|could|did|does|had|has|have|is|was|were)nt|never|cannot|unable"
    r"|fail(?:s|ed|ing)? to|impossible to)(?! (?:just|later|merely|only|simply|worry)\b)"
)
_ZERO = r"(?<![.,:/#-])(?<!\b(?:bay|dyno|id|number|slot|vehicle) )0(?!\w|[.,:/]\d| (?:has|is|was|will)\b)"
_IDIOMS = "doubt|later|matter|sooner"
_NO = rf"(?:no(?! (?:\d|(?:{_IDIOMS})\b))|nothing|none|neither|nor|nobody|zero|{_ZERO})"
_WITHOUT = rf"without(?:(?! (?:are|can|had|has|have|is|was|were|will)\b){_WORD}){{0,3}}"
_NEGATED = regex.compile(
    rf"(?<![^\W_])(?:{_NOT}{_MARKS}{_ASIDE}{_WORD}{{0,4}}|{_NO}{_MARKS}{_WORD}{{0,7}}|{_WITHOUT}|(?:de|mis|non|un)(?=-))"
    rf"(?:-| {_MARKS}(?:\w+-)?)\Z"
)
_ANSWERED_NO = regex.compile(
    rf"{_MARKS}(?: \w+){{0,2}}{_MARKS} ?(?:[:=|?]|->) ?{_MARKS}"
    r"(?:(?:false|nil|none|not yet|nothing|null)(?!\w)|(?P<short>no|zero|0)(?![\w'-]|[.,:%]\d|\.? \d))"
)
_NOTHING = regex.compile(
    rf"(?: (?:neither|nobody|none|nothing|no)(?!\w| (?:\d|{_IDIOMS}|else|extra|further|more)\b)"
    r"|(?<=found) (?:zero|0)(?!\w|[.,:]\d))(?: \w+){0,3}"
)
_GOOD_NEWS = regex.compile(
    r"\b(?:affect|clash|concern|conflict|duplicate|error|exceed|interfere|issue|objection|obstacle|overlap|problem"
    r"|restriction|violat|warning)\w*|\b(?:maintenance|other)\b(?!.* available)"
)
_WORDS_BEFORE = regex.compile(r"(?:[\w'-]+ ){0,2}\Z")
_LINE_END = regex.compile(r"[^\S\r\n]*\R")
# Prose that goes on in small letters is wrapped; a negation that is a value ("Errors: 0") ends with its line.
_CLAUSE_END = regex.compile(
    r"\u2014|\R\s*+(?!\p{Ll})|\R[^\S\r\n]*+\R"
    r"|(?<=[:=|][^\S\r\n]*(?i:no|none|not|nothing|zero|0)[^\S\r\n]*)\R"
)


class _Denial(NamedTuple):
    """A success that is negated, with the words that do so; good news where something bad was not found."""

    start: int
    end: int
    good_news: bool


def indicators(
    text: str, success: tuple[str, ...], failure: tuple[str, ...], denied: Literal["failure", "neutral"] = "failure"
) -> tuple[Span | None, Span | None]:
    """The first word of success and of failure; the longest at a place counts, and a negated success is `denied`."""
    pattern, kinds = _alternatives(success, failure)
    seen = fold(text)
    first: dict[str, Span] = {}
    last_success, negated_until = 0, -1
    for m in pattern.finditer(seen):
        kind, start, end = kinds[m[0]], m.start(), m.end()
        if kind == "success":
            denial = _denial(text, seen, m, last_success)
            if denial:
                kind, start, end = "neutral" if denial.good_news else denied, denial.start, denial.end
            elif negated_until >= 0 and seen[negated_until : m.start()] in (" ", " or ", " nor "):
                kind = "neutral"
            last_success = m.end()
        if kind != kinds[m[0]] or m[0].startswith("not "):
            negated_until = m.end()
        if kind not in first:
            first[kind] = original_span(text, start, end)
        if first.keys() >= {"success", "failure"}:
            break
    return first.get("success"), first.get("failure")


def _denial(text: str, seen: str, success: regex.Match[str], after: int) -> _Denial | None:
    """What negates a word of success in its clause, looked for behind `after` and behind the word."""
    start, end = success.span()
    for before in _NEGATED.finditer(seen, max(after, start - _FAR), start, overlapped=True):
        if not _CLAUSE_END.search(text, *original_span(text, before.start(), end)):
            good_news = _is_good_news(seen[before.start() : end])
            # "Without conflicts allocated" tells how, "no conflicts found" tells what.
            return None if good_news and before[0].startswith("without") else _Denial(before.start(), end, good_news)
    if nothing := _NOTHING.match(seen, end):
        good_news, found = _is_good_news(nothing[0]), success[0] == "found"
        ends = _CLAUSE_END if found else _LINE_END
        if (found or not good_news) and not ends.search(text, *original_span(text, end, nothing.end())):
            return _Denial(start, nothing.end(), good_news)
    answer = _ANSWERED_NO.match(seen, end)
    if answer and not _says_more(text, seen, answer):
        counted = _WORDS_BEFORE.search(seen, max(after, start - _FAR), start)
        return _Denial(start, answer.end(), _is_good_news(f"{counted[0] if counted else ''}{answer[0]}"))
    return None


def _says_more(text: str, seen: str, answer: regex.Match[str]) -> bool:
    """Whether "no" is of another line or goes on in its own: "Allocated: no further action" is no answer."""
    first, last = original_span(text, answer.start(), answer.end())
    if _LINE_END.search(text, first, last):
        return True
    goes_on = answer["short"] and seen[answer.end() : answer.end() + 2].strip().isalnum()
    return bool(goes_on) and not _LINE_END.match(text, last)


def _is_good_news(clause: str) -> bool:
    return _GOOD_NEWS.search(clause) is not None


@lru_cache(maxsize=256)
def _alternatives(success: tuple[str, ...], failure: tuple[str, ...]) -> tuple[regex.Pattern[str], dict[str, str]]:
    kinds = {fold_phrase(p): "neutral" for p in NEUTRAL}
    kinds |= {fold_phrase(p): "success" for p in success}
    kinds |= {fold_phrase(p): "failure" for p in failure}
    longest_first = sorted(kinds, key=len, reverse=True)
    return regex.compile(rf"(?<!\w)(?:{'|'.join(map(regex.escape, longest_first))})(?!\w)"), kinds
