"""One worker as the runner sees it: a process, the channel to it, and the cases that it has in hand."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from carob.engine.executors import Job
from carob.engine.processes.messages import Assignment, Finished, Refused, Returned, Start, build_error, encode
from carob.engine.processes.process import Channel, Garbled, ReceivedMessage, WorkerProcess
from carob.engine.work import TIMEOUT
from carob.errors import CarobError, ConfigError, ExitCode
from carob.model.suite import Case
from carob.model.trace import TraceError

AHEAD_MS = 40.0
"""Work for this long is sent ahead: waiting for the answer to each quick case would cost more than the case."""


class CaseBack(NamedTuple):
    """A case that a worker was given, and what became of it there."""

    job: Job
    message: Finished | Returned


class WorkerLost(NamedTuple):
    """A worker is gone. Which of its cases may be to blame for that, and which are not.

    `needs_teardown`: those that were being carried out, to blame or not.
    """

    error: TraceError
    suspects: list[Job]
    innocent: list[Job]
    needs_teardown: list[Job]


WorkerEvent = CaseBack | WorkerLost | CarobError
"""The error of a target that could not be closed as it should be."""


class AssignedJobs:
    """Knows by its token each case that a worker has, in the order in which it begins them, `concurrency` at once."""

    def __init__(self, concurrency: int, ahead: int) -> None:
        self._concurrency = concurrency
        self._ahead = ahead
        self._jobs: dict[int, Job] = {}
        self._unbegun: deque[Job] = deque()
        self._begun = 0
        self._tokens = 0
        self._pace: float | None = None
        self._guilty_is_known = False

    def __len__(self) -> int:
        return len(self._jobs)

    @property
    def room(self) -> int:
        """How many more it can be given: as many as are carried out at once, and some ahead while it is quick."""
        most = 0 if self._pace is None else min(self._ahead, int(AHEAD_MS / self._pace))
        return self._concurrency + most - len(self._jobs)

    def add(self, job: Job) -> int:
        """One more; its token."""
        self._tokens += 1
        self._unbegun.append(job)
        self._jobs[self._tokens] = job
        self.begin_next()
        return self._tokens

    def begin_next(self) -> None:
        """Tell of those that are now begun.

        Each is reported after the end of the one before it, whose waiters run in the event loop's next turn.
        """
        while self._unbegun and self._begun < self._concurrency:
            self._begun += 1
            asyncio.get_running_loop().call_soon(self._unbegun.popleft().begin)

    def finish(self, message: Finished) -> Job | None:
        took = max(message.done.duration_ms, 0.1)
        self._pace = took if self._pace is None else self._pace + (took - self._pace) * 0.2
        self._guilty_is_known = self._guilty_is_known or message.last
        job = self._jobs.pop(message.token, None)
        if job is not None:
            self._begun -= 1
        return job

    def take_back(self, token: int) -> Job | None:
        return self._jobs.pop(token, None)

    def give_up(self) -> None:
        self._jobs.clear()

    def take_lost(self, in_flight: set[int], error: TraceError) -> WorkerLost:
        """Return all of them, sorted by what was running, unless the guilty one is already known."""
        guilty = set() if self._guilty_is_known else in_flight & self._jobs.keys() or set(self._jobs)
        lost = WorkerLost(
            error,
            suspects=[job for token, job in self._jobs.items() if token in guilty],
            innocent=[job for token, job in self._jobs.items() if token not in guilty],
            needs_teardown=[job for token, job in self._jobs.items() if token in guilty | in_flight],
        )
        for job in lost.suspects:
            if job in self._unbegun:
                job.begin()
        self._jobs.clear()
        return lost


START_LIMIT = 120.0
END_LIMIT = 2.0
"""Seconds for an idle worker to end by itself."""
SAVE_LIMIT = 60.0
"""The same for one that writes a tape."""


class Worker:
    """Is given cases, and reports what becomes of each and of itself. Once `retired`, it takes no more of them."""

    def __init__(self, start: Start, ahead: int, tell: Callable[[Worker, WorkerEvent], None]) -> None:
        self.retired = False
        self.closing = False
        self.gone = asyncio.Event()
        """Set when it is closed, and nothing of it goes on any more."""
        self._start = start
        self._tell = tell
        self._assigned = AssignedJobs(start.concurrency, ahead)
        self._channel = Channel(self._on_message, self._on_closed)
        self._process: WorkerProcess | None = None
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._last_message_at = 0.0
        self._cause: tuple[str, str] | None = None
        self._reaping: asyncio.Task[None] | None = None

    @property
    def in_hand(self) -> int:
        return len(self._assigned)

    @property
    def room(self) -> int:
        """How many more cases it can be given."""
        return 0 if self.retired else self._assigned.room

    async def open(self) -> None:
        """Start the process and open the target in it."""
        self._process = WorkerProcess(self._start.concurrency)
        await self._channel.open(self._process.ends)
        try:
            self._channel.send(encode(self._start))
        except UnicodeEncodeError as error:
            fix = "Rename it, or use --workers 0."
            answer = f"the path {error.object!r} is not UTF-8, so workers cannot use it."
            raise ConfigError(answer, fix=fix) from error
        try:
            async with asyncio.timeout(START_LIMIT):
                await self._ready
        except TimeoutError:
            raise ConfigError(f"the target did not open within {START_LIMIT:g} s.") from None

    def give(self, job: Job, needs_teardown: tuple[Case, ...] = ()) -> None:
        """Have one case carried out, and others torn down before it."""
        if not self._assigned:
            self._last_message_at = asyncio.get_running_loop().time()
        token = self._assigned.add(job)
        self._channel.send(encode(Assignment(token, job.item, job.attempt, needs_teardown)))

    def watch(self, now: float) -> None:
        """Kill a worker that had cases in hand and gave no sign of life for longer than any one of them may take."""
        settings = self._start.settings
        if self._assigned and now - self._last_message_at > settings.case_timeout + settings.grace:
            why = f"the case took longer than {settings.case_timeout:g} s and its process did not answer"
            self.kill(TIMEOUT, why)
            if self._process is not None and not self._process.alive:
                self._reap_soon()  # something that it started keeps its channel open

    def kill(self, kind: str, why: str) -> None:
        """End the process and all that it started, now."""
        self._cause = self._cause or (kind, why)
        self.retired = True
        if self._process is not None:
            self._process.ask_to_end()

    async def close(self, limit: float = END_LIMIT) -> None:
        """Let the process end by itself, and make sure that it does. What it has in hand is given up."""
        self.retired = self.closing = True
        self._channel.hang_up()
        saves = self._start.target.tape is not None and self._start.target.tape.records
        if self._process is not None and not await self._process.wait_for_end(max(limit, SAVE_LIMIT * saves)):
            self._cause = self._cause or ("agent", "the worker did not end")
            await self._process.end(limit)
            if saves:
                error = ConfigError("the process that records the tape did not end: what it kept last is not on it.")
                error.exit_code = ExitCode.INTERNAL
                self._tell(self, error)
        if saves:
            await self._channel.wait_until_over()
        if self._reaping is not None:
            await self._reaping
        self._channel.close()
        if self._process is not None:
            self._process.forget()
            self._process = None
        self._assigned.give_up()
        self.gone.set()

    def _on_message(self, message: ReceivedMessage) -> None:
        if isinstance(message, Garbled):
            self.kill("harness", f"the worker sent unreadable data: {message.why}")
            return
        self._last_message_at = asyncio.get_running_loop().time()
        if isinstance(message, Finished):
            self._on_finished(message)
        elif isinstance(message, Returned):
            self.retired = True
            if (job := self._assigned.take_back(message.token)) is not None:
                self._tell(self, CaseBack(job, message))
        elif not self._ready.done():
            if isinstance(message, Refused):
                self._ready.set_exception(build_error(message))
            else:
                self._ready.set_result(None)
        elif isinstance(message, Refused):
            self._tell(self, build_error(message))

    def _on_finished(self, message: Finished) -> None:
        job = self._assigned.finish(message)
        if message.done.error == TIMEOUT or message.last:
            self.retired = True
        if job is not None:
            self._tell(self, CaseBack(job, message))
        if not self.retired:
            self._assigned.begin_next()

    def _on_closed(self) -> None:
        self.retired = True
        if self._channel.is_over:
            self._reap_soon()

    def _reap_soon(self) -> None:
        if self._reaping is None and not self.closing:
            self._reaping = asyncio.get_running_loop().create_task(self._reap())

    async def _reap(self) -> None:
        """Find out how the process ended, and whose fault that is."""
        assert self._process is not None
        ended = await self._process.wait_for_end(END_LIMIT * 2)
        how = self._process.how_it_ended if ended else "it closed its channel"
        kind, why = self._cause or ("agent", f"the agent's process ended: {how}")
        printed = self._channel.printed
        if not self._ready.done():
            self._ready.set_exception(ConfigError(f"the target did not open: {why}.", fix=printed.strip()[-400:]))
        in_flight = self._process.in_flight() if ended else set()
        self._tell(self, self._assigned.take_lost(in_flight, TraceError(kind, why, printed)))
