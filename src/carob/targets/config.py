"""`carob.toml`, or `[tool.carob]` of pyproject.toml, nearest upward: targets by name, with their options."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Annotated, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct, field, to_builtins

from carob.errors import ConfigError
from carob.plugins.features import all_features
from carob.plugins.project import UNKNOWN, Project, join_dotted, line_of, read_table
from carob.proxy.tape.settings import TapeSettings
from carob.targets.capabilities import FOREVER, Limits
from carob.targets.workspace_settings import DEFAULT_EVIDENCE, Evidence, WorkspaceSettings
from carob.text.regexes import lazy
from carob.text.wording import did_you_mean, join_words

Seconds = Annotated[float, Meta(gt=0, le=FOREVER)]
Text = Annotated[str, Meta(min_length=1)]
Address = Annotated[str, Meta(pattern="^https?://.")]

Options = TypeVar("Options", bound=Struct)

_NEUTRAL = {
    *("timeout", "turn_timeout", "deterministic", "kind", "spec", "root", "folder", "file", "tape", "wrap", "limits"),
    *("version", "own_files", "keep_workspaces", "workspace", "evidence", "ignore_files", "options"),
}
"""Fields that change neither answers nor verdicts, or are distinguished in a way of their own."""
HIDDEN = frozenset({"headers", "cookies", "start_env"})
"""Options whose values are distinguished in a journal but never shown."""
WIRE_KINDS = frozenset({"http", "https", "openai", "langgraph-server", "ag-ui", "ai-sdk", "chatkit", "a2a"})
"""Kinds that have nearly nothing but options of their own: these are in the table of the target itself."""
AGENT_KINDS = frozenset({"claude-code", "codex", "gemini", "opencode", "mini-swe-agent"})
"""Kinds that are programs of coding agents: what may follow the colon is a model."""
USE_FIX = "A target has `use`, such as use = 'python:agent.py:answer' or use = 'http://localhost:3000/chat'."
OPTIONS_FIX = "If it is an option of this kind of target, put it into `options`: options = { … }."
_SECONDS = {"s": 1, "sec": 1, "second": 1, "min": 60, "m": 60, "minute": 60, "h": 3600, "hour": 3600}
_RATE = lazy.pattern(r"\s*(\d{1,9})\s*/\s*([a-z]+)\s*", re.IGNORECASE)


class _TargetBase(Struct, frozen=True, kw_only=True):
    """What a target is given as the file has it."""

    timeout: Seconds | None = None
    turn_timeout: Seconds | None = None
    python_path: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict)
    setup: Text | None = None
    teardown: Text | None = None
    database: Text | None = None
    ui_vocabulary: dict[str, object] = field(default_factory=dict)
    success: dict[str, object] = field(default_factory=dict)
    tool_names: dict[Text, Text] = field(default_factory=dict)
    """What tools are called in suites, by the names that the agent's framework gives them."""
    plain_text: Literal["", "success"] = ""
    """`success`: plain text that only messages show as a result is none of an exception."""
    ignore_tools: tuple[Text, ...] = ()
    """Tools that are not part of a trace, with `*` for any part of a name."""
    telemetry: dict[str, object] = field(default_factory=dict)
    stubs: dict[str, object] = field(default_factory=dict)
    """What answers instead of tools in every case, as a suite spells it."""
    faults: tuple[object, ...] = ()
    """What goes wrong around the agent in every case, as a suite spells it."""
    agent: str = ""
    """The agent whose answers these are, for the licence of a judge: the name of the target, if it is not recorded."""
    workspace: WorkspaceSettings | None = None
    """A folder that each case gets a copy of."""
    evidence: tuple[Evidence, ...] = DEFAULT_EVIDENCE
    """What is looked at where there is a workspace."""
    ignore_files: tuple[Text, ...] = ()
    """Files of a workspace whose changes do not count."""
    deterministic: bool = False
    """Whether it answers the same each time: then one run shows that a case broke."""


