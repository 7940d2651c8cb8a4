"""Suites as pytest sees them: a file of cases, each of which is a test, and a test for the gates."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from msgspec import structs

from carob.engine.work import CaseResult
from carob.errors import CarobError, ExitCode
from carob.journal.reader import read_record
from carob.model.suite import Case
from carob.model.verdict import CaseStatus
from carob.plugins.features import find_service
from carob.scoring.tally import Tally
from carob.scoring.verdicts import case_verdict
from carob.text.wording import visible
from carob_pytest.failures import CaseFailure, describe
from carob_pytest.journals import SessionJournals
from carob_pytest.runs import SuiteRun, node_name, read_suite_file
from carob_pytest.state import SessionState

if TYPE_CHECKING:
    from _pytest._code.code import ExceptionInfo, TerminalRepr


_encode = msgspec.json.Encoder().encode


class SuiteCollector(pytest.File):
    """A suite file. `open_session`: Carob's part of this pytest session, which is made when it is first needed."""

    open_session: Callable[[], SuiteSession]

    def collect(self) -> Iterator[pytest.Item]:
        session = self.open_session()
        state = session.state
        run = session.runs[self.nodeid] = SuiteRun(state, self.nodeid, read_suite_file(self.path, state.folder))
        state.open_targets.callback(run.close)
        if state.asks_judge:
            find_service("check_judge")(run.project)  # before the first case is paid for
        marks = _Marks(self.config)
        for case in run.suite.cases:
            item: CaseItem = CaseItem.from_parent(self, name=node_name(case.id))
            item.case, item.run = case, run
            marks.add(item, case)
            yield item
        if run.project.content.get("gate") and state.gate_base != "no":
            gate: GateItem = GateItem.from_parent(self, name=run.gate_name)
            gate.run, gate.journals = run, session.journals
            yield gate

    def repr_failure(self, excinfo: ExceptionInfo[BaseException]) -> str | TerminalRepr:  # type: ignore[override]  # as documented for collectors
        """Every problem of the file, at its line."""
        return describe(excinfo.value, self.path) or super().repr_failure(excinfo)


