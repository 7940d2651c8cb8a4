"""Which run of which case comes next: all of a plan in order, or further runs of what is not decided yet."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Protocol

from karat.engine.plan import Item, Plan


class Items(Protocol):
    """What lanes take from. Whoever takes an item tells when it is done."""

    async def take(self) -> Item | None: ...

    def done(self, item: Item) -> None: ...

    @property
    def left(self) -> bool:
        """Whether something is still to be run."""
        ...


class InOrder:
    """Every item of a plan."""

    def __init__(self, plan: Plan) -> None:
        self._items = iter(plan)
        self._undone = len(plan)

    async def take(self) -> Item | None:
        return next(self._items, None)

    def done(self, item: Item) -> None:
        self._undone -= 1

    @property
    def left(self) -> bool:
        return self._undone > 0


class UntilDecided:
    """Runs of each case one after the other while `is_open` says that another may decide it; all cases take turns.

    One run of a case at a time: no run is begun that the one before it makes needless, and what decides a case does not
    hang on which of several runs ends first.
    """

    def __init__(self, plan: Plan, is_open: Callable[[int], bool]) -> None:
        self._is_open = is_open
        self._runs: dict[int, deque[Item]] = {}
        for item in plan:
            self._runs.setdefault(item.index, deque()).append(item)
        self._waiting = deque(index for index in self._runs if is_open(index))
        self._taken = 0
        self._changed = asyncio.Event()

    async def take(self) -> Item | None:
        while not self._waiting and self._taken:
            self._changed.clear()
            await self._changed.wait()
        if not self._waiting:
            return None
        self._taken += 1
        return self._runs[self._waiting.popleft()].popleft()

    def done(self, item: Item) -> None:
        self._taken -= 1
        if self._runs[item.index] and self._is_open(item.index):
            self._waiting.append(item.index)
        self._changed.set()

    @property
    def left(self) -> bool:
        return bool(self._waiting or self._taken)


def items_of(plan: Plan, is_open: Callable[[int], bool]) -> Items:
    """What is to be run of a plan."""
    return InOrder(plan) if plan.until is None else UntilDecided(plan, is_open)
