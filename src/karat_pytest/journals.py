"""One journal for each suite of a pytest session, written from the reports of its tests, whatever process ran them."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from msgspec import structs

from karat.engine.work import CaseResult
from karat.errors import ArtifactError, ExitCode, KaratError
from karat.journal.reader import Journal
from karat.journal.writer import JournalWriter, begin, encode
from karat.model.run import Footer, Header, Summary
from karat.model.suite import Case
from karat.reports.artifacts import reserve, utc_now
from karat.reports.escaping import terminal
from karat.reports.facts import counts, incomplete
from karat.scoring.tally import Tally
from karat_pytest.failures import GateFailure, describe_error, describe_gate
from karat_pytest.gates import judge_gates
from karat_pytest.runs import SuiteRun, node_name, read_suite_file

if TYPE_CHECKING:
    from karat_pytest.state import SessionState

_read_header = msgspec.json.Decoder(Header).decode
_read_result = msgspec.json.Decoder(CaseResult).decode
_NO_LINE = msgspec.Raw(b"")
"""In place of a line that is on disk."""


class Book:
    """The journal of one suite while its session goes on."""

    def __init__(self, run: SuiteRun, header: Header) -> None:
        self.run = run
        self.header = header
        self.names = reserve(run.results_dir, run.suite.file, run.suite.format, utc_now())
        begin(str(self.names.journal), header)
        self._writer = JournalWriter(str(self.names.journal))
        self._results: list[tuple[Case, CaseResult]] = []
        self._cases = {case.id: case for case in run.suite.cases}
        self.runs: Counter[int] = Counter()
        self.has_gate = False
        self.summary: Summary | None = None

    @property
    def path(self) -> Path:
        return self.names.journal

    def add(self, name: str, done: CaseResult) -> None:
        """Keep the result of a case; its line is on disk when this returns."""
        self._writer.write(bytes(done.line))
        self.runs[self.run.places[name]] += 1
        self._results.append((self._cases[name], structs.replace(done, line=_NO_LINE)))

    def end(self, why: str, *, interrupted: bool = False) -> None:
        """Write the last line, with `why` cases are missing if any are."""
        if self.summary is not None:
            return
        self._writer.__exit__(None, None, None)
        wanted = 1 if self.header.until else self.header.repeat
        whole = sum(runs >= wanted for runs in self.runs.values())
        missing = whole < self.header.total // self.header.repeat
        most = max([self.header.repeat, *self.runs.values()])
        if most > self.header.repeat:
            self._raise_repeat(most)
        tally = Tally.of(self.header)
        for case, done in self._results:
            place, rate, spent = self.run.places[case.id], case.min_pass_rate, done.spent
            tally.add(place, done.status, done.soft, rate, done.shortfall, cluster=case.cluster, spent=spent)
        why = why or "cases were not run"
        self.summary = tally.summary(incomplete=why if missing else "", interrupted=interrupted and missing)
        with JournalWriter(str(self.path)) as journal:
            now = datetime.now(UTC).isoformat(timespec="milliseconds")
            journal.write(encode(Footer(finished_at=now, summary=self.summary)))

    def _raise_repeat(self, most: int) -> None:
        """Cases that were run again have more runs than the header said: begin the journal anew with what is true."""
        total = self.header.total // self.header.repeat * most
        self.header = structs.replace(self.header, repeat=most, total=total, at_most=True)
        with open(self.path, "rb") as file:
            next(file)
            begin(str(self.path), self.header, [line.rstrip(b"\n") for line in file])

    @cached_property
    def journal(self) -> Journal:
        shown = Path(os.path.relpath(self.path)) if self.path.is_relative_to(Path.cwd()) else self.path
        return Journal(shown, self.summary, project=self.run.project, file=self.path)


class Journals:
    """The journals of a session."""

    def __init__(self, state: SessionState) -> None:
        self._state = state
        self.books: dict[str, Book] = {}
        self._runs: dict[str, SuiteRun] = {}
        self._lost: dict[str, list[tuple[str, str]]] = {}
        """Cases whose process is gone, and what xdist says of it, until it is known which target they were run on."""
        self._notices: dict[str, None] = {}
        self._planned: Sequence[str] = ()
        self._failures: dict[str, None] = {}

    def take(self, report: pytest.TestReport, planned: Sequence[str]) -> None:
        """Keep what a report says of a case; a case whose process was lost is an ERROR."""
        self._planned = planned
        sent = report.__dict__.pop("karat", None)
        if sent is None:
            self._take_lost(report)
            return
        self._notices |= dict.fromkeys(sent["notices"])
        try:
            book = self._book(sent["suite"], sent["header"])
            book.has_gate = book.has_gate or sent["gate"]
            for result in sent["results"]:
                book.add(sent["case"], _read_result(result))
        except ArtifactError as error:
            self._failures[str(error)] = None

    def _take_lost(self, report: pytest.TestReport) -> None:
        """Note a report that no worker made: its worker is gone."""
        if report.when in ("setup", "call", "teardown"):
            return
        nodeid, _, name = report.nodeid.partition("::")
        self._lost.setdefault(nodeid, []).append((name, str(report.longrepr).partition("\n")[0]))
        report.__dict__["karat_status"] = "ERROR"
        report.user_properties.append(("karat.status", "ERROR"))
        if nodeid in self.books:
            self._write_lost(nodeid)

    def _write_lost(self, nodeid: str) -> None:
        book = self._book(nodeid, None)
        run, named = book.run, {node_name(case.id): case for case in book.run.suite.cases}
        for name, message in self._lost.pop(nodeid, ()):
            case = named[name]
            place = run.places[case.id]
            for repeat in range(book.runs[place], 1 if run.options.until else run.options.most_runs):
                book.add(case.id, run.build_error_result(case, "worker", message, repeat))

    def _run(self, nodeid: str) -> SuiteRun:
        """The run of a suite. The controller of xdist has read none, and reads it when it must."""
        state = self._state
        if nodeid not in self._runs:
            run = state.suites.get(nodeid)
            if run is None:
                run = SuiteRun(state, nodeid, read_suite_file(state.config.rootpath / nodeid, state.folder))
                names = {node_name(case.id): case.id for case in run.suite.cases}
                own = (one.partition("::")[2] for one in self._planned if one.partition("::")[0] == nodeid)
                run.select([names[name] for name in own if name in names])
            self._runs[nodeid] = run
        return self._runs[nodeid]

    def _book(self, nodeid: str, header: str | None) -> Book:
        if nodeid not in self.books:
            run = self._run(nodeid)
            read = _read_header(header or run.header())
            run.identity = read.options["target"]
            self.books[nodeid] = Book(run, read)
            self._write_lost(nodeid)
        return self.books[nodeid]

    def end(self, nodeid: str) -> Path | None:
        """End the journal of a suite whose cases have all been run; None if none was."""
        book = self.books.get(nodeid)
        if book is None:
            return None
        book.end("")
        return book.path

    def finish(self, session: pytest.Session, exitstatus: int) -> None:
        """End every journal, and say so in the exit status if nothing was run or a journal could not be written."""
        interrupted = exitstatus == pytest.ExitCode.INTERRUPTED
        why = str(session.shouldfail or session.shouldstop or ("interrupted" if interrupted else ""))
        for nodeid in list(self._lost):
            self._write_lost(nodeid)
        for book in self.books.values():
            try:
                book.end(why, interrupted=interrupted)
            except ArtifactError as error:
                self._failures[str(error)] = None
        if self._failures and exitstatus in (0, 1):
            session.exitstatus = pytest.ExitCode.INTERNAL_ERROR
        elif exitstatus == 0 and self.books and self._is_all_skipped(session):
            session.exitstatus = pytest.ExitCode.NO_TESTS_COLLECTED

    def _is_all_skipped(self, session: pytest.Session) -> bool:
        terminal = session.config.pluginmanager.get_plugin("terminalreporter")
        others = terminal is None or any(terminal.stats.get(word) for word in ("passed", "xfailed", "xpassed"))
        return not others and all(
            book.summary is not None and book.summary.exit_code() is ExitCode.NOTHING_SELECTED
            for book in self.books.values()
        )

    def report_gates(self, session: pytest.Session) -> None:
        """Ask the gates in the controller of xdist, and report each as a test of its suite."""
        for nodeid, book in self.books.items():
            if book.has_gate:
                self._report_gate(session, nodeid, book)

    def _report_gate(self, session: pytest.Session, nodeid: str, book: Book) -> None:
        hook, name, place = session.config.hook, book.run.gate_name, (nodeid, 0, book.run.gate_name)
        path, began, problem = session.config.rootpath / nodeid, time.perf_counter(), None
        try:
            judge_gates(self._state, nodeid)
        except GateFailure as failure:
            problem = describe_gate(path, failure)
        except KaratError as error:
            problem = describe_error(path, error)
        took = time.perf_counter() - began
        name = f"{nodeid}::{name}"
        hook.pytest_runtest_logstart(nodeid=name, location=place)
        for when in ("setup", "call", "teardown"):
            failed = problem if when == "call" else None
            outcome = "failed" if failed else "passed"
            report = pytest.TestReport(name, place, {}, outcome, failed, when, duration=took if when == "call" else 0)  # type: ignore[arg-type]  # literals of pytest
            hook.pytest_runtest_logreport(report=report)
        hook.pytest_runtest_logfinish(nodeid=name, location=place)

    def show(self, out: Any) -> None:
        """The verdict of each suite, its journal, and what else is to be known."""
        planned = Counter(one.partition("::")[0] for one in self._planned)
        planned.update({nodeid: len(run.places) for nodeid, run in self._state.suites.items() if run.places})
        if not (planned or self._failures) or out.config.option.verbose < -1 or out.config.option.collectonly:
            return
        out.section("karat", "-")
        for nodeid, cases in planned.items():
            book = self.books.get(nodeid)
            if book is None or book.summary is None:
                out.write_line(f"{terminal(nodeid)}: INCOMPLETE: 0 of {cases} cases finished")
                continue
            lacks = terminal(incomplete(book.journal))
            out.write_line(f"{terminal(nodeid)}: {lacks or counts(book.summary)}")
            if self._state.keeps_journals:
                out.write_line(f"  {terminal(book.journal.path)}")
        for line in (*self._notices, *self._failures):
            out.write_line(terminal(line))
