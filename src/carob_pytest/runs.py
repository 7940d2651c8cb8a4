"""A suite in one process of a pytest session: its target is opened with the first case and stays open."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Collection, Mapping
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import structs

from carob.checks.catalog import catalog_for
from carob.engine.case_runner import CaseRunner, files_folder, target_of_suite
from carob.engine.events import Event, Notice
from carob.engine.request import ResolvedTarget, RunOptions, RunRequest
from carob.engine.rescoring import default_results_dir, resolve_allowances
from carob.engine.session import check_provable, run_header
from carob.engine.work import CaseResult, error_result, skip_case
from carob.errors import CarobError, UsageError
from carob.journal.writer import encode
from carob.model.run import Item, Keys, target_identity
from carob.model.suite import Case, Suite, leave_unjudged_of
from carob.model.trace import TraceError
from carob.plugins.project import Project, find_project
from carob.redaction.redactor import Redactor
from carob.reports.run_result import Allowances
from carob.suites.documents.source import read_bytes
from carob.suites.reading import LocatedSuite, locate_suite
from carob.suites.selection import Selection
from carob.targets.config import Config, read_config
from carob.targets.python import FunctionTarget
from carob.text.wording import visible
from carob_pytest.state import SessionState, Settled, settle_target

GATE = "gate"


def node_name(case_id: str) -> str:
    """A case id as part of a node id, in which `::` separates names."""
    return visible(case_id).replace("::", "%3A%3A")


class SuiteOnDisk(NamedTuple):
    """A suite file, read in the project that holds for it."""

    located: LocatedSuite
    project: Project

    @property
    def suite(self) -> Suite:
        return self.located.suite


def read_suite_file(path: Path, folder: Path) -> SuiteOnDisk:
    """Read a suite as `carob run` would in this folder, or in its own if that is of another project."""
    project, project_of_file = find_project(folder), find_project(path.parent)
    name = str(path)
    if project_of_file.file != project.file or not path.is_relative_to(folder):
        project = project_of_file
    else:
        name = str(path.relative_to(folder))
    return SuiteOnDisk(locate_suite(read_bytes(path), name, catalog_for(project)), project)


class SuiteRun:
    """Runs cases of a suite, all on one opened target, and makes the records of those that pytest could not run."""

    def __init__(self, state: SessionState, nodeid: str, on_disk: SuiteOnDisk) -> None:
        self.state = state
        self.nodeid = nodeid
        self.project = on_disk.project
        self.suite = leave_unjudged_of(on_disk.suite, self.allowed.unjudged)
        self.options: RunOptions = state.options
        self.run_id = f"{state.run_id}-{hashlib.sha256(nodeid.encode()).hexdigest()[:8]}"
        self.notices: list[str] = []
        self.positions: dict[str, int] = {}
        """Where each case that is to be run is among them, in suite order."""
        self.remaining: set[str] = set()
        """The cases that are still to be run in this process."""
        self.has_gate = False
        self.fixture_info: Any = None
        """The fixtures that hold for its cases, as pytest has them."""
        self.shared_fixtures: dict[str, object] | None = None
        """Their values, where all of them hold for the whole session."""
        self._on_disk = on_disk
        self._stack: AsyncExitStack | None = None
        self._runner: CaseRunner | None = None
        self._target: object = None
        self._settled: Settled | None = None
        self._header_sent = False
        self.identity: Mapping[str, object] = {}
        """What the target is, as far as it is known."""

    @property
    def gate_name(self) -> str:
        return GATE if all(case.id != GATE for case in self.suite.cases) else f"{GATE} of carob.toml"

    @cached_property
    def config(self) -> Config:
        return read_config(self.project)

    @cached_property
    def allowed(self) -> Allowances:
        return resolve_allowances(None, None, None, self.config)

    @cached_property
    def lines(self) -> dict[str, int]:
        """The line of each case by its id."""
        return self._on_disk.located.case_lines()

    @cached_property
    def results_dir(self) -> Path:
        """Where the journal goes: as given, else as in carob.toml, else below the root of the project."""
        if self.state.record_folder is not None:
            return self.state.record_folder
        root = self.project.root if self.project.file else self.state.config.rootpath
        return root / default_results_dir(self.suite.file, self.config)

    def select(self, ids: Collection[str]) -> None:
        """Only these cases are to be run."""
        self.remaining = set(ids)
        chosen = [case.id for case in self.suite.cases if case.id in self.remaining]
        self.positions = {name: position for position, name in enumerate(chosen)}

    def run(self, case: Case, target: object, repeat: int) -> CaseResult:
        """Run one case on the open target. Whatever is wrong with the target makes it an ERROR."""
        position = self.positions[case.id]
        try:
            self._settle(target)
            if case.skip:
                return skip_case(self._item(case, repeat), self.redactor)
            runner = self._open(target)
            number = self._first_repeat + repeat
            work = runner.run_to_line(case, index=position, repeat=number, until=self.options.until)
            return self.state.suite_loop.wait(work)
        except CarobError as error:
            return self.build_error_result(case, error.slug, str(error), repeat)
        except BaseException:
            self.close()  # what was interrupted may still go on in the target
            raise

    def mark_finished(self, case: Case) -> None:
        """A case needs the target no longer; it is closed after the last, unless xdist may give this process more."""
        self.remaining.discard(case.id)
        if not self.remaining and self.state.workers == 1:
            self.close()

    def build_error_result(self, case: Case, kind: str, message: str, repeat: int = 0) -> CaseResult:
        """The record of a case that could not be run."""
        return error_result(self._item(case, repeat), TraceError(kind, message), 0.0, self.redactor)

    def build_skip_result(self, case: Case, reason: str, repeat: int = 0) -> CaseResult:
        """The record of a case that something else than the suite skipped."""
        return skip_case(self._item(structs.replace(case, skip=reason), repeat), self.redactor)

    def take_header(self) -> str | None:
        """The first line of the journal, once for each process."""
        if self._header_sent:
            return None
        self._header_sent = True
        return self.header()

    def header(self) -> str:
        """What the journal of this suite begins with."""
        agent, options, request = self._settled or (_unknown_target(self.state.target), self.options, RunRequest())
        chosen = tuple(case for case in self.suite.cases if case.id in self.positions)
        if len(chosen) < len(self.suite.cases):
            request = structs.replace(request, selection=Selection(cases=[case.id for case in chosen]))
        suite = structs.replace(self.suite, cases=chosen)
        now = datetime.now(UTC)
        header = run_header(suite, agent, options, request, self.project, run_id=self.run_id, now=now)
        copies = self.state.copies
        header = structs.replace(header, repeat=header.repeat * copies, total=header.total * copies)
        return encode(self.redactor.redact(header)).decode()

    @cached_property
    def redactor(self) -> Redactor:
        if self._runner is not None:
            return self._runner.attempts.redactor
        return Redactor.from_names(self.config.secrets, os.environ)

    def close(self) -> None:
        """Close the target; the next case opens it again."""
        stack, self._stack, self._runner, self._target = self._stack, None, None, None
        if stack is not None:
            self.state.suite_loop.wait(stack.aclose())

    def _item(self, case: Case, repeat: int) -> Item:
        key = Keys(target_identity(self.identity)).of(case)
        return Item(self.positions[case.id], self._first_repeat + repeat, key, case, self.options.until)

    @property
    def _first_repeat(self) -> int:
        return self.state.copy * self.options.most_runs

    def _settle(self, target: object) -> Settled:
        """Settle which target it is; the fixture may give another one to each test."""
        if self._settled is None or target is not self._target:
            check_provable(self.suite, self.options)
            request = RunRequest(listeners=[self._on_event], folder=str(self.state.folder))
            target_or_spec = target or target_of_suite(self.suite, self.config)
            self._settled = self._share_limits(*settle_target(target_or_spec, self.options, request, self.config))
            self.identity = self._settled[0].identity
        return self._settled

    def _share_limits(self, agent: ResolvedTarget, options: RunOptions, request: RunRequest) -> Settled:
        """Keep to the limits of the target together with the other xdist workers."""
        limits, workers = agent.limits, self.state.workers
        most = min(filter(None, (limits.max_concurrency, limits.max_workers)), default=workers)
        if workers > most:
            why = limits.why or limits.why_workers or "its configuration says so"
            message = f"the target takes {most} at once ({why}), but pytest runs {workers} workers."
            raise UsageError(message, fix=f"Use -n {most}.", slug="bad-option")
        if workers > 1 and limits.per_minute is not None:
            rate = max(1, int(limits.per_minute * 60 / workers))
            options = structs.replace(options, rate=f"{rate}/h")
        return agent, options, request

    def _open(self, target: object) -> CaseRunner:
        if self._runner is None or target is not self._target:
            self.close()
            agent, options, request = self._settle(target)
            attachments = files_folder(self.results_dir, self.run_id)
            runner = CaseRunner(agent, options, request, self.project, attachments=attachments)
            stack = AsyncExitStack()
            self.state.suite_loop.wait(stack.enter_async_context(runner.open(asyncio.Event())))
            self._stack, self._runner, self._target = stack, runner, target
            self.__dict__.pop("redactor", None)  # the target may know more secrets
        return self._runner

    def _on_event(self, event: Event) -> None:
        if isinstance(event, Notice):
            self.notices.append(event.message)


def _unknown_target(name: object) -> ResolvedTarget:
    """What a journal says of a target that could not be made."""
    return ResolvedTarget(FunctionTarget(_unknown_target), str(name or ""), {})
