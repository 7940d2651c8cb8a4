"""What pytest prints of a case, a gate or a suite that is not as it should be."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from _pytest._code.code import ReprEntryNative, ReprExceptionInfo, ReprFileLocation, ReprTraceback

from karat.analysis.compare.model import GateVerdict
from karat.errors import KaratError, SuiteError
from karat.model.run import CaseRecord
from karat.reports.facts import BROKEN
from karat.reports.failure_details import first_reason, why_not_passed
from karat.terminal.screen import CaseLines, Screen
from karat.text.wording import visible

if TYPE_CHECKING:
    from karat_pytest.suites import CaseItem


class CaseFailure(Exception):
    """A case that did not pass: FAIL, ERROR, PARTIAL or UNKNOWN, with the records of its runs."""

    def __init__(self, word: str, records: Sequence[CaseRecord]) -> None:
        super().__init__(word)
        self.word = word
        self.records = records


class GateFailure(Exception):
    """Gates that are broken or undecided."""

    def __init__(self, verdicts: Sequence[GateVerdict]) -> None:
        super().__init__("gate")
        self.verdicts = verdicts


def describe_case(item: CaseItem, failure: CaseFailure) -> ReprExceptionInfo:
    """Karat's block for a case: what was asked, called and answered, and every check that does not hold."""
    records = failure.records
    shown = next((record for record in reversed(records) if record.status in BROKEN), records[-1])
    if len(records) == 1:
        block = "\n".join(why_not_passed(shown))
    else:
        out = io.StringIO()
        CaseLines(Screen(out)).write_repeats(list(records))
        block = out.getvalue()
    return _format_failure(item.path, item.location[1] or 0, f"{failure.word}: {first_reason(shown)}", block)


def describe_gate(path: Path, failure: GateFailure) -> ReprExceptionInfo:
    lines = [f"{one.verdict:<9}  {one.gate}: {one.says}" for one in failure.verdicts]
    lines += [f"to decide it: {one.decides}" for one in failure.verdicts if one.decides]
    worst = next(one for one in failure.verdicts if one.verdict != "met")
    return _format_failure(path, 0, f"{worst.verdict}: {worst.gate}: {worst.says}", "\n".join(map(visible, lines)))


def describe_error(path: Path, error: KaratError) -> ReprExceptionInfo:
    """What a user can fix, without a traceback."""
    line = error.problems[0].line if isinstance(error, SuiteError) and error.problems else 1
    return _format_failure(path, line - 1, str(error).partition("\n")[0], str(error))


def _format_failure(path: Path, line: int, message: str, block: str) -> ReprExceptionInfo:
    """A failure with its place and its one line, in the form that pytest sends between processes."""
    traceback = ReprTraceback([ReprEntryNative([f"{block.rstrip()}\n"])], None, "native")
    return ReprExceptionInfo(traceback, ReprFileLocation(str(path), line + 1, message))
