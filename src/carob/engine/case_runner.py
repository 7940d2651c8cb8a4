"""An open target that runs single cases: what a run is built on, and whatever else puts cases to an agent."""

from __future__ import annotations

import asyncio
import os
import random
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Unpack

from msgspec import structs

from carob.checks.catalog import catalog_for, find_project_of
from carob.engine.attempts import Attempts, Policy, Retries, read_attempt
from carob.engine.events import CaseFinished, Listener
from carob.engine.executors import Executor, InlineExecutor
from carob.engine.request import (
    BY_NAME,
    AnyTarget,
    ResolvedTarget,
    RunOptions,
    RunRequest,
    TargetRecipe,
    find_target,
    refuse_unknown,
    secret_values,
    with_guard,
    with_kept_workspaces,
)
from carob.engine.runner import open_executor
from carob.engine.tapes import build_with_tape
from carob.engine.work import GRACE, CaseResult, Settings
from carob.errors import ConfigError, UsageError
from carob.journal.reader import read_record
from carob.model.run import CaseRecord, Item, Keys, target_identity
from carob.model.sequential import SequentialTest
from carob.model.suite import Case, Suite
from carob.options import CaseKeywords
from carob.plugins.features import find_service
from carob.plugins.project import Project, find_project
from carob.redaction.redactor import Redactor
from carob.suites.fault_keys import add_target_surroundings
from carob.targets.base import DENIED
from carob.targets.capabilities import Limits, refuse_unreachable, secrets_of
from carob.targets.catalog import runs_code_of_others
from carob.targets.config import Config, read_config
from carob.targets.wrappers.base import RESET_GRACE

DEFAULT_TIMEOUT = 300.0


class CaseRunner:
    """Runs cases on one target, several at once, each in a conversation of its own; `open_runner` opens one.

    `total` is how many cases are to be expected; `idle`: none of them is to be run, so that nothing needs to be opened.
    """

    def __init__(
        self,
        agent: ResolvedTarget,
        options: RunOptions,
        request: RunRequest,
        project: Project,
        *,
        attachments: Path | None = None,
        total: int = 1,
        idle: bool = False,
    ) -> None:
        if agent.config.ui_vocabulary:
            from carob.checks.page.ui import check_vocabulary  # few targets have a page

            check_vocabulary(agent.config.ui_vocabulary, str(agent.identity.get("name", "")))
        self._agent = agent
        self._options = options
        self._request = request
        self._project = project
        self._attachments = attachments
        self._secrets = (*request.secrets, *secrets_of(agent.target))
        self._policy = policy_for(options, agent.limits)
        self._redactor = Redactor(self._secrets)
        executor = Executor() if idle else self._executor(total)
        self.attempts = Attempts(executor, self._policy, self._redactor, request.listeners, random.Random())
        self._keys = Keys(target_identity(agent.identity))
        self._numbers = count()
        self._slots: asyncio.Semaphore | None = None

    @asynccontextmanager
    async def open(self, stop: asyncio.Event, limit: float | None = None) -> AsyncIterator[None]:
        """Keep the target open, unless it takes longer than the limit or is stopped before."""
        async with open_executor(self.attempts.executor, stop, limit):
            self._slots = asyncio.Semaphore(self.attempts.slots)
            try:
                yield
            finally:
                self._slots = None

    async def run(self, case: Case | Mapping[str, object], *, index: int | None = None, repeat: int = 0) -> CaseRecord:
        """Run and judge one case, within its deadline and with its retries; the record has no secrets.

        A case may be a dict, such as `carob.case` gives.

        More cases than can be run at once wait their turn. `index` is the place of the case in its suite; without it,
        cases are numbered as they come. Raises ConfigError if the target lets no case in as it is configured.
        """
        if not isinstance(case, Case):
            from carob.engine.authoring import read_case  # a run has cases

            case = read_case(case, self._project)
        return read_record((await self.run_to_line(case, index=index, repeat=repeat)).line)

    async def run_to_line(
        self, case: Case, *, index: int | None = None, repeat: int = 0, until: SequentialTest | None = None
    ) -> CaseResult:
        """As `run`, for who keeps a journal: the line of the record, which is not read back."""
        if self._slots is None:
            raise UsageError("the runner is closed.", fix="Run cases inside `async with`.", slug="closed-runner")
        if case.catalog is not None and case.catalog.folder != self._project.folder:
            fix = "Open the runner with `suite=`, or in the folder in which the suite was read."
            raise UsageError(f"the case {case.id!r} belongs to another project.", fix=fix, slug="bad-suite")
        if self._agent.config.ui_vocabulary:
            from carob.checks.page.ui import resolve

            case = resolve(case, self._agent.config.ui_vocabulary)
        case = add_target_surroundings(case, self._agent.identity)
        refuse_unreachable([case], self._agent.target, self._agent.name)
        number = next(self._numbers) if index is None else index
        item = Item(number, repeat, self._keys.of(case), case, until)
        async with self._slots:
            result = await self.attempts.run(item)
            if result.error != DENIED:
                self.attempts.tell(CaseFinished(item, result))
            await self.attempts.wait_until_stopped(item)
        if result.error == DENIED and (error := read_attempt(result).error) is not None:
            raise ConfigError(f"no case can be run: {error.message}", slug="denied")
        return result

    def _executor(self, total: int) -> Executor:
        options, limits, redactor = self._options, self._agent.limits, self._redactor
        case_timeout = options.timeout or self._agent.config.timeout or DEFAULT_TIMEOUT
        grace = GRACE + RESET_GRACE if self._agent.config.teardown else GRACE
        settings = Settings(case_timeout, grace, str(self._attachments or ""))
        on_cluster = options.executor == "ray"
        concurrency = min(options.concurrency, limits.max_per_worker or options.concurrency)
        if not on_cluster and options.processes == 0:
            catalog = catalog_for(self._project)
            return InlineExecutor(self._agent.target, settings, redactor, catalog, concurrency=concurrency)
        if limits.max_workers is not None and (on_cluster or options.processes > limits.max_workers):
            message = f"the target can be open in {limits.max_workers} process only: {limits.why_workers}."
            fix = "Use --workers 1 with --concurrency, or leave the port to Carob."
            raise UsageError(message, fix=fix, slug="bad-option")
        if self._agent.recipe is None:
            where = "on a Ray cluster" if on_cluster else "in other processes"
            raise UsageError(f"a target that is an object cannot run {where}.", fix=BY_NAME, slug="bad-option")
        from carob.engine.processes.messages import Start

        # What the file says of other targets, such as their headers, is not for other machines.
        project = structs.replace(self._project, content={})
        recipe, folder = self._agent.recipe, self._request.folder
        start = Start(recipe, settings, self._secrets, list(sys.path), concurrency, project, folder)
        exact = self._policy.exact
        if on_cluster:
            on_ray = find_service("ray_executor")
            executor: Executor = on_ray(start, address=options.ray_address, total=total, exact=exact)
            return executor
        from carob.engine.processes.executor import ProcessExecutor

        pace, tell = self._policy.per_minute, self._request.notice
        return ProcessExecutor(start, redactor, workers=options.processes, exact=exact, per_minute=pace, tell=tell)


