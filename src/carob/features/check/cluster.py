"""The shards of a check on a Ray cluster: each is a task, and what comes of them is taken in their order."""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from carob.engine.processes.messages import Refused, build_error, refusal
from carob.errors import CarobError
from carob.features.check.model import Selected
from carob.features.check.selection import draw_sample
from carob.features.check.shards import Judged, Shard, ShardPart, ShardWork, add_selected, judge_shard
from carob.features.ray import cluster

AGAIN: Final = 2
"""How often a shard is judged again that was lost with its node."""
WAIT: Final = 1.0
FIX: Final = "Start the check again, or leave out --executor ray."


class ClusterCheck:
    """Judges shards on a cluster; when all were taken, `selected` says how many conversations were selected."""

    def __init__(self, work: ShardWork, address: str | None, workers: int | None) -> None:
        self._work = work
        self._address = address
        self._workers = workers
        self.selected = Selected()

    def judge(self, shards: Sequence[Shard]) -> Iterator[Judged]:
        """Each conversation that is to be judged, with its outcomes. Raises CarobError if a shard cannot be judged."""
        sample = self._work.sample
        if sample is None:
            yield from self._judge_all(shards)
            return
        # Each shard has drawn as many as are wanted in all.
        drawn = [*draw_sample(((each[0].id, each) for each in self._judge_all(shards)), sample)]
        left_out = self.selected.fitting - len(drawn)
        self.selected = add_selected([self.selected, Selected(not_drawn=left_out - self.selected.not_drawn)])
        yield from drawn

    def _judge_all(self, shards: Sequence[Shard]) -> Iterator[Judged]:
        counts: list[Selected] = []
        ray = cluster.import_ray()
        with _join(ray, self._address):
            for part in _take_parts(ray, self._work, shards, self._workers or cluster.count_processors(ray)):
                yield from part.judged
                if part.selected is not None:
                    counts.append(part.selected)
        self.selected = add_selected(counts)


@contextmanager
def _join(ray: Any, address: str | None) -> Iterator[None]:
    is_ours = cluster.join_cluster(address, ray)
    try:
        yield
    finally:
        if is_ours:
            ray.shutdown()


def _take_parts(ray: Any, work: ShardWork, shards: Sequence[Shard], most: int) -> Iterator[ShardPart]:
    """The parts of all shards in their order; so many shards are judged at once, or wait to be taken."""
    task = ray.remote(num_cpus=1, max_retries=AGAIN, num_returns="streaming")(judge_remote)
    shared = ray.put(work)
    waiting = deque(shards)
    running: deque[Any] = deque()
    place = os.getcwd(), [*sys.path]
    try:
        while waiting or running:
            while waiting and len(running) < most:
                running.append(task.remote(shared, waiting.popleft(), *place))
            yield from _parts_of(ray, running[0])
            running.popleft()
    except cluster.ClusterLostError:
        raise  # there is nothing left that could be ended
    except BaseException:
        for answers in running:
            ray.cancel(answers, force=True)
        raise


def _parts_of(ray: Any, answers: Any) -> Iterator[ShardPart]:
    """The parts of one shard, as they come. Raises what its task raised."""
    needed = cluster.needed_addresses(ray)
    try:
        while True:
            while not ray.wait([answers], timeout=WAIT)[0]:
                _check_all_reachable(needed)  # else Ray would wait for the head, deaf to all else
            _check_all_reachable(needed)  # else Ray would end this process where its node of this machine is gone
            try:
                part = ray.get(next(answers))
            except StopIteration:
                return
            if isinstance(part, Refused):
                raise build_error(part)
            yield part
    except ray.exceptions.RayError as error:
        raise cluster.ClusterLostError(f"the Ray cluster was lost: {cluster.error_line(error)}.", fix=FIX) from error


def _check_all_reachable(addresses: Iterable[str]) -> None:
    for address in addresses:
        try:
            cluster.check_reachable(address)
        except OSError as error:
            raise cluster.ClusterLostError(
                f"the Ray cluster was lost: {address} no longer responds.", fix=FIX
            ) from error


def judge_remote(work: ShardWork, shard: Shard, folder: str, path: list[str]) -> Iterator[ShardPart | Refused]:
    """Judge a shard on a node. An error is a part too, because errors do not travel between processes."""
    if os.path.isdir(folder):
        os.chdir(folder)
    sys.path += [entry for entry in path if entry not in sys.path]
    try:
        yield from judge_shard(work, shard)
    except CarobError as error:
        yield refusal(error)
