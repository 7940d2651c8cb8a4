"""The calls that crossed a recording proxy, as many of them as there is room for."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator

from msgspec import Struct

from karat.model.trace import ToolCall

KEPT = 10_000
"""So many calls are kept, the newest."""
ROOM = 128 << 20
"""And so many bytes of memory, at most."""


class CrossedCall(Struct):
    """A `tools/call` that crossed the proxy, and what was sent along with it. Without a name, it could not be read."""

    call: ToolCall
    traceparent: str = ""
    baggage: str = ""
    conversation: str = ""
    """Whose address it was sent to."""
    asked_as: object = None
    """The id of its message."""
    weight: int = 0


class CrossedCalls:
    """Filled by the threads of a proxy, read by those who run cases. What is let go is known to be missing."""

    def __init__(self) -> None:
        self.lost_at = 0.0
        """When the newest call began that is no longer kept."""
        self._calls: deque[CrossedCall] = deque()
        self._weight = 0
        self._lock = threading.Lock()

    def __iter__(self) -> Iterator[CrossedCall]:
        with self._lock:
            return iter(list(self._calls))

    def add(self, crossed: CrossedCall) -> None:
        with self._lock:
            self._calls.append(crossed)
            self._make_room(crossed.weight)

    def end(self, crossed: CrossedCall, call: ToolCall, size: int) -> None:
        """Keep what became of a call, and so many bytes more."""
        with self._lock:
            crossed.call = call
            if any(one is crossed for one in self._calls):
                crossed.weight += size
                self._make_room(size)

    def _make_room(self, more: int) -> None:
        self._weight += more
        while self._calls and (self._weight > ROOM or len(self._calls) > KEPT):
            gone = self._calls.popleft()
            self._weight -= gone.weight
            self.lost_at = max(self.lost_at, gone.call.started_at or 0.0)
