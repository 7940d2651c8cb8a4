"""The library of runs side by side: what `carob` offers of it in Python."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from carob.engine.rescoring import (
    AnyJournal,
    name_run,
)
from carob.plugins.project import find_project
from carob.system.sync_async import make_async
from carob.targets.config import Config

if TYPE_CHECKING:
    from carob.features.matrix.columns import PlannedColumn
    from carob.features.matrix.model import Matrix


def plan_columns(targets: Sequence[str], assignments: Sequence[str], config: Config) -> list[PlannedColumn]:
    """The runs of a matrix: each target with each combination of values; one run where nothing varies."""
    from carob.features.matrix.columns import plan_columns

    return plan_columns(targets, assignments, config)


def matrix(runs: Sequence[AnyJournal], *, results_dir: str | Path | None = None) -> Matrix:
    """Runs of one suite side by side: each case with what it came to, was answered and called in every one of them.

    Runs that are not whole are shown and not compared; the others are compared with the first of them.
    """
    from carob.features.matrix.builder import read_matrix

    return read_matrix([name_run(run) for run in runs], results_dir, find_project())


amatrix = make_async(matrix)
