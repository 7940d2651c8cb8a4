"""What talks to Ray, in a process of its own: Ray ends it at once when the node of this machine is gone."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Callable
from contextlib import suppress

import msgspec
from msgspec import Struct

from carob.engine.executors import Executor, Job
from carob.engine.processes import messages
from carob.engine.work import CaseResult
from carob.errors import CarobError
from carob.features.ray.cluster import ClusterLostError
from carob.features.ray.executor import LEAVE, RayExecutor
from carob.model.run import Item
from carob.redaction.redactor import Redactor
from carob.system.process_tree import start

POLL = 0.02
ENDED = "the Ray cluster was lost: it ended the process that talks to it"


class Cluster(Struct, frozen=True):
    """Which cluster to join, and for how many cases. The first message; the second one is what to open."""

    address: str | None
    total: int
    exact: bool


class Joined(Struct, frozen=True, tag="joined"):
    """The cluster is joined, and the target opens there."""

    slots: int


_for_runner = msgspec.json.Decoder(Joined | messages.Refused | messages.Started | messages.Finished).decode


class RayProcess(Executor):
    """A `RayExecutor` in another process. When that ends, all cases that it still owes end with ClusterLostError."""

    def __init__(self, start: messages.Start, *, address: str | None, total: int, exact: bool) -> None:
        self.slots = 1
        self._first = (msgspec.json.encode(Cluster(address, total, exact)), messages.encode(start))
        self._jobs: dict[int, Job] = {}
        self._tokens = 0
        self._error: CarobError | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._frames = messages.Frames(self._receive, lambda: self._give_up(ClusterLostError(f"{ENDED}.")))
        self._joined: asyncio.Future[None]

    async def open(self) -> None:
        loop = asyncio.get_running_loop()
        self._joined = loop.create_future()
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = _spawn(theirs)
        await loop.create_connection(lambda: self._frames, sock=ours)
        for message in self._first:
            self._frames.send(message)
        await self._joined

    async def run(self, item: Item, attempt: int, on_started: Callable[[Item], None]) -> CaseResult:
        if self._error is not None:
            raise self._error
        job = Job(item, attempt, on_started, asyncio.get_running_loop().create_future())
        self._tokens += 1
        self._jobs[self._tokens] = job
        self._frames.send(messages.encode(messages.Assignment(self._tokens, item, attempt)))
        return await job.future

    async def close(self) -> None:
        self._frames.close()
        if (process := self._process) is None:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(LEAVE):
                while process.poll() is None:
                    await asyncio.sleep(POLL)
        process.kill()
        process.wait()

    def _receive(self, frame: bytes) -> None:
        message = _for_runner(frame)
        if isinstance(message, messages.Refused):
            self._give_up(messages.build_error(message))
        elif isinstance(message, Joined):
            self.slots = message.slots
            self._joined.set_result(None)
        elif isinstance(message, messages.Started):
            self._jobs[message.token].begin()
        else:
            self._jobs.pop(message.token).finish(message.done)

    def _give_up(self, error: CarobError) -> None:
        self._error = self._error or error
        if not self._joined.done():
            self._joined.set_exception(self._error)
        while self._jobs:
            self._jobs.popitem()[1].fail(self._error)


def _spawn(theirs: socket.socket) -> subprocess.Popen[bytes]:
    """A session of its own: who interrupts the run does not interrupt what it ends."""
    command, quiet = [sys.executable, "-m", __name__, str(theirs.fileno())], subprocess.DEVNULL
    return start(command, stdin=quiet, stdout=quiet, stderr=quiet, pass_fds=[theirs.fileno()])


class _Host:
    """The other end: it carries out what it is sent on the cluster, until the client is gone."""

    def __init__(self) -> None:
        self.frames = messages.Frames(self._receive, lambda: self._ended.set())
        self._ended = asyncio.Event()
        self._first: deque[bytes] = deque()
        self._begun = asyncio.Event()
        self._executor: RayExecutor
        self._running: set[asyncio.Task[None]] = set()

    async def serve(self) -> None:
        await self._begun.wait()
        cluster, start = msgspec.json.decode(self._first[0], type=Cluster), messages.read_start(self._first[1])
        self._executor = RayExecutor(
            start, Redactor(start.secrets), address=cluster.address, total=cluster.total, exact=cluster.exact
        )
        try:
            try:
                await self._executor.open()
            except CarobError as error:
                self.frames.send(messages.encode(messages.refusal(error)))
            else:
                self.frames.send(messages.encode(Joined(self._executor.slots)))
            self.frames.flush()
            await self._ended.wait()
        finally:
            await self._executor.close()

    def _receive(self, frame: bytes) -> None:
        if len(self._first) < 2:
            self._first.append(frame)
            if len(self._first) == 2:
                self._begun.set()
            return
        task = asyncio.create_task(self._carry_out(messages.read_assignment(frame)))
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def _carry_out(self, work: messages.Assignment) -> None:
        try:
            done = await self._executor.run(
                work.item, work.attempt, lambda _: self.frames.send(messages.encode(messages.Started(work.token)))
            )
        except CarobError as error:
            self.frames.send(messages.encode(messages.refusal(error)))
        else:
            self.frames.send(messages.encode(messages.Finished(work.token, done)))


async def _serve(descriptor: int) -> None:
    host = _Host()
    await asyncio.get_running_loop().create_connection(lambda: host.frames, sock=socket.socket(fileno=descriptor))
    await host.serve()


if __name__ == "__main__":
    asyncio.run(_serve(int(sys.argv[1])))
    os._exit(0)  # Ray's threads are not waited for
