"""How counts, lists, ages and times are put into words."""

from collections.abc import Iterable
from datetime import datetime, timedelta


def counted(number: int, noun: str) -> str:
    """`1 commit`, `12 commits`, `4,180 pageviews`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def listed(words: Iterable[str], last: str = "and") -> str:
    """`a`, `a and b`, `a, b and c`."""
    items = list(words)
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} {last} {items[-1]}"


def minutes_between(earlier: datetime, later: datetime) -> int:
    return max(0, int((later - earlier).total_seconds() // 60))


def age_text(minutes: int) -> str:
    """`12 minutes ago`; hours from three hours on, days from three days on."""
    if minutes < 180:
        return f"{counted(minutes, 'minute')} ago"
    if minutes < 3 * 24 * 60:
        return f"{counted(minutes // 60, 'hour')} ago"
    return f"{counted(minutes // (24 * 60), 'day')} ago"


def change_text(now: int, before: int) -> str:
    """`up 40%` against what it was; in words where there was nothing to compare with."""
    if before == 0:
        return "unchanged" if now == 0 else "up from none"
    percent = round((now - before) * 100 / before)
    if percent == 0:
        return "level"
    return f"{'up' if percent > 0 else 'down'} {abs(percent)}%"


def day_text(instant: datetime) -> str:
    return f"{instant:%A} {instant.day} {instant:%B}"


def tomorrow_morning(now: datetime) -> datetime:
    return (now + timedelta(days=1)).replace(hour=9, minute=0, second=0, microsecond=0)


def clipped(text: str, limit: int) -> str:
    """One line of at most `limit` characters."""
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[: limit - 1].rstrip()}…"
