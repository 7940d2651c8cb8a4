"""From the dates and lengths in a request to the days that it asks for."""

import re
from dataclasses import dataclass
from datetime import date, timedelta

from dyno_agent.language.dates import Mention, find_mentions
from dyno_agent.language.numbers import NUMBER, number_of

_ENDS = re.compile(r"\b(?:until|till|before|by|up\s+to|through|ending|ends?)\s+(?:on\s+)?(?:the\s+)?$", re.IGNORECASE)
_SINCE = re.compile(r"\b(?:since|after|from|starting|beginning|as of)\s+(?:on\s+)?(?:the\s+)?$", re.IGNORECASE)
_LENGTH = re.compile(
    rf"\b(?P<number>{NUMBER})(?:\s*-\s*|\s+)(?:full\s+|consecutive\s+)?(?P<unit>days?|weeks?)\b", re.IGNORECASE
)
_MAX_SHOWN = 24


@dataclass(frozen=True, slots=True)
class Period:
    """The days of a request: either end may be open, and `question` is set when they cannot be told."""

    first: date | None = None
    last: date | None = None
    open_end: bool = False
    """It goes on from `first`, as in `since March`; else a first day alone is that day."""
    vague: bool = False
    question: str | None = None

    @property
    def stated(self) -> bool:
        return self.first is not None or self.last is not None or self.question is not None


def read_period(text: str, today: date, *, past: bool = False) -> Period:
    """What the text says about days."""
    mentions = find_mentions(text, today, past=past)
    for mention in mentions:
        if mention.window is None:
            return Period(question=_question(text, mention))
    windows = [mention.window for mention in mentions if mention.window is not None]
    if not windows:
        return Period()
    if len(windows) > 1:
        return Period(windows[0].first, windows[1].last, vague=any(mention.vague for mention in mentions[:2]))
    return _single(text, mentions[0])


def _single(text: str, mention: Mention) -> Period:
    assert mention.window is not None
    first, last = mention.window.first, mention.window.last
    if _ENDS.search(text[: mention.start]):
        return Period(last=last, vague=mention.vague)
    days = _length(text[: mention.start] + " " * (mention.end - mention.start) + text[mention.end :])
    if days is not None:
        return Period(first, first + timedelta(days=days - 1))
    if (first == last or mention.vague) and _SINCE.search(text[: mention.start]):
        return Period(first, open_end=True, vague=mention.vague)
    return Period(first, None if first == last else last, vague=mention.vague)


def _length(text: str) -> int | None:
    match = _LENGTH.search(text)
    if match is None:
        return None
    days = number_of(match["number"]) * (7 if match["unit"].lower().startswith("week") else 1)
    return days or None


def _question(text: str, mention: Mention) -> str:
    words = text[mention.start : mention.end].strip()[:_MAX_SHOWN]
    if mention.either is None:
        return f"{words!r} is not a valid date. Which date do you mean (YYYY-MM-DD)?"
    one, other = mention.either
    return f"{words!r} is ambiguous: do you mean {one.day} {one:%B %Y} ({one}) or {other.day} {other:%B %Y} ({other})?"
