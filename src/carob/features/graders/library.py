"""The library of the audit of graders: what `carob` offers of it in Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from carob.api import find_config
from carob.engine.rescoring import (
    AnyJournal,
    as_journals,
    name_run,
)

if TYPE_CHECKING:
    from carob.features.graders.model import GraderAudit


def audit_grader(
    grader: str,
    traces: AnyJournal | Sequence[AnyJournal],
    *,
    seed: int = 0,
    asks: int = 3,
    threshold: float | None = None,
    timeout: float = 60.0,
    min_caught: Sequence[str | float] = (),
    purposes: Sequence[str] = (),
    verdicts: str | Path | None = None,
    reviews: str | Path | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> GraderAudit:
    """Prove that a grader can say no: give it recorded traces that it accepts, made wrong in one way at a time.

    `grader` is a spec such as `python:judge.py:is_right`; `traces` are journals, recordings or exports; `purposes` is
    what the grader is for, as `--for` has it. The other arguments are the options of `carob audit --grader`;
    `on_progress` gets the traces and calls so far.
    """
    from carob.features.graders.session import GraderRequestOptions, audit_grader_of

    options = GraderRequestOptions(
        seed=seed,
        asks=asks,
        threshold=threshold,
        timeout=timeout,
        min_caught=min_caught,
        purposes=purposes,
        verdicts=None if verdicts is None else Path(verdicts),
        reviews=None if reviews is None else Path(reviews),
    )
    return audit_grader_of(grader, [*map(name_run, as_journals(traces))], options, find_config(), on_progress)
