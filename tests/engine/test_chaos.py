"""Cases against an agent that does all wrong, a hundred or two: each gets its own verdict, and nothing is left over."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from time import monotonic

import pytest

from .support import Started, journals, records, suite_of, target

TIMEOUT = 4
EXPECTED = {
    "answer": ("PASS", ""),
    "garbage": ("PASS", ""),
    "allocate": ("PASS", ""),
    "wrong": ("FAIL", ""),
    "raise": ("ERROR", "agent"),
    "none": ("ERROR", "bad-answer"),
    "exit": ("ERROR", "agent"),
    "sleep": ("ERROR", "timeout"),
    "spin": ("ERROR", "timeout"),
    "stall": ("ERROR", "timeout"),
}
SOME = {"answer": 23, "wrong": 7, "raise": 6, "none": 6, "garbage": 3, "exit": 1, "sleep": 2, "stall": 1, "allocate": 1}
MANY = {
    "answer": 44,
    "wrong": 15,
    "raise": 12,
    "none": 12,
    "garbage": 6,
    "exit": 4,
    "sleep": 4,
    "spin": 2,
    "allocate": 1,
}
"""How often each is asked for, once of a sync and once of an async agent: 100 and 200 in all."""
HANGING = {"sleep", "spin", "stall"}


def prompts(each: dict[str, int]) -> list[str]:
    """All of them, so mixed that trouble comes in company."""
    every = [f"{what} {how}" for what, count in each.items() for how in ("sync", "async") for _ in range(count)]
    return [every[place * 77 % len(every)] for place in range(len(every))]


@pytest.mark.parametrize("each", [SOME, pytest.param(MANY, marks=pytest.mark.thorough)], ids=["some", "many"])
def test_each_case_gets_its_own_verdict(tmp_path: Path, each: dict[str, int]) -> None:
    asked = prompts(each)
    suite = suite_of(tmp_path, asked)
    began = monotonic()
    options = ("--workers", 2, "--concurrency", 8, "--timeout", TIMEOUT, "--results-dir", tmp_path / "out")
    with Started("run", suite, "--target", target("agent"), *options, cwd=tmp_path) as run:
        code, out, err = run.ended()
        took = monotonic() - began
        assert run.left_behind() == []
    assert code == 1, err
    assert "Traceback" not in err
    (journal,) = journals(tmp_path / "out")
    found = records(journal)
    assert len(found) == len(asked)
    got = {
        name: (record.status.value, record.trace.error.kind if record.trace.error else "")
        for name, record in found.items()
    }
    wrong = {name: verdict for name, verdict in got.items() if verdict != EXPECTED[name.partition("-")[2]]}
    assert wrong == {}
    counts = Counter(status for status, _ in got.values())
    assert f"{counts['PASS']} passed, {counts['FAIL']} failed, {counts['ERROR']} error" in out
    # Each case that hangs may hold a worker for its time and what a busy machine adds, were they all in one line.
    assert took < sum(prompt.split()[0] in HANGING for prompt in asked) * (TIMEOUT + 10)
