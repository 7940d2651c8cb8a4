"""Who inspects what: by kind of target, and for a bare address by what answers there."""

from __future__ import annotations

import importlib
import urllib.error
import urllib.request
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, TypeAlias
from urllib.parse import urlsplit

from msgspec import structs

from carob.errors import ConfigError, UsageError
from carob.features.setup.inspect.inspection import Inspection, Observation
from carob.features.setup.survey.findings import LOOPBACK
from carob.features.setup.survey.python_agents import KINDS
from carob.features.setup.survey.survey import find_node_route
from carob.plugins.project import Project
from carob.system.listeners import find_listeners
from carob.targets.catalog import require_kind
from carob.targets.config import TargetConfig, read_config, resolve
from carob.text.wording import did_you_mean, join_words, visible

Inspect: TypeAlias = Callable[..., Awaitable[Inspection]]
"""Looks at the agent of a configuration, whose name is that of the target to propose, with one prompt or more."""

GREETING = "Hello! What can you do for me?"
PROBE = 10.0
PAGES = ("text/html", "application/xhtml+xml")
NO_GET = (404, 405, 501)
"""How servers refuse a GET where they take a POST, often with a page that says so."""


class Inspector(NamedTuple):
    """Inspects one kind of target; named but not yet imported."""

    module: str
    function: str
    prompts: int = 1
    """How many prompts it takes."""


_PLAIN = Inspector("carob.features.setup.inspect.services", "inspect_plain", prompts=10)
INSPECTORS = {
    "browser": Inspector("carob.features.setup.inspect.page.inspect", "inspect_page"),
    "langgraph": Inspector("carob.features.setup.inspect.graphs", "inspect_graph"),
    "http": Inspector("carob.features.setup.inspect.services", "inspect_service", prompts=10),
    **dict.fromkeys(("python", "command", "openai", "ag-ui", "ai-sdk", "chatkit", "langgraph-server", "a2a"), _PLAIN),
}


async def inspect_target(config: TargetConfig, prompts: Sequence[str]) -> Inspection:
    """Inspect the agent of a configuration with these prompts, or with a greeting."""
    entry = INSPECTORS.get(config.kind) or (_PLAIN if config.kind in KINDS.values() else None)
    if entry is None:
        require_kind(config)
        fix = did_you_mean(config.kind, INSPECTORS) or f"Inspect a target of kind {join_words([*INSPECTORS])}."
        from carob.features.coding.agents.catalog import PROGRAMS  # few targets are one of them

        if config.kind in PROGRAMS:
            fix = "A preset is a whole target: give it a `workspace` in carob.toml (`carob help coding-agents`)."
        raise UsageError(f"targets of kind {config.kind!r} cannot be inspected.", fix=fix, slug="not-inspectable")
    if len(prompts) > entry.prompts:
        bound = "one prompt" if entry.prompts == 1 else f"at most {entry.prompts} prompts"
        raise UsageError(f"a target of kind {config.kind!r} is inspected with {bound}.", fix="Give fewer.")
    inspect: Inspect = getattr(importlib.import_module(entry.module), entry.function)
    listeners = _listeners(config.spec)
    found = await inspect(config, *(prompts or (GREETING,)))
    return replace(found, sightings=(*listeners, *found.sightings))


def _listeners(address: str) -> tuple[Observation, ...]:
    """Which process answers at an address of this machine, where the system shows it."""
    parts = urlsplit(address)
    if parts.hostname not in LOOPBACK:
        return ()
    listeners = find_listeners(parts.port or 80)
    return (Observation("at this port", tuple(visible(str(each)) for each in listeners)),) if listeners else ()


def target(
    where: str, kind: str | None, name: str | None, options: Mapping[str, object], project: Project
) -> TargetConfig:
    """The target that is meant: an address, a spec, or a name of carob.toml; with the name to propose."""
    folder = Path(project.folder)
    if where.startswith(("http://", "https://")):
        config = TargetConfig(
            kind=kind or _kind_of_route(where, folder) or _kind_at(where), spec=where, root=folder, folder=folder
        )
    else:
        config = resolve(where, read_config(project), folder)
        config = config if kind is None else structs.replace(config, kind=kind)
    target_name = name or config.name or _name_of(config)
    return structs.replace(config, name=target_name, options={**config.options, **options})


def _kind_of_route(url: str, folder: Path) -> str:
    """What the source in the folder says that a route of this machine speaks: UI messages, or nothing in particular."""
    route = find_node_route(folder, url)
    return "ai-sdk" if route is not None and route[0].kind == "ai-sdk" else ""


def _kind_at(url: str) -> str:
    """Whether a page answers at an address, or something that is none: what takes no GET shows no page."""
    status, content_type = _answer_at(url)
    return "browser" if content_type in PAGES and status not in NO_GET else "http"


def _answer_at(url: str) -> tuple[int, str]:
    """The status of the answer to a GET, and what it says that it is; a refusal is an answer too."""
    direct = [urllib.request.ProxyHandler({})] if urlsplit(url).hostname in LOOPBACK else []
    request = urllib.request.Request(url, headers={"Accept": "text/html, */*;q=0.5"})
    try:
        with urllib.request.build_opener(*direct).open(request, timeout=PROBE) as response:
            return response.status, str(response.headers.get_content_type())
    except urllib.error.HTTPError as error:
        with error:
            return error.code, str(error.headers.get_content_type())
    except (OSError, ValueError) as error:
        why = getattr(error, "reason", error)
        message = f"{url} does not respond: {why}."
        raise ConfigError(message, fix="Start the app, or correct the address.", slug="no-app") from error


def _name_of(config: TargetConfig) -> str:
    """`app` for a page, the last word of its spec for anything else."""
    if "://" in config.spec:
        return "app"
    last = config.spec.rpartition(":")[2].rpartition("/")[2].partition(".")[0]
    return "".join(char if char.isalnum() or char in "-_" else "-" for char in last).strip("-") or "agent"
