"""JUnit XML as pytest writes it (`xunit1`): file and line of each case, its scores and repeats as properties."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import PurePath
from typing import ClassVar, Final
from xml.sax.saxutils import escape

from carob.journal.views import RunView
from carob.model.run import CaseRecord
from carob.model.verdict import CaseStatus
from carob.reports.artifacts import BinaryWriter
from carob.reports.base import SeveralRunsReport
from carob.reports.case_details import headline, why_not_passed
from carob.reports.case_facts import CaseOutcome, check_facts, tokens
from carob.reports.escaping import terminal
from carob.reports.run_facts import (
    count_finished,
    criteria_words,
    draft_words,
    guard_words,
    incomplete,
    replay_words,
    seconds,
)
from carob.reports.suite_lines import suite_place
from carob.scoring.figures import cost_words, rate_words

NAME: Final = 500
MOST_RUNS: Final = 10
_QUOTES: Final = {'"': "&quot;", "'": "&apos;"}
_ELEMENTS: Final = {
    CaseStatus.FAIL: "failure",
    CaseStatus.PARTIAL: "failure",
    CaseStatus.ERROR: "error",
    CaseStatus.SKIP: "skipped",
    CaseStatus.XFAIL: "skipped",
}


class JunitReport(SeveralRunsReport):
    """A test suite per run, a test case per case, whatever it was repeated."""

    extension: ClassVar = "junit.xml"

    def __init__(self, run: RunView, out: BinaryWriter) -> None:
        out.write(b'<?xml version="1.0" encoding="utf-8"?>\n<testsuites>\n')
        super().__init__(run, out)

    def _write(self, lines: Iterable[str]) -> None:
        self._out.write("".join(f"{line}\n" for line in lines).encode())

    def _begin_run(self, run: RunView) -> None:
        self._run = run
        self._file, self._lines = suite_place(run)
        self._class = PurePath(self._file).stem or "suite"
        self._write(_head(run, self._class, self._file))

    def _end_run(self) -> None:
        if missing := incomplete(self._run):
            error = _element("error", {"type": "incomplete", "message": missing})
            case = _open("testcase", {"classname": self._class, "name": "the run is complete"})
            self._write([case, error, "</testcase>"])
        self._write(["</testsuite>"])

    def _end_file(self) -> None:
        self._write(["</testsuites>"])

    def _write_case(self, outcome: CaseOutcome) -> None:
        self._write(self._case(outcome))

    def _case(self, outcome: CaseOutcome) -> Iterator[str]:
        case = outcome.shown.case
        yield _open(
            "testcase",
            {
                "classname": f"{self._class}.{case.category}" if case.category else self._class,
                "name": case.id,
                "file": self._file,
                "line": str(self._lines.get(case.id, "")),
                "time": f"{sum(record.duration_ms for record in outcome.records) / 1000:.3f}",
            },
        )
        properties = [("status", outcome.status), *_properties(outcome.shown)]
        if self._run.header.repeat > 1:
            rates = {name: f"{rate:.4f}" for name, rate in outcome.rates.items()}
            figures = {"runs": outcome.runs, "passed": outcome.passed, **rates, "flaky": str(outcome.flaky).lower()}
            properties += [(f"repeats.{name}", str(figure)) for name, figure in figures.items()]
        yield from _property_lines(properties)
        if element := _ELEMENTS.get(outcome.status):
            lines = chain.from_iterable(why_not_passed(record) for record in outcome.not_passed[:MOST_RUNS])
            about = {"type": outcome.status, "message": headline(outcome.shown)}
            yield _element(element, about, "\n".join(lines))
        yield "</testcase>"


def _head(run: RunView, name: str, file: str) -> Iterator[str]:
    summary, header = run.summary, run.header
    missing = bool(incomplete(run))
    about = {
        "name": name,
        "tests": str(count_finished(summary) + missing),
        "failures": str(summary.failed + summary.partial),
        "errors": str(summary.error + missing),
        "skipped": str(summary.skipped + summary.xfailed),
        "time": f"{seconds(run) or 0:.3f}",
        "timestamp": header.started_at,
        "file": file,
    }
    yield _open("testsuite", about)
    properties = [("target", header.target), ("run", header.run_id), ("suite_sha256", header.suite_sha256)]
    optional = {
        "avg_soft_score": "" if summary.avg_soft_score is None else f"{summary.avg_soft_score:.4f}",
        "pass_rate": rate_words(summary),
        "cost": cost_words(summary.spent, run.prices),
        "unjudged": str(summary.unjudged or ""),
        "criteria": criteria_words(summary),
        "draft": draft_words(run),
        "replayed": replay_words(run.header),
        "guard": "; ".join(guard_words(summary)),
    }
    yield from _property_lines([*properties, *((name, words) for name, words in optional.items() if words)])


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
    if unjudged := check_facts(record).unjudged:
        yield "unjudged", ", ".join(check.label for check in unjudged)
    for check in record.verdict.checks:
        if check.reading is not None:
            yield "criterion", f"{check.expected}: {check.found}"
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
    pairs = "".join(f' {key}="{_text(value, NAME)}"' for key, value in attributes.items() if value)
    return f"<{name}{pairs}>"


def _text(text: str, limit: int | None = None) -> str:
    """Text that is nothing but text, and has no character that XML does not know."""
    return escape(terminal(text, limit), _QUOTES)
