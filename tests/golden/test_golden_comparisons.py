"""The dyno agent with a planted bug, a flaky tool, and mended: comparison, gate and history tell each apart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from golden_runs import DECISIONS

import carob
from carob.features.compare import library
from carob.features.compare.model import Change, Comparison
from dyno_agent.tools import TOOLS

REPEAT = 4
CASES = ["conflicts_in_schedule", "conflicts_in_some_days", "completed_tests", "completed_brake_tests", "running_tests",
         "list_dynos_for_durability", "check_vehicle_booked", "maintenance_of_all"]  # fmt: skip


def tool(name: str) -> Any:
    return next(one for one in TOOLS if one.name == name)


async def broken(**given: Any) -> Any:
    raise RuntimeError("the lab does not answer")


async def run(folder: Path) -> str:
    return (
        await carob.arun(DECISIONS, "dyno", cases=CASES, repeat=REPEAT, concurrency=8, workers=0, results_dir=folder)
    ).journal.path


def changed(found: Comparison, change: Change) -> set[str]:
    return {case.id for case in found.changes if case.change is change}


async def test_a_bug_a_flaky_tool_and_a_repair_are_distinguished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "carob-results"
    good = await run(folder)
    conflicts, counts = tool("detect_conflicts"), tool("completed_tests_count")
    with monkeypatch.context() as planted:
        planted.setattr(conflicts, "coroutine", broken)
        bug = await run(folder)
    with monkeypatch.context() as planted:
        original, calls = counts.coroutine, iter(range(10_000))

        async def flaky(**given: Any) -> Any:
            if next(calls) % 3 == 1:
                raise RuntimeError("the count timed out")
            return await original(**given)

        planted.setattr(counts, "coroutine", flaky)
        shaky = await run(folder)
    by_bug, by_flake, mended = (
        library.compare_runs(good, bug),
        library.compare_runs(good, shaky),
        library.compare_runs(bug, good),
    )
    assert changed(by_bug, Change.BROKE)
    assert not changed(by_bug, Change.FLAKY)
    assert changed(by_flake, Change.FLAKY)
    assert not changed(by_flake, Change.BROKE)
    assert changed(mended, Change.FIXED) == changed(by_bug, Change.BROKE)
    gates = [library.compare_runs(good, new, max_new_failures=0).gates[0].verdict for new in (bug, shaky, good)]
    assert gates == ["broken", "met", "met"]
    strips = {case.id: case.strip for case in library.history(folder).cases}
    assert {case for case, strip in strips.items() if strip == "PFP"} == changed(by_bug, Change.BROKE)
    assert {case for case, strip in strips.items() if strip == "PP~"} == changed(by_flake, Change.FLAKY)
