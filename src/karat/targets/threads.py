"""Blocking calls next to the event loop, in threads that never keep the process alive."""

from __future__ import annotations

import asyncio
import os
import threading
from collections import deque
from collections.abc import Callable
from contextvars import copy_context
from queue import SimpleQueue
from time import perf_counter
from typing import Any

QUICK = 0.0005
"""A call this short is waited for in place: going through the event loop would cost three times as much."""
TURN = 0.01
"""Calls waited for in place let the event loop do its other work this often."""


class _Job:
    __slots__ = ("context", "done", "error", "finished", "loop", "mutex", "ready", "result", "work")

    def __init__(self, work: Callable[[], object], loop: asyncio.AbstractEventLoop) -> None:
        self.work = work
        self.loop = loop
        self.result: object = None
        self.error: BaseException | None = None
        self.finished = False
        self.context = copy_context()
        self.done: asyncio.Future[None] | None = None
        self.mutex = threading.Lock()
        self.ready = threading.Lock()
        self.ready.acquire()

    def run(self) -> None:
        try:
            self.result = self.context.run(self.work)
        except BaseException as raised:  # noqa: BLE001  it is handed to the one who waits
            self.error = raised

    def tell(self) -> None:
        """Wake the one who waits, in place or in the event loop."""
        with self.mutex:
            self.finished = True
            future = self.done
        self.ready.release()
        if future is not None:
            try:
                self.loop.call_soon_threadsafe(_settle, future)
            except RuntimeError:
                return  # the loop is closed, so no one waits for this

    def waiting(self) -> asyncio.Future[None] | None:
        """A future to wait for, or None if the job is finished."""
        with self.mutex:
            if not self.finished:
                self.done = self.loop.create_future()
            return self.done

    def outcome(self) -> object:
        if self.error is not None:
            raise self.error
        return self.result


def _settle(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


class DaemonThreads:
    """Threads that wait for work. One that hangs is given up, and the next call gets another."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._idle: deque[SimpleQueue[_Job | None]] = deque()
        self._closed = False
        self._quick = False
        self._turned = 0.0

    async def call(self, work: Callable[[], Any]) -> Any:
        """The result of `work`, run in a thread. Cancelling returns at once, whatever the thread does."""
        if self._closed:
            raise RuntimeError("these threads are closed")
        job = _Job(work, asyncio.get_running_loop())
        self._inbox().put(job)
        if self._quick and job.ready.acquire(timeout=QUICK):
            now = perf_counter()
            if now - self._turned > TURN:
                self._turned = now
                await asyncio.sleep(0)
        elif (future := job.waiting()) is not None:
            await future
        return job.outcome()

    def close(self) -> None:
        """Let idle threads end now, and busy ones when they come back."""
        self._closed = True
        while self._idle:
            self._idle.pop().put(None)

    def _inbox(self) -> SimpleQueue[_Job | None]:
        try:
            return self._idle.pop()
        except IndexError:
            inbox: SimpleQueue[_Job | None] = SimpleQueue()
            threading.Thread(target=self._serve, args=(inbox,), name=self._name, daemon=True).start()
            return inbox

    def _serve(self, inbox: SimpleQueue[_Job | None]) -> None:
        while (job := inbox.get()) is not None:
            began, here = perf_counter(), os.getpid()
            job.run()
            if os.getpid() != here:
                os._exit(0)  # the work forked, and came back in both
            self._quick = perf_counter() - began < QUICK
            self._idle.append(inbox)
            job.tell()
            if self._closed:
                return
            del job
