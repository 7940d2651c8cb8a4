"""How a run is put together: target, plan, executor, journal, reports. The command line and the library share it."""

from __future__ import annotations

import asyncio
import math
import os
import platform
import random
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct, structs

from karat import __version__
from karat.engine.events import Listener, Noticed
from karat.engine.executors import Executor, Inline
from karat.engine.plan import Plan
from karat.engine.retries import Retries
from karat.engine.runner import Policy, Runner, opened
from karat.engine.work import GRACE, Settings
from karat.errors import UsageError
from karat.journal.carry_over import CarryOver, Planned
from karat.journal.reader import Journal
from karat.journal.writer import begin
from karat.model.keys import same_target
from karat.model.run import Header, Summary
from karat.model.suite import Suite
from karat.model.verdict import CaseStatus
from karat.repeats import Tally
from karat.reports.artifacts import Names, reserve, results_dir_for
from karat.reports.catalog import wanted
from karat.results import RunResult, reported, utc_now, worded
from karat.targets.base import Limits, Target, secrets_of
from karat.targets.catalog import build
from karat.targets.config import Config, TargetConfig
from karat.targets.hooks import RESET_GRACE
from karat.text.wording import did_you_mean
from karat.traces.clean import text
from karat.traces.redact import Redactor

__all__ = ["Earlier", "RunOptions", "RunResult", "Session", "secret_values"]

DEFAULT_TIMEOUT = 300.0
BOUNDS = {
    "concurrency": (1, 10_000),
    "workers": (0, 1_000),
    "repeat": (1, 1_000_000),
    "retries": (0, 1_000),
    "max_failures": (1, 1 << 32),
}
BY_NAME = "Name it as 'python:module:function'."


class RunOptions(Struct, frozen=True, kw_only=True):
    """How to run. `workers` of 0 runs in this process; on a Ray cluster, its processors count."""

    timeout: float | None = None
    concurrency: int = 1
    workers: int = 0
    executor: Literal["processes", "ray"] = "processes"
    ray_address: str | None = None
    repeat: int = 1
    shuffle: int | None = None
    per_minute: float | None = None
    retries: int = 0
    backoff: float = 1.0
    """Seconds before the first retry; each further one waits twice as long."""
    max_failures: int | None = None
    run_timeout: float | None = None
    results_dir: Path | None = None
    reports: tuple[str, ...] = ()
    """Reports beside those that every run has: `NAME`, or `NAME=PATH`."""
    selection: dict[str, list[str]] = {}
    target_name: str = ""
    overrides: dict[str, Any] = {}
    secrets: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name, (least, most) in BOUNDS.items():
            given = getattr(self, name)
            if given is not None and not least <= given <= most:
                bound = f"at least {least}" if given < least else f"at most {most:,}"
                raise UsageError(f"`{name}` must be {bound}, not {given}.", slug="bad-option")
        for name in ("timeout", "run_timeout", "per_minute", "backoff"):
            given = getattr(self, name)
            if given is not None and not 0 < given < math.inf:
                raise UsageError(f"`{name}` must be over 0, not {given}.", slug="bad-option")
        if self.ray_address is not None and self.executor != "ray":
            fix = "Choose the executor 'ray', or leave the address out."
            raise UsageError(
                "the address of a Ray cluster is given, and nothing runs there.", fix=fix, slug="bad-option"
            )


def run_options(given: Mapping[str, Any]) -> RunOptions:
    """The options that a caller of the library names, each of its type."""
    known = RunOptions.__struct_fields__
    for name in given:
        if name not in known:
            raise UsageError(f"there is no option {name!r}.", fix=did_you_mean(name, known), slug="bad-option")
    try:
        return msgspec.convert(given, RunOptions, dec_hook=lambda kind, value: kind(value))
    except msgspec.ValidationError as error:
        what, _, place = str(error).partition(" - at `$.")
        raise UsageError(f"`{place.rstrip('`')}`: {what[:1].lower()}{what[1:]}.", slug="bad-option") from None


class Earlier(Struct, frozen=True):
    """A journal to go on from, and the statuses that are to be run again."""

    journal: Journal
    redo: frozenset[CaseStatus] = frozenset()
    tell: Callable[[str], None] = lambda line: None


