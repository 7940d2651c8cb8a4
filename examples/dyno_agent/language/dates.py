"""Dates as people write them: where they stand in a text, what they mean, and when they could mean two things."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta

from dyno_agent.language.numbers import NUMBER, number_of
from dyno_agent.policy import is_plausible
from dyno_agent.rules import Window

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")

_MONTH = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_LAST_DAY = r"(?P<last>\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?:,?\s+(?P<year>\d{4}))?(?!\d)"
_TO = r"\s*(?:-|–|—|to|through|thru|until|till|and)\s*(?:the\s+)?"


@dataclass(frozen=True, slots=True)
class Mention:
    """One date or period in a text. Exactly one of `window`, `either` and `problem` is set."""

    start: int
    end: int
    window: Window | None = None
    either: tuple[date, date] | None = None
    """The two days that it could be."""
    problem: str | None = None
    vague: bool = False
    """A week or a month: a period to look at, not the days of a test."""


@dataclass(frozen=True, slots=True)
class _Moment:
    """What a reader needs to know beside the text itself."""

    today: date
    past: bool
    day_first: bool | None
    """The order of day and month in slashed dates, where another date of the text gives it away."""


Reader = Callable[[re.Match[str], _Moment], Window | tuple[date, date]]


def find_mentions(text: str, today: date, *, past: bool = False) -> list[Mention]:
    """Every date in the text, in order. `past` says which year a date without one most likely means."""
    moment = _Moment(today, past, _order_given_away(text))
    found: list[Mention] = []
    for pattern, reader, vague in _GRAMMAR:
        for match in pattern.finditer(text):
            if all(match.end() <= other.start or other.end <= match.start() for other in found):
                found.append(_mention(match, reader, moment, vague))
    return sorted(found, key=lambda mention: mention.start)


def _mention(match: re.Match[str], reader: Reader, moment: _Moment, vague: bool) -> Mention:
    try:
        reading = reader(match, moment)
    except (ValueError, OverflowError):
        return Mention(*match.span(), problem=f"{match[0].strip()!r} is no date")
    if isinstance(reading, Window):
        if not is_plausible(reading.first):
            return Mention(*match.span(), problem=f"{match[0].strip()!r} is no date")
        return Mention(*match.span(), window=reading, vague=vague)
    return Mention(*match.span(), either=reading)


def _one_day(day: date) -> Window:
    return Window(day, day)


def _iso(match: re.Match[str], _moment: _Moment) -> Window:
    return _one_day(date(int(match["year"]), int(match["month"]), int(match["day"])))


def _named_month(match: re.Match[str], moment: _Moment) -> Window:
    """`March 10`, `10th of March 2026`, `March 10-12`."""
    groups = match.groupdict()
    first = _dated(groups.get("year"), _month_number(match["month"]), int(match["day"]), moment)
    last = groups.get("last")
    return Window(first, first.replace(day=int(last))) if last else _one_day(first)


def _month_number(name: str) -> int:
    return _MONTHS.index(name.lower()[:3]) + 1


def _dated(year: str | None, month: int, day: int, moment: _Moment) -> date:
    """A date; without a year the nearest one on the likely side of today."""
    if year is not None:
        return date(int(year) + (2000 if len(year) == 2 else 0), month, day)
    near = date(moment.today.year, month, day)
    if moment.past and near > moment.today:
        return near.replace(year=near.year - 1)
    if not moment.past and near < moment.today:
        return near.replace(year=near.year + 1)
    return near


def _slashed(match: re.Match[str], moment: _Moment) -> Window | tuple[date, date]:
    """`10/03/2026` is two dates unless a number over 12, or the text's other dates, tell the day from the month."""
    one, two, year = int(match["one"]), int(match["two"]), match["year"]
    day_first = one > 12 if max(one, two) > 12 else moment.day_first
    if one == two or day_first is False:
        return _one_day(_dated(year, one, two, moment))
    if day_first:
        return _one_day(_dated(year, two, one, moment))
    return (_dated(year, one, two, moment), _dated(year, two, one, moment))


def _order_given_away(text: str) -> bool | None:
    orders = {
        int(match["one"]) > 12
        for match in _SLASHED.finditer(text)
        if 12 < max(int(match["one"]), int(match["two"])) <= 31
    }
    return orders.pop() if len(orders) == 1 else None


def _relative_day(match: re.Match[str], moment: _Moment) -> Window:
    offsets = {"day after tomorrow": 2, "tomorrow": 1, "today": 0, "yesterday": -1}
    return _one_day(moment.today + timedelta(days=offsets[" ".join(match[0].lower().split())]))


