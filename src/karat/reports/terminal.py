"""What a run looks like in a terminal: a line per case, why it did not pass, and a summary."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Final, TextIO

from karat.model.run import CaseRecord, RunView
from karat.model.verdict import CaseStatus, Status
from karat.reports.facts import Judged, after_errors, case_name, counts, facts, incomplete, log, reasons, repeats
from karat.reports.inert import evidence, terminal
from karat.reports.repeated import by_case, repeated

LINE: Final = 300
NAME: Final = 60
WIDEST: Final = 32

_RED, _GREEN, _YELLOW, _BOLD, _PLAIN = "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[1m", "\x1b[0m"
_CASE_COLOURS: Final = {
    CaseStatus.PASS: _GREEN,
    CaseStatus.FAIL: _RED,
    CaseStatus.PARTIAL: _YELLOW,
    CaseStatus.ERROR: _RED,
    CaseStatus.SKIP: _YELLOW,
    CaseStatus.XFAIL: _YELLOW,
}
_CHECK_COLOURS: Final = {Status.FAILED: _RED, Status.UNKNOWN: _YELLOW, Status.ERROR: _RED}
_STATUS_WIDTH: Final = max(len(status.value) for status in CaseStatus)
_INDENT: Final = " " * (_STATUS_WIDTH + 2)
_DEEPER: Final = _INDENT + " " * 9


def wants_colour(stream: TextIO, environ: Mapping[str, str]) -> bool:
    """Whether to colour: on a terminal that can, unless NO_COLOR says no."""
    return not environ.get("NO_COLOR") and environ.get("TERM") != "dumb" and stream.isatty()


class CaseLines:
    """Call it with each record as its case ends. Columns are as wide as the widest name so far, within bounds."""

    def __init__(self, out: TextIO, *, colour: bool = False, id_width: int = 0, category_width: int = 0) -> None:
        self._out = out
        self._colour = colour
        self._id_width = min(id_width, WIDEST)
        self._category_width = min(category_width, WIDEST)
        self.folder = ""
        """Where the journal stands: files of a case are named relative to it."""

    def __call__(self, record: CaseRecord) -> None:
        name = case_name(record.case.id, record.repeat)
        more = f" {after_errors(record)}" if record.attempts else ""
        line = self._line(record.verdict.status, name, record.case.category, record.duration_ms, more)
        if record.verdict.status is not CaseStatus.PASS:
            line += self._why(record)
        show(self._out, line)

    def repeated(self, runs: Sequence[CaseRecord]) -> None:
        """All runs of one case: one line, then why those did not pass that did not."""
        total = repeated(runs)
        case = total.shown.case
        mean = sum(record.duration_ms for record in runs) / len(runs)
        line = self._line(total.status, case.id, case.category, mean, f"  {total}")
        for record in total.not_passed:
            line += f"{_INDENT}run {record.repeat + 1}: {record.verdict.status}{after_errors(record)}\n"
            line += self._why(record)
        show(self._out, line)

    def one(self, status: CaseStatus, name: str, category: str, duration_ms: float) -> None:
        """The line of a case without its reasons."""
        show(self._out, self._line(status, name, category, duration_ms))

    def passed(self, name: str, category: str, duration_ms: float) -> None:
        """The line of a case that passed, for those who need not read its record."""
        self.one(CaseStatus.PASS, name, category, duration_ms)

    def _why(self, record: CaseRecord) -> str:
        lines = [*why_not_passed(record, colour=self._colour)]
        for name, file in record.trace.attachments.items():
            place = os.path.normpath(os.path.join(self.folder, file))
            lines.append(f"{_INDENT}{'see':<7}  {terminal(name, NAME)}: {terminal(place, LINE)}")
        return "".join(f"{line}\n" for line in lines)

    def _line(self, status: CaseStatus, name: str, category: str, duration_ms: float, more: str = "") -> str:
        word = f"{status:<{_STATUS_WIDTH}}"
        if self._colour:
            word = f"{_CASE_COLOURS[status]}{word}{_PLAIN}"
        name, self._id_width = _column(name, self._id_width)
        category, self._category_width = _column(category, self._category_width)
        gap = "  " if category else ""
        return f"{word}  {name}  {category}{gap}{duration_ms / 1000:.2f}s{more}\n"


def why_not_passed(record: CaseRecord, *, colour: bool = False) -> Iterator[str]:
    """The reason, the end of the agent's log, then each failed check: what was expected, what was found and where."""
    for reason in reasons(record):
        yield f"{_INDENT}{terminal(reason, LINE)}"
    for said in log(record):
        yield f"{_INDENT}  {said}"
    known = facts(record)
    for check in (*known.failed, *known.unknown):
        yield from _check_lines(record, check, colour)


