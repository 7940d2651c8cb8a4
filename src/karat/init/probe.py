"""Asking an agent once, after its user agreed: whether it answers, and the target that follows from that."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from karat.errors import KaratError
from karat.init.findings import FoundAgent
from karat.inspections.catalog import inspect_target
from karat.inspections.masking import without_passwords
from karat.model.trace import Trace
from karat.plugins.project import Project
from karat.targets.base import TargetError
from karat.targets.config import WIRE_KINDS, TargetConfig

PATIENCE = 120.0
CONNECT = 1.0


class Probe(NamedTuple):
    """What asking came to: the table of the target, and a turn with it; else what the problem is."""

    table: dict[str, object] = {}
    trace: Trace | None = None
    problem: str = ""


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
    spec = agent.use if agent.kind in ("http", "https") else agent.use.partition(":")[2]
    config = TargetConfig(
        kind="http" if agent.kind == "https" else agent.kind,
        spec=spec,
        name=agent.name,
        root=folder,
        folder=folder,
        options=dict(agent.options),
    )
    try:
        async with asyncio.timeout(PATIENCE):
            found = without_passwords(await inspect_target(config, prompts[:2] if agent.kind == "http" else prompts[:1]))
    except TimeoutError:
        return Probe(problem=f"no answer came within {PATIENCE:g} s.")
    except (KaratError, TargetError) as error:
        return Probe(problem=f"{error.message.rstrip('.')}.")
    return Probe(found.table, found.trace, f"{found.problem.rstrip('.')}." if found.problem else "")


def target_of(agent: FoundAgent, table: dict[str, object], project: Project) -> TargetConfig:
    """The target of a table that no file holds yet."""
    kind, _, spec = str(table["use"]).partition(":")
    options = {key: value for key, value in table.items() if key != "use"}
    if kind in ("http", "https"):
        kind, spec = "http", str(table["use"])
    elif kind not in WIRE_KINDS:
        given = table.get("options")
        options = dict(given) if isinstance(given, dict) else {}
    folder = Path(project.folder)
    return TargetConfig(kind=kind, spec=spec, name=agent.name, root=folder, folder=folder, options=options)
