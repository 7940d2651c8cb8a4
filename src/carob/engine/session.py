"""How a run is put together: target, plan, executor, journal, reports."""

from __future__ import annotations

import asyncio
import platform
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from msgspec import UNSET, Struct, structs

from carob.checks.catalog import catalog_for
from carob.engine.case_runner import CaseRunner, files_folder, new_run_id, policy_for, settle, target_of_suite
from carob.engine.request import AnyTarget, ResolvedTarget, RunOptions, RunRequest
from carob.engine.rescoring import resolve_ui
from carob.engine.runner import ConcurrencyHint, Plan, Runner
from carob.engine.tapes import MissCounter, leave_out_time_budgets, replay_notice, tape_in_header
from carob.errors import CarobError, UsageError
from carob.journal.reader import Journal
from carob.journal.rescore import CarryOver, list_some
from carob.journal.writer import begin
from carob.model.run import MATRIX, PACE, Header, Revision, Summary, target_identity
from carob.model.sequential import min_runs_to_prove
from carob.model.suite import Suite
from carob.model.trace import REMOVED
from carob.model.verdict import CaseStatus
from carob.plugins.project import Project
from carob.reports.artifacts import Names, reserve, utc_now
from carob.reports.catalog import select_reports
from carob.reports.run_result import RunResult, write_reports
from carob.scoring.intervals import Runs
from carob.scoring.tally import Tally
from carob.suites.fault_keys import add_target_surroundings
from carob.suites.selection import Selection, is_meant, select
from carob.system.git import ask_git
from carob.targets.capabilities import refuse_unreachable, version_of
from carob.targets.catalog import agent_name
from carob.targets.config import HIDDEN, Config
from carob.text.clean import text
from carob.version import __version__

LONGEST_VERSION = 200
MOST_TAGS = 20


class PreviousRun(Struct, frozen=True):
    """A journal to go on from, and the statuses that are to be run again."""

    journal: Journal
    redo: frozenset[CaseStatus] = frozenset()


@dataclass(eq=False)
class Session:
    """One run of one suite against one target. It ends early, and can be resumed, once `request.stop` is set."""

    suite: Suite
    agent: ResolvedTarget
    options: RunOptions
    request: RunRequest
    results_dir: Path
    project: Project
    now: Callable[[], datetime] = utc_now

    def __post_init__(self) -> None:
        self.suite, unjudged = leave_out_time_budgets(self.agent, self.suite, catalog_for(self.project))
        if notice := replay_notice(self.agent, unjudged):
            self.request.notice(notice)
        self._stop = self.request.stop or asyncio.Event()
        self._run_id = new_run_id(self.now())
        self._savings = self._make_savings()
        self._held: dict[int, Runs] = {}
        """What cases came to in the baseline, by their place in the suite."""

    async def run(self, previous: PreviousRun | None = None) -> RunResult:
        """Run what is to be run, and write the journal and its reports."""
        began = asyncio.get_running_loop().time()
        further = select_reports(self.request.reports, self.project, [self.suite.file], self.request.folder)
        plan = self._plan()
        misses = MissCounter()
        if self.options.baseline is not None:
            self._held = self._read_baseline(self.options.baseline, plan, previous)
        runner = CaseRunner(
            self.agent,
            self.options,
            structs.replace(self.request, listeners=[*self.request.listeners, *self._savings, misses]),
            self.project,
            attachments=files_folder(Path(self.request.folder, self.results_dir), self._run_id),
            total=len(plan),
            idle=all(case.skip for case in self.suite.cases),
        )
        if (why := self.agent.limits.why) and self.options.concurrency * max(self.options.processes, 1) > 1:
            each = " in each worker" if self.agent.limits.max_per_worker else ""
            self.request.notice(f"one case at a time{each}: {why}")
        summary, not_closed = None, None
        try:
            async with runner.open(self._stop, self.options.run_timeout):
                header = runner.attempts.redactor.redact(self._header(len(plan), previous))
                names = reserve(self.results_dir, self.suite.file, self.suite.format, self.now(), self.request.folder)
                try:
                    summary = await self._into(names, header, plan, runner, previous, began)
                except BaseException:
                    _drop_if_empty(names.file)
                    raise
        except CarobError as error:
            if summary is None:
                raise
            not_closed = error
        for saving in self._savings:
            if hint := saving.hint:
                self.request.notice(hint)
        for line in misses.lines:
            self.request.notice(line)
        result = write_reports(names, summary, self.project, further)
        if not_closed is not None:
            raise not_closed
        return result

    def _read_baseline(self, name: str, plan: Plan, previous: PreviousRun | None) -> dict[int, Runs]:
        read_base = self.request.read_base
        assert read_base is not None
        header, folder = self._header(len(plan), previous), Path(self.request.folder, self.results_dir)
        return read_base(name, header, previous.journal.path if previous else "", plan.cases, folder, self.project)

    def _make_savings(self) -> list[ConcurrencyHint]:
        """Listens where cases run one at a time and need not: nothing holds them back but the options."""
        options, limits = self.options, self.agent.limits
        policy = policy_for(options, limits)
        alone = options.concurrency == 1 and options.processes <= 1 and options.executor != "ray"
        free = policy.per_minute is None and policy.max_concurrency is None and limits.max_per_worker is None
        return [ConcurrencyHint()] if alone and free else []

    async def _into(
        self, names: Names, header: Header, plan: Plan, runner: CaseRunner, previous: PreviousRun | None, began: float
    ) -> Summary:
        options = self.options
        tally = Tally(options.most_runs, options.until, options.confirm, self._held)
        if previous is None:
            begin(str(names.journal), header, base=names.base)
        else:
            self._carry_over(names, plan, header, previous, tally)
        if options.shuffle is not None:
            plan.shuffle(options.shuffle)
        run = Runner(plan, runner.attempts, began=began, clock=lambda: self.now().isoformat(timespec="milliseconds"))
        async with self._stop_on_request(run):
            return await run.into(str(names.journal), header, tally, names.base)

    def _carry_over(self, names: Names, plan: Plan, header: Header, previous: PreviousRun, tally: Tally) -> None:
        """Begin the journal with what an earlier one has of the plan, and leave the rest to be run."""
        carried = CarryOver(previous.journal, plan, previous.redo, tally, catalog_for(self.project))
        begin(str(names.journal), header, carried.lines(str(names.journal)), names.base)
        plan.keep(lambda item: (item.case.id, item.repeat) not in carried.kept)
        for line in carried.messages(header.options["target"]):
            self.request.notice(line)

    @asynccontextmanager
    async def _stop_on_request(self, run: Runner) -> AsyncIterator[None]:
        async def wait_for_stop() -> None:
            await self._stop.wait()
            run.interrupt()

        if self._stop.is_set():
            run.interrupt()
        watch = asyncio.create_task(wait_for_stop())
        try:
            yield
        finally:
            watch.cancel()

    def _plan(self) -> Plan:
        identity = self.agent.identity
        resolved_cases = resolve_ui(self.suite, self.agent.config.ui_vocabulary, str(identity.get("name", ""))).cases
        cases = tuple(add_target_surroundings(case, identity) for case in resolved_cases)
        refuse_unreachable(cases, self.agent.target, self.agent.name)
        options = self.options
        check_provable(self.suite, options)
        return Plan(
            cases, target_identity(identity), repeat=options.most_runs, until=options.until, confirm=options.confirm
        )

    def _header(self, total: int, previous: PreviousRun | None) -> Header:
        header = run_header(
            self.suite, self.agent, self.options, self.request, self.project, run_id=self._run_id, now=self.now()
        )
        derived_from = text(previous.journal.path) if previous else ""
        return structs.replace(header, total=total, derived_from=derived_from)


