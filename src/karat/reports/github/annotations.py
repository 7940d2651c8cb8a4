"""GitHub's workflow commands: an annotation for each case that did not pass, at its line of the suite."""

from __future__ import annotations

from collections import Counter
from typing import ClassVar, Final

from karat.model.run import CaseRecord, RunView
from karat.model.verdict import CaseStatus
from karat.reports.artifacts import Sink
from karat.reports.facts import incomplete
from karat.reports.inert import terminal
from karat.reports.places import SuitePlace, suite_place
from karat.reports.repeated import Together, repeated
from karat.reports.why import why_not_passed

MOST: Final = 10
"""GitHub shows no more annotations of one level in a step."""
LINES: Final = 40
TITLE: Final = 150
_LEVELS: Final = {
    CaseStatus.FAIL: "error",
    CaseStatus.ERROR: "error",
    CaseStatus.PARTIAL: "warning",
    CaseStatus.SKIP: "notice",
    CaseStatus.XFAIL: "notice",
}


class GithubReport:
    """A line per annotation: errors and failures, partial ones as warnings, what was skipped as notices."""

    extension: ClassVar = "github.txt"

    def __init__(self, run: RunView, out: Sink) -> None:
        self._out = out
        self._told: Counter[str] = Counter()
        self._begin(run)

    def _begin(self, run: RunView) -> None:
        self._place: SuitePlace = suite_place(run)
        self._together = Together(self._case)
        if lacks := incomplete(run):
            self._tell("error", {"file": self._place.file, "title": "INCOMPLETE"}, terminal(lacks))

    def also(self, run: RunView) -> None:
        """Go on with another run."""
        self._together.end()
        self._begin(run)

    def case(self, record: CaseRecord) -> None:
        self._together.add(record)

    def end(self) -> None:
        self._together.end()
        for level, count in self._told.items():
            if count > MOST:
                self._write("notice", {"title": "More"}, f"{count - MOST} more at the level {level!r} are not shown")

    def _case(self, runs: list[CaseRecord]) -> None:
        total = repeated(runs)
        level = _LEVELS.get(total.status)
        if level is None:
            return
        shown = total.shown
        about = {
            "file": self._place.file,
            "line": str(self._place.lines.get(shown.case.id, "")),
            "title": terminal(f"{total.status} {shown.case.id}", TITLE),
        }
        lines = [str(total)] * (len(runs) > 1) + list(why_not_passed(shown))
        self._tell(level, about, "\n".join(lines[:LINES]))

    def _tell(self, level: str, about: dict[str, str], message: str) -> None:
        self._told[level] += 1
        if self._told[level] <= MOST:
            self._write(level, about, message)

    def _write(self, level: str, about: dict[str, str], message: str) -> None:
        told = ",".join(f"{key}={_property(value)}" for key, value in about.items() if value)
        self._out.write(f"::{level} {told}::{_data(message)}\n".encode())


def _data(text: str) -> str:
    """Text of a command, whose lines are inert already."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(terminal(text)).replace(":", "%3A").replace(",", "%2C")
