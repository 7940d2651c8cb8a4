"""A Ray cluster: the plan in shards, each a task of its own on some node. Ray is imported when a run asks for it."""

from __future__ import annotations

import asyncio
import logging
import math
import os
import socket
import threading
from collections import deque
from collections.abc import Callable
from importlib import import_module
from time import perf_counter
from typing import Any

from karat.engine.handle import Job
from karat.engine.messages import Begun, Finished, Refused, Start, Work, encode, for_runner, refused_as
from karat.engine.plan import Item
from karat.engine.work import Done, broken
from karat.errors import ConfigError, KaratError
from karat.model.trace import TraceError
from karat.targets.redact import Redactor

LARGEST = 500
"""Cases in one task: enough to make the cost of a task small, few enough to lose little with a node."""
ROUNDS = 4
"""A slot gets its share in at least this many tasks, smaller ones towards the end: none waits long for another."""
LOSSES = 3
"""How often a case may be lost with its node before it is an ERROR."""
WAIT = 0.1
PATIENCE = 5.0
ADDRESS = "Give --ray-address HOST:PORT of its head node, or 'auto' on a machine of the cluster."
QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",
    "RAY_DEDUP_LOGS": "0",
}


class Shard:
    """A task on the cluster and the cases that it still owes."""

    def __init__(self, answers: Any, jobs: dict[int, Job]) -> None:
        self.answers = answers
        self.jobs = jobs