def _in_some_days(match: re.Match[str], moment: _Moment) -> Window:
    days = number_of(match["number"]) * (7 if match["unit"].lower().startswith("week") else 1)
    return _one_day(moment.today + timedelta(days=days))


def _weekday(match: re.Match[str], moment: _Moment) -> Window | tuple[date, date]:
    """The coming one; `next Friday` on a Monday could be this week's or the one after."""
    ahead = (_WEEKDAYS.index(match["weekday"].lower()) - moment.today.weekday()) % 7 or 7
    coming = moment.today + timedelta(days=ahead)
    in_this_week = coming.isocalendar().week == moment.today.isocalendar().week
    if (match["which"] or "").lower() == "next" and in_this_week:
        return (coming, coming + timedelta(days=7))
    return _one_day(coming)


def _week(match: re.Match[str], moment: _Moment) -> Window:
    monday = moment.today - timedelta(days=moment.today.weekday()) + timedelta(weeks=_step(match["which"]))
    return Window(monday, monday + timedelta(days=6))


def _month(match: re.Match[str], moment: _Moment) -> Window:
    return _whole_month(moment.today.year, moment.today.month + _step(match["which"]))


def _month_of_year(match: re.Match[str], moment: _Moment) -> Window:
    number = _month_number(match["month"])
    return _whole_month(_dated(match["year"], number, 1, moment).year, number)


def _step(which: str) -> int:
    return {"last": -1, "past": -1, "previous": -1, "this": 0, "next": 1, "coming": 1}[which.lower()]


def _whole_month(year: int, month: int) -> Window:
    """The month, which may be counted past either end of the year."""
    first = date(year + (month - 1) // 12, (month - 1) % 12 + 1, 1)
    next_first = date(year + month // 12, month % 12 + 1, 1)
    return Window(first, next_first - timedelta(days=1))


def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w/.-]){pattern}(?![\w/])", re.IGNORECASE)


_SLASHED = _compiled(r"(?P<one>\d{1,2})/(?P<two>\d{1,2})(?:/(?P<year>\d{4}|\d{2}))?")
_WHICH = r"(?P<which>last|past|previous|this|next|coming)"


# Without such a word before it, `may` or `march` is more likely the verb.
_BEFORE_MONTH = r"(?:(?<=in )|(?<=during )|(?<=since )|(?<=for )|(?<=of ))"


def _grammar() -> Iterator[tuple[re.Pattern[str], Reader, bool]]:
    """Longer forms first: a shorter one never takes a piece of them."""
    yield _compiled(r"(?P<year>\d{4})[-/](?P<month>\d{1,2})[-/](?P<day>\d{1,2})(?:T[\d:]+)?"), _iso, False
    yield _compiled(rf"{_MONTH}\s+{_DAY}{_TO}{_LAST_DAY}{_YEAR}"), _named_month, False
    yield _compiled(rf"{_DAY}{_TO}{_LAST_DAY}(?:\s+of)?\s+{_MONTH}{_YEAR}"), _named_month, False
    yield _compiled(rf"{_MONTH}\s+(?:the\s+)?{_DAY}{_YEAR}"), _named_month, False
    yield _compiled(rf"{_DAY}(?:\s+of)?\s+{_MONTH}{_YEAR}"), _named_month, False
    yield _compiled(r"(?P<day>\d{1,2})\.(?P<month>\d{1,2})\.(?P<year>\d{4})"), _iso, False
    yield _SLASHED, _slashed, False
    yield _compiled(r"(?:day\s+after\s+tomorrow|tomorrow|today|yesterday)"), _relative_day, False
    yield _compiled(rf"in\s+(?P<number>{NUMBER})\s+(?P<unit>days?|weeks?)"), _in_some_days, False
    yield _compiled(rf"(?P<number>{NUMBER})\s+(?P<unit>days?|weeks?)\s+from\s+(?:now|today)"), _in_some_days, False
    yield _compiled(rf"(?:(?P<which>next|this|coming)\s+)?(?P<weekday>{'|'.join(_WEEKDAYS)})"), _weekday, False
    yield _compiled(rf"{_WHICH}\s+week"), _week, True
    yield _compiled(rf"{_WHICH}\s+month"), _month, True
    yield _compiled(rf"{_BEFORE_MONTH}{_MONTH}{_YEAR}"), _month_of_year, True
    yield _compiled(rf"{_MONTH}\s+(?P<year>\d{{4}})"), _month_of_year, True


_GRAMMAR = tuple(_grammar())
