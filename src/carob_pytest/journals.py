"""One journal for each suite of a pytest session, written from the reports of its tests whatever process ran them, and
the gates of carob.toml on it.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import pytest

from carob.engine.outside_journal import OutsideJournal
from carob.engine.work import CaseResult
from carob.errors import ArtifactError, CarobError, ExitCode, UsageError
from carob.model.run import Header
from carob.plugins.features import find_service
from carob.reports.escaping import terminal
from carob.reports.run_facts import counts, incomplete
from carob_pytest.failures import GateFailure, describe
from carob_pytest.runs import SuiteRun, node_name, read_suite_file
from carob_pytest.state import SessionState

_read_header = msgspec.json.Decoder(Header).decode
_read_result = msgspec.json.Decoder(CaseResult).decode


class SuiteJournal(OutsideJournal):
    """The journal of one suite while its session goes on."""

    def __init__(self, run: SuiteRun, header: Header) -> None:
        super().__init__(run.suite, header, run.results_dir, run.project)
        self.run = run
        self.has_gate = False


class SessionJournals:
    """The journals of a session. `runs`: the suites that this process has collected, by node id."""

    def __init__(self, state: SessionState, runs: dict[str, SuiteRun]) -> None:
        self._state = state
        self._runs = runs
        self._journals: dict[str, SuiteJournal] = {}
        self._lost: dict[str, list[tuple[str, str]]] = {}
        """Cases whose process is gone, and what xdist says of it, until it is known which target they were run on."""
        self._notices: dict[str, None] = {}
        self._planned: Sequence[str] = ()
        self._failures: dict[str, None] = {}

    def record_report(self, report: pytest.TestReport, planned: Sequence[str]) -> None:
        """Write what a report says of a case; a case whose process was lost is an ERROR."""
        self._planned = planned
        records = report.__dict__.pop("carob", None)
        if records is None:
            self._record_lost(report)
            return
        self._notices |= dict.fromkeys(records["notices"])
        try:
            journal = self._journal(records["suite"], records["header"])
            journal.has_gate = journal.has_gate or records["gate"]
            for result in records["results"]:
                journal.add(journal.run.positions[records["case"]], _read_result(result))
        except ArtifactError as error:
            self._failures[str(error)] = None

    def _record_lost(self, report: pytest.TestReport) -> None:
        """Note a report that no worker made: its worker is gone."""
        if report.when in ("setup", "call", "teardown"):
            return
        nodeid, _, name = report.nodeid.partition("::")
        self._lost.setdefault(nodeid, []).append((name, str(report.longrepr).partition("\n")[0]))
        report.__dict__["carob_status"] = "ERROR"
        report.user_properties.append(("carob.status", "ERROR"))
        if nodeid in self._journals:
            self._write_lost(nodeid)

    def _write_lost(self, nodeid: str) -> None:
        journal = self._journal(nodeid, None)
        run, cases = journal.run, {node_name(case.id): case for case in journal.run.suite.cases}
        for name, message in self._lost.pop(nodeid, ()):
            case = cases[name]
            for repeat in range(
                journal.runs[run.positions[case.id]], 1 if run.options.until else run.options.most_runs
            ):
                journal.add(run.positions[case.id], run.build_error_result(case, "worker", message, repeat))

    def _run(self, nodeid: str) -> SuiteRun:
        """The run of a suite. The controller of xdist has collected none, and reads the file when it must."""
        if nodeid not in self._runs:
            state = self._state
            run = SuiteRun(state, nodeid, read_suite_file(state.config.rootpath / nodeid, state.folder))
            cases = {f"{nodeid}::{node_name(case.id)}": case.id for case in run.suite.cases}
            run.select([cases[item] for item in self._planned if item in cases])
            self._runs[nodeid] = run
        return self._runs[nodeid]

    def _journal(self, nodeid: str, header_line: str | None) -> SuiteJournal:
        if nodeid not in self._journals:
            run = self._run(nodeid)
            header = _read_header(header_line or run.header())
            run.identity = header.options["target"]
            self._journals[nodeid] = SuiteJournal(run, header)
            self._write_lost(nodeid)
        return self._journals[nodeid]

    def judge_gates(self, nodeid: str) -> None:
        """Compare the run of a suite with its base, after all of its cases. Raises GateFailure unless all are met."""
        journal = self._journals.get(nodeid)
        if journal is None:
            fix = "Run the cases of the suite together with its gate."
            raise UsageError("there is no run for the gates to judge.", where=nodeid, fix=fix, slug="no-run")
        journal.end("")
        run = journal.run
        together = max(sum(journal.has_gate for journal in self._journals.values()), 1)
        comparison = find_service("compared_runs")(
            self._state.gate_base, journal.path, run.results_dir, {}, None, run.project, together=together
        )
        if any(gate.verdict != "met" for gate in comparison.gates):
            raise GateFailure(comparison.gates)

    def report_gates(self, session: pytest.Session) -> None:
        """Ask the gates in the controller of xdist, and report each as a test of its suite."""
        for nodeid, journal in self._journals.items():
            if journal.has_gate:
                self._report_gate(session, nodeid, journal.run.gate_name)

    def _report_gate(self, session: pytest.Session, suite: str, name: str) -> None:
        hook, nodeid, location = session.config.hook, f"{suite}::{name}", (suite, 0, name)
        start, problem = time.perf_counter(), None
        try:
            self.judge_gates(suite)
        except (GateFailure, CarobError) as error:
            problem = describe(error, session.config.rootpath / suite)
        duration = time.perf_counter() - start
        hook.pytest_runtest_logstart(nodeid=nodeid, location=location)
        for when in ("setup", "call", "teardown"):
            failed = problem if when == "call" else None
            outcome, took = "failed" if failed else "passed", duration if when == "call" else 0
            report = pytest.TestReport(nodeid, location, {}, outcome, failed, when, duration=took)  # type: ignore[arg-type]  # literals of pytest
            hook.pytest_runtest_logreport(report=report)
        hook.pytest_runtest_logfinish(nodeid=nodeid, location=location)

    def finish(self, session: pytest.Session, exitstatus: int) -> None:
        """End every journal, and say so in the exit status if nothing was run or a journal could not be written."""
        interrupted = exitstatus == pytest.ExitCode.INTERRUPTED
        why = str(session.shouldfail or session.shouldstop or ("interrupted" if interrupted else ""))
        for nodeid in list(self._lost):
            self._write_lost(nodeid)
        for journal in self._journals.values():
            try:
                journal.end(why, interrupted=interrupted)
                if self._state.asks_judge and not interrupted and self._fails_by_judge(journal) and exitstatus == 0:
                    exitstatus = session.exitstatus = pytest.ExitCode.TESTS_FAILED
            except CarobError as error:
                self._failures[str(error)] = None
        if self._failures and exitstatus in (0, 1):
            session.exitstatus = pytest.ExitCode.INTERNAL_ERROR
        elif exitstatus == 0 and self._journals and self._is_all_skipped(session):
            session.exitstatus = pytest.ExitCode.NO_TESTS_COLLECTED

    def _fails_by_judge(self, journal: SuiteJournal) -> bool:
        """Ask the judge about the criteria of a run that has ended; whether a case fails by what it decided."""
        before = journal.summary
        if before is None or before.criteria is None:
            return False
        from carob import api  # few sessions ask a judge

        folder = journal.run.results_dir
        result = api.rescore(
            journal.journal, results_dir=folder, judge=lambda words: self._notices.update({words: None})
        )
        journal.summary, journal.journal = result.summary, result.journal
        return result.summary.failed > before.failed

    def _is_all_skipped(self, session: pytest.Session) -> bool:
        reporter = session.config.pluginmanager.get_plugin("terminalreporter")
        if reporter is None or any(reporter.stats.get(word) for word in ("passed", "xfailed", "xpassed")):
            return False
        summaries = [journal.summary for journal in self._journals.values()]
        return all(summary and summary.exit_code() is ExitCode.NOTHING_SELECTED for summary in summaries)

    def show(self, out: Any) -> None:
        """The verdict of each suite, its journal, and what else is to be known."""
        planned: Mapping[str, int] = Counter(nodeid.partition("::")[0] for nodeid in self._planned)
        planned = planned or {nodeid: len(run.positions) for nodeid, run in self._runs.items() if run.positions}
        if not (planned or self._failures) or out.config.option.verbose < -1 or out.config.option.collectonly:
            return
        out.section("carob", "-")
        for nodeid, cases in planned.items():
            journal = self._journals.get(nodeid)
            if journal is None or journal.summary is None:
                out.write_line(f"{terminal(nodeid)}: INCOMPLETE: 0 of {cases} cases finished")
                continue
            missing = terminal(incomplete(journal.journal))
            out.write_line(f"{terminal(nodeid)}: {missing or counts(journal.summary)}")
            if self._state.keeps_journals:
                out.write_line(f"  {terminal(journal.journal.path)}")
        for line in (*self._notices, *self._failures):
            out.write_line(terminal(line))


def mark_as_error(config: pytest.Config, report: pytest.TestReport) -> None:
    """Write the failure that JUnit's XML has of a report as an error."""
    from _pytest.junitxml import xml_key  # private, as is everything about the XML

    if (xml := config.stash.get(xml_key, None)) is None:
        return
    for node in xml.node_reporter(report).nodes:
        if node.tag == "failure":
            node.tag = "error"
            xml.stats["failure"] -= 1
            xml.stats["error"] += 1
