"""Trying again: after errors only, a bounded number of times, never sooner than the agent asks for."""

from __future__ import annotations

import json
import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from carob.engine.attempts import LONGEST, Retries
from carob.engine.events import CaseRetried, Event
from carob.engine.work import CaseResult
from carob.model.verdict import CaseStatus
from carob.scoring.tally import Contribution

from .support import carried_out, journals, kind

ERROR = CaseResult(Contribution(CaseStatus.ERROR), 1.0, msgspec.Raw(b"{}"), "agent")


def waited(retries: Retries, attempt: int, done: CaseResult = ERROR, seed: int = 0) -> float | None:
    return retries.delay(attempt, done, random.Random(seed))


def test_off_by_default() -> None:
    assert waited(Retries(), 0) is None


@pytest.mark.parametrize(
    ("status", "error", "again"),
    [
        pytest.param(CaseStatus.ERROR, "agent", True, id="the-agent-broke"),
        pytest.param(CaseStatus.ERROR, "timeout", True, id="a-time-out"),
        pytest.param(CaseStatus.ERROR, "", False, id="a-check-broke"),
        pytest.param(CaseStatus.FAIL, "", False, id="a-failed-check"),
        pytest.param(CaseStatus.PARTIAL, "", False, id="an-unknown-check"),
        pytest.param(CaseStatus.PASS, "", False, id="passed"),
    ],
)
def test_only_errors_are_tried_again(status: CaseStatus, error: str, again: bool) -> None:
    done = CaseResult(Contribution(status), 1.0, msgspec.Raw(b"{}"), error)
    assert (waited(Retries(3), 0, done) is not None) == again


def test_attempts_are_bounded() -> None:
    assert [waited(Retries(2), attempt) is not None for attempt in range(4)] == [True, True, False, False]


@given(st.integers(0, 5000), st.floats(0.01, 60), st.integers(), st.none() | st.floats(0, LONGEST))
def test_the_wait_grows_within_bounds(attempt: int, backoff: float, seed: int, asked: float | None) -> None:
    done = msgspec.structs.replace(ERROR, retry_after=asked)
    delay = waited(Retries(10_000, backoff), attempt, done, seed)
    assert delay is not None
    step = min(backoff * 2.0 ** min(attempt, 40), LONGEST)
    assert max(step * 0.5, asked or 0.0) <= delay <= max(step * 1.5, asked or 0.0)


def test_waits_differ_so_that_not_all_come_back_at_once() -> None:
    assert len({waited(Retries(1), 0, seed=seed) for seed in range(20)}) == 20


def test_who_asks_for_too_long_a_wait_is_not_asked_again() -> None:
    assert waited(Retries(5), 0, msgspec.structs.replace(ERROR, retry_after=LONGEST + 1)) is None


@pytest.mark.parametrize("workers", [0, 1], ids=["inline", "worker"])
@pytest.mark.parametrize(
    ("failures", "retries", "outcome", "attempts"),
    [
        pytest.param(1, 2, "PASS", 1, id="second-time-lucky"),
        pytest.param(2, 2, "PASS", 2, id="third-time-lucky"),
        pytest.param(9, 2, "agent", 2, id="never"),
        pytest.param(1, 0, "agent", 0, id="not-asked-for"),
    ],
)
async def test_every_attempt_is_kept(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    workers: int,
    failures: int,
    retries: int,
    outcome: str,
    attempts: int,
) -> None:
    count = tmp_path / "count"
    monkeypatch.setenv("COUNT", str(count))
    heard: list[CaseRetried] = []

    def listener(event: Event) -> None:
        if isinstance(event, CaseRetried):
            heard.append(event)

    options: dict[str, Any] = {"retries": retries, "backoff": 0.01, "workers": workers, "listeners": [listener]}
    found = await carried_out(tmp_path, [f"fail {failures} 0.3"], function="unreliable", **options)
    (record,) = found.values()
    assert kind(record) == outcome
    assert [trace.error.message for trace in record.attempts if trace.error] == [
        "RuntimeError: 429: slow down"
    ] * attempts
    assert len(heard) == attempts
    moments = [float(line) for line in count.read_text().splitlines()]
    assert len(moments) == attempts + 1
    assert all(later - earlier >= 0.29 for earlier, later in pairwise(moments))
    (report,) = (tmp_path / "out").glob("*.json")
    (row,) = json.loads(report.read_bytes())["cases"]
    assert len(row.get("attempts", [])) == attempts


async def test_a_failed_check_is_final(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CALLS", str(tmp_path / "calls"))
    found = await carried_out(tmp_path, ["wrong sync"], workers=0, retries=5, backoff=0.01)
    (record,) = found.values()
    assert record.status is CaseStatus.FAIL
    assert (tmp_path / "calls").read_text().split() == ["000-wrong"]
    assert b"attempts" not in journals(tmp_path / "out")[-1].read_bytes()


async def test_a_crash_of_the_process_is_tried_again_in_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CALLS", str(tmp_path / "calls"))
    found = await carried_out(tmp_path, ["exit sync", "answer sync"], retries=1, backoff=0.01)
    crashed, answered = found.values()
    assert kind(crashed) == "agent"
    assert len(crashed.attempts) == 1
    assert kind(answered) == "PASS"
