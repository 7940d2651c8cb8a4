"""A worker process: it opens the target once and carries out the cases that it is sent, several at once.

What agents print goes to the standard streams of this process, never into the channel to the runner. The worker ends
when the runner does, however that ends.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
import traceback
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from time import perf_counter, process_time
from typing import TypeAlias

from karat.checks.catalog import CheckCatalog
from karat.engine.processes.in_flight import InFlight
from karat.engine.processes.inside.watchdog import LoopTimes, Running, Watchdog
from karat.engine.processes.messages import (
    LENGTH,
    Assignment,
    Finished,
    Frames,
    Ready,
    Refused,
    Returned,
    Start,
    encode,
    for_worker,
    refusal,
)
from karat.engine.work import TIMEOUT, CaseResult, finish_case, run_case, timeout_trace
from karat.errors import KaratError
from karat.journal.redaction import Redactor
from karat.targets.base import Target
from karat.targets.catalog import build

Send = Callable[[Finished | Returned], None]

BUSY = 0.5
"""A time-out is not believed if the process was computing for this share of it: in Python, only one at a time can."""


class CaseSlots:
    """Carries out cases in the order in which they came, `concurrency` at once.

    After a case that overran, no further one is begun here: what overran may still be going on in some thread. Cases
    that wait are given back, and the runner replaces this process when those that were begun have ended.
    """

    def __init__(
        self,
        start: Start,
        target: Target,
        redactor: Redactor,
        catalog: CheckCatalog,
        send: Send,
        in_flight: InFlight,
        times: LoopTimes,
    ) -> None:
        self.running: dict[asyncio.Task[None], Running] = {}
        self._settings = start.settings
        self._concurrency = start.concurrency
        self._target = target
        self._redactor = redactor
        self._catalog = catalog
        self._send = send
        self._in_flight = in_flight
        self._times = times
        self._waiting: deque[Assignment] = deque()
        self._idle: deque[asyncio.Future[None]] = deque()
        self._tasks: list[asyncio.Task[None]] = []
        self._last_end = 0.0
        self._ending = False
        self._closing = False

    def open(self) -> None:
        self._tasks = [asyncio.create_task(self._lane(slot)) for slot in range(self._concurrency)]
        for task in self._tasks:
            task.add_done_callback(self._lane_ended)

    def take(self, assignment: Assignment) -> None:
        if self._ending:
            self._send(Returned(assignment.token))
            return
        self._waiting.append(assignment)
        if self._idle:
            self._idle.popleft().set_result(None)

    async def close(self) -> None:
        """Give up what is being carried out."""
        self._closing = True
        self._in_flight.clear()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def end_overrun(self, running: Running, how: str) -> CaseResult:
        """The record of a case that does not come back."""
        item, timeout = running.assignment.item, self._settings.case_timeout
        took = round((perf_counter() - running.begun) * 1000, 3)
        trace = timeout_trace(item.case, timeout, running.context, how)
        return finish_case(item, trace, took, self._redactor, catalog=self._catalog)

    def give_up(self, running: Running) -> None:
        """Stop waiting for a case that ignores its cancellation: its lane is lost, and in the end this process."""
        if running in self.running.values() and not running.given_up:
            running.given_up = True
            self._end()
            result = self.end_overrun(running, " and ignored its cancellation")
            self._send(Finished(running.assignment.token, result, deaf=True))

    async def _lane(self, slot: int) -> None:
        me = asyncio.current_task()
        assert me is not None
        loop = asyncio.get_running_loop()
        while True:
            while not self._waiting:
                idle = loop.create_future()
                self._idle.append(idle)
                await idle
            assignment = self._waiting.popleft()
            self._in_flight.set(slot, assignment.token)
            # Only concurrent cases are compared, and process_time() costs as much as a check.
            cpu = process_time() if self._concurrency > 1 else 0.0
            running = self.running[me] = Running(assignment, self._times.held, cpu)
            result = await run_case(
                assignment.item, self._target, self._settings, self._redactor, running.context, self._catalog
            )
            del self.running[me]
            if not running.given_up:
                self._conclude(running, result)
            self._in_flight.set(slot, 0)
            self._last_end = perf_counter()

    def _lane_ended(self, lane: asyncio.Task[None]) -> None:
        """A lane that ends by itself would leave its case without an end: the process is ended at once."""
        if not self._closing:
            raise SystemExit(1) from (None if lane.cancelled() else lane.exception())

    def _conclude(self, running: Running, result: CaseResult) -> None:
        token = running.assignment.token
        if result.error == TIMEOUT:
            self._end()
            if self._concurrency > 1 and self._others_may_be_to_blame(running):
                self._send(Returned(token, alone=True))
                return
        self._send(Finished(token, result))

    def _others_may_be_to_blame(self, running: Running) -> bool:
        if not self.running and self._last_end < running.begun:
            return False
        busy = process_time() - running.cpu > BUSY * (perf_counter() - running.begun)
        return busy or self._times.is_held_up(running)

    def _end(self) -> None:
        self._ending = True
        while self._waiting:
            self._send(Returned(self._waiting.popleft().token))


Inbox: TypeAlias = "asyncio.Queue[bytes | None]"


def serve(channel: int, words: int, in_flight_file: int) -> None:
    """Work for the runner at the other end of the channel until it hangs up. `words` is a pipe for last words."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for fd in (channel, words):
        os.set_inheritable(fd, False)
    sock = socket.socket(fileno=channel)
    os.register_at_fork(after_in_child=lambda: _let_go(sock, words))
    inbox: Inbox = asyncio.Queue()
    frames = Frames(inbox.put_nowait, lambda: inbox.put_nowait(None))
    in_flight = InFlight(in_flight_file)
    with asyncio.Runner() as runner:
        try:
            runner.run(_serve(sock, inbox, frames, words, in_flight))
        except BaseException as error:  # noqa: BLE001 - cleaning up would cancel innocent cases and wait for deaf ones
            if not isinstance(error, SystemExit | KeyboardInterrupt):
                in_flight.clear()
            _die(frames, error)