class Cluster:
    """Sends shards to a Ray cluster, a bounded number at a time, and hears of each case as it finishes.

    Ray is not asked to repeat a task that was lost, because it would run finished cases again: what a lost task still
    owed is put into new shards. A thread of its own talks to Ray, whose calls block.
    """

    keeps_rate = False

    def __init__(self, start: Start, redactor: Redactor, *, address: str | None, total: int, exact: bool) -> None:
        self.lanes = 1
        self._start = encode(start)
        self._redactor = redactor
        self._address = address
        self._total = total
        self._exact = exact
        self._ray: Any = None
        self._shard: Any = None
        self._ours = False
        self._slots = 1
        self._tokens = 0
        self._queue: deque[Job] = deque()
        self._shards: dict[Any, Shard] = {}
        self._wake = threading.Event()
        self._closing = False
        self._loop: asyncio.AbstractEventLoop
        self._connected: asyncio.Future[None] | None = None
        self._pump: threading.Thread | None = None

    async def open(self) -> None:
        self._loop = asyncio.get_running_loop()
        # Not on this thread: Ray would put its own handler in place of the one that ends a run gracefully.
        self._connected = _in_thread(self._connect, self._loop)
        await asyncio.shield(self._connected)
        self._pump = threading.Thread(target=self._serve, name="karat-ray", daemon=True)
        self._pump.start()

    async def run(self, item: Item, attempt: int, begun: Callable[[Item], None]) -> Done:
        job = Job(item, attempt, begun, self._loop.create_future())
        self._queue.append(job)
        # When all lanes have had their turn, so that the first shards are not too small.
        self._loop.call_soon(self._wake.set)
        return await job.future

    async def cleared(self, item: Item) -> None:
        """The workers of the node see to that."""

    async def close(self) -> None:
        self._closing = True
        self._wake.set()
        if self._connected is not None:
            done, _ = await asyncio.wait({self._connected}, timeout=PATIENCE)
            if done:
                await _in_thread(self._disconnect, self._loop)

    def _connect(self) -> None:
        where = f"the Ray cluster at {self._address!r}" if self._address else "a local Ray cluster"
        try:
            _reached(self._address)
            self._join(_imported())
        except KaratError:
            raise
        except Exception as error:  # Ray raises plain Exceptions too
            raise ConfigError(f"{where} cannot be reached: {_line(error)}.", fix=ADDRESS, slug="ray") from error
        self._prepare(self._ray)

    def _join(self, ray: Any) -> None:
        self._ray = ray
        if not ray.is_initialized():
            self._ours = True
            dashboard = None if self._address else False
            ray.init(self._address, include_dashboard=dashboard, log_to_driver=False, logging_level=logging.ERROR)

    def _prepare(self, ray: Any) -> None:
        from karat.engine import shard

        self._slots = max(1, int(ray.cluster_resources().get("CPU", 1)))
        self.lanes = self._slots if self._exact else min(self._total, 2 * self._slots * LARGEST)
        remote = ray.remote(num_cpus=1, max_retries=0)
        answer = for_runner(ray.get(remote(shard.probe).remote(self._start, os.getcwd())))
        if isinstance(answer, Refused):
            raise refused_as(answer)
        self._shard = ray.remote(num_cpus=1, max_retries=0, num_returns="streaming")(shard.shard)

    def _disconnect(self) -> None:
        if self._pump is not None:
            self._pump.join()
        if self._ray is not None:
            for task in self._shards:
                self._ray.cancel(task, force=True)
            if self._ours:
                self._ray.shutdown()

    def _serve(self) -> None:
        """Submit and collect until the run is over; what breaks here is raised where cases are waited for."""
        try:
            while not self._closing:
                self._wake.clear()
                self._submit()
                if not self._shards:
                    self._wake.wait(WAIT)
                    continue
                ready, _ = self._ray.wait(list(self._shards), num_returns=1, timeout=WAIT)
                for answers in ready:
                    self._collect(answers)
        except Exception as error:  # noqa: BLE001 - nobody waits for this thread; those who wait for cases hear of it
            self._loop.call_soon_threadsafe(self._give_up, error)

    def _submit(self) -> None:
        """Keep every slot of the cluster busy and the same number of tasks waiting, and no more."""
        most = self._slots if self._exact else 2 * self._slots
        while self._queue and len(self._shards) < most:
            size = 1 if self._exact else math.ceil(len(self._queue) / (ROUNDS * self._slots))
            jobs: dict[int, Job] = {}
            while self._queue and len(jobs) < min(size, LARGEST):
                self._tokens += 1
                jobs[self._tokens] = self._queue.popleft()
            works = [encode(Work(token, job.item, job.attempt)) for token, job in jobs.items()]
            answers = self._shard.remote(self._start, os.getcwd(), works)
            self._shards[answers] = Shard(answers, jobs)

    def _collect(self, answers: Any) -> None:
        shard = self._shards[answers]
        try:
            batch = self._ray.get(next(answers))
        except StopIteration:
            self._lost(answers, shard, "its task ended without it")
        except self._ray.exceptions.RayError as error:
            self._lost(answers, shard, _line(error))
        else:
            told = [for_runner(line) for line in batch]
            self._loop.call_soon_threadsafe(self._deliver, shard, told)

    def _lost(self, answers: Any, shard: Shard, why: str) -> None:
        """The task is over: what it still owes is to be done by another."""
        del self._shards[answers]
        self._slots = max(1, int(self._ray.cluster_resources().get("CPU", 1)))
        delivered = threading.Event()
        self._loop.call_soon_threadsafe(self._again, shard, why, delivered)
        delivered.wait()

    def _deliver(self, shard: Shard, told: list[Any]) -> None:
        for message in told:
            if isinstance(message, Refused):
                self._give_up(refused_as(message))
            elif isinstance(message, Begun) and message.token in shard.jobs:
                shard.jobs[message.token].begin()
            elif isinstance(message, Finished) and message.token in shard.jobs:
                shard.jobs.pop(message.token).finish(message.done)

    def _again(self, shard: Shard, why: str, delivered: threading.Event) -> None:
        for job in reversed(shard.jobs.values()):
            job.losses += 1
            if job.losses < LOSSES:
                self._queue.appendleft(job)
            else:
                error = TraceError("harness", f"the case was lost with its node {LOSSES} times: {why}")
                job.finish(broken(job.item, error, round((perf_counter() - job.begun_at) * 1000, 3), self._redactor))
        delivered.set()

    def _give_up(self, error: BaseException) -> None:
        self._closing = True
        for shard in list(self._shards.values()):
            self._queue.extend(shard.jobs.values())
        while self._queue:
            self._queue.popleft().fail(error)


def _imported() -> Any:
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    try:
        return import_module("ray")
    except ImportError as error:
        raise ConfigError("Ray is not installed.", fix="pip install 'karat[ray]'", slug="no-ray") from error


def _reached(address: str | None) -> None:
    """Ray itself would try for ever to reach a cluster that is not there."""
    host, colon, port = (address or "").rpartition(":")
    if "://" in host:
        raise ValueError("Ray Client does not stream results.")
    if colon:
        socket.create_connection((host, int(port)), PATIENCE).close()


def _in_thread(work: Callable[[], None], loop: asyncio.AbstractEventLoop) -> asyncio.Future[None]:
    """Work beside the event loop, in a thread that does not keep the process alive if it never comes back."""
    future: asyncio.Future[None] = loop.create_future()

    def settle(error: BaseException | None) -> None:
        if not future.done():
            future.set_result(None) if error is None else future.set_exception(error)

    def run() -> None:
        error: BaseException | None = None
        try:
            work()
        except BaseException as raised:  # noqa: BLE001 - handed to the one who waits
            error = raised
        loop.call_soon_threadsafe(settle, error)

    threading.Thread(target=run, name="karat-ray-work", daemon=True).start()
    return future


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())[:500].removesuffix(".")