class TargetConfig(_TargetBase, frozen=True, kw_only=True):
    """A target as it is to be built: what it is, where it is, and how it is treated."""

    kind: str
    spec: str
    name: str = ""
    root: Path = field(default_factory=Path)
    folder: Path = field(default_factory=Path.cwd)
    """Where Carob was started: its modules can be named too, wherever the configuration is."""
    file: Path | None = None
    """The file that says all this, for messages."""
    mcp_record: str | None = None
    mcp_complete: bool = False
    """Whether the user vouches that every tool call of the agent goes through `mcp_record`."""
    mcp_approvals: bool = False
    """Whether the user vouches that no person is asked for approval but by that server."""
    tape: TapeSettings | None = None
    """The tape of this run. It is not part of what the target is: a replayed agent is the same agent."""
    wrap: dict[str, str] = field(default_factory=dict)
    """What a run puts around it, by the name of a wrapper, such as the rules of a guard. It is not part of it."""
    limits: Limits = Limits()
    version: str = ""
    """What the team calls the state of the agent; it is reported, and makes no other target of it."""
    options: dict[str, object] = field(default_factory=dict)
    own_files: tuple[str, ...] = ()
    """What a preset says that its program writes by itself below HOME: `.codex/**`."""
    keep_workspaces: bool = False
    """Whether the workspaces of cases that do not pass are left on the disk."""

    @property
    def import_path(self) -> list[Path]:
        """The folders whose modules a spec can name, the first before the next."""
        return [*(self.root / entry for entry in self.python_path), self.root, self.folder]

    @property
    def use(self) -> str:
        return f"{self.kind}:{self.spec}"

    @property
    def identity(self) -> dict[str, object]:
        """What may change answers or verdicts, as JSON. Values of the environment are distinguished but never shown.

        Not the timeouts: who raises one to finish a run does not want the finished cases run again.
        """
        plain = {name: getattr(self, name) for name in ("use", *self.__struct_fields__) if name not in _NEUTRAL}
        parts: dict[str, object] = {
            **{name: list(value) if isinstance(value, tuple) else value for name, value in plain.items()},
            "env": _digests(dict(sorted(self.env.items()))),
            "mcp_complete": self.mcp_complete or None,
            **self._workspace_identity(),
            "mcp_approvals": self.mcp_approvals or None,
            "options": {key: _digests(value) if key in HIDDEN else value for key, value in self.options.items()},
        }
        return {key: value for key, value in parts.items() if value not in (None, "", [], {})}

    def _workspace_identity(self) -> dict[str, object]:
        if self.workspace is None:
            return {}
        files = {"ignore_files": [*self.ignore_files]} if self.ignore_files else {}
        return {"workspace": to_builtins(self.workspace), "evidence": [*self.evidence], **files}


class _ConfigBase(Struct, frozen=True, kw_only=True):
    """What a configuration has as the file says it."""

    target: Text | None = None
    suites: tuple[Text, ...] = ()
    """What `carob run` runs where it names none; below the folder of the file, with `*`."""
    secrets: tuple[Text, ...] = ()
    allow_partial: bool = False
    allow_unknown: bool = False
    allow_unjudged: bool = False


class Config(_ConfigBase, frozen=True, kw_only=True):
    """The configuration of a project, read and checked; without a file, the defaults.

    A run reads it once, at the front door, and hands it down with the project that it is of.
    """

    project: Project = Project()
    file: Path | None = None
    results_dir: Path | None = None
    targets: dict[str, TargetConfig] = field(default_factory=dict)


class _McpTable(Struct, forbid_unknown_fields=True, kw_only=True):
    url: Address
    complete: bool = False
    approvals: bool = False


class _TargetTable(_TargetBase, frozen=True, forbid_unknown_fields=True, kw_only=True):
    use: Text
    mcp_record: Address | _McpTable | None = None
    max_concurrency: Annotated[int, Meta(ge=1)] | None = None
    rate: str | None = None
    version: Text | None = None
    options: dict[str, object] = field(default_factory=dict)


_SHARED = _TargetTable.__struct_encode_fields__
_OPTION = re.compile(r"at `\$\.(\w+)")


class _Top(_ConfigBase, frozen=True, forbid_unknown_fields=True, kw_only=True):
    results_dir: Text | None = None
    targets: dict[str, dict[str, object]] = field(default_factory=dict)
    checks: dict[str, object] = field(default_factory=dict)
    formats: dict[str, object] = field(default_factory=dict)
    reports: dict[str, object] = field(default_factory=dict)
    prices: dict[str, object] = field(default_factory=dict)
    effects: dict[str, object] = field(default_factory=dict)
    words: dict[str, object] = field(default_factory=dict)
    evaluators: dict[str, object] = field(default_factory=dict)
    claims: dict[str, object] = field(default_factory=dict)
    rules: list[object] = field(default_factory=list)
    tape: dict[str, object] = field(default_factory=dict)


