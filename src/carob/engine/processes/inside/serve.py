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
import threading
import traceback
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from time import perf_counter, process_time
from typing import TypeAlias
from weakref import WeakKeyDictionary, WeakSet

from carob.checks.catalog import CheckCatalog
from carob.engine.processes import messages
from carob.engine.work import TIMEOUT, CaseResult, finish_case, run_case, timeout_trace
from carob.errors import CarobError
from carob.redaction.redactor import Redactor
from carob.system.process_tree import KILL
from carob.targets.base import RunContext, Target
from carob.targets.catalog import build
from carob.targets.config import WIRE_KINDS

Send = Callable[[messages.Finished | messages.Returned], None]

BUSY = 0.5
"""A time-out is not believed if the process was computing for this share of it: in Python, only one at a time can."""


HELD = 0.1
"""A time-out is not believed if other cases held the event loop, or all of Python, for this share of it."""
STALLED = 0.15
"""Seconds after which a watchdog that did not look was kept from it."""


class Running:
    """One case that is being carried out. `held_before`: how long the event loop had been held when it was begun."""

    __slots__ = ("__weakref__", "assignment", "begun", "context", "cpu", "given_up", "held_before")

    def __init__(self, assignment: messages.Assignment, held_before: float, cpu: float) -> None:
        item = assignment.item
        self.assignment = assignment
        self.context = RunContext(
            repeat=item.repeat, attempt=assignment.attempt, needs_teardown=assignment.needs_teardown
        )
        self.begun = perf_counter()
        self.cpu = cpu
        self.held_before = held_before
        self.given_up = False


class LoopTimes:
    """Kept by the watchdog's thread, which alone calls `note_holder`, and read by the event loop's."""

    def __init__(self) -> None:
        self.held = 0.0
        """Seconds for which cases held the event loop or all of Python."""
        self._by_case: WeakKeyDictionary[Running, float] = WeakKeyDictionary()
        self._looked_at = perf_counter()

    def note_holder(self, holder: Running | None, now: float) -> None:
        """The watchdog looked, and this case was on the event loop."""
        unseen, self._looked_at = now - self._looked_at, now
        if unseen > STALLED:
            self.held += unseen  # the GIL was held; the holder is unknown
        elif holder is not None:
            self.held += unseen
            self._by_case[holder] = self._by_case.get(holder, 0.0) + unseen

    def is_held_up(self, running: Running) -> bool:
        """Whether others kept a case from getting on."""
        now = perf_counter()
        held_by_others = self.held - running.held_before - self._by_case.get(running, 0.0)
        if now - self._looked_at > STALLED:
            held_by_others += now - self._looked_at
        return held_by_others > HELD * (now - running.begun)


