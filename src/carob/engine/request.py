"""What is asked of a run, settled once at the door: of whom, which cases, and how to run them."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, get_type_hints

import msgspec
from msgspec import Struct, field, structs

from carob.engine.events import Listener, Notice
from carob.errors import UsageError
from carob.model.run import PACE, Header
from carob.model.sequential import SequentialTest
from carob.model.suite import Case
from carob.model.trace import Trace
from carob.model.verdict import CaseStatus
from carob.options import HOW_TO_RUN, CaseKeywords, ExecutorName, HowToRun, Repeats, SelectionKeywords, TapeMode
from carob.plugins.project import Project
from carob.redaction.key_names import is_secret_variable
from carob.redaction.redactor import Redactor
from carob.scoring.intervals import Runs
from carob.suites.selection import EVERYTHING, Selection
from carob.targets.base import Target
from carob.targets.capabilities import Limits
from carob.targets.catalog import build, wrap_target
from carob.targets.config import Config, TargetConfig, parse_rate, resolve
from carob.text.clean import loads, text
from carob.text.wording import did_you_mean, names_of

Answer: TypeAlias = str | Mapping[str, object] | Trace
AnyTarget: TypeAlias = str | TargetConfig | Target | Callable[..., Answer | Awaitable[Answer]]

BaseReader: TypeAlias = Callable[[str, Header, str, Sequence[Case], Path, Project], dict[int, Runs]]
"""Reads what the cases of a run came to in its base, by their index: name of the base, header and path of the run, its
cases, and the folder that runs are looked for in."""

BY_NAME = "Name it as 'python:module:function'."
VARIABLE = re.compile("[A-Z_][A-Z0-9_]*")


class RunOptions(Struct, frozen=True, kw_only=True):
    """How to run, with every default filled in: see carob.options. On a Ray cluster its processors count as workers."""

    timeout: float | None
    run_timeout: float | None
    concurrency: int
    workers: int | None
    executor: ExecutorName
    ray_address: str | None
    repeat: Repeats
    max_repeats: int
    min_pass_rate: float | None
    confidence: float | None
    baseline: str | None
    confirm: int
    shuffle: int | None
    rate: str | None
    retries: int
    backoff: float
    max_failures: int | None
    tape: TapeMode | None
    guard: str | None
    keep_workspaces: bool | None

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            option, value = HOW_TO_RUN[name], getattr(self, name)
            try:
                msgspec.convert(value, option.type)
            except msgspec.ValidationError as error:
                problem = str(error)
                raise UsageError(f"`{name}`: {problem[:1].lower()}{problem[1:]}.", slug="bad-option") from None
            option.refuse_out_of_bounds(value)
        if self.ray_address is not None and self.executor != "ray":
            fix = "Choose the executor 'ray', or leave the address out."
            message = "the address of a Ray cluster is given, and nothing runs there."
            raise UsageError(message, fix=fix, slug="bad-option")
        has_base = self.baseline is not None
        if (self.confirm and not has_base) or (has_base and not (self.confirm or self.guard)):
            fix = (
                "Give both: --baseline names the runs that a case must have fallen from, --confirm how often to run "
                "it. With --guard, a baseline alone shows what the guard changed."
            )
            raise UsageError("--baseline and --confirm go together.", fix=fix, slug="bad-option")
        if self.confirm and self.repeat == "auto":
            fix = "Leave --confirm out: cases are repeated until they are decided."
            raise UsageError("--confirm is given with --repeat auto.", fix=fix, slug="bad-option")
        if self.rate is not None:
            parse_rate(self.rate)

    @property
    def processes(self) -> int:
        """How many worker processes; none until it is known whether the target can run in one."""
        return self.workers or 0

    @property
    def most_runs(self) -> int:
        """How often a case is run at most."""
        return self.max_repeats if self.repeat == "auto" else self.repeat + self.confirm

    @property
    def until(self) -> SequentialTest | None:
        """What decides how often a case is run, where that is not fixed."""
        if self.repeat != "auto":
            return None
        usual = SequentialTest()
        return SequentialTest(self.min_pass_rate or usual.min_pass_rate, self.confidence or usual.confidence)

    @classmethod
    def of(cls, how: CaseKeywords, earlier: Header | None = None) -> RunOptions:
        """As given; what is not, as in the run that is continued, or else by default."""
        given = {name: value for name, value in how.items() if value is not None}
        recorded = earlier.options if earlier is not None else {}
        pace = {"timeout": recorded.get("timeout")} | (entry if isinstance(entry := recorded.get(PACE), dict) else {})
        if given.get("executor", "ray") != "ray":
            pace.pop("ray_address", None)
        known: dict[str, Any] = {**pace, **given}
        return cls(**{name: known.get(name, HOW_TO_RUN[name].default) for name in cls.__struct_fields__})

    @property
    def pace(self) -> dict[str, object]:
        """What a continued run takes over and is not as by default: where cases run, how many at once, how long."""
        options = {name: getattr(self, name) for name, option in HOW_TO_RUN.items() if option.is_pace}
        del options["timeout"]  # journals have an entry for it
        return {name: value for name, value in options.items() if value != HOW_TO_RUN[name].default}

    @property
    def per_minute(self) -> float | None:
        return None if self.rate is None else parse_rate(self.rate)


OBJECT = TargetConfig(kind="", spec="")
"""Says nothing of a target that came as an object."""


class ResolvedTarget(Struct, frozen=True):
    """The target of a run, made in this process, and the configuration that it was made by."""

    target: Target
    name: str
    identity: Mapping[str, object]
    config: TargetConfig = OBJECT

    @property
    def recipe(self) -> TargetConfig | None:
        """What makes it anew in other processes."""
        return None if self.config is OBJECT else self.config

    @property
    def limits(self) -> Limits:
        """What the target can bear, by its configuration and by its own nature."""
        return self.target.limits


class TargetRecipe(NamedTuple):
    """A target as a configuration describes it, which is still to be built, and the name that the user has for it."""

    config: TargetConfig
    name: str = ""

    @property
    def identity(self) -> Mapping[str, object]:
        return self.config.identity

    def build(self) -> ResolvedTarget:
        return ResolvedTarget(build(self.config), self.name or self.config.use, self.identity, self.config)


class ProgramKeywords(CaseKeywords, total=False):
    """How to run cases, and what only a program can give."""

    secrets: Sequence[str]
    matrix: Mapping[str, str]
    listeners: Sequence[Listener]
    stop: asyncio.Event | None


class ResumeKeywords(HowToRun, ProgramKeywords, total=False):
    """The keywords of `carob.resume` and `carob.rerun`."""


class RunKeywords(SelectionKeywords, ResumeKeywords, total=False):
    """The keywords of `carob.run`."""


def refuse_unknown(how: Mapping[str, object], keywords: type) -> None:
    """Raise UsageError for a keyword that the function does not have."""
    options = get_type_hints(keywords)
    for name in how.keys() - options.keys():
        raise UsageError(f"unknown option {name!r}.", fix=did_you_mean(name, options), slug="bad-option")


class RunRequest(Struct, frozen=True, kw_only=True):
    """What to run, in addition to how to run it. `options` are those of the target; no file may show the `secrets`."""

    selection: Selection = EVERYTHING
    options: Mapping[str, object] = {}
    secrets: tuple[str, ...] = ()
    matrix: Mapping[str, str] = {}
    """What is set for this run alone: environment variables, in capitals, and options of the target. Files show it."""
    reports: tuple[str, ...] = ()
    """Reports in addition to those that every run has: `NAME`, or `NAME=PATH`."""
    listeners: Sequence[Listener] = ()
    stop: asyncio.Event | None = None
    header: Mapping[str, object] = {}
    """Further options that the journal is to have in its header."""
    read_base: BaseReader | None = None
    """How to read a baseline: the engine does not know how runs are compared."""
    folder: str = field(default_factory=os.getcwd)
    """Where it was asked for: relative paths are below it, wherever the agent or another thread goes."""

    @classmethod
    def of(
        cls,
        how: ProgramKeywords,
        selection: Selection = EVERYTHING,
        reports: Collection[str] | None = None,
        read_base: BaseReader | None = None,
    ) -> RunRequest:
        matrix = how.get("matrix") or {}
        refuse_secret_names(matrix)
        return cls(
            selection=selection,
            options={**(how.get("options") or {}), **matrix_options(matrix)},
            secrets=tuple(how.get("secrets", ())),
            matrix=matrix,
            reports=tuple(names_of("reports", reports) or ()),
            listeners=how.get("listeners", ()),
            stop=how.get("stop"),
            read_base=read_base,
        )

    def notice(self, message: str) -> None:
        for listener in self.listeners:
            listener(Notice(message))


def is_variable(name: str) -> bool:
    """Whether a key of a matrix is an environment variable: it is written in capitals. Others are options."""
    return bool(VARIABLE.fullmatch(name))


def matrix_options(matrix: Mapping[str, str]) -> dict[str, object]:
    """The options of the target that a column sets; a value that is JSON is read as such."""
    return {name: _read_value(value) for name, value in matrix.items() if not is_variable(name)}


def _read_value(value: str) -> object:
    try:
        return loads(value)
    except ValueError:
        return value


def refuse_secret_names(names: Iterable[str]) -> None:
    """Raise UsageError for a variable that is likely a secret: journals and pages show the values of a matrix."""
    for name in names:
        if is_secret_variable(name):
            fix = "Make a target for each in carob.toml, with `env`, and name them: -t A -t B."
            message = f"{name!r} looks like a secret, and pages show the values of a matrix."
            raise UsageError(message, fix=fix, slug="bad-option")


def with_guard(agent: TargetRecipe | ResolvedTarget, policy: Path) -> TargetRecipe | ResolvedTarget:
    """The agent with its calls held to these rules before they are made."""
    if isinstance(agent, TargetRecipe):
        return agent._replace(config=structs.replace(agent.config, wrap={"guard": str(policy)}))
    return structs.replace(agent, target=wrap_target(agent.target, "python", {"guard": str(policy)}))


def with_kept_workspaces(agent: TargetRecipe | ResolvedTarget) -> TargetRecipe | ResolvedTarget:
    """The agent with the workspaces of its cases left on the disk, where it is one that has them."""
    if isinstance(agent, TargetRecipe) and agent.config.workspace is not None:
        return agent._replace(config=structs.replace(agent.config, keep_workspaces=True))
    fix = "Give the target `workspace` in carob.toml, or leave --keep-workspaces out."
    raise UsageError("the target has no workspaces to keep.", fix=fix, slug="bad-option")


def find_target(
    target: AnyTarget | None,
    config: Config,
    options: Mapping[str, object],
    folder: Path,
    matrix: Mapping[str, str] | None = None,
) -> TargetRecipe | ResolvedTarget:
    """What a caller means by a target, with these options, and the environment of a column of a matrix, in place of its
    own; an object needs no building.
    """
    if target is None or target == "":
        target = config.target
    if target is None:
        fix = "Name one: --target python:module:function, or `target` in carob.toml."
        raise UsageError("no target was given.", fix=fix, slug="no-target")
    name = target if isinstance(target, str) else ""
    if text(name) != name:
        raise UsageError(f"the target {name!r} is not UTF-8.", fix="Rename it.", slug="bad-target")
    if isinstance(target, str):
        target = resolve(target, config, folder)
    env = {key: value for key, value in (matrix or {}).items() if is_variable(key)}
    if isinstance(target, TargetConfig):
        both = {"options": {**target.options, **options}, "env": {**target.env, **env}}
        return TargetRecipe(structs.replace(target, **both), name)
    if env:
        message = "a target that is an object has no environment of its own."
        raise UsageError(message, fix=BY_NAME, slug="bad-option")
    if options:
        raise UsageError("a target that is an object takes no options.", fix=BY_NAME, slug="bad-option")
    if callable(target):
        target = _function_target(target)
    if not hasattr(target, "run"):
        fix = "Give a function, a spec such as 'python:module:function', or an object with open, run and close."
        raise UsageError(f"{type(target).__name__!r} is not a target.", fix=fix, slug="bad-target")
    return ResolvedTarget(target, str(target.options.get("use", "")), target.options)


def secret_values(config: Config, environ: Mapping[str, str]) -> tuple[str, ...]:
    """The values of the configured secrets; one too short to differ from plain text is refused."""
    Redactor.from_names(config.secrets, environ)
    return tuple(value for name in config.secrets if (value := environ.get(name)))


def parse_status(name: str) -> CaseStatus:
    """The status that is meant, in lower case as options have it."""
    statuses = {status.value.lower(): status for status in CaseStatus}
    if name not in statuses:
        fix = did_you_mean(name, statuses) or f"Use one or more of {', '.join(statuses)}."
        raise UsageError(f"no status is called {name!r}.", fix=fix, slug="bad-option")
    return statuses[name]


def _function_target(function: Callable[..., object]) -> Target:
    """A function as a target. The calls of its answers are read as those of a configured target are."""
    from carob.targets.python import FunctionTarget  # a run of the command line has a spec
    from carob.targets.wrappers.success_rules import WithSuccessRules

    target = FunctionTarget(function)
    return WithSuccessRules(target, TargetConfig(kind="python", spec=str(target.options["use"]).partition(":")[2]))