async def _serve(sock: socket.socket, inbox: Inbox, frames: Frames, words: int, in_flight: InFlight) -> None:
    await asyncio.get_running_loop().create_connection(lambda: frames, sock=sock)
    first = await inbox.get()
    if first is None:
        return
    start = for_worker(first)
    assert isinstance(start, Start)
    sys.path[:] = [*start.path, *(entry for entry in sys.path if entry not in start.path)]
    if start.folder:
        with suppress(OSError):  # on another machine it may not be there
            os.chdir(start.folder)
    catalog = CheckCatalog(start.project)
    try:
        if start.project.checks:
            catalog.load()
        target = build(start.target)
        await target.open()
    except KaratError as error:
        frames.send(encode(refusal(error)))
        await inbox.get()
        return
    frames.send(encode(Ready()))
    times = LoopTimes()
    redactor = Redactor(start.secrets)
    slots = CaseSlots(start, target, redactor, catalog, lambda message: frames.send(encode(message)), in_flight, times)

    def on_stuck(running: Running) -> None:
        result = slots.end_overrun(running, " and blocked the event loop")
        _speak_and_die(words, Finished(running.assignment.token, result, last=True))

    loop = asyncio.get_running_loop()
    watchdog = Watchdog(loop, slots.running, times, start.settings, on_stuck, slots.give_up)
    slots.open()
    watchdog.start()
    await _take_all(inbox, slots)
    watchdog.stop()
    await slots.close()
    try:
        await target.close()
    except KaratError as error:
        _speak(words, refusal(error))


async def _take_all(inbox: Inbox, slots: CaseSlots) -> None:
    """Hand every case on until the runner hangs up."""
    while (message := await inbox.get()) is not None:
        assignment = for_worker(message)
        assert isinstance(assignment, Assignment)
        slots.take(assignment)


def _let_go(sock: socket.socket, words: int) -> None:
    """What an agent forks must not hear what is meant for us, nor answer for us."""
    with suppress(OSError):
        sock.close()
    with suppress(OSError):
        os.close(words)


def _die(frames: Frames, error: BaseException) -> None:
    """End at once, with what is known said and no case finish_case: the runner has to run them again."""
    with suppress(Exception):
        frames.flush()
        traceback.print_exception(error)
        sys.stdout.flush()
        sys.stderr.flush()
    code = error.code if isinstance(error, SystemExit) else 1
    os._exit(code if isinstance(code, int) else 1)


def _speak(words: int, last: Finished | Refused) -> None:
    payload = memoryview(LENGTH.pack(len(line := encode(last))) + line)
    while payload:
        payload = payload[os.write(words, payload) :]


def _speak_and_die(words: int, last: Finished) -> None:
    _speak(words, last)
    signal.raise_signal(signal.SIGKILL)
