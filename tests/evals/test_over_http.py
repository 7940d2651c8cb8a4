"""The shipped suites over HTTP and by spans alone: what both see is judged as through the browser and LangGraph."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

import pytest
from msgspec import structs

from carob.api import load_suite
from carob.model.run import CaseRecord
from carob.model.verdict import CaseStatus, Status
from dyno_agent import rules
from dyno_agent.tools import TOOLS
from recordings import CANVAS, DYNO, ROOT, Recorded, shipped

from .planted import BUGS
from .services import canvas_service, dyno_service
from .support import every_case, planted, run, with_bug

DESK = "examples/dyno_agent/suite.yaml"
DYNO_SETTINGS = ("DYNO_DATABASE_URL", "DYNO_MODEL", "DYNO_NOW")
Records = dict[str, CaseRecord]


class Comparison(NamedTuple):
    """How two runs of a suite agree, check by check where both saw it."""

    same: Counter[str]
    """Checks of which both say the same, by name; `error`: cases that broke both ways."""
    failed: int
    """Those that both say are failed."""
    unseen: set[str]
    """The names of checks that only one could see."""
    differing: list[str]

    def __add__(self, other: Comparison) -> Comparison:  # type: ignore[override]
        return Comparison(*(a | b if isinstance(a, set) else a + b for a, b in zip(self, other, strict=True)))


NOTHING = Comparison(Counter(), 0, set(), [])


def compared(one: Records, other: Records) -> Comparison:
    assert one.keys() == other.keys()
    same, failed, unseen, differing = Counter[str](), 0, set(), []
    for name, first in one.items():
        second = other[name]
        broken = [record.status is CaseStatus.ERROR for record in (first, second)]
        if any(broken):
            same["error"] += all(broken)
            differing += [] if all(broken) else [f"{name}: {first.verdict.reason} / {second.verdict.reason}"]
            continue
        pairs = list(zip(first.verdict.checks, second.verdict.checks, strict=True))
        assert [(a.name, a.expected, a.turn) for a, _ in pairs] == [(b.name, b.expected, b.turn) for _, b in pairs]
        seen = [pair for pair in pairs if Status.UNKNOWN not in (pair[0].status, pair[1].status)]
        unseen |= {first.name for first, second in pairs if (first, second) not in seen}
        same.update(a.name for a, b in seen if a.status is b.status)
        failed += sum(a.status is Status.FAILED and b.status is Status.FAILED for a, b in seen)
        differing += [f"{name}: {a} {a.status} / {b.found} {b.status}" for a, b in seen if a.status is not b.status]
    return Comparison(same, failed, unseen, differing)


def by_id(records: Iterable[CaseRecord]) -> Records:
    return {record.case.id: record for record in records}


@pytest.fixture(autouse=True)
def _the_agent_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    for name in DYNO_SETTINGS:
        monkeypatch.delenv(name, raising=False)


@pytest.mark.thorough
async def test_the_canvas_app_is_judged_as_in_the_browser(recorded: Recorded, tmp_path: Path) -> None:
    found = NOTHING
    async with canvas_service() as service:
        for suite in CANVAS:
            over_http = await run(load_suite(ROOT / suite), service, tmp_path, concurrency=8)
            found += compared(by_id(recorded(suite).records()), over_http)
    assert found.differing == []
    assert found.failed == 0
    assert sum(found.same.values()) >= 500, found.same
    assert min(found.same[name] for name in ("outcome", "tool_calls_none", "tools_used", "required_sources")) >= 10
    assert found.unseen == {"ui", "telemetry", "must_allow_override_actions"}


async def test_the_dyno_agent_is_judged_as_in_langgraph(recorded: Recorded, tmp_path: Path) -> None:
    async with dyno_service() as service:
        over_http = [await run(load_suite(ROOT / suite), service, tmp_path, concurrency=8) for suite in (*DYNO, DESK)]
    golden = [by_id(recorded(suite).records()) for suite in DYNO]
    pairs = zip((*golden, await run(load_suite(ROOT / DESK), shipped("dyno"), tmp_path)), over_http, strict=True)
    found = sum((compared(*pair) for pair in pairs), NOTHING)
    assert found.differing == []
    assert found.failed == 0
    assert sum(found.same.values()) >= 1_000, found.same
    assert (
        min(found.same[name] for name in ("outcome", "tool_calls", "tools_used", "max_tokens", "max_tool_calls")) >= 15
    )
    assert found.unseen == {"database", "ended", "max_steps", "state", "valid_arguments"}


def no_rule_about_drives(patch: pytest.MonkeyPatch) -> None:
    """A vehicle is put on a dyno that cannot drive it."""
    patch.setattr(rules, "RULES", tuple(rule for rule in rules.RULES if rule.name != "drive"))


def broken_finder(patch: pytest.MonkeyPatch) -> None:
    """The tool that finds free dynos breaks."""
    patch.setattr(next(t for t in TOOLS if t.name == "find_available_dynos"), "coroutine", broken_tool)


async def broken_tool(**_: object) -> dict[str, object]:
    raise RuntimeError("the calendar is gone")


@pytest.mark.parametrize(
    "plant",
    [no_rule_about_drives, pytest.param(broken_finder, marks=pytest.mark.thorough)],
    ids=lambda plant: plant.__name__,
)
async def test_a_bug_of_the_dyno_agent_shows_both_ways(
    plant: Callable[[pytest.MonkeyPatch], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    suite = load_suite(ROOT / DYNO[0])
    async with dyno_service() as service:
        over_http = await run(suite, service, tmp_path, concurrency=8)
    found = compared(await run(suite, shipped("dyno"), tmp_path, concurrency=8), over_http)
    assert found.differing == []
    assert found.failed >= 5
    assert sum(found.same.values()) >= 450, found.same


SHOWN = {"forbidden-phrase": {"SYN1", "SYN4"}, "crash-in-mid-stream": {"MB1", "MB10"}}
"""Bugs of the canvas app, with a case that shows each and one that does not."""
OF_CONTROLS = ("deaf-canvas", "missing-control")
"""Bugs of what is clicked on the page, which over HTTP is a request of its own."""


@pytest.mark.thorough
@pytest.mark.parametrize("whole", [False, True], ids=["some", "whole"])
@pytest.mark.parametrize("bug", BUGS)
async def test_a_bug_of_the_canvas_app_shows_both_ways(bug: str, whole: bool, tmp_path: Path) -> None:
    suite = every_case()
    if not whole:
        suite = structs.replace(suite, cases=tuple(case for case in suite.cases if case.id in SHOWN.get(bug, {"MB1"})))
    if bug in OF_CONTROLS:
        unclicked = [case for case in suite.cases if not any("clicked" in each for each in case.preconditions)]
        suite = structs.replace(suite, cases=tuple(unclicked))
    async with canvas_service(planted(bug)) as service:
        over_http = await run(suite, service, tmp_path, concurrency=8)
    found = compared(await run(suite, with_bug(bug), tmp_path), over_http)
    assert found.differing == []
    assert not whole or sum(found.same.values()) >= 400
    assert bug not in SHOWN or found.failed or found.same["error"]
