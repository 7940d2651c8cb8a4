"""The app's idea of now, chosen at the front door and handed down."""

from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], datetime]

DEFAULT_NOW = datetime(2026, 3, 12, 9, 0, tzinfo=UTC)


def fixed_clock(instant: datetime) -> Clock:
    """A clock that stands still, so that ages and counts are the same on every run."""
    return lambda: instant


def system_clock() -> datetime:
    return datetime.now(UTC)


def clock_from(text: str | None) -> Clock:
    """Read `CANVAS_NOW`: nothing for the default instant, `system` for real time, else an ISO instant."""
    if not text:
        return fixed_clock(DEFAULT_NOW)
    if text.casefold() == "system":
        return system_clock
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"CANVAS_NOW: {text!r} is no ISO instant; write 2026-03-12T09:00:00+00:00 or system") from None
    return fixed_clock(instant if instant.tzinfo else instant.replace(tzinfo=UTC))
