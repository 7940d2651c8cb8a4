"""`--repeat auto`: cases are repeated until they are decided, and undecided is not a pass."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import carob
from carob.errors import UsageError

AGENT = """
import hashlib

def answer(prompt):
    with open(f"{prompt}.count", "a+") as file:
        file.seek(0)
        number = len(file.read())
        file.write("x")
    good = {"good": True, "bad": False}.get(prompt.split("-")[0], number % 5 != 3)
    return "ok" if good else "no"
"""


def suite(*names: str, **keys: Any) -> dict[str, Any]:
    return {
        "version": "0.3",
        "cases": [{"id": name, "prompt": name, "expected": {"must_say_any": ["ok"]}, **keys} for name in names],
    }


def agent(prompt: str) -> str:
    return "ok" if prompt.startswith("good") else "no"


async def slow(prompt: str) -> str:
    await asyncio.sleep(0.005)
    return agent(prompt)


def runs(result: carob.RunResult) -> Counter[str]:
    return Counter(record.case.id for record in result)


@pytest.mark.parametrize("concurrency", [1, 8])
def test_clear_cases_stop_early_and_what_was_saved_is_told(tmp_path: Path, concurrency: int) -> None:
    result = carob.run(suite("good-1", "good-2", "bad-1"), agent, repeat="auto", concurrency=concurrency)
    assert runs(result) == {"good-1": 16, "good-2": 16, "bad-1": 3}
    summary = result.summary
    assert (summary.passed, summary.failed, summary.undecided, summary.runs, summary.saved) == (2, 1, 0, 35, 115)
    assert result.exit_code == 1
    assert carob.run(suite("good-1"), agent, repeat="auto").exit_code == 0


def test_undecided_is_not_a_pass() -> None:
    left = iter(["ok", "ok", "ok", "ok", "no"] * 50)
    result = carob.run(suite("even"), lambda prompt: next(left), repeat="auto", max_repeats=20, allow_partial=True)
    assert runs(result) == {"even": 20}
    assert (result.summary.undecided, result.summary.passed, result.summary.partial) == (1, 0, 1)
    assert result.exit_code == 1
    again = carob.Journal(result.journal.path).summary
    assert again == result.summary


def test_a_case_is_held_to_its_own_rate_and_an_error_ends_it() -> None:
    def breaks(prompt: str) -> str:
        raise RuntimeError("down")

    half = carob.run(
        suite("good", expected={"must_say_any": ["ok"], "min_pass_rate": 0.5}), agent, repeat="auto", max_repeats=20
    )
    assert (half.summary.passed, half.summary.runs) == (1, 5)
    erred = carob.run(suite("good"), breaks, repeat="auto")
    assert (erred.summary.error, erred.summary.runs) == (1, 1)


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ({"min_pass_rate": 0.99}, "50 runs cannot show that a case passes 0.99 of the time"),
        ({"max_repeats": 3}, "^<object>: 3 runs cannot show"),
        ({"confidence": 1.0}, "`confidence` must be over 0.5 and under 1"),
        ({"min_pass_rate": 0.0}, "`min_pass_rate` must be over 0"),
        ({"max_repeats": 1}, "`max_repeats` must be at least 2"),
    ],
)
def test_what_could_prove_nothing_is_refused(how: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        carob.run(suite("good"), agent, repeat="auto", **how)


def test_a_run_that_was_stopped_is_resumed_where_it_was(tmp_path: Path) -> None:
    async def first() -> carob.RunResult:
        stop, seen = asyncio.Event(), Counter[str]()

        def listen(event: carob.Event) -> None:
            if isinstance(event, carob.CaseFinished):
                seen[event.item.case.id] += 1
                if seen["good-1"] == 7:
                    stop.set()

        return await carob.arun(
            suite("good-1", "bad-1", "good-2"),
            slow,
            repeat="auto",
            results_dir=tmp_path,
            listeners=[listen],
            stop=stop,
        )

    stopped = asyncio.run(first())
    assert stopped.exit_code == 2
    done = runs(stopped)
    assert done["bad-1"] == 3
    result = carob.resume(stopped.journal, suite("good-1", "bad-1", "good-2"), slow, results_dir=tmp_path / "again")
    assert runs(result) == {"good-1": 16, "good-2": 16, "bad-1": 3}
    assert (result.summary.incomplete, result.exit_code) == ("", 1)
    judged = carob.rescore(result.journal)
    assert judged.summary == result.summary


def test_a_lost_line_is_told(tmp_path: Path) -> None:
    result = carob.run(suite("good-1", "good-2"), agent, repeat="auto", results_dir=tmp_path)
    path = Path(result.journal.path)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-2] + lines[-1:]))
    assert "runs of 1 case lost" in carob.Journal(path).summary.incomplete


def test_workers_and_rates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "agent.py").write_text(AGENT)
    result = carob.run(
        suite("good-1", "good-2", "bad-1"),
        "python:agent.py:answer",
        repeat="auto",
        workers=2,
        concurrency=2,
        rate="6000/min",
    )
    assert runs(result) == {"good-1": 16, "good-2": 16, "bad-1": 3}
