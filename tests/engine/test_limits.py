"""What a target can bear, and what the caller allows: one at a time, at most N, so many in a minute."""

from __future__ import annotations

import asyncio
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from carob.engine.events import CaseFinished, Event
from carob.engine.executors import Limiter
from carob.targets.capabilities import Limits

from .support import carried_out, kind


def overlap(calls: Path) -> int:
    """How many calls were under way at once, at most."""
    events = sorted((float(moment), what) for what, moment in map(str.split, calls.read_text().splitlines()))
    most = now = 0
    for _, what in events:
        now += 1 if what == "begin" else -1
        most = max(most, now)
    return most


def begins(calls: Path) -> list[float]:
    return sorted(float(line.split()[1]) for line in calls.read_text().splitlines() if line.startswith("begin"))


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CALLS", str(tmp_path / "calls"))
    return tmp_path / "calls"


@pytest.mark.parametrize(
    ("limit", "options", "most"),
    [
        pytest.param(1, {"workers": 2, "concurrency": 4}, 1, id="one-at-a-time-over-two-workers"),
        pytest.param(3, {"workers": 2, "concurrency": 4}, 3, id="three-over-two-workers"),
        pytest.param(2, {"workers": 0, "concurrency": 8}, 2, id="inline"),
        pytest.param(None, {"workers": 0, "concurrency": 4}, 4, id="no-limit-of-its-own"),
        pytest.param(None, {"workers": 1, "concurrency": 1}, 1, id="one-worker-sends-ahead-but-runs-one"),
    ],
)
async def test_no_more_at_once_than_the_target_can_bear(
    tmp_path: Path, calls: Path, limit: int | None, options: dict[str, Any], most: int
) -> None:
    config = {"limits": Limits(max_concurrency=limit)}
    await carried_out(tmp_path, ["measure 0.15"] * 12, function="measured", config=config, **options)
    assert overlap(calls) == most


@pytest.mark.parametrize(("workers", "most"), [pytest.param(2, 2, id="two-workers"), pytest.param(0, 1, id="inline")])
async def test_no_more_at_once_in_each_worker(tmp_path: Path, calls: Path, workers: int, most: int) -> None:
    """A worker that comes up late may find nothing left to do, so there may be fewer."""
    config = {"limits": Limits(max_per_worker=1)}
    await carried_out(
        tmp_path, ["measure 0.15"] * 8, function="measured", config=config, workers=workers, concurrency=4
    )
    assert overlap(calls) <= most


async def test_a_case_that_overran_is_over_before_the_next_begins(tmp_path: Path, calls: Path) -> None:
    """Its thread cannot be stopped: until its process is gone, one more would be one too many."""
    config = {"limits": Limits(max_concurrency=2)}
    prompts = ["measure forever", "measure 0.5", "measure 0.5", "measure 0.5", "measure 0.5", "measure 0.5"]
    found = await carried_out(
        tmp_path, prompts, function="measured", config=config, timeout=1.3, workers=2, concurrency=2
    )
    assert [kind(record) for record in found.values()] == ["timeout"] + ["PASS"] * 5
    lines = [line.split() for line in calls.read_text().splitlines()]
    last = max(float(moment) for what, moment in lines if what == "still")
    others = sorted((float(moment), 1 if what == "begin" else -1) for what, moment in lines if what != "still")
    under_way = [
        sum(step for _, step in others[: place + 1]) for place, (moment, _) in enumerate(others) if moment < last
    ]
    assert max(under_way) == 1, "two others were at it while the first still was"


OF_ITS_OWN, FROM_OUTSIDE = {"limits": Limits(per_minute=300.0)}, {"rate": "300/min"}
BOTH = (OF_ITS_OWN, {"rate": "6000/min"})


@pytest.mark.parametrize(
    ("config", "options", "workers"),
    [
        pytest.param(OF_ITS_OWN, {}, 0, id="of-the-target"),
        pytest.param({}, FROM_OUTSIDE, 0, id="from-outside"),
        pytest.param(*BOTH, 0, id="the-lower-of-both"),
        pytest.param(OF_ITS_OWN, {}, 2, id="of-the-target-over-workers", marks=pytest.mark.thorough),
        pytest.param({}, FROM_OUTSIDE, 2, id="from-outside-over-workers", marks=pytest.mark.thorough),
        pytest.param(*BOTH, 2, id="the-lower-of-both-over-workers"),
    ],
)
async def test_starts_are_spread_over_the_minute(
    tmp_path: Path, calls: Path, config: dict[str, Any], options: dict[str, Any], workers: int
) -> None:
    before = time.monotonic()
    await carried_out(
        tmp_path, ["measure 0"] * 6, function="measured", config=config, workers=workers, concurrency=3, **options
    )
    assert begins(calls)[-1] - before > 5 * 0.2 * 0.99


async def test_what_begins_again_after_a_crash_keeps_to_the_rate(tmp_path: Path, calls: Path) -> None:
    prompts = ["measure exit", *["measure 2"] * 4]
    found = await carried_out(tmp_path, prompts, function="measured", workers=2, concurrency=2, rate="120/min")
    assert [kind(record) for record in found.values()] == ["agent"] + ["PASS"] * 4
    moments = begins(calls)
    assert len(moments) > 5, "some began twice"
    assert moments[-1] - moments[0] > (len(moments) - 1) * 0.5 * 0.8
    assert all(later - earlier > 0.05 for earlier, later in pairwise(moments))


async def test_a_case_that_overran_is_told_before_its_neighbours_end(tmp_path: Path, calls: Path) -> None:
    """Its place is not free before its process is gone, but its end is known."""
    heard: list[str] = []

    def listener(event: Event) -> None:
        if isinstance(event, CaseFinished):
            heard.append(kind(event.record))

    prompts = ["measure 3600", "measure 4.5", "measure 4.5"]
    options: dict[str, Any] = {"timeout": 6.0, "concurrency": 2, "max_failures": 9, "listeners": [listener]}
    await carried_out(tmp_path, prompts, function="measured", **options)
    assert heard == ["PASS", "timeout", "PASS"]


async def test_the_limiter_makes_up_for_nothing() -> None:
    """A pause does not allow a burst after it."""
    limiter = Limiter(600.0)
    loop = asyncio.get_running_loop()
    await limiter.turn()
    await asyncio.sleep(0.5)
    began = loop.time()
    for _ in range(3):
        await limiter.turn()
    assert loop.time() - began > 0.15
