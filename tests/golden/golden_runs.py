"""Runs of the golden sets against the dyno agent as carob.toml describes it."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

import carob
from recordings import DYNO, ROOT

SETS = ROOT / "eval" / "golden_sets"
DECISIONS, QA = (ROOT / suite for suite in DYNO)

Verdicts = dict[str, tuple[str, ...]]


async def records(suite: Path | carob.Suite, **options: Any) -> list[carob.CaseRecord]:
    """In this process, where tests take rules of the agent away."""
    return (await carob.arun(suite, "dyno", **{"concurrency": 8, "workers": 0, **options})).records


def verdicts(found: Iterable[carob.CaseRecord]) -> Verdicts:
    """Per case its status and that of every check."""
    return {
        r.case.id: (r.verdict.status.value, *(f"{c.name} {c.status.value}" for c in r.verdict.checks)) for r in found
    }


async def red(only: Collection[str] = ()) -> set[str]:
    """The cases of both sets that do not pass, or of those that are named."""
    return {
        record.case.id
        for suite in ((DECISIONS,) if only else (DECISIONS, QA))
        for record in await records(suite, cases=sorted(only) or None)
        if record.verdict.status is not carob.CaseStatus.PASS
    }
