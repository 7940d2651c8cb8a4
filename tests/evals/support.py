"""The three eval sets, and the canvas app as a target, as it is or with a bug planted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from msgspec import structs

from carob.api import arun, load_suite
from carob.model.run import CaseRecord
from carob.model.suite import Suite
from carob.targets.config import TargetConfig
from recordings import CANVAS, ROOT, canvas

EVALS = ROOT / ".claude" / "evals"
FILES = tuple(Path(suite).name for suite in CANVAS)


def raw(file: str) -> dict[str, Any]:
    tree: dict[str, Any] = json.loads((EVALS / file).read_text("utf-8"))
    return tree


def suites() -> list[Suite]:
    return [load_suite(EVALS / file) for file in FILES]


def sets_with(ids: set[str]) -> Suite:
    """All cases of the sets that hold one of these, as one suite."""
    chosen = [suite for suite in suites() if not ids.isdisjoint(case.id for case in suite.cases)]
    cases = tuple(case for suite in chosen for case in suite.cases)
    return structs.replace(suites()[0], file=str(EVALS / "all.json"), cases=cases)


def every_case() -> Suite:
    """All cases of all sets as one suite."""
    return sets_with({case.id for suite in suites() for case in suite.cases})


def planted(bug: str) -> str:
    """The command that starts the canvas app with a bug planted."""
    return f"{{python}} {Path(__file__).with_name('planted.py')} {bug} --port {{port}}"


def with_bug(bug: str) -> TargetConfig:
    """The canvas app with a bug planted."""
    return canvas(start=planted(bug))


async def run(suite: Suite, target: TargetConfig, folder: Path, concurrency: int = 4) -> dict[str, CaseRecord]:
    """In this process, where tests plant bugs in the agent."""
    result = await arun(suite, target, results_dir=folder, concurrency=concurrency, workers=0, timeout=120)
    return {record.case.id: record for record in result.records}
