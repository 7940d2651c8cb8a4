"""`command:` with `lines = true`: processes that stay, each with one conversation at a time.

Each prompt is a line of JSON, and so is its answer, in the short form:

    {"id": 7, "conversation": "1f0c…", "case_id": "refund-1", "prompt": "..."}
    {"id": 7, "final_message": "...", "tool_calls": [...]}

`conversation` is the same for all prompts of one conversation; `case_id`, `metadata` and `context`
are in its first line. An answer may leave `id` out. A process that did not answer, or wrote more than it was asked for,
is ended, and the next case gets a new one. At the end the input ends, and so should the process.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from functools import partial
from itertools import count
from typing import Protocol

from carob.targets.child_process import Child, ExitStatus
from carob.targets.user_code import DaemonThreads

IN_TURN = "one process answers one case after the other: set `max_concurrency` for several processes"
LEAVING = 2.0
"""Seconds in which a process ends by itself once its input has ended."""


class LineConversation(Protocol):
    """A conversation with a process."""

    def line(self, data: bytes) -> None: ...

    def over(self, running: asyncio.Future[ExitStatus]) -> None: ...


class LastingProcess:
    """A process that has one conversation after the other."""

    def __init__(self, child: Child, threads: DaemonThreads) -> None:
        self._child = child
        self._talk: LineConversation | None = None
        self.numbers: Iterator[int] = count(1)
        """Of the prompts that it gets."""
        self._running = asyncio.ensure_future(threads.call(partial(child.run, self._line)))
        self._running.add_done_callback(self._over)

    @property
    def is_ready(self) -> bool:
        """Whether it can have another conversation."""
        return not self._running.done() and self._talk is None

    def begin(self, talk: LineConversation) -> None:
        self._child.restart_count()
        self._talk = talk

    def end(self) -> None:
        """The conversation is over; what the process writes from now on belongs to none, and ends its use."""
        self._talk = None

    def send(self, data: bytes | None) -> None:
        self._child.send(data)

    async def stop(self) -> None:
        """End it and all that it started."""
        self._child.stop()
        await asyncio.wait({self._running})

    async def leave(self) -> None:
        """Let it end by itself, for a while."""
        self._child.send(None)
        await asyncio.wait({self._running}, timeout=LEAVING)
        await self.stop()

    def _line(self, data: bytes) -> None:
        if self._talk is not None:
            self._talk.line(data)

    def _over(self, running: asyncio.Future[ExitStatus]) -> None:
        if self._talk is not None:
            self._talk.over(running)
        elif not running.cancelled():
            running.exception()


class Processes:
    """The processes that wait for a conversation."""

    def __init__(self) -> None:
        self._idle: list[LastingProcess] = []

    def take(self) -> LastingProcess | None:
        while self._idle:
            process = self._idle.pop()
            if process.is_ready:
                return process
        return None

    def give_back(self, process: LastingProcess) -> None:
        process.end()
        self._idle.append(process)

    async def close(self) -> None:
        await asyncio.gather(*(process.leave() for process in self._idle))
        self._idle.clear()
