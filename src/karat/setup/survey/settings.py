"""What files say of agents and services without being code: langgraph.json, .env, MCP configuration, OpenAPI."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

import yaml

from karat.setup.inspect.openapi import paths_of, requests_at
from karat.setup.survey.findings import LOOPBACK, FoundAgent, FoundServer

ADDRESSES = ("OPENAI_BASE_URL", "OPENAI_API_BASE", "LLM_BASE_URL", "OPENAI_ENDPOINT")
MODELS = ("OPENAI_MODEL", "OPENAI_MODEL_NAME", "LLM_MODEL", "MODEL", "MODEL_NAME")
PORTS = ("PORT", "APP_PORT", "SERVER_PORT", "UVICORN_PORT")
KEY = re.compile(r"[A-Z][A-Z0-9_]*_(?:API_KEY|API_TOKEN)")
MCP_FILES = (".mcp.json", "mcp.json", ".cursor/mcp.json", ".vscode/mcp.json", "claude_desktop_config.json")
OPENAPI_FILES = ("openapi.json", "openapi.yaml", "openapi.yml", "docs/openapi.json", "docs/openapi.yaml")
_LINE = re.compile(r"\s*(?:export\s+)?([A-Za-z_]\w*)\s*=\s*(.*?)\s*")
MOST = 20
NODE_ROUTE = re.compile(r"(?:.*/)?(?:app/(?P<api>api/[\w/-]+)/route|pages/(?P<page>api/[\w/-]+))\.[jt]sx?")
AI_SDK = re.compile(r"toUIMessageStreamResponse|pipeUIMessageStreamToResponse|createUIMessageStreamResponse")


def read_variables(text: str) -> dict[str, str]:
    """The variables of a `.env` file that Karat reads; those that hold keys without their values."""
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
        if re.fullmatch(r"[\w.-]+", name):
            description = f"LangGraph graph {name!r}"
            yield FoundAgent(f"langgraph:{where}:{name}", description, where, name, "langgraph")


def read_node_route(text: str, path: str, port: int) -> Iterator[FoundAgent]:
    """A route of Next.js that streams UI messages as the AI SDK does, by the folder that it is in."""
    route = NODE_ROUTE.fullmatch(path)
    if route is not None and AI_SDK.search(text):
        url = f"http://127.0.0.1:{port}/{route['api'] or route['page']}"
        yield FoundAgent(f"ai-sdk:{url}", "AI SDK route", path, "app", "http", "npm run dev")


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
        yield FoundAgent(f"openai:{url}", description, where, "model", "http", "", options)
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
