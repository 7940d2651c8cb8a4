"""What a look at a project gives, and what files say that are not code: langgraph.json, .env, MCP, OpenAPI.

Files are only read for it: nothing is imported and no address is asked.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from carob.errors import UsageError
from carob.features.setup.inspect.openapi import paths_of, requests_at
from carob.targets.catalog import find_kind

ROUTES = (
    *("completions", "chat", "ask", "message", "query", "prompt", "agent", "invoke", "answer", "stream", "run"),
    "convers",
)
LOOPBACK = ("localhost", "127.0.0.1", "::1")
MODEL = "model"
"""The name of a target that is the model itself."""


class Bridge(NamedTuple):
    """A file to write, through which Carob reaches an agent."""

    path: str
    text: str
    gaps: tuple[str, ...] = ()
    """What the user has to do before it works."""
    test: str = ""
    """The same as a test file for vitest, with SUITE in place of the name of its suite."""


class FoundAgent(NamedTuple):
    """Something that may be the agent: the target that would reach it, and where that was read."""

    use: str
    what: str
    where: str
    name: str = "agent"
    extra: str = ""
    """The extra of Carob that its target needs."""
    start: str = ""
    """The command that starts it, where it has to run before Carob can ask it."""
    options: Mapping[str, object] = MappingProxyType({})
    paths: tuple[str, ...] = ()
    """Further paths that the source of a service names."""
    bridge: Bridge | None = None
    is_trusted: bool = False
    """Whether the user said that what answers at its address is the agent."""

    @property
    def address(self) -> str:
        """Where it answers; empty if Carob loads it itself."""
        spec = self.use if self.use.startswith("http") else self.use.partition(":")[2]
        return spec if spec.startswith(("http://", "https://")) else ""

    @property
    def table(self) -> dict[str, object]:
        """The keys of its target, as far as files say them."""
        options = {"options": dict(self.options)} if self.kind == "browser" and self.options else dict(self.options)
        return {"use": self.use, **options}

    @property
    def is_local(self) -> bool:
        """Whether asking it sends nothing away from this machine, as far as its address says."""
        return not self.address or urlsplit(self.address).hostname in LOOPBACK

    @property
    def kind(self) -> str:
        return self.use.partition(":")[0]

    @property
    def is_model(self) -> bool:
        """Whether it is the model that an agent asks, and so the agent itself only where nothing else is."""
        return self.kind == "openai" and self.name == MODEL

    @property
    def is_complete(self) -> bool:
        """Whether `use` and the options are all that a target needs; a plain service needs its answer read as well."""
        return self.kind not in ("http", "https") and (self.kind != "openai" or "model" in self.options)


class FoundSuite(NamedTuple):
    """A file that Carob reads as a suite."""

    path: str
    format: str
    is_live: bool = False
    """Whether its cases look at the page or the telemetry log of an app."""


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
    """The configuration of Carob that is in this folder already."""
    targets: tuple[str, ...] = ()
    tests: str | None = None
    """The folder that pytest collects, where the project uses pytest."""
    recorder: str = ""
    """What makes a trace of what the agents of a Node project give, in the npm package of Carob."""
    has_github: bool = False
    requirements: str = ""
    """What a workflow installs the project from."""
    instructions: tuple[str, ...] = ()
    """Files that tell a coding agent how to work here."""
    keys: tuple[str, ...] = field(default=())
    """Names of variables that hold keys of models, without their values."""


def rank_path(path: str) -> int:
    """How likely a path of a web app takes a prompt: the lower, the likelier."""
    return next((rank for rank, word in enumerate(ROUTES) if word in path.lower()), len(ROUTES))


def parse_agent(spec: str) -> FoundAgent:
    """An agent that the user names by its spec."""
    kind, colon, location = spec.partition(":")
    if not (kind and colon and location):
        fix = "Write it as python:agent.py:answer, langgraph:graph.py:graph, command:./agent or http://127.0.0.1:8000/chat."
        raise UsageError(f"{spec!r} is not a target.", fix=fix, slug="unknown-target")
    last = location.rpartition(":")[2] if kind in ("python", "langgraph") else "app"
    known = find_kind(kind)
    name = "".join(char if char.isalnum() else "-" for char in last).strip("-") or "agent"
    extra = known.extra if known else ""
    return FoundAgent(spec, "the agent that you named", "--target", name, extra, is_trusted=True)


ADDRESSES = ("OPENAI_BASE_URL", "OPENAI_API_BASE", "LLM_BASE_URL", "OPENAI_ENDPOINT")
MODELS = ("OPENAI_MODEL", "OPENAI_MODEL_NAME", "LLM_MODEL", "MODEL", "MODEL_NAME")
PORTS = ("PORT", "APP_PORT", "SERVER_PORT", "UVICORN_PORT")
KEY = re.compile(r"[A-Z][A-Z0-9_]*_(?:API_KEY|API_TOKEN)")
MCP_FILES = (".mcp.json", "mcp.json", ".cursor/mcp.json", ".vscode/mcp.json", "claude_desktop_config.json")
INSTRUCTIONS = {"AGENTS.md": "codex:", "CLAUDE.md": "claude-code:", "GEMINI.md": "gemini:"}
"""Instructions for coding agents, and a preset that reads them."""
OPENAPI_FILES = ("openapi.json", "openapi.yaml", "openapi.yml", "docs/openapi.json", "docs/openapi.yaml")
_LINE = re.compile(r"\s*(?:export\s+)?([A-Za-z_]\w*)\s*=\s*(.*?)\s*")
MOST = 20


def read_variables(text: str) -> dict[str, str]:
    """The variables of a `.env` file that Carob reads; those that hold keys without their values."""
    variables: dict[str, str] = {}
    for line in text.splitlines():
        match = _LINE.fullmatch(line)
        if match is None:
            continue
        name, value = match[1], match[2].strip("\"'")
        if name in (*ADDRESSES, *MODELS, *PORTS):
            variables[name] = value
        elif KEY.fullmatch(name):
            variables[name] = ""
    return variables


def read_graphs(text: str, where: str) -> Iterator[FoundAgent]:
    """The graphs that a langgraph.json names."""
    graphs = _table(_json(text).get("graphs"))
    for name in list(graphs)[:MOST]:
        is_python = ".py:" in str(graphs[name]) or not re.search(r"\.[mc]?[jt]sx?:", str(graphs[name]))
        if is_python and re.fullmatch(r"[\w.-]+", name):
            description = f"LangGraph graph {name!r}"
            yield FoundAgent(f"langgraph:{where}:{name}", description, where, name, "langgraph")


def model_address(variables: Mapping[str, str], where: str, *, has_key: bool) -> Iterator[FoundAgent]:
    """The OpenAI-compatible address that variables name, unless it holds a password.

    `has_key`: OPENAI_API_KEY is set. Without it a server on this machine is asked without a key: few want one.
    """
    for name in ADDRESSES:
        url = variables.get(name, "").rstrip("/")
        parts = urlsplit(url) if re.fullmatch(r"https?://[^\s\"'\\{}$@]+", url) else None
        if parts is None or not parts.hostname:
            continue
        options: dict[str, object] = {}
        if has_key or parts.hostname not in LOOPBACK:
            options["headers"] = {"Authorization": "Bearer ${OPENAI_API_KEY}"}
        if model := next((variables[key] for key in MODELS if variables.get(key)), ""):
            options["model"] = model
        description = f"OpenAI-compatible address in {name}"
        yield FoundAgent(f"openai:{url}", description, where, MODEL, "http", "", options)
        return


def read_mcp(text: str, where: str) -> Iterator[FoundServer]:
    """The MCP servers that a configuration names, as `.mcp.json`, an editor or pyproject.toml spells it."""
    content = _toml(text) if where.endswith(".toml") else _json(text)
    if where.endswith(".toml"):
        content = {"servers": {k: v for argument in _tables(content, "mcp") for k, v in _servers(argument).items()}}
    for name, server in list(_servers(content).items())[:MOST]:
        table = _table(server)
        url, command = table.get("url"), table.get("command")
        if isinstance(url, str) and url.startswith(("http://", "https://")):
            yield FoundServer(name, where, url=url)
        elif isinstance(command, str):
            arguments = table.get("args")
            words = [command, *(str(argument) for argument in arguments)] if isinstance(arguments, list) else [command]
            yield FoundServer(name, where, command=" ".join(words))


def read_openapi(text: str, where: str, port: int) -> Iterator[FoundAgent]:
    """The paths of an OpenAPI description that take a prompt."""
    import yaml  # only a project with such a description needs it

    try:
        document = _json(text) if where.endswith(".json") else yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError):
        return
    servers = document.get("servers") if isinstance(document, dict) else None
    first = _table(servers[0]).get("url") if isinstance(servers, list) and servers else None
    base = first.rstrip("/") if isinstance(first, str) and first.startswith("http") else f"http://127.0.0.1:{port}"
    for path in paths_of(document):
        if "{" not in path and next(requests_at(document, path), None) is not None:
            yield FoundAgent(f"{base}{path}", f"POST {path} of an OpenAPI description", where, "app", "http")


def _servers(content: Mapping[str, Any]) -> dict[str, Any]:
    return _table(content.get("mcpServers")) or _table(content.get("mcp_servers")) or _table(content.get("servers"))


def _tables(content: Mapping[str, Any], name: str) -> Iterator[Mapping[str, Any]]:
    """The tables under `[tool]` that configure this."""
    for key, table in _table(content.get("tool")).items():
        if key == name:
            yield _table(table)
        elif isinstance(table, dict) and _table(table.get("mcp_servers")):
            yield table


def _table(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _json(text: str) -> dict[str, Any]:
    try:
        return _table(json.loads(text))
    except (ValueError, RecursionError):
        return {}


def _toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return {}
