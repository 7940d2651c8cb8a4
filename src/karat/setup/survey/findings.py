"""What a look at a project gives. Files are only read for it: nothing is imported and no address is asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple
from urllib.parse import urlsplit

from karat.errors import UsageError

ROUTES = (
    "completions",
    "chat",
    "ask",
    "message",
    "query",
    "prompt",
    "agent",
    "invoke",
    "answer",
    "stream",
    "run",
    "convers",
)
LOOPBACK = ("localhost", "127.0.0.1", "::1")


class FoundAgent(NamedTuple):
    """Something that may be the agent: the target that would reach it, and where that was read."""

    use: str
    what: str
    where: str
    name: str = "agent"
    extra: str = ""
    """The extra of Karat that its target needs."""
    start: str = ""
    """The command that starts it, where it has to run before Karat can ask it."""
    options: Mapping[str, object] = MappingProxyType({})

    @property
    def address(self) -> str:
        """Where it answers; empty if Karat loads it itself."""
        spec = self.use if self.use.startswith("http") else self.use.partition(":")[2]
        return spec if spec.startswith(("http://", "https://")) else ""

    @property
    def is_local(self) -> bool:
        """Whether asking it sends nothing away from this machine, as far as its address says."""
        return not self.address or urlsplit(self.address).hostname in LOOPBACK

    @property
    def kind(self) -> str:
        return self.use.partition(":")[0]

    @property
    def is_complete(self) -> bool:
        """Whether `use` and the options are all that a target needs; a plain service needs its answer read as well."""
        return self.kind not in ("http", "https") and (self.kind != "openai" or "model" in self.options)


class FoundSuite(NamedTuple):
    """A file that Karat reads as a suite."""

    path: str
    format: str


class FoundServer(NamedTuple):
    """An MCP server that a configuration of the project names: one with a `url`, or one that a command starts."""

    name: str
    where: str
    url: str = ""
    command: str = ""


@dataclass(frozen=True)
class Survey:
    """What is in a folder, the likeliest agent first."""

    folder: Path
    agents: tuple[FoundAgent, ...] = ()
    suites: tuple[FoundSuite, ...] = ()
    servers: tuple[FoundServer, ...] = ()
    others: tuple[str, ...] = ()
    """Agents of frameworks that need a function to be reached, by where they are."""
    config: str = ""
    """The configuration of Karat that is in this folder already."""
    targets: tuple[str, ...] = ()
    tests: str | None = None
    """The folder that pytest collects, where the project uses pytest."""
    has_github: bool = False
    requirements: str = ""
    """What a workflow installs the project from."""
    keys: tuple[str, ...] = field(default=())
    """Names of variables that hold keys of models, without their values."""


def rank_path(path: str) -> int:
    """How likely a path of a web app takes a prompt: the lower, the likelier."""
    return next((rank for rank, word in enumerate(ROUTES) if word in path.lower()), len(ROUTES))


EXTRAS = {"langgraph": "langgraph", "browser": "browser", "python": "", "command": "", "replay": ""}
"""The extra that a kind of target needs; all others are reached over HTTP."""


def parse_agent(spec: str) -> FoundAgent:
    """An agent that the user names by its spec."""
    kind, colon, location = spec.partition(":")
    if not (kind and colon and location):
        fix = "Write it as python:agent.py:answer, langgraph:graph.py:graph, command:./agent or http://127.0.0.1:8000/chat."
        raise UsageError(f"{spec!r} is not a target.", fix=fix, slug="unknown-target")
    last = location.rpartition(":")[2] if kind in ("python", "langgraph") else "app"
    name = "".join(char if char.isalnum() else "-" for char in last).strip("-") or "agent"
    return FoundAgent(spec, "the agent that you named", "--target", name, EXTRAS.get(kind, "http"))
