"""The cases that a worker was given and did not come back with yet."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import NamedTuple

from karat.engine.job import Job
from karat.engine.processes.messages import Finished

AHEAD_MS = 40.0
"""Work for this long is sent ahead: waiting for the answer to each quick case would cost more than the case."""


class Blame(NamedTuple):
    """Which cases may be to blame for the loss of their worker, and which are not.

    `untidy`: those that were being carried out, to blame or not.
    """

    suspects: list[Job]
    innocent: list[Job]
    untidy: list[Job]


class InHand:
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

        Each is told of after the end of the one before it, of which those who wait hear in the event loop's next turn.
        """
        while self._unbegun and self._begun < self._concurrency:
            self._begun += 1
            asyncio.get_running_loop().call_soon(self._unbegun.popleft().begin)

    def finished(self, message: Finished) -> Job | None:
        took = max(message.done.duration_ms, 0.1)
        self._pace = took if self._pace is None else self._pace + (took - self._pace) * 0.2
        self._guilty_is_known = self._guilty_is_known or message.last
        job = self._jobs.pop(message.token, None)
        if job is not None:
            self._begun -= 1
        return job

    def returned(self, token: int) -> Job | None:
        return self._jobs.pop(token, None)

    def give_up(self) -> None:
        self._jobs.clear()

    def lost(self, in_flight: set[int]) -> Blame:
        """All of them, told apart by what was being carried out, unless the guilty one is already known."""
        guilty = set() if self._guilty_is_known else in_flight & self._jobs.keys() or set(self._jobs)
        blame = Blame(
            suspects=[job for token, job in self._jobs.items() if token in guilty],
            innocent=[job for token, job in self._jobs.items() if token not in guilty],
            untidy=[job for token, job in self._jobs.items() if token in guilty | in_flight],
        )
        for job in blame.suspects:
            if job in self._unbegun:
                job.begin()
        self._jobs.clear()
        return blame
