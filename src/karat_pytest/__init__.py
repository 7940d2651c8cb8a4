"""The pytest plugin: suites are tests, and Python tests can talk to the agent.

This module is loaded in every project that has Karat installed. It imports nothing of Karat, opens nothing and reads
nothing until a suite, an option or a fixture of it is used.
"""

from __future__ import annotations

import fnmatch
import os
import sys
from collections.abc import Generator, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from karat_pytest.agent import AgentConversation
    from karat_pytest.state import SessionState

ENDINGS = (".karat.yaml", ".karat.yml", ".karat.json")
RUN_ID = "karat_run_id"
RUNS_ALL = "karat_runs_all"
"""What the controller of xdist gives its workers: the id of the run, and whether each of them runs all tests."""
OPTIONS = {
    "target": ("SPEC", "the agent under test, such as python:module:function, or the name of a target in karat.toml"),
    "repeat": ("N", "runs of each case; 'auto': until its pass rate is known"),
    "timeout": ("SECONDS", "seconds for one case"),
    "retries": ("N", "attempts to repeat a case after an error (never after a failed check)"),
    "gate": (
        "BASE",
        "what the gates of karat.toml compare with: @baseline by default; 'no' turns them off",
    ),
    "record": ("FOLDER", "where the journals go; 'no' keeps none"),
}
_STATE: pytest.StashKey[SessionState] = pytest.StashKey()
_RUN_ID: pytest.StashKey[str] = pytest.StashKey()
_NAMED: pytest.StashKey[list[Path]] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("karat", "Karat: contract tests for AI agents")
    for name, (value, about) in OPTIONS.items():
        group.addoption(f"--karat-{name}", metavar=value, default=None, help=about)
        parser.addini(f"karat_{name}", f"{about} (--karat-{name})", default=None)
    about = f"suite files in addition to those that end with {', '.join(ENDINGS)}; * is any part of a name"
    parser.addini("karat_suites", about, type="linelist", default=[])


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    if any(config.getoption(f"karat_{name}") is not None for name in OPTIONS):
        state_of(config)  # a wrong value is reported before anything is collected
    if config.args_source is not pytest.Config.ArgsSource.ARGS:
        config.args += [str(file) for file in _named_suites(config) if not _is_covered(file, config)]
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Reports(config), "karat-reports")


def _named_suites(config: pytest.Config) -> list[Path]:
    """The suites that the configuration of pytest names."""
    if _NAMED not in config.stash:
        root = config.inipath.parent if config.inipath else config.rootpath
        found = (file for pattern in config.getini("karat_suites") for file in sorted(root.glob(pattern)))
        config.stash[_NAMED] = [file.resolve() for file in found if file.is_file()]
    return config.stash[_NAMED]


def _is_covered(file: Path, config: pytest.Config) -> bool:
    """Whether pytest comes to a file by what it is to collect anyway."""
    skipped = config.getini("norecursedirs")
    for arg in config.args:
        place = (config.invocation_params.dir / arg).resolve()
        if file.is_relative_to(place):
            between = file.relative_to(place).parts[:-1]
            if not any(fnmatch.fnmatch(part, pattern) for part in between for pattern in skipped):
                return True
    return False


def is_suite(path: Path, config: pytest.Config) -> bool:
    """Whether a file is a suite, by its name alone."""
    named = _named_suites(config)
    return path.name.endswith(ENDINGS) or bool(named and path.resolve() in named)


def state_of(config: pytest.Config) -> SessionState:
    """What Karat knows of this pytest session; Karat is loaded when this is first asked for."""
    if _STATE not in config.stash:
        from karat_pytest.state import open_state

        config.stash[_STATE] = open_state(config, getattr(config, "workerinput", {}).get(RUN_ID) or _run_id(config))
    return config.stash[_STATE]


def _run_id(config: pytest.Config) -> str:
    return config.stash.setdefault(_RUN_ID, f"{datetime.now(UTC):%Y%m%dT%H%M%S%f}-{os.getpid()}")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if not is_suite(file_path, parent.config):
        return None
    from karat_pytest.suites import SuiteCollector

    collector: SuiteCollector = SuiteCollector.from_parent(parent, path=file_path)
    return collector


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show what an assertion on a run or a trace found, if Karat was used at all."""
    report = yield
    if call.excinfo is not None and "karat" in sys.modules and call.excinfo.errisinstance(AssertionError):
        from karat_pytest.assertions import explain

        explain(item, call.excinfo, report)
    return report


class _Reports:
    """Takes the records of cases from reports: in the process that runs the tests, or in the controller of xdist."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._planned: list[str] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the record of a case before anything else hears of it."""
        if hasattr(report, "karat") or (report.failed and report.nodeid in self._planned):
            state_of(self._config).journals.take(report, self._planned)

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
            files = {name for one in ids if (name := one.partition("::")[0])}
            suites = {name for name in files if is_suite(root / name, self._config)}
            self._planned = [one for one in ids if one.partition("::")[0] in suites]

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """With xdist, gates are asked when every worker is done."""
        result = yield
        if self._planned and _STATE in self._config.stash:
            state_of(self._config).journals.report_gates(session)
        return result


@pytest.fixture(scope="session")
def karat_target(pytestconfig: pytest.Config) -> object:
    """The agent under test. Override it in conftest.py with a function, an object, a spec or a name of karat.toml."""
    return state_of(pytestconfig).target


@pytest.fixture
def karat_agent(request: pytest.FixtureRequest, karat_target: object) -> Iterator[AgentConversation]:
    """A conversation with the agent, fresh in each test: `turn = await karat_agent.ask("...")`."""
    from karat_pytest.agent import open_conversation

    with open_conversation(request, karat_target) as conversation:
        yield conversation
