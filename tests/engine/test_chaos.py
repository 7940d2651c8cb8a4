"""Two hundred cases against an agent that does all wrong: each gets its own verdict, and nothing is left over."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from time import monotonic

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
}
EACH = {
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
"""How often each is asked for, once of a sync and once of an async agent: 200 in all."""


def prompts() -> list[str]:
    """All of them, so mixed that trouble comes in company."""
    every = [f"{what} {how}" for what, count in EACH.items() for how in ("sync", "async") for _ in range(count)]
    return [every[place * 77 % len(every)] for place in range(len(every))]


def test_each_of_200_cases_gets_its_own_verdict(tmp_path: Path) -> None:
    suite = suite_of(tmp_path, prompts())
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
    assert len(found) == 200
    got = {
        name: (record.status.value, record.trace.error.kind if record.trace.error else "")
        for name, record in found.items()
    }
    wrong = {name: verdict for name, verdict in got.items() if verdict != EXPECTED[name.partition("-")[2]]}
    assert wrong == {}
    counts = Counter(status for status, _ in got.values())
    assert f"{counts['PASS']} passed, {counts['FAIL']} failed, {counts['ERROR']} error" in out
    # Each of the 12 cases that hang may hold a worker for its time and a little, were they all in one line.
    assert took < 12 * (TIMEOUT + 3)
