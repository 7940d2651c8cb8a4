"""Where cases are carried out. An executor takes one item at a time from each of its lanes."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

from karat.checks.catalog import CheckCatalog
from karat.engine.plan import Item
from karat.engine.work import Done, Settings, carry_out
from karat.targets.base import RunContext, Target
from karat.traces.redact import Redactor


class Executor(Protocol):
    """Between `open` and `close`, `run` may be awaited as often at once as there are lanes."""

    @property
    def lanes(self) -> int: ...

    @property
    def keeps_rate(self) -> bool:
        """Whether it keeps to the rate by itself; else its callers do."""
        ...

    async def open(self) -> None:
        """Get ready, or raise an error that a user can mend before any case is run."""
        ...

    async def run(self, item: Item, attempt: int, begun: Callable[[Item], None]) -> Done:
        """Carry out one case; `begun` hears when that begins. A KaratError says that no case can be run any more."""
        ...

    async def cleared(self, item: Item) -> None:
        """Wait until nothing of a case goes on any more, where limits ask for that."""
        ...

    async def close(self) -> None: ...


class Nobody:
    """Where nothing is to be carried out: the target is not even opened."""

    keeps_rate = False
    lanes = 1

    async def open(self) -> None:
        """Nothing is needed."""

    async def run(self, item: Item, attempt: int, begun: Callable[[Item], None]) -> Done:
        raise RuntimeError("there is nobody to run a case")

    async def cleared(self, item: Item) -> None:
        """Nothing ever goes on."""

    async def close(self) -> None:
        """Nothing was opened."""


class Inline:
    """In this process and on its event loop: for debugging and for use as a library.

    Nothing can be killed here: an agent that blocks the event loop or ignores its cancellation holds up the run.
    """

    keeps_rate = False

    def __init__(
        self, target: Target, settings: Settings, redactor: Redactor, catalog: CheckCatalog, *, concurrency: int = 1
    ) -> None:
        self.lanes = concurrency
        self._catalog = catalog
        self._target = target
        self._settings = settings
        self._redactor = redactor
        self._folder = ""
        self._elsewhere = ""
        """Where the agent went while it was opened: it is there when its cases are run, not when a journal is begun."""

    async def open(self) -> None:
        with suppress(FileNotFoundError):
            self._folder = os.getcwd()
        await self._target.open()
        if self._folder and (elsewhere := os.getcwd()) != self._folder:
            self._elsewhere = elsewhere
            os.chdir(self._folder)

    async def run(self, item: Item, attempt: int, begun: Callable[[Item], None]) -> Done:
        if self._elsewhere:
            os.chdir(self._elsewhere)
            self._elsewhere = ""
        begun(item)
        context = RunContext(repeat=item.repeat, attempt=attempt)
        return await carry_out(item, self._target, self._settings, self._redactor, context, self._catalog)

    async def cleared(self, item: Item) -> None:
        """A thread that overran cannot be stopped here, and nobody waits for it."""

    async def close(self) -> None:
        """Close the target, and go back to where we were: the agent may have gone elsewhere."""
        await self._target.close()
        if self._folder:
            with suppress(OSError):
                os.chdir(self._folder)
