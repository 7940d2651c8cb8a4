"""The kinds of targets, by the word before the colon. Those of other packages come by entry point `karat.targets`."""

from __future__ import annotations

import importlib
from typing import Any, NamedTuple, cast

from karat.errors import ConfigError
from karat.targets.base import Target
from karat.targets.config import TargetConfig
from karat.targets.hooks import Hooked
from karat.text.wording import did_you_mean


class Kind(NamedTuple):
    """A kind of target, named but not yet imported."""

    name: str
    module: str
    attribute: str
    example: str


KINDS = (
    Kind("python", "karat.targets.python", "PythonTarget", "python:module:function"),
    Kind("langgraph", "karat.targets.langgraph.target", "LangGraphTarget", "langgraph:module:graph"),
    Kind("browser", "karat.targets.browser.target", "BrowserTarget", "browser:http://127.0.0.1:8000"),
    Kind("command", "karat.targets.command", "CommandTarget", "command:./agent --flag"),
    Kind("replay", "karat.targets.replay", "ReplayTarget", "replay:traces.jsonl"),
)


def build(config: TargetConfig) -> Target:
    """The target that a configuration asks for, with its hooks, ready to be opened."""
    target = cast(Target, _factory(config)(config))
    return Hooked(target, config) if config.setup or config.teardown or config.database else target


def _factory(config: TargetConfig) -> Any:
    for kind in KINDS:
        if kind.name == config.kind:
            return getattr(importlib.import_module(kind.module), kind.attribute)
    from importlib.metadata import entry_points  # costs more to import than all the rest

    outside = {point.name: point for point in entry_points(group="karat.targets")}
    if config.kind in outside:
        return _loaded(outside[config.kind])
    names = [*(kind.name for kind in KINDS), *sorted(outside)]
    raise ConfigError(
        f"there is no kind of target {config.kind!r} (known: {', '.join(names)}).",
        fix=did_you_mean(config.kind, names) or f"Write it as '{KINDS[0].example}'.",
        slug="unknown-target",
    )


def _loaded(point: Any) -> Any:
    try:
        return point.load()
    except Exception as error:
        raise ConfigError(f"the target {point.name!r} of {point.value!r} cannot be loaded: {error!r}") from error
