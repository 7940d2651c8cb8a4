"""What is known of a target without running it: the words for its page, and the tools of a LangGraph graph."""

from __future__ import annotations

import asyncio
import inspect
from pathlib import Path
from typing import Any

from karat.analysis.lint.base import TargetInfo
from karat.errors import ConfigError
from karat.plugins.code import load_attribute
from karat.plugins.project import Project
from karat.targets.config import Config, TargetConfig, read_config, resolve
from karat.targets.langgraph.tools import tools_of


def surroundings(target: str | TargetConfig | None, project: Project) -> TargetInfo:
    """What is known of a target, of karat.toml or by its spec; without one, of all that are configured."""
    if isinstance(target, TargetConfig):
        return target_info(target)
    config = read_config(project)
    return all_target_info(config) if target is None else target_info(resolve(target, config, Path(project.folder)))


def all_target_info(config: Config) -> TargetInfo:
    """The vocabularies of every configured target, for who did not say which one is meant."""
    return TargetInfo(vocabulary={s: e for target in config.targets.values() for s, e in target.ui_vocabulary.items()})


def target_info(target: TargetConfig) -> TargetInfo:
    """What is known of one target. A graph is built for it, so this runs the agent's code, but no case."""
    tools = tools_of(_graph(target)) if target.kind == "langgraph" else None
    return TargetInfo(target.name or target.use, target.ui_vocabulary, tools)


def _graph(target: TargetConfig) -> object:
    found = load_attribute(target.spec, target.root, target.import_path)
    if hasattr(found, "nodes") or not callable(found) or "context" in inspect.signature(found).parameters:
        return found
    try:
        made = found()
        return asyncio.run(_await(made)) if inspect.isawaitable(made) else made
    except Exception as error:
        raise ConfigError(f"{target.spec!r} raised {type(error).__name__}: {error}") from error


async def _await(made: Any) -> Any:
    return await made
