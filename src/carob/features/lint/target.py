"""What is known of a target without running it: words for its page, tools of a graph; sentences it does not know."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from carob.checks.page.ui import Ui, grammar, resolve
from carob.errors import ConfigError
from carob.features.langgraph.loading import tools_of
from carob.features.lint.base import LintCase, Rule, Smell, TargetInfo
from carob.plugins.code import load_attribute
from carob.plugins.project import Project
from carob.targets.config import TargetConfig, read_config
from carob.targets.config import resolve as resolve_target


def find_target_info(target: str | TargetConfig | None, project: Project) -> TargetInfo:
    """What is known of a target, of carob.toml or by its spec; without one, the words of all that are configured."""
    if isinstance(target, TargetConfig):
        return target_info(target)
    config = read_config(project)
    if target is None:
        vocabularies = [configured.ui_vocabulary for configured in config.targets.values()]
        return TargetInfo(vocabulary={sentence: v[sentence] for v in vocabularies for sentence in v})
    return target_info(resolve_target(target, config, Path(project.folder)))


def target_info(target: TargetConfig) -> TargetInfo:
    """What is known of one target. A graph is built for it, so this runs the agent's code, but no case."""
    tools = tools_of(_graph(target)) if target.kind == "langgraph" else None
    return TargetInfo(target.name or target.use, target.ui_vocabulary, tools)


def _graph(target: TargetConfig) -> object:
    graph = load_attribute(target.spec, target.root, target.import_path)
    if hasattr(graph, "nodes") or not callable(graph) or "context" in inspect.signature(graph).parameters:
        return graph
    try:
        built = graph()
        return asyncio.run(_await(built)) if inspect.isawaitable(built) else built
    except Exception as error:
        raise ConfigError(f"{target.spec!r} raised {type(error).__name__}: {error}") from error


async def _await(awaitable: Any) -> Any:
    return await awaitable


def find_unknown_sentences(case: LintCase, target: TargetInfo) -> Iterator[Smell]:
    """Sentences about the page that neither a vocabulary nor the built-in grammar knows."""
    resolved = case.catalog.checks(resolve(case.case, target.vocabulary).checks)
    for placed, check in zip(case.checks, resolved, strict=True):
        if isinstance(check, Ui) and not check.elements and not grammar(check.sentence):
            where = f"the target {target.target!r}" if target.target else "a target in carob.toml"
            message = "neither the built-in grammar nor a ui_vocabulary knows this sentence, so it stays UNKNOWN."
            yield placed.path, f"{message} Define it in ui_vocabulary of {where}, or write an object."


RULES = (Rule("unknown-ui-sentence", find_unknown_sentences),)