def _check_lines(record: CaseRecord, check: Judged, colour: bool) -> Iterator[str]:
    label, result = check
    word = f"{result.status.value:<7}"
    if colour:
        word = f"{_CHECK_COLOURS[result.status]}{word}{_PLAIN}"
    yield f"{_INDENT}{word}  {terminal(label, LINE)} ({terminal(result.group)})"
    yield f"{_DEEPER}expected  {terminal(result.expected, LINE)}"
    if result.found:
        yield f"{_DEEPER}found     {terminal(result.found, LINE)}"
    if result.at is not None and (around := evidence(record.trace.of_turn(result.turn), result.at)):
        yield f"{_DEEPER}in        {terminal(result.at.channel, NAME)}: {around}"


def show_cases(run: RunView, out: TextIO, *, folder: str = "", colour: bool = False) -> None:
    """Every case of a run in suite order. `folder`: where its journal stands."""
    lines = CaseLines(out, colour=colour)
    lines.folder = folder
    if run.header.repeat > 1:
        for runs in by_case(run.records()):
            lines.repeated(runs)
    else:
        for record in run.records():
            lines(record)


def show_summary(run: RunView, artifacts: Sequence[Path], out: TextIO, *, colour: bool = False) -> None:
    """The verdict of a run, and where its files are."""
    summary = run.summary
    verdict = counts(summary)
    if seconds := _seconds(run):
        verdict += f" in {seconds}"
    if summary.avg_soft_score is not None:
        verdict += f", avg soft score {summary.avg_soft_score:.4f}"
    lines = [line for line in (terminal(incomplete(run), LINE), verdict, repeats(summary)) if line]
    if colour:
        good = summary.passed + summary.partial + summary.xfailed
        bad = summary.failed or summary.error or incomplete(run) or not good
        paint = _RED if bad else _YELLOW if summary.partial else _GREEN
        lines = [f"{_BOLD}{paint}{line}{_PLAIN}" for line in lines]
    places = [f"  {terminal(str(path))}" for path in artifacts]
    show(out, "".join(f"{line}\n" for line in (*lines, *places)))


def show(out: TextIO, text: str) -> None:
    """Write text, with escapes for what the terminal's encoding lacks."""
    try:
        out.write(text)
    except UnicodeEncodeError:
        encoding = out.encoding or "ascii"
        out.write(text.encode(encoding, "backslashreplace").decode(encoding))


def width(text: str) -> int:
    """How many columns a text takes in a terminal."""
    if text.isascii():
        return len(text)
    return sum(_columns(char) for char in text)


def _columns(char: str) -> int:
    if unicodedata.combining(char) or unicodedata.category(char) in {"Mn", "Me"}:
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def _column(text: str, columns: int) -> tuple[str, int]:
    """The text padded to its column, and how wide that column is now."""
    text = terminal(text, NAME)
    taken = width(text)
    if taken > columns:
        columns = min(taken, WIDEST)
    return text + " " * (columns - taken), columns


def _seconds(run: RunView) -> str:
    """How long the run took; nothing if it did not end, or if the journal's times are no pair of times."""
    try:
        taken = datetime.fromisoformat(run.finished_at) - datetime.fromisoformat(run.header.started_at)
    except (ValueError, TypeError):
        return ""
    return f"{max(taken.total_seconds(), 0):.1f}s"