def check_provable(suite: Suite, options: RunOptions) -> None:
    """Raise UsageError where not even runs that all pass would prove a case: then nothing is to be run."""
    until, most = options.until, options.most_runs
    for rate in {until.bound_for(case.min_pass_rate): None for case in suite.cases if not case.skip} if until else ():
        if until is not None and min_runs_to_prove(rate, until.confidence, most) is None:
            fix = "Raise --max-repeats, or lower the rate."
            message = f"{most} runs cannot show that a case passes {rate:g} of the time, at {until.confidence:g}."
            raise UsageError(message, where=suite.file, fix=fix, slug="hopeless-repeats")


def run_header(
    suite: Suite,
    agent: ResolvedTarget,
    options: RunOptions,
    request: RunRequest,
    project: Project,
    *,
    run_id: str,
    now: datetime,
) -> Header:
    """What the journal of a run of these cases begins with; what is secret in it is still to be removed."""
    file = Path(project.folder, suite.file)
    return Header(
        run_id=run_id,
        suite=text(suite.file),
        suite_format=suite.format,
        suite_version=suite.version,
        suite_sha256=suite.sha256,
        target=text(agent.name),
        options={
            "target": dict(agent.identity),
            "selection": request.selection.kept,
            "overrides": {key: REMOVED if key in HIDDEN else value for key, value in request.options.items()},
            "timeout": options.timeout,
            "shuffle": options.shuffle,
            **({"baseline": text(options.baseline)} if options.baseline is not None else {}),
            **({"guard": text(options.guard)} if options.guard is not None else {}),
            **({MATRIX: dict(request.matrix)} if request.matrix else {}),
            **tape_in_header(agent),
            **request.header,
        },
        versions={"carob": __version__, "python": platform.python_version()},
        started_at=now.isoformat(timespec="milliseconds"),
        total=len(suite.cases) * options.most_runs,
        repeat=options.most_runs,
        until=options.until,
        confirm=options.confirm,
        project=find_revision(Path(request.folder)),
        suite_revision=find_revision(file) if file.is_file() else None,
        target_version=text(agent.config.version or version_of(agent.target))[:LONGEST_VERSION],
        deterministic=agent.config.deterministic,
        suite_name=text(suite.name)[:LONGEST_VERSION] or UNSET,
        draft=suite.draft or UNSET,
    )


