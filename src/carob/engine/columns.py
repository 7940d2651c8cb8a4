"""The columns of a matrix that is to be run: each target with each combination of values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Final, NamedTuple

from carob.errors import UsageError
from carob.targets.config import Config, resolve
from carob.text.wording import quoted

OF_CODE: Final = ("python", "langgraph")
"""Kinds of targets that a file or module and a name follow."""
MOST_RUNS: Final = 20
"""So many runs fit side by side."""
FIX: Final = "Write it as --matrix MODEL=small,large: an environment variable in capitals, or an option of the target."


class PlannedColumn(NamedTuple):
    """One run of a matrix: of which target, and what is set for it alone."""

    target: str | None
    matrix: Mapping[str, str]

    @property
    def label(self) -> str:
        values = (f"{key}={value}" for key, value in self.matrix.items())
        return " ".join((*([self.target] if self.target else []), *values))


def plan_columns(targets: Sequence[str], assignments: Sequence[str], config: Config) -> list[PlannedColumn]:
    """A column for each target and each combination of values; one where nothing varies."""
    found = [resolve(target, config, Path(config.project.folder)) for target in targets]
    if len(found) > 1:
        from carob.plugins.code import refuse_missing  # few runs have columns
        from carob.targets.catalog import build

        for each in found:  # before the first is run and paid for
            build(each)
            if each.kind in OF_CODE:
                refuse_missing(each.spec, each.root, each.import_path)
    values = dict(map(_read_assignment, assignments))
    if len(values) < len(assignments):
        raise UsageError(
            "a key of the matrix is given twice.", fix="Give all of its values at once.", slug="bad-option"
        )
    if values:
        from carob.engine.request import refuse_secret_names  # few runs have columns

        refuse_secret_names(values)  # before its values are shown as the name of a column
    if repeated := next((target for target in targets if targets.count(target) > 1), ""):
        fix = "Name another one, or run it several times with --repeat N."
        raise UsageError(f"the target {quoted(repeated)} is named twice.", fix=fix, slug="bad-option")
    named: Sequence[str | None] = targets or [None]
    combinations = [dict(zip(values, chosen, strict=True)) for chosen in product(*values.values())]
    columns = [PlannedColumn(target, matrix) for target in named for matrix in combinations]
    if len(columns) > MOST_RUNS:
        message = f"the matrix has {len(columns)} columns, and at most {MOST_RUNS} fit side by side."
        raise UsageError(message, fix="Give fewer targets or values.", slug="bad-option")
    return columns


def _read_assignment(text: str) -> tuple[str, list[str]]:
    key, equals, values = text.partition("=")
    listed = list(dict.fromkeys(value.strip() for value in values.split(",") if value.strip()))
    if not (equals and key.strip() and listed):
        raise UsageError(f"{quoted(text)} is not KEY=A,B.", fix=FIX, slug="bad-option")
    return key.strip(), listed