class Session:
    """One run of one suite against one target."""

    def __init__(
        self,
        suite: Suite,
        target: TargetConfig | Target,
        options: RunOptions,
        listeners: Sequence[Listener] = (),
        *,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self._suite = suite
        self._target = target
        self._options = options
        self._listeners = listeners
        self._reports = wanted(options.reports)
        self._now = now
        self._run: Runner | None = None
        self._run_id = f"{now().strftime('%Y%m%dT%H%M%S%f')}-{os.getpid()}"
        self._interrupted = asyncio.Event()

    def interrupt(self) -> None:
        """Stop: what finished is kept, and the run can be resumed."""
        self._interrupted.set()
        if self._run is not None:
            self._run.interrupt()

    @property
    def is_interrupted(self) -> bool:
        """Whether it was asked to stop, however late that came."""
        return self._interrupted.is_set()

    async def run(self, earlier: Earlier | None = None) -> RunResult:
        """Run what is to be run, and write the journal and its reports."""
        began = asyncio.get_running_loop().time()
        self._options = structs.replace(self._options, secrets=(*self._options.secrets, *self._known))
        plan = self._plan()
        executor = self._executor(len(plan))
        async with opened(executor, self._interrupted, self._options.run_timeout):
            names = self._reserve()
            try:
                summary = await self._into(names, plan, executor, earlier, began)
            except BaseException:
                _drop_if_empty(names.journal)
                raise
        return reported(names, summary, self._reports)

    async def _into(
        self, names: Names, plan: Plan, executor: Executor, earlier: Earlier | None, began: float
    ) -> Summary:
        options = self._options
        tally = Tally(options.repeat)
        header = self._header(len(plan), earlier)
        if earlier is None:
            begin(str(names.journal), header)
        else:
            planned = [Planned(item.case.id, item.repeat, item.index, item.key, item.case) for item in plan]
            carried = CarryOver(earlier.journal, planned, earlier.redo, tally)
            begin(str(names.journal), header, carried.lines(str(names.journal)))
            plan.keep(lambda item: (item.case.id, item.repeat) not in carried.kept)
            for line in carried.said(header.options["target"]):
                earlier.tell(line)
        if options.shuffle is not None:
            plan.shuffle(options.shuffle)
        self._run = Runner(
            plan,
            executor,
            self._policy,
            self._listeners,
            began=began,
            chance=random.Random(header.run_id),
            clock=lambda: self._now().isoformat(timespec="milliseconds"),
        )
        if self._interrupted.is_set():
            self._run.interrupt()
        return await self._run.into(str(names.journal), header, tally)

    def _plan(self) -> Plan:
        vocabulary = self._target.ui_vocabulary if isinstance(self._target, TargetConfig) else {}
        cases = worded(self._suite, vocabulary, str(self._identity.get("name", ""))).cases
        return Plan(cases, same_target(self._identity), repeat=self._options.repeat)

    @property
    def _identity(self) -> dict[str, Any]:
        return self._target.identity if isinstance(self._target, TargetConfig) else self._target.options

    @property
    def _known(self) -> tuple[str, ...]:
        return secrets_of(build(self._target) if isinstance(self._target, TargetConfig) else self._target)

    @property
    def limits(self) -> Limits:
        """What the target can bear, by its configuration and by its own nature."""
        return build(self._target).limits if isinstance(self._target, TargetConfig) else self._target.limits

    def _notice(self, message: str) -> None:
        for listener in self._listeners:
            listener(Noticed(message))

    @cached_property
    def _policy(self) -> Policy:
        options, limits = self._options, self.limits
        rates = [rate for rate in (options.per_minute, limits.per_minute) if rate is not None]
        return Policy(
            retries=Retries(options.retries, options.backoff),
            per_minute=min(rates, default=None),
            max_concurrency=limits.max_concurrency,
            max_failures=options.max_failures,
            run_timeout=options.run_timeout,
        )

    def _executor(self, total: int) -> Executor:
        options, target = self._options, self._target
        own = target.timeout if isinstance(target, TargetConfig) else None
        grace = GRACE + RESET_GRACE if isinstance(target, TargetConfig) and target.teardown else GRACE
        settings = Settings(options.timeout or own or DEFAULT_TIMEOUT, grace, str(self._attachments))
        redactor = Redactor(options.secrets)
        on_cluster = options.executor == "ray"
        if not isinstance(target, TargetConfig):
            if on_cluster:
                raise UsageError("a target that is an object cannot run on a Ray cluster.", fix=BY_NAME)
            return Inline(target, settings, redactor, concurrency=options.concurrency)
        if options.workers == 0 and not on_cluster:
            return Inline(build(target), settings, redactor, concurrency=options.concurrency)
        from karat.engine.processes.messages import Start

        start = Start(target, settings, options.secrets, list(sys.path), options.concurrency)
        if on_cluster:
            from karat.engine.ray.executor import Cluster

            exact = self._policy.exact
            return Cluster(start, redactor, address=options.ray_address, total=total, exact=exact)
        from karat.engine.processes.executor import Processes

        return Processes(
            start,
            redactor,
            workers=options.workers,
            exact=self._policy.exact,
            per_minute=self._policy.per_minute,
            tell=self._notice,
        )

    @property
    def _results_dir(self) -> Path:
        return results_dir_for(Path(self._suite.file), self._options.results_dir)

    @property
    def _attachments(self) -> Path:
        """Where files of this run's cases go, beside its journal."""
        return self._results_dir.absolute() / f"files-{self._run_id}"

    def _reserve(self) -> Names:
        return reserve(self._results_dir, Path(self._suite.file).stem, self._now())

    def _header(self, total: int, earlier: Earlier | None) -> Header:
        options, now, redactor = self._options, self._now(), Redactor(self._options.secrets)
        return Header(
            run_id=self._run_id,
            suite=redactor.text(text(self._suite.file)),
            suite_format=self._suite.format,
            suite_version=self._suite.version,
            suite_sha256=self._suite.sha256,
            target=redactor.text(text(options.target_name or str(self._identity.get("use", "")))),
            options={
                "target": redactor.json(self._identity),
                "selection": options.selection,
                "overrides": redactor.json(options.overrides),
                "timeout": options.timeout,
                "shuffle": options.shuffle,
            },
            versions={"karat": __version__, "python": platform.python_version()},
            started_at=now.isoformat(timespec="milliseconds"),
            total=total,
            repeat=options.repeat,
            derived_from=text(earlier.journal.path) if earlier else "",
        )


def secret_values(config: Config, environ: Mapping[str, str]) -> tuple[str, ...]:
    """The values of the configured secrets; one too short to be told from plain text is refused."""
    Redactor.from_names(config.secrets, environ)
    return tuple(value for name in config.secrets if (value := environ.get(name)))


def _drop_if_empty(journal: Path) -> None:
    """A journal whose first line could not be written is no journal."""
    if journal.exists() and journal.stat().st_size == 0:
        journal.unlink()
