"""GitHub's job summary: the counts, a table of the cases that did not pass, and the first of them in full."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Final

from karat.model.run import CaseRecord, RunView
from karat.model.verdict import CaseStatus
from karat.reports.artifacts import BinaryWriter
from karat.reports.facts import counts, incomplete, repeats
from karat.reports.inert import markdown_cell
from karat.reports.repeated import Together, repeated
from karat.reports.why import headline, why_not_passed

ROWS: Final = 100
DETAILED: Final = 10
LINES: Final = 60
_MARKS: Final = {
    CaseStatus.FAIL: "❌",
    CaseStatus.ERROR: "💥",
    CaseStatus.PARTIAL: "⚠️",
    CaseStatus.SKIP: "⏭️",
    CaseStatus.XFAIL: "☑️",
}


class GithubSummary:
    """Bounded, whatever the run: GitHub drops a summary over 1 MiB."""

    extension: ClassVar = "github.md"

    def __init__(self, run: RunView, out: BinaryWriter) -> None:
        self._run = run
        self._out = out
        self._rows = 0
        self._details: list[str] = []
        self._together = Together(self._case)
        out.write("".join(_head(run)).encode())

    def case(self, record: CaseRecord) -> None:
        self._together.add(record)

    def end(self) -> None:
        self._together.end()
        if self._rows > ROWS:
            self._out.write(f"\n{self._rows - ROWS} more cases did not pass.\n".encode())
        self._out.write("".join(self._details).encode())

    def _case(self, runs: list[CaseRecord]) -> None:
        total = repeated(runs)
        mark = _MARKS.get(total.status)
        if mark is None:
            return
        self._rows += 1
        name = markdown_cell(total.shown.case.id)
        if self._rows == 1:
            self._out.write(b"\n| | Case | Status | Why |\n|---|---|---|---|\n")
        if self._rows <= ROWS:
            why = f"{total}: {headline(total.shown)}" if len(runs) > 1 else headline(total.shown)
            self._out.write(f"| {mark} | {name} | {total.status} | {markdown_cell(why)} |\n".encode())
        if len(self._details) < DETAILED and total.status in (CaseStatus.FAIL, CaseStatus.ERROR, CaseStatus.PARTIAL):
            self._details.append("".join(_detail(name, total.shown)))


def _head(run: RunView) -> Iterator[str]:
    header = run.header
    yield f"## Karat: {counts(run.summary)}\n\n"
    if lacks := incomplete(run):
        yield f"**{markdown_cell(lacks)}**\n\n"
    yield f"{markdown_cell(header.suite)} against {markdown_cell(header.target)}\n"
    if told := repeats(run.summary):
        yield f"\n{told}\n"


def _detail(name: str, record: CaseRecord) -> Iterator[str]:
    yield f"\n### {name}: {record.verdict.status}\n\n"
    # Four spaces make it code, and unlike a fence nothing within a line can end that.
    yield from (f"    {line}\n" for line in list(why_not_passed(record))[:LINES])