class _NoOptions(Struct, forbid_unknown_fields=True):
    pass


def read_config(project: Project) -> Config:
    """Read and check the configuration of a project; the defaults if it has none."""
    if not project.file:
        return Config(project=project)
    file, section = Path(project.file), project.section
    if isinstance(project.content.get("target"), dict):
        message = "`target` is the name of the usual target, and a table is given."
        raise ConfigError(message, where=line_of(file, section, "target"), fix="A target's table is [targets.NAME].")
    top = read_table(_without_features(project.content), _Top, file, section)
    targets = {name: _target(name, table, project) for name, table in top.targets.items()}
    if top.target is not None and ":" not in top.target and top.target not in targets:
        message = f"`target` names {top.target!r}, which is not under [targets]."
        raise ConfigError(message, where=line_of(file, section, "target"), fix=did_you_mean(top.target, targets))
    results = None if top.results_dir is None else file.parent / top.results_dir
    plain = {name: getattr(top, name) for name in _ConfigBase.__struct_fields__}
    return Config(project=project, file=file, results_dir=results, targets=targets, **plain)


def _without_features(content: dict[str, object]) -> dict[str, object]:
    """What the file says but for the tables of features, which read theirs when they need them."""
    if content.keys() <= set(_Top.__struct_encode_fields__):
        return content
    tables = {name for feature in all_features() for name in feature.settings}
    return {name: value for name, value in content.items() if name not in tables}


def _suggest_for_file(name: str) -> str:
    """What a file alone may be meant as."""
    if name.endswith(".py"):
        return f"Name the function in it: 'python:{name}:FUNCTION'."
    if name.endswith((".js", ".mjs", ".ts")):
        return f"Did you mean {f'command:node {name}'!r}, or the http:// address of the service that it starts?"
    return f"Did you mean {f'replay:{name}'!r}?" if name.endswith((".jsonl", ".json")) else ""


def resolve(spec_or_name: str, config: Config, cwd: Path) -> TargetConfig:
    """The target that a command line names: one of the configuration, or a spec such as `python:module:function`."""
    if spec_or_name in config.targets:
        return config.targets[spec_or_name]
    kind, colon, spec = spec_or_name.partition(":")
    if is_spec(kind, colon, spec):
        return TargetConfig(kind=kind, spec=spec, root=cwd, folder=cwd)
    known_targets = ", ".join(map(repr, sorted(config.targets))) or "none"
    fix = (
        did_you_mean(spec_or_name, config.targets)
        or (did_you_mean(kind, AGENT_KINDS) if colon else "")
        or _suggest_for_file(spec_or_name)
        or "Write it as 'python:module:function', 'langgraph:module:graph', 'browser:http://…', 'http://…', "
        "'command:./agent' or 'replay:traces.jsonl'."
    )
    message = f"there is no target {spec_or_name!r} (configured: {known_targets})."
    raise ConfigError(message, fix=fix, slug="unknown-target")


def is_spec(kind: str, colon: str, spec: str) -> bool:
    """Whether this is a kind of target, and what it is to be."""
    return bool(colon and kind and (spec or kind in AGENT_KINDS))


def _suggest_option(name: str, config: TargetConfig, known_names: tuple[str, ...]) -> str:
    if name not in config.options:
        return ""  # it is within an option
    known = f"It takes {join_words(known_names, 'and')}." if known_names else "It takes no options."
    return (
        f"{known} For an environment variable of the agent, write `env` in carob.toml, or --matrix {name.upper()}=A,B."
    )


def read_options(config: TargetConfig, form: type[Options]) -> Options:
    """The `options` of a target as the struct that its kind asks for; it should forbid unknown fields."""
    try:
        return msgspec.convert(config.options, form)
    except msgspec.ValidationError as error:
        unknown, option = UNKNOWN.search(str(error)), _OPTION.search(str(error))
        problem = f"unknown option {unknown[1]!r} of" if unknown else f"{error}, in the options of"
        known_names = (*form.__struct_encode_fields__, *(_SHARED if config.kind in WIRE_KINDS else ()))
        raise ConfigError(
            f"{problem} a target of kind {config.kind!r}.",
            where=place_of(config, option[1] if option else unknown[1] if unknown else ""),
            fix=did_you_mean(unknown[1], known_names) or _suggest_option(unknown[1], config, known_names)
            if unknown
            else "",
            slug="unknown-option",
        ) from error


