"""What pytest prints of a case, a gate, a suite or an assertion that is not as it should be."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import pytest
from _pytest._code.code import ExceptionRepr, ReprEntryNative, ReprExceptionInfo, ReprFileLocation, ReprTraceback

from carob.engine.authoring import ExpectationError
from carob.errors import CarobError, ExitCode, SuiteError
from carob.model.run import CaseRecord
from carob.reports.case_details import first_reason, why_not_passed
from carob.reports.case_facts import BROKEN
from carob.reports.escaping import terminal
from carob.reports.run_facts import counts, incomplete
from carob.reports.run_result import RunResult
from carob.terminal.screen import CaseLines, Screen
from carob.text.wording import visible

if TYPE_CHECKING:
    from _pytest._code.code import ExceptionInfo, TerminalRepr

MOST_FAILURES = 10
TAIL = 60
"""How much of a result's representation identifies it: pytest shortens long ones in the middle."""


class CaseFailure(Exception):
    """A case that did not pass: FAIL, ERROR, PARTIAL or UNKNOWN, with the records of its runs."""

    def __init__(self, word: str, records: Sequence[CaseRecord]) -> None:
        super().__init__(word)
        self.word = word
        self.records = records


class JudgedGate(Protocol):
    """What a gate says: met, broken, or undecided, and then what would decide it."""

    @property
    def gate(self) -> str: ...
    @property
    def verdict(self) -> str: ...
    @property
    def says(self) -> str: ...
    @property
    def decides(self) -> str: ...


class GateFailure(Exception):
    """Gates that are broken or undecided."""

    def __init__(self, verdicts: Sequence[JudgedGate]) -> None:
        super().__init__("gate")
        self.verdicts = verdicts


def describe(error: BaseException, path: Path, line: int = 0) -> TerminalRepr | None:
    """What a user can fix, at its place and without a traceback; None for an error of something else."""
    if isinstance(error, CaseFailure):
        return _describe_case(error, path, line)
    if isinstance(error, GateFailure):
        return _describe_gates(error, path)
    if isinstance(error, CarobError):
        line = error.problems[0].line - 1 if isinstance(error, SuiteError) and error.problems else 0
        return _format_failure(path, line, str(error).partition("\n")[0], str(error))
    return None


def _describe_case(failure: CaseFailure, path: Path, line: int) -> ReprExceptionInfo:
    """Carob's block for a case: what was asked, called and answered, and every check that does not hold."""
    records = failure.records
    shown = next((record for record in reversed(records) if record.status in BROKEN), records[-1])
    if len(records) == 1:
        block = "\n".join(why_not_passed(shown))
    else:
        out = io.StringIO()
        CaseLines(Screen(out)).write_repeats(records)
        block = out.getvalue()
    return _format_failure(path, line, f"{failure.word}: {first_reason(shown)}", block)


def _describe_gates(failure: GateFailure, path: Path) -> ReprExceptionInfo:
    verdicts = failure.verdicts
    lines = [f"{verdict.verdict:<9}  {verdict.gate}: {verdict.says}" for verdict in verdicts]
    lines += [f"to decide it: {verdict.decides}" for verdict in verdicts if verdict.decides]
    worst = next(verdict for verdict in verdicts if verdict.verdict != "met")
    return _format_failure(path, 0, f"{worst.verdict}: {worst.gate}: {worst.says}", "\n".join(map(visible, lines)))


def _format_failure(path: Path, line: int, message: str, block: str) -> ReprExceptionInfo:
    """A failure with its place and its one line, in the form that pytest sends between processes."""
    traceback = ReprTraceback([ReprEntryNative([f"{block.rstrip()}\n"])], None, "native")
    return ReprExceptionInfo(traceback, ReprFileLocation(str(path), line + 1, message))


def explain_assertion(item: pytest.Item, excinfo: ExceptionInfo[BaseException], report: pytest.TestReport) -> None:
    """Add the evidence to the report of a failed assertion; one that failed because all was skipped is skipped."""
    longrepr = report.longrepr
    if not report.failed or not isinstance(longrepr, ExceptionRepr):
        return
    if isinstance(excinfo.value, ExpectationError):
        for label, actual, expected in excinfo.value.differences:
            longrepr.addsection(terminal(label), _diff(item.config, actual, expected), "-")
        return
    for result in _runs_asserted(excinfo):
        if result.exit_code is ExitCode.NOTHING_SELECTED and result.summary.skipped:
            path, line, _ = item.reportinfo()
            reasons = dict.fromkeys(terminal(record.verdict.reason) for record in result)
            report.outcome = "skipped"
            report.longrepr = (str(path), (line or 0) + 1, f"Skipped: every case is skipped: {'; '.join(reasons)}")
            return
        longrepr.addsection(f"carob: {counts(result.summary)}", _failures(result), "-")


def _runs_asserted(excinfo: ExceptionInfo[BaseException]) -> Iterator[RunResult]:
    """The runs that the assertion is about: pytest keeps every value of it where it failed, and names it."""
    frame, text = excinfo.traceback[-1].frame, str(excinfo.value)
    results = {id(value): value for value in frame.f_locals.values() if isinstance(value, RunResult)}
    return (result for result in results.values() if not result.ok and repr(result)[-TAIL:] in text)


def _failures(result: RunResult) -> str:
    """Carob's block of each case that did not pass."""
    out = io.StringIO()
    lines = CaseLines(Screen(out))
    records = result.journal.of_status(*BROKEN)
    for record in islice(records, MOST_FAILURES):
        lines.in_full(record)
    remaining = sum(1 for _ in records)
    more = f"and {remaining} more that did not pass\n" if remaining else ""
    return "".join((terminal(incomplete(result.journal)), out.getvalue(), more)).rstrip()


def _diff(config: pytest.Config, actual: object, expected: object) -> str:
    """The difference of two values as pytest shows it for `actual == expected`."""
    explanations = config.hook.pytest_assertrepr_compare(config=config, op="==", left=actual, right=expected)
    return "\n".join(next(filter(None, explanations), [f"{actual!r} == {expected!r}"]))
