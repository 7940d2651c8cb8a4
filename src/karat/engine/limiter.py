"""Keeping to a rate: starts are spread evenly over the minute."""

from __future__ import annotations

import asyncio


class Limiter:
    """Lets one start through every 60 / `per_minute` seconds; None lets all through."""

    def __init__(self, per_minute: float | None) -> None:
        self._interval = 60.0 / per_minute if per_minute else 0.0
        self._next = 0.0

    def wait(self) -> float:
        """Seconds until the next start may be; with 0.0, it is taken."""
        if not self._interval:
            return 0.0
        now = asyncio.get_running_loop().time()
        if now < self._next:
            return self._next - now
        self._next = now + self._interval
        return 0.0

    async def turn(self) -> None:
        """Take the next start, in the order of asking."""
        if not self._interval:
            return
        now = asyncio.get_running_loop().time()
        start = max(now, self._next)
        self._next = start + self._interval
        await asyncio.sleep(start - now)
