"""What running cases side by side would have saved."""

from __future__ import annotations

import heapq
from collections.abc import Iterable

from karat.engine.events import CaseFinished, Event

LONG = 60.0
AT_ONCE = 4
WORTH = 0.7


class ConcurrencyHint:
    """Records how long cases take one at a time, and reports at the end what several at once would have taken."""

    def __init__(self) -> None:
        self._seconds: list[float] = []

    def __call__(self, event: Event) -> None:
        if isinstance(event, CaseFinished):
            self._seconds.append(event.done.duration_ms / 1000)

    @property
    def hint(self) -> str:
        """Nothing after a short run, or where little would have been saved."""
        alone, together = sum(self._seconds), total_duration(self._seconds, AT_ONCE)
        if alone < LONG or together > WORTH * alone:
            return ""
        return (
            f"running one case at a time took {alone:.0f} s; --concurrency {AT_ONCE} would take about {together:.0f} s"
        )


def total_duration(seconds: Iterable[float], slots: int) -> float:
    """How long cases last that are begun in this order as soon as one of the slots is free."""
    free = [0.0] * slots
    for each in seconds:
        heapq.heappush(free, heapq.heappop(free) + each)
    return max(free)
