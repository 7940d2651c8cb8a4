"""A flat row for each run of a case, for spreadsheets and notebooks: CSV, and JSON lines."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from typing import ClassVar, Final

from carob.journal.views import RunView
from carob.model.run import CaseRecord, Header
from carob.reports.artifacts import BinaryWriter
from carob.reports.case_facts import check_facts, reasons, tokens
from carob.reports.escaping import encode, terminal
from carob.reports.json import call_rows

CELL: Final = 32_000
"""Spreadsheets take hardly more characters in a cell."""
_FORMULA: Final = tuple("=+-@|%＝＋－＠")


COLUMNS: Final = (
    "run_id", "suite", "target", "started_at", "case", "run", "category", "tags", "status", "reason", "soft_score",
    "threshold", "failed_checks", "unknown_checks", "unjudged_checks", "hard_fail_groups", "prompt", "response",
    "tool_calls", "tokens_input", "tokens_output", "duration_ms", "error", "attempts",
)  # fmt: skip


def flat_row(header: Header, record: CaseRecord) -> dict[str, object]:
    """One run of a case, by `COLUMNS`: whose it is, how it came out, what was said and called. Runs count from 1."""
    case, trace, verdict = record.case, record.trace, record.verdict
    facts, spent = check_facts(record), tokens(trace)
    return {
        "run_id": header.run_id,
        "suite": header.suite,
        "target": header.target,
        "started_at": header.started_at,
        "case": case.id,
        "run": record.repeat + 1,
        "category": case.category,
        "tags": list(case.tags),
        "status": verdict.status,
        "reason": "; ".join(reasons(record)),
        "soft_score": verdict.soft.value,
        "threshold": verdict.soft.threshold,
        "failed_checks": [check.label for check in facts.failed],
        "unknown_checks": [check.label for check in facts.unknown],
        "unjudged_checks": [check.label for check in facts.unjudged],
        "hard_fail_groups": list(verdict.hard_fail_triggered),
        "prompt": case.prompt,
        "response": trace.final_message,
        "tool_calls": call_rows(trace),
        "tokens_input": spent.get("input"),
        "tokens_output": spent.get("output"),
        "duration_ms": record.duration_ms,
        "error": f"{trace.error.kind}: {trace.error.message}" if trace.error else "",
        "attempts": len(record.attempts) + 1,
    }


class JsonlReport:
    """A JSON object per line, nothing left out."""

    extension: ClassVar = "ndjson"

    def __init__(self, run: RunView, out: BinaryWriter) -> None:
        self._out = out
        self._header = run.header

    def add_run(self, run: RunView) -> None:
        """Continue with another run."""
        self._header = run.header

    def case(self, record: CaseRecord) -> None:
        self._out.write(encode(flat_row(self._header, record)) + b"\n")

    def end(self) -> None:
        pass


class CsvReport(JsonlReport):
    """A line per row, each cell one bounded line of inert text that no spreadsheet takes for a formula."""

    extension: ClassVar = "csv"

    def __init__(self, run: RunView, out: BinaryWriter) -> None:
        super().__init__(run, out)
        out.write(csv_line(COLUMNS))

    def case(self, record: CaseRecord) -> None:
        row = flat_row(self._header, record) | {"tool_calls": [call.name for call in record.trace.tool_calls]}
        self._out.write(csv_line(row[name] for name in COLUMNS))


def csv_line(values: Iterable[object]) -> bytes:
    """A row of a table: each value as an inert cell."""
    line = io.StringIO(newline="")
    csv.writer(line, lineterminator="\n").writerow(map(cell, values))
    return line.getvalue().encode()


def cell(value: object) -> str:
    """A value as a cell holds it."""
    if value is None:
        return ""
    if isinstance(value, int | float):
        return f"{value:.10g}"
    text = terminal(", ".join(value) if isinstance(value, list) else str(value), CELL)
    return f"'{text}" if text.lstrip().startswith(_FORMULA) else text
