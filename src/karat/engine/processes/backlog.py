"""The cases that wait for a worker."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

from karat.engine.job import Job


class Backlog:
    """In the order in which they came; those that some worker had and did not finish come first."""

    def __init__(self) -> None:
        self._new: deque[Job] = deque()
        self._returned: deque[Job] = deque()

    def add(self, job: Job) -> None:
        self._new.append(job)

    def put_back(self, jobs: Iterable[Job]) -> None:
        self._returned.extend(jobs)

    def __bool__(self) -> bool:
        """Whether there is one that somebody still waits for."""
        while waiting := self._returned or self._new:
            if not waiting[0].future.done():
                return True
            waiting.popleft()
        return False

    def pop(self) -> Job:
        return (self._returned or self._new).popleft()

    def drain(self) -> Iterator[Job]:
        while self:
            yield self.pop()
