"""The same verdicts, to the byte, however a suite is run."""

from __future__ import annotations

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


@pytest.mark.parametrize("repeat", [pytest.param(1, marks=pytest.mark.thorough), 2], ids=["once", "twice"])
def test_every_way_gives_the_same_verdicts(tmp_path: Path, repeat: int) -> None:
    suite_of(tmp_path, PROMPTS)
    found = {}
    for way, options in WAYS.items():
        given = ("--target", target("agent"), "--repeat", repeat, "--results-dir", way, *options)
        with Started("run", "suite.json", *given, cwd=tmp_path) as run:
            code, _, err = run.ended()
        assert code == 1, err
        found[way] = verdicts(tmp_path / way)
    for way, verdict in found.items():
        for got, wanted in zip(verdict, found["inline"], strict=True):
            assert got == wanted, way