class CaseSlots:
    """Carries out cases in the order in which they came, `concurrency` at once.

    After a case that overran, no further one is begun here: what overran may still be going on in some thread. Cases
    that wait are given back, and the runner replaces this process when those that were begun have ended.
    """

    def __init__(
        self, start: messages.Start, target: Target, catalog: CheckCatalog, send: Send, in_flight: messages.InFlight
    ) -> None:
        self.running: dict[asyncio.Task[None], Running] = {}
        self.settings = start.settings
        self.times = LoopTimes()
        self._concurrency = start.concurrency
        self._is_live = start.target.kind in {*WIRE_KINDS, "browser"}
        """Whether the agent is elsewhere: what was sent to it once is not sent again but as a retry."""
        self._target = target
        self._redactor = Redactor(start.secrets)
        self._catalog = catalog
        self._send = send
        self._in_flight = in_flight
        self._waiting: deque[messages.Assignment] = deque()
        self._idle: deque[asyncio.Future[None]] = deque()
        self._tasks: list[asyncio.Task[None]] = []
        self._last_end = 0.0
        self._ending = False
        self._closing = False

    def open(self) -> None:
        self._tasks = [asyncio.create_task(self._lane(slot)) for slot in range(self._concurrency)]
        for task in self._tasks:
            task.add_done_callback(self._lane_ended)

    def take(self, assignment: messages.Assignment) -> None:
        if self._ending:
            self._send(messages.Returned(assignment.token))
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
        item, timeout = running.assignment.item, self.settings.case_timeout
        took = round((perf_counter() - running.begun) * 1000, 3)
        trace = timeout_trace(item.case, timeout, running.context, how)
        return finish_case(item, trace, took, self._redactor, catalog=self._catalog)

    def give_up(self, running: Running) -> None:
        """Stop waiting for a case that ignores its cancellation: its lane is lost, and in the end this process."""
        if running in self.running.values() and not running.given_up:
            running.given_up = True
            self._end()
            result = self.end_overrun(running, " and ignored its cancellation")
            self._send(messages.Finished(running.assignment.token, result, deaf=True))

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
            running = self.running[me] = Running(assignment, self.times.held, cpu)
            result = await run_case(
                assignment.item, self._target, self.settings, self._redactor, running.context, self._catalog
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
            if self._concurrency > 1 and not self._is_live and self._others_may_be_to_blame(running):
                self._send(messages.Returned(token, alone=True))
                return
        self._send(messages.Finished(token, result))

    def _others_may_be_to_blame(self, running: Running) -> bool:
        if not self.running and self._last_end < running.begun:
            return False
        busy = process_time() - running.cpu > BUSY * (perf_counter() - running.begun)
        return busy or self.times.is_held_up(running)

    def _end(self) -> None:
        self._ending = True
        while self._waiting:
            self._send(messages.Returned(self._waiting.popleft().token))


PERIOD = 0.05
LATE = 0.5
"""Seconds beyond its time after which a case that holds the event loop is ended, and the whole process with it."""
SURE = 0.25
"""Seconds for which the same case must have been seen to hold the loop."""


class Watchdog(threading.Thread):
    """Looks at the event loop from another thread. It cannot look while C code keeps Python's lock: the runner can.

    `stuck` is called here, in this thread, with a case that does not let go of the loop; one that had time to react to
    its cancellation, and may not have done so, is given up in the loop.
    """

    def __init__(self, slots: CaseSlots, stuck: Callable[[Running], None]) -> None:
        super().__init__(name="carob-watchdog", daemon=True)
        self._loop = asyncio.get_running_loop()
        self._slots = slots
        self._stuck = stuck
        self._late: WeakSet[Running] = WeakSet()
        self._stopped = threading.Event()

    def stop(self) -> None:
        self._stopped.set()

    def run(self) -> None:
        holder: Running | None = None
        since = perf_counter()
        while not self._stopped.wait(PERIOD):
            task = asyncio.current_task(self._loop)
            running = None if task is None else self._slots.running.get(task)
            now = perf_counter()
            if running is not holder:
                holder, since = running, now
            self._slots.times.note_holder(running, now)
            if running is not None and self._is_stuck(running, now, now - since):
                self._stuck(running)
            self._look_for_the_deaf(now)

    def _is_stuck(self, running: Running, now: float, holder: float) -> bool:
        """Whether a case that has held the loop for so long is late, and by its own fault."""
        own_fault = holder > self._slots.settings.case_timeout or not self._slots.times.is_held_up(running)
        return holder > SURE and self._late_by(running, now) > LATE and own_fault

    def _look_for_the_deaf(self, now: float) -> None:
        """Have cases looked at that ignore their cancellation, once the event loop has been alive to let them stop."""
        for running in list(self._slots.running.values()):
            if self._late_by(running, now) > 0 and running not in self._late:
                self._late.add(running)
                patience = self._slots.settings.grace - LATE
                self._loop.call_soon_threadsafe(self._loop.call_later, patience, self._slots.give_up, running)

    def _late_by(self, running: Running, now: float) -> float:
        return now - running.begun - self._slots.settings.case_timeout


Inbox: TypeAlias = "asyncio.Queue[bytes | None]"


def serve(channel: int, words: int, in_flight_file: int) -> None:
    """Work for the runner at the other end of the channel until it hangs up. `words` is a pipe for last words."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for fd in (channel, words):
        os.set_inheritable(fd, False)
    sock = socket.socket(fileno=channel)
    if sys.platform != "win32":
        os.register_at_fork(after_in_child=lambda: _let_go(sock, words))
    inbox: Inbox = asyncio.Queue()
    frames = messages.Frames(inbox.put_nowait, lambda: inbox.put_nowait(None))
    in_flight = messages.InFlight(in_flight_file)
    with asyncio.Runner() as runner:
        try:
            runner.run(_serve(sock, inbox, frames, words, in_flight))
        except BaseException as error:  # noqa: BLE001 - cleaning up would cancel innocent cases and wait for deaf ones
            if not isinstance(error, SystemExit | KeyboardInterrupt):
                in_flight.clear()
            _die(frames, error)


async def _serve(
    sock: socket.socket, inbox: Inbox, frames: messages.Frames, words: int, in_flight: messages.InFlight
) -> None:
    await asyncio.get_running_loop().create_connection(lambda: frames, sock=sock)
    first = await inbox.get()
    if first is None:
        return
    start = messages.read_start(first)
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
    except CarobError as error:
        frames.send(messages.encode(messages.refusal(error)))
        await inbox.get()
        return
    frames.send(messages.encode(messages.Ready()))
    slots = CaseSlots(start, target, catalog, lambda message: frames.send(messages.encode(message)), in_flight)

    def on_stuck(running: Running) -> None:
        result = slots.end_overrun(running, " and blocked the event loop")
        _speak_and_die(words, messages.Finished(running.assignment.token, result, last=True))

    watchdog = Watchdog(slots, on_stuck)
    slots.open()
    watchdog.start()
    await _take_all(inbox, slots)
    watchdog.stop()
    await slots.close()
    try:
        await target.close()
    except CarobError as error:
        _speak(words, messages.refusal(error))


async def _take_all(inbox: Inbox, slots: CaseSlots) -> None:
    """Hand every case on until the runner hangs up."""
    while (message := await inbox.get()) is not None:
        slots.take(messages.read_assignment(message))


def _let_go(sock: socket.socket, words: int) -> None:
    """What an agent forks must not hear what is meant for us, nor answer for us."""
    with suppress(OSError):
        sock.close()
    with suppress(OSError):
        os.close(words)


def _die(frames: messages.Frames, error: BaseException) -> None:
    """End at once, with what is known said and no case finish_case: the runner has to run them again."""
    with suppress(Exception):
        frames.flush()
        traceback.print_exception(error)
        sys.stdout.flush()
        sys.stderr.flush()
    code = error.code if isinstance(error, SystemExit) else 1
    os._exit(code if isinstance(code, int) else 1)


def _speak(words: int, last: messages.Finished | messages.Refused) -> None:
    payload = memoryview(messages.LENGTH.pack(len(line := messages.encode(last))) + line)
    while payload:
        payload = payload[os.write(words, payload) :]


def _speak_and_die(words: int, last: messages.Finished) -> None:
    _speak(words, last)
    signal.raise_signal(KILL)
