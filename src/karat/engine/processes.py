"""Worker processes: an agent that blocks, leaks or crashes the interpreter takes down its own case and no other."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from collections import deque

import msgspec

from karat.engine.frames import Frames
from karat.engine.plan import Item
from karat.engine.work import TIMEOUT, Done, Settings, broken
from karat.engine.worker import Finished, Ready, Refused, Start, Work
from karat.errors import ConfigError, KaratError, SuiteError
from karat.model.trace import TraceError
from karat.targets.redact import Redactor

GRACE = 1.5
"""Seconds that a worker has beyond a case's deadline to answer for it; a healthy one needs milliseconds."""
START_LIMIT = 120.0
TAIL = 4096
WATCH = 0.2

_decode = msgspec.json.Decoder(Ready | Refused | Finished).decode
_encode = msgspec.json.Encoder(enc_hook=str).encode


class WorkerLostError(Exception):
    """A worker process ended, or was killed because it did not answer, with this many cases in flight."""

    def __init__(self, kind: str, message: str, printed: str, in_flight: int) -> None:
        super().__init__(message)
        self.error = TraceError(kind, message, printed)
        self.in_flight = in_flight


class Worker:
    """One worker process as the runner sees it."""

    def __init__(self, start: Start) -> None:
        self._start = start
        self._process: subprocess.Popen[bytes]
        self._frames: Frames
        self._ready: asyncio.Future[None]
        self._waiting: dict[int, tuple[asyncio.Future[Done], float]] = {}
        self._printed: deque[bytes] = deque(maxlen=8)
        self._tokens = 0
        self._cause: tuple[str, str] | None = None
        self.retired = False

    @property
    def in_flight(self) -> int:
        return len(self._waiting)

    async def open(self) -> None:
        loop = asyncio.get_running_loop()
        self._ready = loop.create_future()
        mine, theirs = socket.socketpair()
        output, printed = os.pipe()
        command = [sys.executable, "-m", "karat.engine.worker", str(theirs.fileno())]
        with theirs:
            self._process = _spawned(command, theirs.fileno(), printed)
        os.close(printed)
        await loop.connect_read_pipe(lambda: _Tail(self._printed), os.fdopen(output, "rb", 0))
        _, self._frames = await loop.create_connection(lambda: Frames(self._received, self._lost), sock=mine)
        self._frames.send(_encode(self._start))
        try:
            async with asyncio.timeout(START_LIMIT):
                await self._ready
        except TimeoutError:
            self.kill("agent", f"the target did not open within {START_LIMIT:g} s")
            raise ConfigError(f"the target did not open within {START_LIMIT:g} s.") from None

    async def run(self, item: Item, attempt: int, limit: float) -> Done:
        """Carry out one case; WorkerLostError if the process is lost with it."""
        self._tokens += 1
        token = self._tokens
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Done] = loop.create_future()
        self._waiting[token] = future, loop.time() + limit
        self._frames.send(_encode(Work(token, item, attempt)))
        try:
            return await future
        finally:
            self._waiting.pop(token, None)

    def overdue(self, now: float) -> bool:
        return any(deadline < now for _, deadline in self._waiting.values())

    def kill(self, kind: str, why: str) -> None:
        self._cause = self._cause or (kind, why)
        self.retired = True
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)

    async def close(self) -> None:
        """Let the worker end by itself, and make sure that it does."""
        self.retired = True
        self._frames.close()
        for _ in range(200):
            if self._process.poll() is not None:
                return
            await asyncio.sleep(0.01)
        self.kill("agent", "the worker did not end")
        self._process.wait()

    def _received(self, payload: bytes) -> None:
        message = _decode(payload)
        if isinstance(message, Finished):
            future, _ = self._waiting.get(message.token, (None, 0.0))
            if future is not None and not future.done():
                future.set_result(message.done)
        elif isinstance(message, Ready):
            self._ready.set_result(None)
        elif message.problems:
            self._ready.set_exception(SuiteError(message.problems))
        else:
            refusal = ConfigError(message.message, where=message.where, fix=message.fix, slug=message.slug)
            self._ready.set_exception(refusal)

    def _lost(self) -> None:
        self.retired = True
        ended = _how_it_ended(self._process)
        kind, why = self._cause or ("agent", f"the agent's process ended: {ended}")
        printed = b"".join(self._printed)[-TAIL:].decode(errors="replace")
        if not self._ready.done():
            self._ready.set_exception(ConfigError(f"the target did not open: {why}.", fix=printed.strip()[-400:]))
        lost = WorkerLostError(kind, why, printed, len(self._waiting))
        for future, _ in self._waiting.values():
            if not future.done():
                future.set_exception(lost)


