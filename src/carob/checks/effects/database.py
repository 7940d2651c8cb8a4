"""What the agent's database must hold after the turn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, ClassVar

import msgspec
from msgspec import Meta, Struct

from carob.checks.base import Check, Phrase, excerpt, own_field, read_members, unfailable
from carob.checks.sample_traces import says
from carob.matchers.values import is_same_value
from carob.model.check import CheckProblem, Example
from carob.model.trace import Trace
from carob.model.verdict import CheckResult, EvidenceLocation, Group, Status

COUNT = "SELECT count(*) AS n FROM bookings"
NO_HOOK = "the database was not queried: set a `database` hook in the target's configuration"


def trace_with_rows(rows: object) -> Trace:
    return says("Done.", database={COUNT: rows})


class Database(Check, Struct, frozen=True):
    """A query gives exactly these rows, in any order. A row is an object, a list of values, or one value."""

    name: ClassVar = "database"
    group: ClassVar = Group.DECISION
    channels: ClassVar = frozenset({"database"})
    field: ClassVar = own_field(
        Annotated[dict[Phrase, list[object]], Meta(min_length=1)],
        "SQL queries and the rows that each must return after the turn, in any order.",
        since="0.1",
    )
    examples: ClassVar = (
        Example({"sql": COUNT, "rows": [{"n": 1}]}, trace_with_rows([{"n": 1}]), Status.PASSED),
        Example({"sql": COUNT, "rows": [[1]]}, trace_with_rows([{"n": 1}]), Status.PASSED),
        Example({"sql": COUNT, "rows": [1]}, trace_with_rows([[1]]), Status.PASSED),
        Example({"sql": COUNT, "rows": [1]}, trace_with_rows([[1, 2]]), Status.FAILED),
        Example({"sql": COUNT, "rows": [1]}, trace_with_rows([{"n": 2}]), Status.FAILED),
        Example({"sql": COUNT, "rows": [1]}, trace_with_rows([{"n": True}]), Status.FAILED),
        Example({"sql": COUNT, "rows": [{"n": True}]}, trace_with_rows([{"n": 1}]), Status.FAILED),
        Example({"sql": COUNT, "rows": []}, trace_with_rows([]), Status.PASSED),
        Example({"sql": COUNT, "rows": []}, trace_with_rows([{"n": 0}]), Status.FAILED),
        Example({"sql": COUNT, "rows": [1, 2]}, trace_with_rows([{"n": 2}, {"n": 1}]), Status.PASSED),
        Example({"sql": COUNT, "rows": [1, 1]}, trace_with_rows([{"n": 1}]), Status.FAILED),
        Example({"sql": COUNT, "rows": [1]}, says("Done."), Status.UNKNOWN),
    )
    sql: str
    rows: list[object]

    read = read_members("sql", "rows")

    @property
    def description(self) -> str:
        return f"{self.sql} gives {_excerpt_rows(self.rows)}"

    def validate(self) -> Iterator[CheckProblem]:
        return unfailable(self.sql)

    def judge(self, trace: Trace) -> CheckResult:
        why = trace.why_unobserved("database") or trace.cut("database")
        if why or self.sql not in trace.database:
            return self.unknown(why or NO_HOOK)
        rows = trace.database[self.sql]
        holds = isinstance(rows, list) and _is_same_rows(self.rows, rows)
        at = EvidenceLocation("database")
        return self.passed(_excerpt_rows(rows), at) if holds else self.failed(_excerpt_rows(rows), at)


def _is_same_rows(expected: list[object], actual: list[object]) -> bool:
    unmatched = list(actual)
    for row in expected:
        match = next((i for i, other in enumerate(unmatched) if _is_same_row(row, other)), None)
        if match is None:
            return False
        del unmatched[match]
    return not unmatched


def _is_same_row(expected: object, actual: object) -> bool:
    """A row is an object by column, a list of values, or where it has one column, that value."""
    if isinstance(expected, dict):
        return is_same_value(expected, actual)
    values = list(actual.values()) if isinstance(actual, dict) else actual
    bare = isinstance(values, list) and not isinstance(expected, list)
    return is_same_value(values, [expected] if bare else expected)


def _excerpt_rows(rows: object) -> str:
    return excerpt(msgspec.json.encode(rows).decode())
