"""JUnit XML as pytest writes it (`xunit1`): file and line of each case, its scores and repeats as properties."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import PurePath
from typing import ClassVar, Final
from xml.sax.saxutils import escape

from karat.journal.views import RunView
from karat.model.run import CaseRecord
from karat.model.verdict import CaseStatus
from karat.reports.artifacts import BinaryWriter
from karat.reports.escaping import terminal
from karat.reports.facts import count_finished, draft_words, facts, incomplete, seconds, tokens
from karat.reports.failure_details import headline, why_not_passed
from karat.reports.places import suite_place
from karat.reports.repeated import Together, sum_repeats
from karat.scoring.figures import cost_words, rate_words

NAME: Final = 500
RUNS: Final = 10
_QUOTES: Final = {'"': "&quot;", "'": "&apos;"}
_ELEMENTS: Final = {
    CaseStatus.FAIL: "failure",
    CaseStatus.PARTIAL: "failure",
    CaseStatus.ERROR: "error",
    CaseStatus.SKIP: "skipped",
    CaseStatus.XFAIL: "skipped",
}


class JunitReport:
    """A test suite per run, a test case per case, whatever it was repeated."""

    extension: ClassVar = "junit.xml"

    def __init__(self, run: RunView, out: BinaryWriter) -> None:
        self._out = out
        self._write(['<?xml version="1.0" encoding="utf-8"?>', "<testsuites>"])
        self._begin(run)

    def _write(self, lines: Iterable[str]) -> None:
        self._out.write("".join(f"{line}\n" for line in lines).encode())

    def _begin(self, run: RunView) -> None:
        self._run = run
        self._file, self._lines = suite_place(run)
        self._class = PurePath(self._file).stem or "suite"
        self._together = Together(self._add_repeats)
        self._write(_head(run, self._class, self._file))

    def add_run(self, run: RunView) -> None:
        """Go on with another run."""
        self._finish()
        self._begin(run)

    def case(self, record: CaseRecord) -> None:
        self._together.add(record)

    def end(self) -> None:
        self._finish()
        self._write(["</testsuites>"])

    def _finish(self) -> None:
        self._together.end()
        if lacks := incomplete(self._run):
            error = _element("error", {"type": "incomplete", "message": lacks})
            self._write([_open("testcase", {"classname": self._class, "name": "the run is complete"}), error])
            self._write(["</testcase>"])
        self._write(["</testsuite>"])

    def _add_repeats(self, runs: list[CaseRecord]) -> None:
        self._write(self._case(runs))

    def _case(self, runs: Sequence[CaseRecord]) -> Iterator[str]:
        total = sum_repeats(runs)
        case = total.shown.case
        yield _open(
            "testcase",
            {
                "classname": f"{self._class}.{case.category}" if case.category else self._class,
                "name": case.id,
                "file": self._file,
                "line": str(self._lines.get(case.id, "")),
                "time": f"{sum(record.duration_ms for record in runs) / 1000:.3f}",
            },
        )
        properties = list(_properties(total.shown))
        if self._run.header.repeat > 1:
            properties += [(f"repeats.{name}", value) for name, value in total.figures.items()]
        yield from _property_lines([("status", total.status), *properties])
        if element := _ELEMENTS.get(total.status):
            lines = chain.from_iterable(why_not_passed(record) for record in total.not_passed[:RUNS])
            about = {"type": total.status, "message": headline(total.shown)}
            yield _element(element, about, "\n".join(lines))
        yield "</testcase>"


def _head(run: RunView, name: str, file: str) -> Iterator[str]:
    summary, header = run.summary, run.header
    lacks = bool(incomplete(run))
    about = {
        "name": name,
        "tests": str(count_finished(summary) + lacks),
        "failures": str(summary.failed + summary.partial),
        "errors": str(summary.error + lacks),
        "skipped": str(summary.skipped + summary.xfailed),
        "time": f"{seconds(run) or 0:.3f}",
        "timestamp": header.started_at,
        "file": file,
    }
    yield _open("testsuite", about)
    given = {"target": header.target, "run": header.run_id, "suite_sha256": header.suite_sha256}
    scored = {} if summary.avg_soft_score is None else {"avg_soft_score": f"{summary.avg_soft_score:.4f}"}
    figures = {"pass_rate": rate_words(summary), "cost": cost_words(summary.spent, run.prices)}
    figures["unjudged"] = str(summary.unjudged or "")
    figures["draft"] = draft_words(run)
    known = {name: words for name, words in figures.items() if words}
    yield from _property_lines(list({**given, **scored, **known}.items()))


def _properties(record: CaseRecord) -> Iterator[tuple[str, str]]:
    """What viewers have no attribute for."""
    verdict = record.verdict
    if verdict.soft.value is not None:
        yield "soft_score", f"{verdict.soft.value:.4f}"
    if verdict.soft.threshold is not None:
        yield "threshold", f"{verdict.soft.threshold:g}"
    for group, score in verdict.groups.items():
        yield f"score.{group}", f"{score.passed}/{score.judged}"
    for name, count in tokens(record.trace).items():
        yield f"tokens.{name}", str(count)
    if unjudged := facts(record).unjudged:
        yield "unjudged", ", ".join(check.label for check in unjudged)
    if record.case.tags:
        yield "tags", ", ".join(record.case.tags)
    if record.attempts:
        yield "errors_before", str(len(record.attempts))


def _property_lines(properties: Sequence[tuple[str, str]]) -> list[str]:
    lines = [_element("property", {"name": name, "value": value}) for name, value in properties]
    return ["<properties>", *lines, "</properties>"]


def _element(name: str, attributes: dict[str, str], text: str = "") -> str:
    """An element with inert text; line ends are kept within it."""
    inner = "\n".join(_text(line) for line in text.split("\n"))
    return f"{_open(name, attributes)}{inner}</{name}>"


def _open(name: str, attributes: dict[str, str]) -> str:
    """A start tag with the attributes that say something."""
    written = "".join(f' {key}="{_text(value, NAME)}"' for key, value in attributes.items() if value)
    return f"<{name}{written}>"


def _text(text: str, limit: int | None = None) -> str:
    """Text that is nothing but text, and has no character that XML does not know."""
    return escape(terminal(text, limit), _QUOTES)
