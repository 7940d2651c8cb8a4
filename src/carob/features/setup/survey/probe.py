"""Asking an agent once, after its user agreed: whether it answers, and the target that follows from that."""

from __future__ import annotations

import asyncio
import signal
import socket
import threading
from collections.abc import Awaitable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple, TypeVar
from urllib.parse import urlsplit

from msgspec import structs

from carob.errors import CarobError
from carob.features.setup.inspect.catalog import inspect_target
from carob.features.setup.inspect.inspection import Inspection, prove_target, without_passwords
from carob.features.setup.inspect.openapi import paths_of, requests_at
from carob.features.setup.inspect.services import OPENAPI, get_json
from carob.features.setup.survey.findings import FoundAgent, rank_path
from carob.features.setup.survey.ownership import why_foreign
from carob.plugins.project import Project
from carob.targets.base import TargetError
from carob.targets.config import WIRE_KINDS, TargetConfig, read_config, resolve

PATIENCE = 120.0
CONNECT = 1.0
Result = TypeVar("Result")


class Probe(NamedTuple):
    """What asking came to: the target that answered, with its table; else what the problem is."""

    target: TargetConfig | None = None
    table: Mapping[str, object] = MappingProxyType({})
    problem: str = ""
    context: tuple[str, ...] = ()
    """The fields of a graph's context for which values were invented, with what they hold."""


def is_listening(agent: FoundAgent) -> bool:
    """Whether something takes connections at the loopback address of an agent; True if it has no address."""
    if not agent.address:
        return True
    parts = urlsplit(agent.address)
    try:
        with socket.create_connection((parts.hostname or "", parts.port or 80), CONNECT):
            return True
    except OSError:
        return False


async def ask_agent(agent: FoundAgent, prompts: Sequence[str], project: Project) -> Probe:
    """Send the prompts to an agent, and read from its answers how it is reached."""
    if not agent.is_local:
        return Probe(problem=f"{agent.address} is not on this machine, so it was not asked.")
    if not is_listening(agent):
        return Probe(problem=f"nothing answers at {agent.address}.")
    folder = Path(project.folder)
    if foreign := why_foreign(agent, folder):
        return Probe(problem=f"it was not asked: {foreign}.")
    spec = agent.use if agent.kind in ("http", "https") else agent.use.partition(":")[2]
    if agent.kind == "http":
        spec = await _find_chat_path(spec, folder)
    kind, options = "http" if agent.kind == "https" else agent.kind, dict(agent.options)
    config = TargetConfig(kind=kind, spec=spec, name=agent.name, root=folder, folder=folder, options=options)
    sent_prompts = prompts[:2] if config.kind == "http" else prompts[:1]
    inspection, problem = await _try_asking(inspect_target(config, sent_prompts))
    if inspection is None:
        return Probe(problem=problem)
    inspection = without_passwords(inspection)
    context = _invented_context(inspection)
    if not inspection.works:
        problem = f"{inspection.problem.rstrip('.')}."
        return Probe(table=inspection.table if context else {}, problem=problem, context=context)
    return Probe(_with_options(config, inspection.table), inspection.table, context=context)


def _invented_context(inspection: Inspection) -> tuple[str, ...]:
    options = inspection.table.get("options")
    given = options.get("context") if isinstance(options, dict) else None
    lines = (line for seen in inspection.sightings if seen.what == "context" for line in seen.seen)
    return tuple(line for line in lines if isinstance(given, dict) and line.partition(":")[0] in given)


async def _find_chat_path(url: str, folder: Path) -> str:
    """The address itself, unless the service describes its paths and others of them take a prompt."""
    parts = urlsplit(url)
    base = f"{parts.scheme}://{parts.netloc}"
    config = TargetConfig(kind="http", spec=url, root=folder, folder=folder)
    document = await get_json(config, f"{base}{OPENAPI}")
    prompt_paths = [path for path in paths_of(document) if "{" not in path and next(requests_at(document, path), None)]
    return url if not prompt_paths or parts.path in prompt_paths else base + min(prompt_paths, key=rank_path)


async def ask_target(prompts: Sequence[str], project: Project) -> Probe:
    """Send the first prompt to the target that carob.toml names."""
    config = read_config(project)
    target = resolve(config.target or next(iter(config.targets)), config, Path(project.folder))
    trace, problem = await _try_asking(prove_target(target, prompts[0]))
    return Probe(problem=problem) if trace is None else Probe(target)


async def _try_asking(asking: Awaitable[Result]) -> tuple[Result | None, str]:
    """What asking comes to; else the problem."""
    try:
        async with asyncio.timeout(PATIENCE):
            with interruptible():
                return await asking, ""
    except TimeoutError:
        return None, f"no answer came within {PATIENCE:g} s."
    except (CarobError, TargetError) as error:
        return None, f"{error.message.rstrip('.')}. {getattr(error, 'fix', '')}".rstrip()


@contextmanager
def interruptible() -> Iterator[None]:
    """Let the first Ctrl-C end the block: asyncio waits for the code of an agent that is being loaded."""
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGINT) in (signal.SIG_IGN, None):
        yield
        return
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _with_options(config: TargetConfig, table: Mapping[str, object]) -> TargetConfig:
    """The target of a table that no file holds yet."""
    heard, _, address = str(table["use"]).partition(":")
    if heard != config.kind and heard in WIRE_KINDS - {"http", "https"}:
        config = structs.replace(config, kind=heard, spec=address)
    if config.kind in WIRE_KINDS:
        return structs.replace(config, options={key: value for key, value in table.items() if key != "use"})
    options = table.get("options")
    return structs.replace(config, options=dict(options) if isinstance(options, dict) else {})
