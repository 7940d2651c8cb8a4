"""What a case looks like in a terminal: a line, and under it why it did not pass."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from enum import IntEnum
from functools import lru_cache
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Final, NamedTuple, TextIO

from carob.model.run import CaseRecord
from carob.model.verdict import CaseStatus, Status
from carob.reports.case_details import why_not_passed, without_colour
from carob.reports.case_facts import BROKEN, case_name, case_outcome, describe_attempts
from carob.reports.escaping import terminal

if TYPE_CHECKING:
    from carob.journal.views import RecordSummary

LINE: Final = 300
NAME: Final = 60
WIDEST: Final = 32

RED, GREEN, YELLOW, BOLD, DIM, PLAIN = "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[1m", "\x1b[2m", "\x1b[0m"
_CASE_COLOURS: Final = {
    CaseStatus.PASS: GREEN,
    CaseStatus.FAIL: RED,
    CaseStatus.PARTIAL: YELLOW,
    CaseStatus.ERROR: RED,
    CaseStatus.SKIP: YELLOW,
    CaseStatus.XFAIL: YELLOW,
}
_CHECK_COLOURS: Final = {
    Status.PASSED: GREEN,
    Status.FAILED: RED,
    Status.UNKNOWN: YELLOW,
    Status.ERROR: RED,
    Status.UNJUDGED: YELLOW,
    Status.NOT_TRIGGERED: DIM,
}
_STATUS_WIDTH: Final = max(len(status.value) for status in CaseStatus)
_INDENT: Final = " " * (_STATUS_WIDTH + 2)


_colour = re.compile(r"\x1b\[[0-9;]*m")
_words = re.compile(r"^ +|[^ ]+ *| +")
_command = re.compile(r"  carob [a-z]|pip install")
_indent = re.compile(
    r" *(?:(?:expected|found|in|asked|answered|called|see|failed|unknown|before|now|judged) {2,}|event \d+ +)?"
)
"""What a further line is put under: the text of a line, after its label."""


class Verbosity(IntEnum):
    """How much is printed: the verdict, why cases did not pass, every case, or all that was said."""

    QUIET = -1
    NORMAL = 0
    VERBOSE = 1
    WHOLE = 2


class Screen(NamedTuple):
    """What is written to, and how. `live`: a terminal that can draw over what it shows."""

    out: TextIO
    verbosity: Verbosity = Verbosity.NORMAL
    colour: bool = False
    live: bool = False

    @classmethod
    def of(cls, out: TextIO, environ: Mapping[str, str], verbosity: Verbosity = Verbosity.NORMAL) -> Screen:
        live = out.isatty() and environ.get("TERM") != "dumb"
        return cls(out, verbosity, wants_colour(out, environ), live)

    @property
    def folds(self) -> bool:
        """Whether cases that passed are counted and not listed."""
        return self.verbosity is Verbosity.QUIET or (self.live and self.verbosity < Verbosity.VERBOSE)


def paint(text: str, style: str, colour: bool) -> str:
    """Text in a style, where there is one and colours are shown."""
    return f"{style}{text}{PLAIN}" if colour and style else text


def wants_colour(stream: TextIO, environ: Mapping[str, str]) -> bool:
    """Whether to colour: on a terminal that can, unless NO_COLOR says no."""
    return not environ.get("NO_COLOR") and environ.get("TERM") != "dumb" and stream.isatty()


class CaseLines:
    """Call it with each record as its case ends. Columns are as wide as the widest name so far, within bounds."""

    def __init__(self, screen: Screen, *, id_width: int = 0, category_width: int = 0) -> None:
        self._out, self._colour = screen.out, screen.colour
        self._full = screen.verbosity is Verbosity.WHOLE
        self._id_width = min(id_width, WIDEST)
        self._category_width = min(category_width, WIDEST)
        self.folder = ""
        """The folder of the journal: files of a case are named relative to it."""

    def __call__(self, record: CaseRecord | RecordSummary) -> None:
        """The line of a case; of one that was skipped, or failed as it was known to, with the reason."""
        show(self._out, self._case_line(record))

    def _case_line(self, record: CaseRecord | RecordSummary) -> str:
        case, verdict = record.case, record.verdict
        more = f" {describe_attempts(record)}" if record.attempts else ""
        if verdict.reason and verdict.status is not CaseStatus.PASS and verdict.status not in BROKEN:
            more += f"  {terminal(verdict.reason, LINE)}"
        return self.line(verdict.status, case_name(case.id, record.repeat), case.category, record.duration_ms, more)

    def in_full(self, record: CaseRecord) -> None:
        """The line of a case, what happened, and why it did not pass if it did not."""
        show(self._out, self._case_line(record) + self._why(record))

    def write_repeats(self, runs: Sequence[CaseRecord]) -> None:
        """All runs of one case: one line, then why those did not pass that did not."""
        total = case_outcome(runs)
        case = total.shown.case
        mean = sum(record.duration_ms for record in runs) / len(runs)
        line = self.line(total.status, case.id, case.category, mean, f"  {total}")
        for record in runs if self._full else total.not_passed:
            line += f"{_INDENT}run {record.repeat + 1}: {record.verdict.status}{describe_attempts(record)}\n"
            line += self._why(record)
        show(self._out, line)

    def one(self, status: CaseStatus, name: str, category: str, duration_ms: float) -> None:
        """The line of a case, for those who need not read its record."""
        show(self._out, self.line(status, name, category, duration_ms))

    def _why(self, record: CaseRecord) -> str:
        details = why_not_passed(record, _paint if self._colour else without_colour, full=self._full)
        lines = [f"{_INDENT}{line}" for line in details]
        for name, file in record.trace.attachments.items():
            path = os.path.normpath(os.path.join(self.folder, file))
            lines.append(f"{_INDENT}{'see':<8}  {terminal(name, NAME)}: {terminal(path, LINE)}")
        return "".join(f"{line}\n" for line in lines)

    def line(self, status: CaseStatus, name: str, category: str, duration_ms: float, more: str = "") -> str:
        word = f"{status:<{_STATUS_WIDTH}}"
        if self._colour:
            word = f"{_CASE_COLOURS[status]}{word}{PLAIN}"
        name, self._id_width = _column(terminal(name, NAME), self._id_width)
        category, self._category_width = _column(_format_category(category), self._category_width)
        gap = "  " if category else ""
        return f"{word}  {name}  {category}{gap}{duration_ms / 1000:.2f}s{more}\n"


def _paint(status: Status, word: str) -> str:
    return f"{_CHECK_COLOURS[status]}{word}{PLAIN}"


def show(out: TextIO, text: str) -> None:
    """Write text, in a terminal broken at words, with escapes for what its encoding lacks."""
    if out.isatty():
        columns = get_terminal_size().columns
        text = "\n".join(wrap(line, columns) for line in text.split("\n"))
    try:
        out.write(text)
    except UnicodeEncodeError:
        encoding = out.encoding or "ascii"
        out.write(text.encode(encoding, "backslashreplace").decode(encoding))


def wrap(line: str, columns: int) -> str:
    """A line broken at words where the terminal ends, further lines under its text; a command stays whole to copy."""
    if (line.isascii() and len(line) <= columns) or width(_colour.sub("", line)) <= columns or _command.search(line):
        return line
    start = _indent.match(_colour.sub("", line))
    under = " " * min(len(start[0]) if start else 0, columns // 2)
    rows, used = [""], 0
    for word in _words.findall(line):
        size = width(_colour.sub("", word.rstrip(" ")))
        if used and used + size > columns and rows[-1].strip():
            rows[-1] = rows[-1].rstrip(" ")
            rows.append(under)
            used = len(under)
        rows[-1] += word
        used += width(_colour.sub("", word))
    return "\n".join(rows)


def width(text: str) -> int:
    """Return how many columns a text takes in a terminal."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len  # late: most names are ASCII, and need no tables of widths

    return cell_len(text)


@lru_cache
def _format_category(category: str) -> str:
    return terminal(category, NAME)


def _column(text: str, columns: int) -> tuple[str, int]:
    """The text padded to its column, and how wide that column is now."""
    length = width(text)
    if length > columns:
        columns = min(length, WIDEST)
    return text + " " * (columns - length), columns
