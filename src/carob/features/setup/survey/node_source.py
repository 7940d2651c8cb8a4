"""What a Node project defines, by package.json and its source: Express, Next, the AI SDK and Mastra."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from carob.features.setup.survey.findings import ROUTES, FoundAgent, rank_path
from carob.features.setup.survey.node_agents import find_bridged

PORT, MASTRA_PORT = 3000, 4111
CODE = (".js", ".ts", ".mjs", ".mts", ".cjs", ".jsx", ".tsx")
_NEXT_ROUTE = re.compile(
    r"(?:src/)?(?:app/(?P<api>(?:\([\w-]+\)/)*api/[\w/()-]+)/route|pages/(?P<page>api/[\w/-]+))\.[jt]sx?"
)
_AI_SDK = re.compile(r"toUIMessageStreamResponse|pipeUIMessageStreamToResponse|createUIMessageStreamResponse")
_TAKES_POST = re.compile(r"export\s+(?:async\s+function|const)\s+POST\b|export\s+default\b|export\s*\{[^}]*\bPOST\b")
_EXPRESS_POST = re.compile(r"""\.post\(\s*["'`](/[\w/.-]*)["'`]""")
_NUMBER = r"(?:Number\(|parseInt\()?(?:process\.env\.PORT\s*(?:\|\||\?\?)\s*)?[\"']?(\d{2,5})\b"
RUN_BY_NODE = (".js", ".mjs", ".cjs")
_LISTEN_AT = re.compile(r"\.listen\(")
_LISTEN = re.compile(rf"\.listen\(\s*{_NUMBER}")
_CONSTANT_PORT = re.compile(rf"(?i)\bport\s*=\s*{_NUMBER}")
_MASTRA_AGENT = re.compile(r"\bnew\s+Agent\s*\(\s*\{(.{0,2000}?)\binstructions\b", re.DOTALL)
_NAMED = re.compile(r"""\b(id|name)\s*:\s*["'`]([\w .-]{1,80})["'`]""")
_NEXT_HANDLER = re.compile(r"\.(?:post|get|put|patch|delete|all|use|listen)\(\s*[^\s)]")
_READS = (
    r"\b(?:body|payload)\s*\??\.\s*NAME\b"
    r"|\{[^{}]{0,500}\bNAME\b[^{}]{0,500}\}\s*(?::[^=\n]{0,200})?=\s*(?:await\s+)?\w+\.(?:body\b|json\(\))"
)
_GROUP = re.compile(r"\([\w-]+\)/")

_RECORDERS = {
    "@mastra/core": "fromMastra",
    "@openai/agents": "fromAgents",
    "ai": "fromAiSdk",
    "@langchain/core": "fromLangChain",
    "@langchain/langgraph": "fromLangChain",
    "langchain": "fromLangChain",
}
"""What makes a trace of what an agent gives, in the npm package of Carob; the first that a project has."""


class Package(NamedTuple):
    """What package.json says: the packages that it needs, and the command that starts its server."""

    folder: str
    packages: frozenset[str]
    start: str


def read_package(text: str, path: str) -> Package | None:
    """A package.json; None if it is not one."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(content, dict):
        return None
    tables = [content.get(name) for name in ("dependencies", "devDependencies")]
    packages = frozenset(str(name) for table in tables if isinstance(table, dict) for name in table)
    scripts = content.get("scripts")
    script = next((name for name in ("dev", "start") if isinstance(scripts, dict) and name in scripts), "")
    folder = os.path.dirname(path)
    command = {"dev": "npm run dev", "start": "npm start"}.get(script, "")
    return Package(folder, packages, f"npm --prefix {folder} {command[4:]}" if folder and command else command)


def find_recorder(text: str) -> str:
    """The recorder for the agents of a package.json; empty where it names no library of agents."""
    package = read_package(text, "")
    return next((name for library, name in _RECORDERS.items() if package and library in package.packages), "")


def find_node_agents(
    files: Sequence[str], read: Callable[[str], str], variables: Mapping[str, str]
) -> Iterator[FoundAgent]:
    """The services of Node projects, for each package.json with what is below its folder."""
    found = [read_package(read(path), path) for path in files if os.path.basename(path) == "package.json"]
    packages = [package for package in found if package is not None]
    for package in packages or [Package("", frozenset({"next"}), "npm run dev")]:
        own = [path for path in files if path.startswith(f"{package.folder}/" if package.folder else "")]
        code = {path: read(path) for path in own if path.endswith(CODE)}
        yield from sorted(_agents_of(package, code, variables), key=_rank)
        yield from find_bridged(package.folder, package.packages, code, files)


def _agents_of(package: Package, code: Mapping[str, str], variables: Mapping[str, str]) -> Iterator[FoundAgent]:
    if "@mastra/core" in package.packages:
        yield from _mastra(package, code)
    port = int(variables["PORT"]) if variables.get("PORT", "").isdecimal() else PORT
    if "next" in package.packages:
        yield from (agent for path, text in code.items() if (agent := _next_route(package, path, text, port)))
    if "express" in package.packages:
        yield from _express(package, code, port if "PORT" in variables else None)


def handler_text(text: str, path: str) -> str:
    """What is between an Express route and the next one; the whole text where no route is written out, as in Next."""
    for route in _EXPRESS_POST.finditer(text):
        if route[1] == path:
            after = _NEXT_HANDLER.search(text, route.end())
            return text[route.start() : after.start() if after else len(text)]
    return text


def find_read_fields(text: str, names: Sequence[str]) -> list[str]:
    """Those of the names that a program reads of the body of a request, as in `{ message } = req.body`."""
    return [name for name in names if re.search(_READS.replace("NAME", name), text)]


def _rank(agent: FoundAgent) -> tuple[bool, int]:
    return agent.kind != "ai-sdk", rank_path(agent.address.partition("//")[2].partition("/")[2])


def _next_route(package: Package, path: str, text: str, port: int) -> FoundAgent | None:
    route = _NEXT_ROUTE.fullmatch(path.removeprefix(f"{package.folder}/" if package.folder else ""))
    is_ai_sdk = _AI_SDK.search(text) is not None
    if route is None or not (is_ai_sdk or _TAKES_POST.search(text)):
        return None
    url = f"http://127.0.0.1:{port}/{_GROUP.sub('', route['api'] or route['page'])}"
    if is_ai_sdk:
        return FoundAgent(f"ai-sdk:{url}", "AI SDK route", path, "app", "http", package.start)
    if rank_path(url) == len(ROUTES):
        return None
    return FoundAgent(url, f"Next.js route, POST {url.partition(f':{port}')[2]}", path, "app", "http", package.start)


def _express(package: Package, code: Mapping[str, str], port: int | None) -> Iterator[FoundAgent]:
    texts = {path: text for path, text in code.items() if "express" in text or ".post(" in text}
    ports = [int(found[1]) for text in texts.values() if (found := _LISTEN.search(text) or _CONSTANT_PORT.search(text))]
    port = port or next(iter(ports), PORT)
    server = next((path for path, text in texts.items() if _LISTEN_AT.search(text) and path.endswith(RUN_BY_NODE)), "")
    start = package.start or (f"node {server}" if server and not package.folder else "")
    for path, text in texts.items():
        speaks = "ai-sdk:" if _AI_SDK.search(text) else ""
        routes = tuple(dict.fromkeys(_EXPRESS_POST.findall(text)))
        for route in (route for route in routes if rank_path(route) < len(ROUTES)):
            what, use = (
                "AI SDK route" if speaks else f"Express app, POST {route}",
                f"{speaks}http://127.0.0.1:{port}{route}",
            )
            yield FoundAgent(use, what, path, "app", "http", start, paths=routes)


def _mastra(package: Package, code: Mapping[str, str]) -> Iterator[FoundAgent]:
    for path, text in code.items():
        for match in _MASTRA_AGENT.finditer(text) if "@mastra/core" in text else ():
            named: dict[str, Any] = dict(reversed(_NAMED.findall(match[1])))
            name = named.get("id") or named.get("name", "").replace(" ", "-")
            if name:
                url = f"http://127.0.0.1:{MASTRA_PORT}/api/agents/{name}/generate"
                yield FoundAgent(url, f"Mastra agent {name}", path, "app", "http", package.start)
