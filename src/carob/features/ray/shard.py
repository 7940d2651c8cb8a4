"""What runs on a node of a cluster: a part of the plan, carried out by worker processes of that node."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections import deque
from collections.abc import Iterator
from functools import partial
from queue import SimpleQueue

from carob.engine.processes import messages
from carob.engine.processes.executor import ProcessExecutor
from carob.errors import CarobError
from carob.model.run import Item
from carob.redaction.redactor import Redactor

Batch = list[bytes]


def probe(start: bytes, cwd: str) -> bytes:
    """Open the target here, so that one that cannot be opened is found out before any case is run."""
    return messages.encode(_host_for(start, cwd).refused or messages.Ready())


def shard(start: bytes, cwd: str, works: Batch) -> Iterator[Batch]:
    """Carry out some cases; what becomes of each is yielded as soon as it is known, several at once if they come so."""
    host = _host_for(start, cwd)
    if host.refused is not None:
        yield [messages.encode(host.refused)]
        return
    yield from host.run_jobs([messages.read_assignment(line) for line in works])


class Host:
    """Worker processes on this node. They stay open from one shard to the next: opening a target may take long."""

    def __init__(self, start: messages.Start) -> None:
        self.refused: messages.Refused | None = None
        self._executor = ProcessExecutor(start, Redactor(start.secrets))
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, name="carob-host", daemon=True).start()
        try:
            asyncio.run_coroutine_threadsafe(self._executor.open(), self._loop).result()
        except CarobError as error:
            self.refused = messages.refusal(error)

    def run_jobs(self, works: list[messages.Assignment]) -> Iterator[Batch]:
        on_event: SimpleQueue[bytes | None] = SimpleQueue()
        running = asyncio.run_coroutine_threadsafe(self._run_jobs(deque(works), on_event), self._loop)
        running.add_done_callback(lambda _: on_event.put(None))
        while (line := on_event.get()) is not None:
            batch = [line]
            ended = False
            while not on_event.empty() and not ended:
                more = on_event.get()
                ended = more is None
                batch += () if more is None else (more,)
            yield batch
            if ended:
                break
        running.result()

    def close(self) -> None:
        asyncio.run_coroutine_threadsafe(self._executor.close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)

    async def _run_jobs(self, works: deque[messages.Assignment], on_event: SimpleQueue[bytes | None]) -> None:
        async def lane() -> None:
            while works:
                work = works.popleft()
                try:
                    result = await self._executor.run(work.item, work.attempt, partial(on_started, work.token))
                except CarobError as error:
                    on_event.put(messages.encode(messages.refusal(error)))
                    works.clear()
                    return
                on_event.put(messages.encode(messages.Finished(work.token, result)))

        def on_started(token: int, item: Item) -> None:
            on_event.put(messages.encode(messages.Started(token)))

        await asyncio.gather(*(lane() for _ in range(min(self._executor.slots, len(works)))))


_hosts: dict[bytes, Host] = {}


def _host_for(start: bytes, cwd: str) -> Host:
    """The host of a run in this process; that of an earlier run is closed."""
    if start not in _hosts:
        while _hosts:
            _hosts.popitem()[1].close()
        if os.path.isdir(cwd):
            os.chdir(cwd)
        message = messages.read_start(start)
        sys.path[:] = [*message.path, *(entry for entry in sys.path if entry not in message.path)]
        host = Host(message)
        if host.refused is not None:
            return host
        _hosts[start] = host
    return _hosts[start]
