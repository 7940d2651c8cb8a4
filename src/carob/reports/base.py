"""What a report is, and the base of those that show all runs of a case together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Protocol, runtime_checkable

from carob.journal.views import RunView
from carob.model.run import CaseRecord
from carob.reports.artifacts import BinaryWriter
from carob.reports.case_facts import CaseOutcome, case_outcome


class Report(Protocol):
    """A report in the making: made with the run and the place for its bytes, `case` for each record, then `end`.

    Its file is `<stem of the suite>-results-<timestamp>.<extension>`, unless another is asked for; the name of a report
    of others comes before its extension.
    """

    extension: ClassVar[str]

    def __init__(self, run: RunView, out: BinaryWriter) -> None: ...

    def case(self, record: CaseRecord) -> None: ...

    def end(self) -> None: ...


@runtime_checkable
class MultiRunReport(Protocol):
    """A report that can hold several runs: `add_run` continues with another one."""

    def add_run(self, run: RunView) -> None: ...


class ParallelReport(Report, Protocol):
    """A report that can be made by several processes: what `part` says of some cases, `add` appends."""

    def part(self, records: Sequence[CaseRecord]) -> bytes: ...

    def add(self, part: bytes) -> None: ...


class OutcomeReport:
    """Takes records in suite order, and writes the outcome of each case once all runs of it are there."""

    def __init__(self, run: RunView, out: BinaryWriter) -> None:
        self._out = out
        self._records: list[CaseRecord] = []
        self._begin_run(run)

    def case(self, record: CaseRecord) -> None:
        if self._records and self._records[0].index != record.index:
            self._write_pending()
        self._records.append(record)

    def end(self) -> None:
        self._write_pending()
        self._end_run()
        self._end_file()

    def _write_pending(self) -> None:
        if self._records:
            self._write_case(case_outcome(self._records))
            self._records = []

    def _begin_run(self, run: RunView) -> None:
        """Write what comes before the cases of a run."""

    def _write_case(self, outcome: CaseOutcome) -> None:
        raise NotImplementedError

    def _end_run(self) -> None:
        """Write what comes after the cases of a run."""

    def _end_file(self) -> None:
        """Write what comes after the last run."""


class SeveralRunsReport(OutcomeReport):
    """One that can hold several runs."""

    def add_run(self, run: RunView) -> None:
        """Continue with another run."""
        self._write_pending()
        self._end_run()
        self._begin_run(run)