class _Marks:
    """Makes markers of tags. A marker of pytest or a plugin that takes arguments means more than a tag can say."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        lines: list[str] = config.getini("markers")
        self._registered = {line.partition(":")[0].strip() for line in lines}
        self._with_arguments = {line.partition("(")[0].strip() for line in lines if "(" in line.partition(":")[0]}

    def add(self, item: pytest.Item, case: Case) -> None:
        item.extra_keyword_matches.update(filter(None, (case.category, *case.tags)))
        for tag in case.tags:
            if tag in self._with_arguments:
                continue
            if tag not in self._registered:
                self._registered.add(tag)
                self._config.addinivalue_line("markers", f"{tag}: a tag of Carob suites")
            item.own_markers.append(pytest.Mark(tag, (), {}, _ispytest=True))
            item.keywords[tag] = True


def _fixtures(carob_target: object) -> None:
    """Names the fixtures that a case needs."""


class CaseItem(pytest.Item):
    """One case. Fixtures that are used automatically hold for it too, and `carob_target` says which agent it is of."""

    case: Case
    run: SuiteRun

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.results: list[CaseResult] = []
        """What every run gave so far; one that another plugin asks for again counts as a repeat."""
        self.unreported = 0
        """How many of them no report has."""
        self.obj = None
        self.funcargs: dict[str, object] = {}
        self._request: Any = None

    def _initrequest(self) -> None:
        """Make room for fixtures, as pytest's own items do; pytest calls it before each run of the item."""
        from _pytest.fixtures import TopRequest  # as doctests do: there is no other way to give fixtures to an item

        if self.run.fixture_info is None:  # the same for every case of a file
            self.run.fixture_info = self.session._fixturemanager.getfixtureinfo(node=self, func=_fixtures, cls=None)
        self._fixtureinfo = self.run.fixture_info
        self.fixturenames = self._fixtureinfo.names_closure
        self.funcargs = {}
        self._request = TopRequest(self, _ispytest=True)  # type: ignore[arg-type]  # it needs an item with the attributes above

    def setup(self) -> None:
        """Set the fixtures up; those that hold for the whole session are the same for every case."""
        shared = self.run.shared_fixtures
        if shared is not None:
            self.funcargs.update(shared)
            return
        self._request._fillfixtures()
        defined = self._fixtureinfo.name2fixturedefs
        if all(defined[name][-1].scope == "session" for name in self.fixturenames if name in defined):
            self.run.shared_fixtures = dict(self.funcargs)

    def runtest(self) -> None:
        run = self.run
        target = run.state.chosen_target or self.funcargs.get("carob_target")
        if not self.results and run.options.most_runs == 1 and not self.case.xfail:
            self._add(run.run(self.case, target, 0))
            if self.results[0].status is not CaseStatus.PASS:
                self._judge(self._tally())
            return
        tally = self._tally()
        for _ in range(run.options.most_runs):
            self._add(run.run(self.case, target, len(self.results)))
            self._count(self.results[-1], tally)
            if run.options.until is not None and not tally.is_open(0):
                break
        self._judge(tally)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, self.run.lines.get(self.case.id, 1) - 1, self.name

    def repr_failure(self, excinfo: ExceptionInfo[BaseException]) -> str | TerminalRepr:  # type: ignore[override]  # as documented for items
        return describe(excinfo.value, self.path, self.location[1] or 0) or super().repr_failure(excinfo)

    def record_lost(self, kind: str, message: str) -> None:
        """Add an ERROR for every run that pytest or another plugin ended before it had a result."""
        for repeat in self._missing():
            self._add(self.run.build_error_result(self.case, kind, message, repeat))

    def record_skipped(self, reason: str) -> None:
        """Add that something else than the suite skipped the case."""
        for repeat in self._missing():
            self._add(self.run.build_skip_result(self.case, reason, repeat))

    def _missing(self) -> range:
        """The runs that the case still lacks; one that another plugin asked for, if it lacks none."""
        most = 1 if self.run.options.until else self.run.options.most_runs
        return range(len(self.results), max(most, len(self.results) + 1))

    def _tally(self) -> Tally:
        options = self.run.options
        tally = Tally(max(2, options.most_runs, len(self.results) + 1), options.until)
        for result in self.results:
            self._count(result, tally)
        return tally

    def _add(self, result: CaseResult) -> None:
        self.results.append(result)
        self.unreported += 1

    def _count(self, result: CaseResult, tally: Tally) -> None:
        outcome = result.outcome
        if self.case.xfail and self.config.option.runxfail:  # what the case would be without its mark
            record = read_record(result.line)
            unmarked = structs.replace(self.case, xfail="")
            verdict = case_verdict(unmarked, record.verdict.checks, record.trace.error)
            outcome = structs.replace(outcome, status=verdict.status)
        tally.add(0, outcome)

    def _judge(self, tally: Tally) -> None:
        """Pass, or raise what pytest knows as another outcome."""
        summary, allowed = tally.summary(), self.run.allowed
        code = summary.exit_code(allow_partial=allowed.partial, allow_unknown=allowed.unknown)
        if summary.skipped:
            raise pytest.skip.Exception(visible(self.case.skip), _use_item_location=True)
        if summary.xfailed:
            raise pytest.xfail.Exception(visible(self.case.xfail))
        if code is not ExitCode.OK:
            partial = "UNKNOWN" if summary.partial_unknown else "PARTIAL"
            word = "ERROR" if summary.error else "FAIL" if summary.failed else partial
            raise CaseFailure(word, [read_record(result.line) for result in self.results])


