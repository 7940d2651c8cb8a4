"""Runs of one suite side by side, as every report shows them."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from carob.features.compare.model import RunExcerpt, ScopeComparison


class RowKind(StrEnum):
    """How far the whole runs agree on a case."""

    OUTCOME = "result"
    """It passed more often in some than in others."""
    WORDS = "words"
    """It came out alike, with other answers or calls."""
    SAME = "same"


class MatrixCell(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One case in one run: what it came to over all its repeats, and the answer and calls of one of them.

    `lacks`: the expectations that did not always hold. `asks_otherwise`: another prompt than in the first run, so that
    the two are not compared.
    """

    status: str
    passed: int = 0
    judged: int = 0
    errors: int = 0
    excerpt: RunExcerpt = RunExcerpt()
    lacks: tuple[str, ...] = ()
    why: str = ""
    asks_otherwise: bool = False


class MatrixRow(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One case; None where a run does not have it."""

    id: str
    category: str = ""
    kind: RowKind
    cells: tuple[MatrixCell | None, ...]


class MatrixColumn(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One run. `models` answered in it, as far as it was recorded; `settings` are those that not all runs share.

    `trouble` says why cases are missing: such a run is shown and not compared. `against` is how it came out against the
    reference, over the cases that both have.
    """

    label: str
    path: str
    started_at: str
    models: tuple[str, ...] = ()
    settings: dict[str, str] = {}
    trouble: str = ""
    rate: str = ""
    cost: str = ""
    tokens: str = ""
    seconds: float | None = None
    """The mean of a case."""
    against: ScopeComparison | None = None


class Matrix(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Everything that is side by side. `reference`: the column that the others are compared with, if any is whole."""

    suite: str
    name: str = ""
    columns: tuple[MatrixColumn, ...]
    rows: tuple[MatrixRow, ...]
    reference: int | None = None
    confidence: float
    notes: tuple[str, ...] = ()

    def count(self, kind: RowKind) -> int:
        return sum(row.kind == kind for row in self.rows)