def place_of(config: TargetConfig, option: str) -> str:
    """Return where an option of a target is set, as far as it can be found by looking; empty if no file says it."""
    if config.file is None:
        return ""
    section = "tool.carob" if config.file.name == "pyproject.toml" else ""
    table = join_dotted(section, "targets", config.name)
    tables = (table, f"{table}.options") if config.kind in WIRE_KINDS else (f"{table}.options", table)
    lines = (line_of(config.file, name, option) for name in tables)
    return next((line for line in lines if line != str(config.file)), str(config.file))


def no_options(config: TargetConfig) -> None:
    """For kinds that have no options of their own."""
    read_options(config, _NoOptions)


def parse_rate(text: str) -> float:
    """`30/min`, `5/s`, `100/hour` → cases per minute."""
    match = _RATE.fullmatch(text)
    seconds = _SECONDS.get(match[2].lower()) if match else None
    if match is None or seconds is None or int(match[1]) == 0:
        raise ConfigError(f"{text!r} is not a rate.", fix="Write it as '30/min', '5/s' or '100/hour'.")
    return int(match[1]) * 60 / seconds


def _target(name: str, table: dict[str, object], project: Project) -> TargetConfig:
    file, section = Path(project.file), join_dotted(project.section, "targets", name)
    own_options = _own_options(table)
    if isinstance(folder := table.get("workspace"), str):
        table = {**table, "workspace": {"folder": folder}}
    try:
        settings = read_table(
            {key: value for key, value in table.items() if key not in own_options}, _TargetTable, file, section
        )
    except ConfigError as error:
        if error.slug == "unknown-key":
            error.fix = error.fix or (OPTIONS_FIX if "use" in table else USE_FIX)
        raise
    kind, colon, spec = settings.use.partition(":")
    if not is_spec(kind, colon, spec):
        where = line_of(file, section, "use")
        message = f"{settings.use!r} is not a target."
        fix = did_you_mean(kind, AGENT_KINDS) or "Write it as 'python:module:function'."
        raise ConfigError(message, where=where, fix=fix)
    try:
        limits = Limits(settings.max_concurrency, None if settings.rate is None else parse_rate(settings.rate))
    except ConfigError as error:
        error.where = line_of(file, section, "rate")
        raise
    if settings.stubs or settings.faults:
        _check_fault_keys(settings, file, section)
    recorded = _McpTable(url=settings.mcp_record) if isinstance(settings.mcp_record, str) else settings.mcp_record
    plain = {name: getattr(settings, name) for name in _TargetBase.__struct_fields__}
    return TargetConfig(
        kind=kind,
        spec=spec,
        name=name,
        root=file.parent,
        folder=Path(project.folder),
        file=file,
        mcp_record=recorded.url if recorded else None,
        mcp_complete=recorded is not None and recorded.complete,
        mcp_approvals=recorded is not None and recorded.approvals,
        limits=limits,
        version=settings.version or "",
        options={**settings.options, **own_options},
        **{**plain, "telemetry": _telemetry(settings)},
    )


def _telemetry(settings: _TargetTable) -> dict[str, object]:
    """What is said of telemetry, with the sources that `evidence` asks for."""
    asked = {"models": "models" in settings.evidence, "otlp": "spans" in settings.evidence}
    return {**{name: True for name, wanted in asked.items() if wanted}, **settings.telemetry}


def _check_fault_keys(settings: _TargetTable, file: Path, section: str) -> None:
    from carob.suites.fault_keys import check_fault_keys  # few targets have any, and every worker reads this file

    for key, wrong in check_fault_keys({"stubs": settings.stubs, "faults": [*settings.faults]}):
        raise ConfigError(f"[{section}] {wrong.message}", where=line_of(file, section, key), slug=wrong.slug)


def _own_options(table: dict[str, object]) -> dict[str, object]:
    """The options that are in the table of a target itself."""
    kind = str(table.get("use", "")).partition(":")[0]
    own = table.keys() - set(_SHARED) if kind in WIRE_KINDS else {"lines"} if kind == "command" else ()
    return {key: value for key, value in table.items() if key in own}


def _digests(values: object) -> object:
    return (
        {name: f"sha256:{_digest(str(value))}" for name, value in values.items()}
        if isinstance(values, dict)
        else values
    )


def _digest(value: str) -> str:
    return hashlib.sha256(value.encode("utf-8", "surrogateescape")).hexdigest()[:12]
