"""A Ray cluster: the plan in shards, each a task of its own on some node. Ray is imported when a run asks for it."""

from __future__ import annotations

import asyncio
import math
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from carob.engine.executors import Executor, Job
from carob.engine.processes.messages import (
    Assignment,
    Finished,
    Refused,
    Start,
    Started,
    build_error,
    encode,
    for_runner,
)
from carob.engine.work import CaseResult
from carob.features.ray import cluster
from carob.model.run import Item
from carob.model.trace import TraceError
from carob.redaction.redactor import Redactor

LARGEST = 500
"""Cases in one task: enough to make the cost of a task small, few enough to lose little with a node."""
ROUNDS = 4
"""A slot gets its share in at least this many tasks, smaller ones towards the end: none waits long for another."""
LOSSES = 3
"""How often a case may be lost with its node before it is an ERROR."""
WAIT = 0.1
LEAVE = 30.0
"""Seconds for a cluster to let go of us, or for one of our own to end."""
WATCH = 0.5

Shard = dict[int, Job]
"""The cases that a task on the cluster still owes, by their tokens."""


class RayExecutor(Executor):
    """Sends shards to a Ray cluster, a bounded number at a time, and hears of each case as it finishes.

    Ray is not asked to repeat a task that was lost, because it would run finished cases again: what a lost task still
    owed is put into new shards. A thread of its own talks to Ray, whose calls block: one from the beginning to the end,
    because the processes of a cluster that Ray starts here end with the thread that started them.
    """

    def __init__(self, start: Start, redactor: Redactor, *, address: str | None, total: int, exact: bool) -> None:
        self.slots = 1
        self._start = encode(start)
        self._folder = start.folder
        self._redactor = redactor
        self._address = address
        self._total = total
        self._exact = exact
        self._ray: Any = None
        self._shard: Any = None
        self._ours = False
        self._processors = 1
        self._tokens = 0
        self._queue: deque[Job] = deque()
        self._shards: dict[object, Shard] = {}
        self._wake = threading.Event()
        self._closing = False
        self._gone = False
        self._needed: dict[str, float] = {}
        self._loop: asyncio.AbstractEventLoop
        self._connected: asyncio.Future[None] | None = None
        self._left: asyncio.Future[None]
        self._watch: asyncio.Task[None] | None = None

    async def open(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._connected, self._left = self._loop.create_future(), self._loop.create_future()
        # Not on this thread: Ray would put its own handler in place of the one that ends a run gracefully.
        threading.Thread(target=self._live, name="carob-ray", daemon=True).start()
        await asyncio.shield(self._connected)
        self._watch = asyncio.create_task(self._keep_watch())

    async def run(self, item: Item, attempt: int, on_started: Callable[[Item], None]) -> CaseResult:
        job = Job(item, attempt, on_started, self._loop.create_future())
        self._queue.append(job)
        # When all slots have had their turn, so that the first shards are not too small.
        self._loop.call_soon(self._wake.set)
        return await job.future

    async def close(self) -> None:
        self._closing = True
        self._wake.set()
        if self._watch is not None:
            self._watch.cancel()
        if self._connected is None:
            return
        await asyncio.wait({self._connected}, timeout=cluster.PATIENCE)
        if self._connected.done():
            await asyncio.wait({self._left}, timeout=LEAVE)

    def _live(self) -> None:
        """Connect, serve and disconnect; what breaks is raised where somebody waits for it."""
        assert self._connected is not None
        try:
            self._connect()
        except BaseException as error:  # noqa: BLE001 - handed to the one who waits
            self._tell(_settle, self._connected, error)
        else:
            self._tell(_settle, self._connected, None)
            self._serve()
        finally:
            with suppress(Exception):
                self._disconnect()
            self._tell(_settle, self._left, None)

    def _tell(self, action: Callable[..., None], *arguments: object) -> None:
        with suppress(RuntimeError):  # the loop is closed, so no one waits for this
            self._loop.call_soon_threadsafe(action, *arguments)

    def _connect(self) -> None:
        self._ray = cluster.import_ray()
        self._ours = cluster.join_cluster(self._address, self._ray)
        self._prepare(self._ray)

    def _prepare(self, ray: Any) -> None:
        from carob.features.ray import shard

        self._needed = cluster.needed_addresses(ray)
        self._processors = cluster.count_processors(ray)
        self.slots = self._processors if self._exact else min(self._total, 2 * self._processors * LARGEST)
        remote = ray.remote(num_cpus=1, max_retries=0)
        answer = for_runner(ray.get(remote(shard.probe).remote(self._start, self._folder)))
        if isinstance(answer, Refused):
            raise build_error(answer)
        self._shard = ray.remote(num_cpus=1, max_retries=0, num_returns="streaming")(shard.shard)

    def _disconnect(self) -> None:
        if self._ray is not None:
            for task in () if self._gone else self._shards:
                self._ray.cancel(task, force=True)
            if self._ours:
                self._ray.shutdown()

    async def _keep_watch(self) -> None:
        """Hear of the end of the nodes that all depends on: Ray's own calls wait for them to come back."""
        last_nodes = dict.fromkeys(self._needed, self._loop.time())
        while True:
            await asyncio.sleep(WATCH)
            for address, patience in self._needed.items():
                if await _answers(address):
                    last_nodes[address] = self._loop.time()
                elif self._loop.time() - last_nodes[address] > patience:
                    self._lose(f"{address} no longer responds")
                    return

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
        except Exception as error:  # noqa: BLE001 - no one joins this thread; the cases get the error
            self._tell(self._lose, cluster.error_line(error))

    def _submit(self) -> None:
        """Keep every slot of the cluster busy and the same number of tasks waiting, and no more."""
        most = self._processors if self._exact else 2 * self._processors
        while self._queue and len(self._shards) < most:
            size = 1 if self._exact else math.ceil(len(self._queue) / (ROUNDS * self._processors))
            owed: Shard = {}
            while self._queue and len(owed) < min(size, LARGEST):
                self._tokens += 1
                owed[self._tokens] = self._queue.popleft()
            works = [encode(Assignment(token, job.item, job.attempt)) for token, job in owed.items()]
            self._shards[self._shard.remote(self._start, self._folder, works)] = owed

    def _collect(self, answers: Any) -> None:
        shard = self._shards[answers]
        try:
            batch = self._ray.get(next(answers))
        except StopIteration:
            self._on_lost(answers, shard, "its task ended without it")
        except self._ray.exceptions.RayError as error:
            self._on_lost(answers, shard, cluster.error_line(error))
        else:
            messages = [for_runner(line) for line in batch]
            self._loop.call_soon_threadsafe(self._deliver, shard, messages)

    def _on_lost(self, answers: object, shard: Shard, why: str) -> None:
        """The task is over: what it still owes is to be done by another."""
        del self._shards[answers]
        with suppress(OSError):
            cluster.check_reachable(
                self._ray.get_runtime_context().gcs_address
            )  # else Ray would wait for it, deaf to all else
            self._processors = cluster.count_processors(self._ray)
        delivered = threading.Event()
        self._loop.call_soon_threadsafe(self._queue_again, shard, why, delivered)
        delivered.wait()

    def _deliver(self, shard: Shard, messages: list[object]) -> None:
        for message in messages:
            if isinstance(message, Refused):
                self._give_up(build_error(message))
            elif isinstance(message, Started) and message.token in shard:
                shard[message.token].begin()
            elif isinstance(message, Finished) and message.token in shard:
                shard.pop(message.token).finish(message.done)

    def _queue_again(self, shard: Shard, why: str, delivered: threading.Event) -> None:
        for job in reversed(shard.values()):
            job.losses += 1
            if job.losses < LOSSES:
                self._queue.appendleft(job)
            else:
                error = TraceError("harness", f"the case was lost with its node {LOSSES} times: {why}")
                job.finish_broken(error, self._redactor)
        delivered.set()

    def _lose(self, why: str) -> None:
        self._gone = True
        self._give_up(cluster.ClusterLostError(f"the Ray cluster was lost: {why}."))

    def _give_up(self, error: BaseException) -> None:
        self._closing = True
        for shard in list(self._shards.values()):
            self._queue.extend(shard.values())
        while self._queue:
            self._queue.popleft().fail(error)


async def _answers(address: str) -> bool:
    host, _, port = address.rpartition(":")
    try:
        async with asyncio.timeout(cluster.PATIENCE):
            _, writer = await asyncio.open_connection(host, int(port))
    except OSError:
        return False
    writer.close()
    return True


def _settle(future: asyncio.Future[None], error: BaseException | None) -> None:
    if not future.done():
        future.set_result(None) if error is None else future.set_exception(error)