def _spawned(command: list[str], channel: int, printed: int) -> subprocess.Popen[bytes]:
    """A process in a session of its own, so that Ctrl-C reaches the runner alone."""
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=printed,
        stderr=printed,
        pass_fds=[channel],
        start_new_session=True,
    )


class _Tail(asyncio.Protocol):
    """Keeps the end of what a worker prints, however much that is."""

    def __init__(self, kept: deque[bytes]) -> None:
        self._kept = kept

    def data_received(self, data: bytes) -> None:
        self._kept.append(data[-TAIL:])


def _how_it_ended(process: subprocess.Popen[bytes]) -> str:
    try:
        code = process.wait(timeout=2)
    except subprocess.TimeoutExpired:
        return "it closed its socket"
    return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"


class Processes:
    """`workers` processes with `concurrency` cases at once in each.

    When a process is lost with several cases in flight, nobody knows which one is to blame: each is run again, alone
    in a process of its own, and there the guilty one is an ERROR.
    """

    def __init__(
        self, start: Start, settings: Settings, redactor: Redactor, *, workers: int = 1, concurrency: int = 1
    ) -> None:
        self.lanes = workers * concurrency
        self._start = start
        self._timeout = settings.case_timeout
        self._redactor = redactor
        self._count = workers
        self._active: list[Worker] = []
        self._all: set[Worker] = set()
        self._opening = asyncio.Lock()
        self._alone = asyncio.Semaphore(workers)
        self._watch: asyncio.Task[None] | None = None

    async def open(self) -> None:
        self._active.append(await self._new_worker())
        self._watch = asyncio.create_task(self._keep_watch())

    async def run(self, item: Item, attempt: int) -> Done:
        begun = time.perf_counter()
        try:
            worker = await self._free_worker()
            done = await worker.run(item, attempt, self._timeout + GRACE)
        except WorkerLostError as lost:
            if lost.in_flight > 1:
                return await self._run_alone(item, attempt)
            return self._broken(item, lost.error, begun)
        except KaratError as error:
            return self._broken(item, TraceError("harness", str(error)), begun)
        if done.error == TIMEOUT:
            # What overran may still be running there: the process takes no further case.
            worker.retired = True
        return done

    async def _run_alone(self, item: Item, attempt: int) -> Done:
        async with self._alone:
            begun = time.perf_counter()
            try:
                worker = await self._new_worker()
                return await worker.run(item, attempt, self._timeout + GRACE)
            except WorkerLostError as lost:
                return self._broken(item, lost.error, begun)
            except KaratError as error:
                return self._broken(item, TraceError("harness", str(error)), begun)
            finally:
                worker.retired = True

    async def _free_worker(self) -> Worker:
        """The idlest worker; a new one while there are fewer than asked for and none is idle."""
        async with self._opening:
            self._active = [worker for worker in self._active if not worker.retired]
            idlest = min(self._active, key=lambda worker: worker.in_flight, default=None)
            if idlest is not None and (idlest.in_flight == 0 or len(self._active) == self._count):
                return idlest
            worker = await self._new_worker()
            self._active.append(worker)
            return worker

    async def _new_worker(self) -> Worker:
        worker = Worker(self._start)
        self._all.add(worker)
        await worker.open()
        return worker

    def _broken(self, item: Item, error: TraceError, begun: float) -> Done:
        return broken(item, error, round((time.perf_counter() - begun) * 1000, 3), self._redactor)

    async def _keep_watch(self) -> None:
        """Kill workers that do not answer for a case in time, and those that are retired and idle."""
        why = f"the case took longer than {self._timeout:g} s and its process did not answer"
        while True:
            await asyncio.sleep(WATCH)
            now = asyncio.get_running_loop().time()
            for worker in list(self._all):
                if worker.overdue(now):
                    worker.kill(TIMEOUT, why)
                elif worker.retired and not worker.in_flight:
                    worker.kill(TIMEOUT, "an earlier case overran")
                    self._all.discard(worker)

    async def close(self) -> None:
        if self._watch is not None:
            self._watch.cancel()
        await asyncio.gather(*(worker.close() for worker in self._all))
