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

if TYPE_CHECKING:
    from carob.features.matrix.model import Matrix


def matrix(runs: Sequence[AnyJournal], *, results_dir: str | Path | None = None) -> Matrix:
    """Runs of one suite side by side: each case with what it came to, was answered and called in every one of them.

    Runs that are not whole are shown and not compared; the others are compared with the first of them.
    """
    from carob.features.matrix.builder import read_matrix

    return read_matrix([name_run(run) for run in runs], results_dir, find_project())


def show_side_by_side(runs: Sequence[AnyJournal], folder: Path) -> None:
    """Show runs of one suite in the terminal, and write them as a page next to their journals."""
    from carob.features.matrix.terminal import show_matrix_page

    show_matrix_page(matrix(runs), folder)