class GateItem(pytest.Item):
    """The gates of carob.toml on the run of a suite, after all of its cases."""

    run: SuiteRun
    journals: SessionJournals

    def runtest(self) -> None:
        self.journals.judge_gates(self.run.nodeid)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, self.name

    def repr_failure(self, excinfo: ExceptionInfo[BaseException]) -> str | TerminalRepr:  # type: ignore[override]  # as documented for items
        return describe(excinfo.value, self.path) or super().repr_failure(excinfo)


class SuiteSession:
    """Carob's part of a pytest session: its state, the collected suites and their journals, and the hooks of pytest."""

    def __init__(self, state: SessionState) -> None:
        self.state = state
        self.runs: dict[str, SuiteRun] = {}
        self.journals = SessionJournals(state, self.runs)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Ask gates last. With xdist none of the workers has the whole run: its controller asks them."""
        gates = [item for item in items if isinstance(item, GateItem)]
        for gate in gates:
            gate.run.has_gate = True
        items[:] = [item for item in items if not isinstance(item, GateItem)]
        if not self.state.is_worker:
            items += gates

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Number the cases that are to be run, as their journal does."""
        chosen: dict[str, list[str]] = {}
        for item in session.items:
            if isinstance(item, CaseItem):
                chosen.setdefault(item.run.nodeid, []).append(item.case.id)
        for nodeid, run in self.runs.items():
            run.select(chosen.get(nodeid, []))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Send the record of a case with its report."""
        report = yield
        if isinstance(item, CaseItem):
            self._attach(item, report, call)
        return report

    def _attach(self, item: CaseItem, report: pytest.TestReport, call: pytest.CallInfo[None]) -> None:
        failed_without_result = report.failed and not isinstance(getattr(call.excinfo, "value", None), CaseFailure)
        if failed_without_result and not item.unreported and report.when != "teardown":
            item.record_lost(
                "pytest", f"pytest ended it: {call.excinfo.exconly(tryshort=True) if call.excinfo else ''}"
            )
        elif report.skipped and not item.results and report.when == "setup":
            item.record_skipped(_skip_reason(report))
        if call.excinfo is not None and isinstance(call.excinfo.value, CaseFailure):
            report.__dict__["carob_status"] = call.excinfo.value.word
        if not item.unreported:
            return
        results, item.unreported = item.results[-item.unreported :], 0
        item.user_properties.append(("carob.status", getattr(report, "carob_status", str(results[-1].status))))
        run = item.run
        notices, run.notices = run.notices, []
        report.__dict__["carob"] = {
            "suite": run.nodeid,
            "header": run.take_header(),
            "gate": run.has_gate,
            "notices": notices,
            "case": item.case.id,
            "results": [_encode(result).decode() for result in results],
        }

    def pytest_runtest_teardown(self, item: pytest.Item) -> None:
        if isinstance(item, CaseItem):
            item.run.mark_finished(item.case)

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str] | None:
        """Name what the agent or the harness broke, and what could not be decided."""
        word = getattr(report, "carob_status", None)
        if word in (None, "FAIL") or not report.failed:
            return None
        return ("error", "E", word) if word == "ERROR" else ("failed", word[0], word)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Close the targets, and end the journals."""
        self.state.close()
        if not self.state.is_worker:
            self.journals.finish(session, exitstatus)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if not self.state.is_worker:
            self.journals.show(terminalreporter)

    def pytest_unconfigure(self) -> None:
        self.state.remove_temporary()


def _skip_reason(report: pytest.TestReport) -> str:
    return str(report.longrepr[2]) if isinstance(report.longrepr, tuple) else "pytest skipped it"


def open_session(config: pytest.Config, run_id: str, *, runs_all: bool) -> SuiteSession:
    """Carob's part of a session, which receives the hooks of pytest from now on."""
    try:
        session = SuiteSession(SessionState(config, run_id, runs_all=runs_all))
    except CarobError as error:
        raise pytest.UsageError(str(error)) from None
    config.pluginmanager.register(session, "carob-suites")
    return session