def find_revision(directory: Path) -> Revision | None:
    """The state of a folder's tracked files, or of one file; None if git does not know it."""
    folder, name = (directory, "") if directory.is_dir() else (directory.parent, directory.name)
    asked = ["--", f"./{name}"] if name else ["--untracked-files=no"]
    status = ask_git(folder, "status", "--porcelain=v2", "--branch", *asked)
    lines = status.decode(errors="replace").splitlines() if status else []
    commit = next((line.split()[2] for line in lines if line.startswith("# branch.oid ")), "")
    if not commit or commit == "(initial)":
        return None
    tags = (ask_git(folder, "tag", "--points-at", "HEAD") or b"").decode(errors="replace")
    dirty = any(not line.startswith("#") for line in lines)
    return Revision(commit, dirty, tuple(tags.split()[:MOST_TAGS]))


def _drop_if_empty(journal: Path) -> None:
    """Remove a journal whose first line could not be written."""
    if journal.exists() and journal.stat().st_size == 0:
        journal.unlink()


async def run_suite(
    suite: Suite,
    target: AnyTarget | None,
    how: RunOptions,
    request: RunRequest,
    results_dir: Path,
    config: Config,
    previous: PreviousRun | None = None,
) -> RunResult:
    """Run what is selected of a suite."""
    chosen = select(suite, request.selection)
    suite_target = None if target else target_of_suite(suite, config)
    if suite_target:
        request = structs.replace(request, options={**suite.target_options, **request.options})
    if how.pace:
        request = structs.replace(request, header={**request.header, PACE: how.pace})
    agent, how, request = settle(target or suite_target, how, request, config, chosen)
    project = config.project.judging(agent_name(text(agent.name), agent.identity), suite.file)
    if any(case.has_criteria for case in chosen.cases):
        for line in catalog_for(project).labels.index().files.torn:
            request.notice(line)
    return await Session(chosen, agent, how, request, results_dir, project).run(previous)


async def resume_suite(
    previous: PreviousRun,
    suite: Suite,
    target: AnyTarget | None,
    how: RunOptions,
    request: RunRequest,
    results_dir: Path,
    config: Config,
) -> RunResult:
    """Run what is missing or to be done again, with the selection and target of the journal."""
    header, path = previous.journal.header, previous.journal.path
    recorded = header.options
    selection = Selection.of_journal(recorded.get("selection", {}))
    here = [case.id for case in suite.cases]
    missing = [name for name in selection.cases or () if not any(is_meant(case_id, name) for case_id in here)]
    if missing:
        selection = selection._replace(cases=[name for name in selection.cases or () if name not in missing])
        request.notice(f"no longer in {suite.file}: {list_some(sorted(missing))}")
    if suite.sha256 != header.suite_sha256:
        request.notice(f"{suite.file} has changed since; unchanged cases are kept")
    options = {**recorded.get("overrides", {}), **request.options}
    hidden = [name for name, value in options.items() if REMOVED in str(value)]
    if hidden:
        fix = f"Give {' '.join(f'-o {name}=...' for name in hidden)}."
        raise UsageError("some options of the target are secret, so they are not in the journal.", where=path, fix=fix)
    matrix = request.matrix or recorded.get(MATRIX, {})
    if REMOVED in str(matrix):
        message = "a value of the matrix is secret, so it is not in the journal."
        raise UsageError(message, where=path, fix="Run this column again, with the same --matrix.")
    if target is None and REMOVED in header.target:
        fix = "Give it with --target, as for the run."
        raise UsageError("the target contains a secret, which is not in the journal.", where=path, fix=fix)
    request = structs.replace(request, selection=selection, options=options, matrix=matrix)
    tape = how.tape or recorded.get("tape", {}).get("mode")
    how = structs.replace(how, tape=tape, guard=how.guard or recorded.get("guard"), **_repeats(how, header))
    target = header.target if target is None else target
    return await run_suite(suite, target, how, request, results_dir, config, previous)


def _repeats(how: RunOptions, header: Header) -> dict[str, object]:
    """As often as before, or more often if that is asked for."""
    until = header.until
    if header.confirm and how.repeat != "auto":
        baseline, again = how.baseline or header.options.get("baseline"), how.confirm or header.confirm
        return {"repeat": max(how.repeat, header.repeat - header.confirm), "baseline": baseline, "confirm": again}
    if until is None:
        return {"repeat": how.repeat if how.repeat == "auto" else max(how.repeat, header.repeat)}
    most = max(header.repeat, how.max_repeats) if how.repeat == "auto" else header.repeat
    rate, confidence = how.min_pass_rate or until.min_pass_rate, how.confidence or until.confidence
    return {"repeat": "auto", "max_repeats": most, "min_pass_rate": rate, "confidence": confidence}
