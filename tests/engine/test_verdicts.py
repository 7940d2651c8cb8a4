"""The same verdicts, to the byte, however a suite is run."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from .support import Started, suite_of, target, verdicts

PROMPTS = ["answer sync", "wrong async", "raise sync", "none async", "number sync", "wait async"] * 4 + ["huge sync"]
WAYS = {
    "inline": ["--workers", "0"],
    "inline-side-by-side": ["--workers", "0", "--concurrency", "8"],
    "one-worker": ["--workers", "1"],
    "two-workers-side-by-side": ["--workers", "2", "--concurrency", "8"],
    "shuffled": ["--workers", "2", "--concurrency", "8", "--shuffle", "1"],
    "one-at-a-time": ["--workers", "2", "--rate", "9999/s"],
}


FEW = ["inline", "inline-side-by-side", "one-worker", "shuffled"]


@pytest.mark.parametrize(
    ("ways", "repeat"),
    [
        pytest.param(FEW, 2, id="few-twice"),
        pytest.param(WAYS, 1, id="all-once", marks=pytest.mark.thorough),
        pytest.param(WAYS, 2, id="all-twice", marks=pytest.mark.thorough),
    ],
)
def test_every_way_gives_the_same_verdicts(tmp_path: Path, ways: Iterable[str], repeat: int) -> None:
    suite_of(tmp_path, PROMPTS)
    found = {}
    for way in ways:
        given = ("--target", target("agent"), "--repeat", repeat, "--results-dir", way, *WAYS[way])
        with Started("run", "suite.json", *given, cwd=tmp_path) as run:
            code, _, err = run.ended()
        assert code == 1, err
        found[way] = verdicts(tmp_path / way)
    for way, verdict in found.items():
        for got, wanted in zip(verdict, found["inline"], strict=True):
            assert got == wanted, way
