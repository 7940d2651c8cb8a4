"""GitHub's workflow commands, an annotation for each case that did not pass, and its job summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import ClassVar, Final

from carob.journal.views import RunView
from carob.model.run import CaseRecord
from carob.model.verdict import CaseStatus
from carob.reports.artifacts import BinaryWriter
from carob.reports.base import OutcomeReport, SeveralRunsReport
from carob.reports.case_details import headline, why_not_passed
from carob.reports.case_facts import BROKEN, CaseOutcome
from carob.reports.escaping import markdown_cell, terminal
from carob.reports.run_facts import counts, draft_words, guard_words, incomplete, repeats, replay_words
from carob.reports.suite_lines import suite_place
from carob.scoring.figures import run_words

MOST_ANNOTATIONS: Final = 10
"""GitHub shows no more annotations of one level in a step."""
ANNOTATION_LINES: Final = 40
TITLE: Final = 150
_SHOWN: Final = {
    CaseStatus.FAIL: ("error", "❌"),
    CaseStatus.ERROR: ("error", "💥"),
    CaseStatus.PARTIAL: ("warning", "⚠️"),
    CaseStatus.SKIP: ("notice", "⏭️"),
    CaseStatus.XFAIL: ("notice", "☑️"),
}
"""The level of an annotation, and the mark in the summary, of a case that did not pass."""
ROWS: Final = 100
DETAILED: Final = 10
DETAIL_LINES: Final = 60


class GithubReport(SeveralRunsReport):
    """A line per annotation: errors and failures, partial ones as warnings, what was skipped as notices."""

    extension: ClassVar = "github.txt"

    def __init__(self, run: RunView, out: BinaryWriter) -> None:
        self._counts: Counter[str] = Counter()
        super().__init__(run, out)

    def _begin_run(self, run: RunView) -> None:
        self._place = suite_place(run)
        if missing := incomplete(run):
            self._annotate("error", {"file": self._place.file, "title": "INCOMPLETE"}, terminal(missing))

    def _end_file(self) -> None:
        for level, count in self._counts.items():
            if count > MOST_ANNOTATIONS:
                more = f"{count - MOST_ANNOTATIONS} more at the level {level!r} are not shown"
                self._write("notice", {"title": "More"}, more)

    def _write_case(self, outcome: CaseOutcome) -> None:
        if outcome.status not in _SHOWN:
            return
        (level, _), case_id = _SHOWN[outcome.status], outcome.shown.case.id
        about = {
            "file": self._place.file,
            "line": str(self._place.lines.get(case_id, "")),
            "title": terminal(f"{outcome.status} {case_id}", TITLE),
        }
        lines = [str(outcome)] * (outcome.runs > 1) + list(why_not_passed(outcome.shown))
        self._annotate(level, about, "\n".join(lines[:ANNOTATION_LINES]))

    def _annotate(self, level: str, about: dict[str, str], message: str) -> None:
        self._counts[level] += 1
        if self._counts[level] <= MOST_ANNOTATIONS:
            self._write(level, about, message)

    def _write(self, level: str, about: dict[str, str], message: str) -> None:
        properties = ",".join(f"{key}={_property(value)}" for key, value in about.items() if value)
        self._out.write(f"::{level} {properties}::{_data(message)}\n".encode())


def _data(text: str) -> str:
    """Text of a command, whose lines are inert already."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(terminal(text)).replace(":", "%3A").replace(",", "%2C")


class GithubSummary(OutcomeReport):
    """Bounded, whatever the run: GitHub drops a summary over 1 MiB."""

    extension: ClassVar = "github.md"

    def _begin_run(self, run: RunView) -> None:
        self._rows = 0
        self._details: list[str] = []
        self._out.write("".join(_head(run)).encode())

    def _end_file(self) -> None:
        if self._rows > ROWS:
            self._out.write(f"\n{self._rows - ROWS} more cases did not pass.\n".encode())
        self._out.write("".join(self._details).encode())

    def _write_case(self, outcome: CaseOutcome) -> None:
        if outcome.status not in _SHOWN:
            return
        _, mark = _SHOWN[outcome.status]
        self._rows += 1
        name = markdown_cell(outcome.shown.case.id)
        if self._rows == 1:
            self._out.write(b"\n| | Case | Status | Why |\n|---|---|---|---|\n")
        if self._rows <= ROWS:
            why = f"{outcome}: {headline(outcome.shown)}" if outcome.runs > 1 else headline(outcome.shown)
            self._out.write(f"| {mark} | {name} | {outcome.status} | {markdown_cell(why)} |\n".encode())
        if len(self._details) < DETAILED and outcome.status in BROKEN:
            self._details.append("".join(_detail(name, outcome.shown)))


def _head(run: RunView) -> Iterator[str]:
    header = run.header
    yield f"## Carob: {counts(run.summary)}\n\n"
    if missing := incomplete(run):
        yield f"**{markdown_cell(missing)}**\n\n"
    if draft := draft_words(run):
        yield f"**{draft}**\n\n"
    replayed = replay_words(run.header)
    about = f"{header.suite} against {header.target}{f', {replayed}' if replayed else ''}"
    yield f"{markdown_cell(about)}\n"
    yield f"\n{run_words(run.summary, run.prices)}\n"
    if line := repeats(run.summary):
        yield f"\n{line}\n"
    yield from (f"\n{markdown_cell(line)}\n" for line in guard_words(run.summary))


def _detail(name: str, record: CaseRecord) -> Iterator[str]:
    yield f"\n### {name}: {record.verdict.status}\n\n"
    # Four spaces make it code, and unlike a fence nothing within a line can end that.
    yield from (f"    {line}\n" for line in list(why_not_passed(record))[:DETAIL_LINES])
