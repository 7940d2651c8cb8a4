"""Spans of time that numbers are counted over.

A window ends when its source was last synced, not now: a source that stopped syncing has not gone quiet.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from canvas_app.records import Event

DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Window:
    since: datetime
    until: datetime

    def within(self, events: Iterable[Event]) -> list[Event]:
        return [event for event in events if self.since < event.at <= self.until]


def day_window(until: datetime) -> Window:
    """The day that ends at `until`; what is said of "today" is counted over it."""
    return Window(until - DAY, until)


def day_before(window: Window) -> Window:
    return Window(window.since - DAY, window.since)


def week_window(until: datetime) -> Window:
    return Window(until - 7 * DAY, until)
