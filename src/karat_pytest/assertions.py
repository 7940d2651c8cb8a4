"""What an assertion on a run or a trace found, next to the assertion that pytest shows."""

from __future__ import annotations

import io
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

import pytest
from _pytest._code.code import ExceptionRepr

from karat.engine.trace_checks import ExpectationError
from karat.errors import ExitCode
from karat.reports.escaping import terminal
from karat.reports.facts import BROKEN, counts, incomplete
from karat.reports.run_result import RunResult
from karat.terminal.screen import CaseLines, Screen

if TYPE_CHECKING:
    from _pytest._code.code import ExceptionInfo

SHOWN = 10
TAIL = 60
"""How much of a result's representation identifies it: pytest shortens long ones in the middle."""


def explain(item: pytest.Item, excinfo: ExceptionInfo[BaseException], report: pytest.TestReport) -> None:
    """Add the evidence to the report of a failed assertion; one that failed because all was skipped is skipped."""
    shown = report.longrepr
    if not report.failed or not isinstance(shown, ExceptionRepr):
        return
    if isinstance(excinfo.value, ExpectationError):
        for label, found, wanted in excinfo.value.differences:
            shown.addsection(terminal(label), _diff(item.config, found, wanted), "-")
        return
    for result in _runs_asserted(excinfo):
        if result.exit_code is ExitCode.NOTHING_SELECTED and result.summary.skipped:
            path, line, _ = item.reportinfo()
            reasons = dict.fromkeys(terminal(record.verdict.reason) for record in result)
            report.outcome = "skipped"
            report.longrepr = (str(path), (line or 0) + 1, f"Skipped: every case is skipped: {'; '.join(reasons)}")
            return
        shown.addsection(f"karat: {counts(result.summary)}", _failures(result), "-")


def _runs_asserted(excinfo: ExceptionInfo[BaseException]) -> Iterator[RunResult]:
    """The runs that the assertion is about: pytest keeps every value of it where it failed, and names it."""
    frame, text = excinfo.traceback[-1].frame, str(excinfo.value)
    found = {id(value): value for value in frame.f_locals.values() if isinstance(value, RunResult)}
    return (result for result in found.values() if not result.ok and repr(result)[-TAIL:] in text)


def _failures(result: RunResult) -> str:
    """Karat's block of each case that did not pass."""
    out = io.StringIO()
    lines = CaseLines(Screen(out))
    broken = result.journal.of_status(*BROKEN)
    for record in islice(broken, SHOWN):
        lines.in_full(record)
    left = sum(1 for _ in broken)
    more = f"and {left} more that did not pass\n" if left else ""
    return "".join((terminal(incomplete(result.journal)), out.getvalue(), more)).rstrip()


def _diff(config: pytest.Config, found: Any, wanted: Any) -> str:
    """The difference of two values as pytest shows it for `found == wanted`."""
    lines = config.hook.pytest_assertrepr_compare(config=config, op="==", left=found, right=wanted)
    return "\n".join(next((one for one in lines if one), [f"{found!r} == {wanted!r}"]))
