"""A watch in this process: spans come over real sockets, and time passes when a test says so."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

# The benchmarks are no installed package: they are found where the repository is.
sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from benchmarks.watch import Collector
from cli.fixtures import carob, here
from features.watch.watched import Watched

__all__ = ["carob", "here"]

Start = Callable[..., Watched]


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector() as made:
        yield made


@pytest.fixture
def start(tmp_path: Path, collector: Collector) -> Iterator[Start]:
    """Start a watch; one that is still there is ended first, so that starting twice is a restart."""
    running: list[Watched] = []

    def begin(**options: object) -> Watched:
        if running:
            running.pop().close()
        running.append(Watched(tmp_path, collector, running_since=Watched.latest, **options))
        return running[0]

    Watched.latest = 1_900_000_000.0
    yield begin
    for watched in running:
        watched.close()
