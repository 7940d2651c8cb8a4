"""The kinds of targets, by the word before the colon. Those of other packages come by entry point `carob.targets`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import TYPE_CHECKING, cast

from carob.errors import ConfigError
from carob.plugins import packages
from carob.plugins.features import TargetKind, all_features, each_row, find_service, load
from carob.text.wording import did_you_mean

if TYPE_CHECKING:
    from carob.targets.base import Target
    from carob.targets.config import TargetConfig

ADDRESS = re.compile(r"[^:/]+:[0-9]+(?:/|$)")
HOST = re.compile(r"localhost|[\w-]+(?:\.[\w-]+)+", re.IGNORECASE)
PROGRAMS = frozenset(
    ("bash", "bun", "deno", "go", "java", "node", "npm", "npx", "pnpm", "ruby", "sh", "tsx", "uv", "yarn")
)
SCRIPTS = frozenset((".cjs", ".js", ".mjs", ".sh", ".ts", ".tsx"))
"""Endings of files that a program of their own runs."""


CORE = (
    TargetKind("python", "carob.targets.python:PythonTarget", "python:module:function", in_process=True),
    TargetKind("command", "carob.targets.command:CommandTarget", "command:./agent --flag"),
    TargetKind("http", "carob.targets.http.mapped:HttpTarget", "http://127.0.0.1:8080/chat", extra="http"),
    TargetKind("https", "carob.targets.http.mapped:HttpTarget", "https://agent.example/chat", extra="http"),
    TargetKind("openai", "carob.targets.http.openai:OpenAiTarget", "openai:http://127.0.0.1:8080/v1", extra="http"),
    TargetKind("ag-ui", "carob.targets.http.ag_ui:AgUiTarget", "ag-ui:http://127.0.0.1:8080/agent", extra="http"),
    TargetKind(
        "ai-sdk", "carob.targets.http.ai_sdk:AiSdkTarget", "ai-sdk:http://127.0.0.1:3000/api/chat", extra="http"
    ),
    TargetKind(
        "chatkit",
        "carob.targets.http.chatkit:ChatKitTarget",
        "chatkit:http://127.0.0.1:8000/chatkit",
        extra="http",
    ),
    TargetKind("a2a", "carob.targets.http.a2a:A2aTarget", "a2a:http://127.0.0.1:9999", extra="http"),
    TargetKind("replay", "carob.targets.recordings.replay:ReplayTarget", "replay:traces.jsonl", is_recorded=True),
)
"""The kinds that every installation has; features bring the others."""
RECORDED = frozenset(kind.name for kind in CORE if kind.is_recorded)
ENTRY_POINTS = "carob.targets"


def agent_name(name: str, identity: Mapping[str, object]) -> str:
    """The agent of a target, by its name and identity; empty where recorded answers do not say whose they are."""
    named, kind = str(identity.get("agent", "")), str(identity.get("use", "")).partition(":")[0]
    return named or ("" if kind in RECORDED else name)


def build(config: TargetConfig) -> Target:
    """The target that a configuration asks for, with all that is around it, ready to be opened."""
    from carob.targets.wrappers.success_rules import WithSuccessRules  # judging a journal again builds no target
    from carob.targets.wrappers.telemetry import otlp_of

    kind = find_kind(config.kind)
    if kind is not None and kind.completes:
        config = load(kind.completes)(config)
    otlp, build_inner = otlp_of(config), _build_with_proxy if _needs_proxy(config) else _build
    if otlp is None:
        inner = build_inner(config)
    else:
        from carob.targets.wrappers.span_capture import SpanCapture  # few targets have spans, and it takes time to load

        inner = SpanCapture(build_inner, config, otlp)
    if config.workspace is not None:
        inner = find_service("workspace")(inner, config, config.workspace)
    target: Target = WithSuccessRules(inner, config)
    if config.setup or config.teardown or config.database:
        from carob.targets.wrappers.hooks import WithHooks  # few targets have hooks

        target = WithHooks(target, config)
    return wrap_target(target, config.kind, config.wrap)


def wrap_target(target: Target, kind: str, wrap: Mapping[str, str]) -> Target:
    """The target of a kind with these wrappers of features around it, each with what it is given."""
    for name, given in wrap.items():
        places = (feature.target_wrappers[name] for feature in all_features() if name in feature.target_wrappers)
        if (place := next(places, None)) is None:
            raise ConfigError(f"nothing installed provides {name!r} for a target.", slug="unknown-wrapper")
        target = load(place)(target, given, kind)
    return target


def runs_code_of_others(config: TargetConfig) -> bool:
    """Whether it may hang or crash: everything but a recording, and a recording with hooks or commands around it."""
    return config.kind not in RECORDED or bool(
        config.setup or config.teardown or config.database or config.workspace is not None
    )


def _needs_proxy(config: TargetConfig) -> bool:
    """For a tape, telemetry of models, faults, or calls of an MCP server."""
    from carob.targets.wrappers.telemetry import models_of

    tapes = config.tape is not None and config.tape.needs_proxy
    return tapes or config.mcp_record is not None or models_of(config) is not None


def _build_with_proxy(config: TargetConfig) -> Target:
    from carob.targets.wrappers.proxied import WithProxy  # few runs have a proxy
    from carob.targets.wrappers.telemetry import models_of

    return WithProxy(_build, config, config.tape, models_of(config))


def target_kinds() -> Iterator[TargetKind]:
    """Every kind of Carob itself, and of the features of other packages."""
    return each_row(CORE, lambda feature: feature.targets)


def find_kind(name: str) -> TargetKind | None:
    """The kind of this name; other packages are asked for one that Carob does not have."""
    return next((kind for kind in target_kinds() if kind.name == name), None)


def _build(config: TargetConfig) -> Target:
    if kind := find_kind(config.kind):
        return cast("Target", load(kind.loads)(config))
    return _build_plugin(config)


def _suggest_kind(config: TargetConfig) -> str:
    """What an address without its scheme, or a command, was meant to be."""
    if ADDRESS.match(config.use) and HOST.fullmatch(config.kind):
        return f"Did you mean {f'http://{config.use}'!r}?"
    if config.kind.endswith(".py"):
        return f"Did you mean {f'python:{config.use}'!r}?"
    if config.kind in PROGRAMS or PurePath(config.use).suffix in SCRIPTS:
        return f"Did you mean {f'command:{config.kind} {config.spec}'!r}, or the http:// address of a service?"
    return ""


def _build_plugin(config: TargetConfig) -> Target:
    from carob.targets.base import build_external

    require_kind(config)
    point = packages.find_entry_points(ENTRY_POINTS)[config.kind]
    return build_external(packages.load_entry_point(point), config, packages.where(point))


def require_kind(config: TargetConfig) -> None:
    """Raise ConfigError if there is no such kind of target, with what may be meant."""
    entry_points = packages.find_entry_points(ENTRY_POINTS)
    names = [*(kind.name for kind in target_kinds()), *sorted(entry_points)]
    if config.kind in names:
        return
    message = f"there is no kind of target {config.kind!r} (known: {', '.join(names)})."
    fix = _suggest_kind(config) or did_you_mean(config.kind, names) or f"Write it as '{CORE[0].example}'."
    raise ConfigError(message, fix=fix, slug="unknown-target")
