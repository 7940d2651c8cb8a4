"""Words of success and of failure in an answer: the longest at a place counts, and a denied success is a failure."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Literal

import regex

from karat.text.forms.characters import plain
from karat.text.forms.offsets import Span
from karat.text.prose.denial import denial
from karat.text.prose.sentences import Prose, prose
from karat.text.prose.used_up import used_up
from karat.text.regexes import lazy

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
    "already assigned",
    "already booked",
    "already reserved",
    "already scheduled",
    "all booked",
    "booked out",
    "booked up",
    "fully allocated",
    "fully booked",
    "fully reserved",
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
    "overbooked",
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

Kind = Literal["success", "failure", "neutral", "open", "used up"]

_OPEN = lazy.regex(
    r"\b(?:can|could|'ll|may|might|must|shall|should|to|will|would|wird|werde)(?:[^\S\n]+\w+)?[^\S\n]+"
    r"(?:be|get|have)(?:[^\S\n]+(?:been|it|that|this|\w+ly))?[^\S\n]+\Z"
    r"|\b(?:as soon as|if|in case|once|provided|unless|until|when)\b[^,:]*\Z"
)
"""What makes a success one to come, or one under a condition."""


def indicators(
    text: str, success: tuple[str, ...], failure: tuple[str, ...], denied: Kind = "failure"
) -> dict[Kind, Span]:
    """The first word of each kind; a denied success is `denied`, one to come, asked for or conditional is `open`.

    `used up` says that all of something is taken: whether by this turn or before it, only its calls can tell.
    """
    words = prose(text)
    first: dict[Kind, Span] = {}
    for kind, start, end in _told(words, success, failure, denied):
        if kind not in first:
            first[kind] = words.written(start, end)
        if "success" in first and "failure" in first:
            break
    return first


def _told(
    words: Prose, success: tuple[str, ...], failure: tuple[str, ...], denied: Kind
) -> Iterator[tuple[Kind, int, int]]:
    pattern, kinds = _alternatives(success, failure)
    last_success, denied_until = 0, -1
    for m in pattern.finditer(words.text):
        start, end = m.span()
        listed = kind = kinds[" ".join(m[0].split())]
        if kind == "success":
            denying = denial(words.text, start, end, last_success)
            if denying:
                kind, start, end = "neutral" if denying.good_news else denied, denying.start, denying.end
            elif denied_until >= 0 and words.text[denied_until:start].strip() in ("", "or", "nor"):
                kind = "neutral"
            elif _OPEN.search(words.clause_before(start)) or words.asks(end):
                kind = "open"
            elif used_up(words, start, end):
                kind = "used up"
            last_success = m.end()
        if kind not in (listed, "open", "used up") or m[0].startswith("not "):
            denied_until = m.end()
        yield kind, start, end


@lru_cache(maxsize=256)
def _alternatives(success: tuple[str, ...], failure: tuple[str, ...]) -> tuple[regex.Pattern[str], dict[str, Kind]]:
    kinds: dict[str, Kind] = {}
    listed: tuple[tuple[tuple[str, ...], Kind], ...] = (
        (NEUTRAL, "neutral"),
        (success, "success"),
        (failure, "failure"),
    )
    for phrases, kind in listed:
        kinds |= dict.fromkeys((" ".join(plain(phrase).lower().split()) for phrase in phrases), kind)
    longest_first = sorted(kinds, key=len, reverse=True)
    spelled = "|".join(regex.escape(phrase, literal_spaces=True).replace(" ", r"[^\S\n]+") for phrase in longest_first)
    return regex.compile(rf"(?<!\w)(?:{spelled})(?!\w)"), kinds