def policy_for(options: RunOptions, limits: Limits) -> Policy:
    """What governs a run with these options of a target with these limits."""
    rates = [rate for rate in (options.per_minute, limits.per_minute) if rate is not None]
    in_all = limits.max_per_worker and limits.max_per_worker * max(1, options.processes)
    return Policy(
        retries=Retries(options.retries, options.backoff),
        per_minute=min(rates, default=None),
        max_concurrency=min(filter(None, (limits.max_concurrency, in_all)), default=None),
        max_failures=options.max_failures,
        run_timeout=options.run_timeout,
    )


def settle(
    target: AnyTarget | None, options: RunOptions, request: RunRequest, config: Config, suite: Suite | None = None
) -> tuple[ResolvedTarget, RunOptions, RunRequest]:
    """Resolve the target by the configuration, settle where it runs, and add its secrets to the request.

    By default a target runs in one process, which can be ended, unless it is an object of this one, or a recording that
    only Carob's own code reads and judges.
    """
    described = find_target(target, config, request.options, Path(request.folder), request.matrix)
    if options.guard is not None:
        described = with_guard(described, Path(request.folder) / options.guard)
    if options.keep_workspaces:
        described = with_kept_workspaces(described)
    if options.workers is None:
        options = structs.replace(options, workers=int(_needs_worker(described, config.project)))
    secrets = (*secret_values(config, os.environ), *request.secrets)
    agent = build_with_tape(described, options, suite, config.project, secrets)
    return agent, options, structs.replace(request, secrets=secrets)


def _needs_worker(agent: TargetRecipe | ResolvedTarget, project: Project) -> bool:
    if isinstance(agent, ResolvedTarget):
        return False
    return runs_code_of_others(agent.config) or catalog_for(project).may_run_code_of_others


def target_of_suite(suite: Suite, config: Config) -> str | None:
    """The target that a suite names; none where it is code that the user does not trust and carob.toml has another."""
    if not suite.target_is_code or config.project.trust_code:
        return suite.target or None
    if config.target is None:
        fix = "If you trust it, use `carob run --trust-code`; otherwise name a target."
        message = "the suite's own target is code, which runs only if you trust it."
        raise UsageError(message, where=suite.file, fix=fix, slug="no-trust")
    return None


def files_folder(results_dir: Path, run_id: str) -> Path:
    """Where files of cases go, such as screenshots: next to the journal of their run."""
    return results_dir / f"files-{run_id}"


def new_run_id(now: datetime) -> str:
    return f"{now.strftime('%Y%m%dT%H%M%S%f')}-{os.getpid()}"


@asynccontextmanager
async def open_runner(
    target: AnyTarget | None = None,
    *,
    suite: Suite | None = None,
    secrets: Sequence[str] = (),
    listeners: Sequence[Listener] = (),
    **how: Unpack[CaseKeywords],
) -> AsyncIterator[CaseRunner]:
    """Open a target to run single cases: `async with open_runner(agent) as runner: record = await runner.run(case)`.

    The arguments are those of `run`. The configuration is that of the folder in which `suite` was read, else of this
    one. Files of cases, such as screenshots, go below `results_dir`, if that is given.
    """
    refuse_unknown(how, CaseKeywords)
    request = RunRequest(options=how.get("options") or {}, secrets=tuple(secrets), listeners=listeners)
    project = find_project() if suite is None else find_project_of(suite)
    agent, options, request = settle(target, RunOptions.of(how), request, read_config(project), suite)
    results_dir = how.get("results_dir")
    run_id = new_run_id(datetime.now(UTC))
    attachments = None if results_dir is None else files_folder(Path(request.folder, results_dir), run_id)
    runner = CaseRunner(agent, options, request, project, attachments=attachments)
    async with runner.open(asyncio.Event()):
        yield runner
