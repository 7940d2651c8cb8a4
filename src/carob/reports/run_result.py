"""A finished run as the library hands it back, and as a notebook shows it."""

from __future__ import annotations

import shutil
import weakref
from collections.abc import Callable, Iterator, Sequence
from html import escape
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

from carob.errors import ArtifactError, CarobError, ExitCode, JournalError
from carob.journal.reader import Journal
from carob.model.run import CaseRecord, Summary
from carob.plugins.project import Project
from carob.reports.artifacts import Names
from carob.reports.case_details import why_not_passed
from carob.reports.case_facts import BROKEN, case_name
from carob.reports.catalog import Wanted
from carob.reports.escaping import terminal
from carob.reports.run_facts import counts, incomplete
from carob.reports.writing import Each, write_all

SHOWN: Final = 50
LINE: Final = 200
_CELL: Final = "text-align:left;vertical-align:top"
_LINES: Final = "margin:0;white-space:pre-wrap;text-align:left"


class Allowances(NamedTuple):
    """What may be let pass: a check that failed above its threshold, one that is unknown, what is not judged."""

    partial: bool = False
    unknown: bool = False
    unjudged: bool = False


class RunResult:
    """A finished run: its journal, the reports of it, and why others could not be made. It is true if it is `ok`."""

    def __init__(
        self,
        journal: Journal,
        artifacts: Sequence[Path],
        failures: Sequence[CarobError] = (),
        left_out: Sequence[str] = (),
    ) -> None:
        self.journal = journal
        self.artifacts = tuple(artifacts)
        self.failures = tuple(failures)
        self.left_out = tuple(left_out)
        """Ids of cases that an earlier run recorded and that the suite does not have."""
        self.allowed = Allowances()

    @property
    def summary(self) -> Summary:
        return self.journal.summary

    @property
    def records(self) -> list[CaseRecord]:
        """Every record in suite order; for runs too large for a list, iterate over the result itself."""
        return list(self)

    def __iter__(self) -> Iterator[CaseRecord]:
        """Every record in suite order, read from the journal one after the other."""
        yield from self.journal.records()  # as a generator it holds on to the result, whose journal may be temporary

    @property
    def exit_code(self) -> ExitCode:
        """What the command line would end with; a report that could not be made counts too."""
        code = self.summary.exit_code(allow_partial=self.allowed.partial, allow_unknown=self.allowed.unknown)
        return ExitCode.INTERNAL if self.failures and code is not ExitCode.INTERRUPTED else code

    @property
    def ok(self) -> bool:
        """Whether the exit code is 0."""
        return self.exit_code is ExitCode.OK

    def __bool__(self) -> bool:
        return self.ok

    def __repr__(self) -> str:
        return f"<RunResult {self._verdict}: {terminal(self.journal.path)}>"

    def _repr_html_(self) -> str:
        """The verdict and the cases that did not pass, each with its evidence; nothing an agent said becomes markup.

        What passed is folded away, each case with what was answered.
        """
        bad = _table((record for record in self if record.status in BROKEN), "Why", _why)
        good = _table((record for record in self if record.status not in BROKEN), "Answer", _answer)
        folded = f"<details><summary>the others</summary>{good}</details>" if good else ""
        return f"<div><p><strong>{escape(self._verdict)}</strong></p>{bad}{folded}</div>"

    @property
    def _verdict(self) -> str:
        lacks = terminal(incomplete(self.journal), LINE)
        return f"{lacks}; {counts(self.summary)}" if lacks else counts(self.summary)


def _table(records: Iterator[CaseRecord], head: str, describe: Callable[[CaseRecord], str]) -> str:
    """The first of these cases, a row for each; nothing for none."""
    rows = "".join(_row(record, describe(record)) for record in islice(records, SHOWN))
    if not rows:
        return ""
    more_rows = sum(1 for _ in records)
    more = f"<p>and {more_rows} more</p>" if more_rows else ""
    heads = "".join(f'<th style="{_CELL}">{name}</th>' for name in ("Case", "Status", head))
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>{more}"


def _row(record: CaseRecord, text: str) -> str:
    name = escape(terminal(case_name(record.case.id, record.repeat), LINE))
    cells = (name, escape(record.status), f'<pre style="{_LINES}">{text}</pre>')
    return "<tr>" + "".join(f'<td style="{_CELL}">{cell}</td>' for cell in cells) + "</tr>"


def _why(record: CaseRecord) -> str:
    return "\n".join(escape(line) for line in why_not_passed(record))


def _answer(record: CaseRecord) -> str:
    return escape(terminal(record.trace.final_message or record.verdict.reason, LINE))


def write_reports(
    names: Names,
    summary: Summary,
    project: Project,
    reports: Sequence[Wanted] = (),
    left_out: Sequence[str] = (),
    workers: int = 1,
    each: Each | None = None,
) -> RunResult:
    """A written journal with its reports; `each` is called with every case of it."""
    try:
        journal = Journal(names.journal, summary, project=project, file=names.file)
    except JournalError as error:
        fix = "Run again, into a folder that is not cleaned up."
        raise ArtifactError(f"the journal of this run is lost: {error.message}", where=error.where, fix=fix) from error
    paths, failures = write_all(journal, names, reports, workers, each)
    return RunResult(journal, (names.journal, *paths), failures, left_out)


class ResultsPlace:
    """Where the files of a run go: the folder that was given, or a temporary one that goes with the result."""

    def __init__(self, folder: str | Path | None) -> None:
        self._temporary = folder is None
        self._kept = False
        self.folder = Path(_make_folder() if folder is None else folder)

    def keep_for(self, result: RunResult, allowed: Allowances) -> RunResult:
        self._kept = True
        result.allowed = allowed
        if self._temporary:
            weakref.finalize(result, shutil.rmtree, self.folder, ignore_errors=True)
        return result

    def __enter__(self) -> ResultsPlace:
        return self

    def __exit__(self, *_: object) -> None:
        if self._temporary and not self._kept:
            shutil.rmtree(self.folder, ignore_errors=True)


def _make_folder() -> str:
    import tempfile  # late: only who uses the library leaves the place open

    return tempfile.mkdtemp(prefix="carob-")
