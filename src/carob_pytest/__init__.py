"""The pytest plugin: suites are tests, and Python tests can talk to the agent.

This module is loaded in every project that has Carob installed. It imports nothing of Carob, opens nothing and reads
nothing until a suite, an option or a fixture of it is used.
"""

from __future__ import annotations

import fnmatch
import os
import sys
from collections.abc import Generator, Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from carob_pytest.agent import AgentConversation
    from carob_pytest.suites import SuiteSession

ENDINGS = (".carob.yaml", ".carob.yml", ".carob.json")
RUN_ID = "carob_run_id"
RUNS_ALL = "carob_runs_all"
"""What the controller of xdist gives its workers: the id of the run, and whether each of them runs all tests."""
OPTIONS = {
    "target": ("SPEC", "the agent under test, such as python:module:function, or the name of a target in carob.toml"),
    "repeat": ("N", "runs of each case; 'auto': until its pass rate is known"),
    "timeout": ("SECONDS", "seconds for one case"),
    "retries": ("N", "attempts to repeat a case after an error (never after a failed check)"),
    "gate": (
        "BASE",
        "what the gates of carob.toml compare with: @baseline by default; 'no' turns them off",
    ),
    "record": ("FOLDER", "where the journals go; 'no' keeps none"),
}
_SESSION: pytest.StashKey[SuiteSession] = pytest.StashKey()
_RUN_ID: pytest.StashKey[str] = pytest.StashKey()
_CONFIGURED_SUITES: pytest.StashKey[list[Path]] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("carob", "Carob: contract tests for AI agents")
    for name, (value, about) in OPTIONS.items():
        group.addoption(f"--carob-{name}", metavar=value, default=None, help=about)
        parser.addini(f"carob_{name}", f"{about} (--carob-{name})", default=None)
    about = "ask the judge of carob.toml about the criteria when the tests are done, and judge the runs again"
    group.addoption("--carob-judge", action="store_true", help=about)
    about = f"suite files in addition to those that end with {', '.join(ENDINGS)}; * is any part of a name"
    parser.addini("carob_suites", about, type="linelist", default=[])


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    if config.option.carob_judge or any(config.getoption(f"carob_{name}") is not None for name in OPTIONS):
        session_of(config)  # a wrong value is reported before anything is collected
    if config.args_source is not pytest.Config.ArgsSource.ARGS:
        config.args += [str(file) for file in _configured_suites(config) if not _is_covered(file, config)]
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Reports(config), "carob-reports")


def _configured_suites(config: pytest.Config) -> list[Path]:
    """The suites that the configuration of pytest names."""
    if _CONFIGURED_SUITES not in config.stash:
        root = config.inipath.parent if config.inipath else config.rootpath
        files = (file for pattern in config.getini("carob_suites") for file in sorted(root.glob(pattern)))
        config.stash[_CONFIGURED_SUITES] = [file.resolve() for file in files if file.is_file()]
    return config.stash[_CONFIGURED_SUITES]


def _is_covered(file: Path, config: pytest.Config) -> bool:
    """Whether pytest comes to a file by what it is to collect anyway."""
    skipped = config.getini("norecursedirs")
    roots = [(config.invocation_params.dir / arg).resolve() for arg in config.args]
    return any(
        not any(fnmatch.fnmatch(part, pattern) for part in file.relative_to(root).parts[:-1] for pattern in skipped)
        for root in roots
        if file.is_relative_to(root)
    )


def is_suite(path: Path, config: pytest.Config) -> bool:
    """Whether a file is a suite, by its name alone."""
    configured = _configured_suites(config)
    return path.name.endswith(ENDINGS) or bool(configured and path.resolve() in configured)


def session_of(config: pytest.Config) -> SuiteSession:
    """What Carob does in this pytest session; Carob is loaded when this is first asked for."""
    if _SESSION not in config.stash:
        from carob_pytest.suites import open_session

        worker = getattr(config, "workerinput", {})
        run_id = worker.get(RUN_ID) or _run_id(config)
        config.stash[_SESSION] = open_session(config, run_id, runs_all=bool(worker.get(RUNS_ALL)))
    return config.stash[_SESSION]


def _run_id(config: pytest.Config) -> str:
    return config.stash.setdefault(_RUN_ID, f"{datetime.now(UTC):%Y%m%dT%H%M%S%f}-{os.getpid()}")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if not is_suite(file_path, parent.config):
        return None
    from carob_pytest.suites import SuiteCollector

    collector: SuiteCollector = SuiteCollector.from_parent(parent, path=file_path)
    collector.open_session = partial(session_of, parent.config)
    return collector


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show what an assertion on a run or a trace found, if Carob was used at all."""
    report = yield
    if call.excinfo is not None and "carob" in sys.modules and call.excinfo.errisinstance(AssertionError):
        from carob_pytest.failures import explain_assertion

        explain_assertion(item, call.excinfo, report)
    return report


class _Reports:
    """Passes the records of cases on to journals: in the process that runs the tests, or in the controller of xdist."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._planned: list[str] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the record of a case before anything else hears of it."""
        if hasattr(report, "carob") or (report.failed and report.nodeid in self._planned):
            session_of(self._config).journals.record_report(report, self._planned)

    @pytest.hookimpl(wrapper=True, specname="pytest_runtest_logreport")
    def pytest_report_error(self, report: pytest.TestReport) -> Generator[None, object, object]:
        """In JUnit's XML, a case that is an ERROR is an error, where pytest takes any call for a failure."""
        result = yield
        if report.when == "call" and getattr(report, "carob_status", "") == "ERROR":
            from carob_pytest.journals import mark_as_error

            mark_as_error(self._config, report)
        return result

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Give every xdist worker the same run id, and say whether each of them runs all tests."""
        node.workerinput[RUN_ID] = _run_id(self._config)
        node.workerinput[RUNS_ALL] = self._config.option.dist == "each"

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        """Know what the workers are to run: one that is killed cannot say it."""
        if not self._planned:
            root = self._config.rootpath
            files = {nodeid.partition("::")[0] for nodeid in ids} - {""}
            suites = {name for name in files if is_suite(root / name, self._config)}
            self._planned = [nodeid for nodeid in ids if nodeid.partition("::")[0] in suites]

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """With xdist, gates are asked when every worker is done."""
        result = yield
        if self._planned and _SESSION in self._config.stash:
            session_of(self._config).journals.report_gates(session)
        return result


@pytest.fixture(scope="session")
def carob_target(pytestconfig: pytest.Config) -> object:
    """The agent under test. Override it in conftest.py with a function, an object, a spec or a name of carob.toml."""
    return session_of(pytestconfig).state.target


@pytest.fixture
def carob_agent(request: pytest.FixtureRequest, carob_target: object) -> Iterator[AgentConversation]:
    """A conversation with the agent, fresh in each test: `turn = await carob_agent.ask("...")`."""
    from carob_pytest.agent import open_conversation

    with open_conversation(session_of(request.config).state, request, carob_target) as conversation:
        yield conversation
