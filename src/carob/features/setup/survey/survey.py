"""A look at a folder: which agent may be in it, and what a first suite can build on."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from carob.checks.catalog import catalog_for
from carob.errors import CarobError
from carob.features.setup.survey import findings
from carob.features.setup.survey.findings import (
    LOOPBACK,
    ROUTES,
    FoundAgent,
    FoundServer,
    FoundSuite,
    Survey,
    rank_path,
)
from carob.features.setup.survey.framework_agents import find_framework_agents, is_framework
from carob.features.setup.survey.live_app import LOG, find_live_app
from carob.features.setup.survey.node_source import CODE, find_node_agents, find_recorder, handler_text
from carob.features.setup.survey.python_source import PythonSource, Route, read_python
from carob.plugins.project import Project, find_project
from carob.suites.diagnostics import RefusedError
from carob.suites.formats.base import SuiteFile
from carob.suites.formats.catalog import detect_format
from carob.suites.reading import list_rows

SKIPPED = frozenset(
    {"node_modules", "site-packages", "__pycache__", "venv", "env", "build", "dist", "tests", "test", "docs"}
    | {"carob-results", "migrations", "vendor", "third_party"}
)
DEEPEST = 8
MOST_FILES = 3_000
LARGEST = 512 * 1024
USUAL_PORT = 8000
FLASK, FLASK_PORT = "flask.Flask()", 5000
OUR_OWN = ("carob-1", "eval-set", "golden")
SUITE_FOLDERS = ("tests", "test", "evals", "eval", ".claude")
_LIVE = re.compile(rb"""["']?\b(?:ui|telemetry)["']?\s*:""")
"""A key of an eval set that only an app with a page or a log can satisfy."""
_SUITE_NAME = re.compile(r"(?i)carob|promptfoo|eval|golden|test|suite|case")
_PORT = re.compile(r"(?:uvicorn|hypercorn|granian|fastapi|flask|gunicorn)\b[^\n]*?(?:--port[ =]|:)(\d{2,5})\b")
STARTING = ("Dockerfile", "Procfile", "Makefile", "docker-compose.yml", "docker-compose.yaml", "compose.yaml")


def survey_folder(folder: Path, environ: Mapping[str, str]) -> Survey:
    """See what a folder holds. Nothing in it is run."""
    files = list(_walk(folder))
    environment = {name: environ[name] for name in (*findings.ADDRESSES, *findings.MODELS) if environ.get(name)}
    variables = _variables(folder)
    sources = _sources(folder, files)
    project = find_project(folder)
    is_here = bool(project.file) and Path(project.file).parent == folder.resolve()
    targets = project.content.get("targets") if is_here else None
    agents = list(_agents(folder, files, sources, variables, environment, has_key="OPENAI_API_KEY" in environ))
    suites = tuple(_suites(folder, files, project))
    if any(suite.is_live for suite in suites):
        logs = {name: environ[name] for name in (LOG,) if environ.get(name)}
        agents.insert(0, find_live_app(files, partial(_read, folder), agents, logs, _live_port(folder, agents)))
    return Survey(
        folder,
        tuple(agents),
        suites,
        tuple(_mcp_servers(folder)),
        tuple(_find_unreached(sources, agents)),
        config=os.path.basename(project.file) if is_here else "",
        targets=tuple(targets) if isinstance(targets, dict) else (),
        tests=_pytest_folder(folder, files),
        recorder=find_recorder(_read(folder, "package.json")) if "package.json" in files else "",
        has_github=(folder / ".github").is_dir(),
        requirements=_requirements(folder),
        instructions=tuple(name for name in findings.INSTRUCTIONS if name in files),
        keys=tuple(name for name in variables if findings.KEY.fullmatch(name)),
    )


def find_node_route(folder: Path, url: str) -> tuple[FoundAgent, str] | None:
    """The route of a Node project that answers at an address of this machine, and the text of its handler."""
    parts = urlsplit(url)
    if parts.hostname not in LOOPBACK:
        return None
    files = [file for file in _walk(folder) if file.endswith((*CODE, "package.json")) and not _is_test(file)]
    for agent in find_node_agents(files, lambda file: _read(folder, file), {}):
        if urlsplit(agent.address).path.strip("/") == parts.path.strip("/"):
            return agent, handler_text(_read(folder, agent.where), urlsplit(agent.address).path)
    return None


def _walk(folder: Path) -> Iterator[str]:
    """The files of a project by their relative paths, those above before those below; no more than are reasonable."""
    level, count = [""], 0
    for _ in range(DEEPEST):
        below: list[str] = []
        for inner in level:
            try:
                entries = sorted(os.scandir(folder / inner), key=lambda entry: entry.name)
            except OSError:
                continue
            for entry in entries:
                count += 1
                path = f"{inner}{entry.name}"
                if count > MOST_FILES:
                    return
                if entry.is_dir(follow_symlinks=False):
                    if _is_of_project(entry):
                        below.append(f"{path}/")
                elif entry.is_file():
                    yield path
        level = below


def _is_of_project(entry: os.DirEntry[str]) -> bool:
    if entry.name in SUITE_FOLDERS:
        return True
    hidden = entry.name.startswith(".") or entry.name in SKIPPED
    return not hidden and not os.path.exists(os.path.join(entry.path, "pyvenv.cfg"))


def _read(folder: Path, path: str) -> str:
    """The text of a file; empty if it is too large, or not text."""
    try:
        with (folder / path).open("rb") as file:
            data = file.read(LARGEST + 1)
        return data.decode("utf-8-sig") if len(data) <= LARGEST else ""
    except (OSError, UnicodeDecodeError):
        return ""


def _sources(folder: Path, files: list[str]) -> list[PythonSource]:
    code = [path for path in files if path.endswith(".py") and not _is_test(path)]
    sources = [source for path in code if (source := read_python(path, _read(folder, path))) is not None]
    for source in sources:
        source.resolve(sources)
    return sources


def _agents(
    folder: Path,
    files: list[str],
    sources: list[PythonSource],
    variables: Mapping[str, str],
    environment: Mapping[str, str],
    *,
    has_key: bool,
) -> Iterator[FoundAgent]:
    """What may be the agent, the likeliest first."""
    configured = [path for path in files if os.path.basename(path) == "langgraph.json"]
    graphs = [agent for path in configured for agent in findings.read_graphs(_read(folder, path), path)]
    yield from graphs
    if not graphs:
        yield from (agent for source in sources for agent in _graphs(source))
    port = _port(folder, sources, variables)
    apps = list(_services(sources, port))
    yield from apps
    yield from find_node_agents(files, lambda path: _read(folder, path), variables)
    addresses = {agent.address for agent in apps}
    for path in findings.OPENAPI_FILES:
        described = findings.read_openapi(_read(folder, path), path, port) if path in files else ()
        start = apps[0].start if apps else ""
        yield from (agent._replace(start=start) for agent in described if agent.address not in addresses)
    yield from find_framework_agents(sources)
    functions = [agent for source in sources for agent in _functions(source)]
    yield from sorted(functions, key=lambda agent: agent.name != "answer")
    if not apps:
        yield from _unknown_paths(sources, port)
    yield from findings.model_address(environment, "the environment", has_key=has_key)
    if not any(environment.get(name) for name in findings.ADDRESSES):
        yield from findings.model_address(variables, ".env", has_key=has_key)


def _find_unreached(sources: list[PythonSource], agents: list[FoundAgent]) -> Iterator[str]:
    """Agents of frameworks that no target reaches as they are."""
    places = {agent.where for agent in agents}
    for source in sources:
        for made in source.agents.made:
            if (where := f"{source.path}:{made.line}") not in places and is_framework(made, sources):
                yield f"{made.origin.partition('.')[0]}, {where}"


def _is_test(path: str) -> bool:
    *folders, name = path.split("/")
    return name.startswith(("test_", "conftest")) or name.endswith("_test.py") or any(map(SUITE_FOLDERS.count, folders))


def _graphs(source: PythonSource) -> Iterator[FoundAgent]:
    for name, line in source.graphs.items():
        yield FoundAgent(
            f"langgraph:{source.path}:{name}", "LangGraph graph", f"{source.path}:{line}", name, "langgraph"
        )


def _functions(source: PythonSource) -> Iterator[FoundAgent]:
    if source.apps:
        return
    for name, line in source.answers.items():
        plain = name.replace(".", "_")
        yield FoundAgent(f"python:{source.path}:{name}", f"function {name}()", f"{source.path}:{line}", plain)


def _services(sources: list[PythonSource], port: int) -> Iterator[FoundAgent]:
    """Web apps by the address at which they would answer, once for each path that may take a prompt."""
    apps = [(source, name, line) for source in sources for name, line in source.apps.items()]
    if not apps:
        return
    source, name, line = next((source for source in apps if source[1] in source[0].protocols), apps[0])
    start = source.serve_line(name, port)
    base, where = f"http://127.0.0.1:{port}", f"{source.path}:{line}"
    if protocol := source.protocols.get(name):
        yield FoundAgent(f"{protocol}:{base}", f"app that speaks {protocol}", where, "app", "http", start)
        return
    prefixes = {name: prefix for source in sources for name, prefix in source.prefixes.items()}
    paths: dict[str, str] = {}
    together: dict[str, tuple[str, ...]] = {}
    for source in sources:
        own = tuple(_prefix(source, route, prefixes) + route.path for route in source.routes)
        paths |= dict.fromkeys(own, source.route_protocol)
        together |= dict.fromkeys(own, own)
    likely = [path for path in paths if rank_path(path) < len(ROUTES)]
    for path in sorted(likely or paths, key=rank_path):
        if protocol := paths[path]:
            use, what = f"{protocol}:{base}{path}", f"app that speaks {protocol}"
        else:
            use, what = base + path, f"web app, POST {path}"
            if path.endswith("/chat/completions"):
                use = f"openai:{base}{path.removesuffix('/chat/completions')}"
        yield FoundAgent(use, what, where, "app", "http", start, paths=together[path])


def _unknown_paths(sources: list[PythonSource], port: int) -> Iterator[FoundAgent]:
    """A web app whose paths no line says: once it runs, it may say itself which of them take a prompt."""
    for source in sources:
        for name, line in source.apps.items():
            start = source.serve_line(name, port)
            description, where = "web app, paths unknown", f"{source.path}:{line}"
            yield FoundAgent(f"http://127.0.0.1:{port}/", description, where, "app", "http", start)
            return


def _prefix(source: PythonSource, route: Route, prefixes: Mapping[str, str]) -> str:
    """What another file puts before the routes of a router."""
    end = f"{source.module.rpartition('.')[2]}.{route.router}"
    for name, prefix in prefixes.items():
        if name == route.router or f".{name}".endswith(f".{end}"):
            return prefix
    return ""


def _port(folder: Path, sources: list[PythonSource], variables: Mapping[str, str]) -> int:
    """Where a web app of this project listens, if something says so."""
    port = next((source.port for source in sources if source.port), None)
    if port is None:
        port = next((int(variables[name]) for name in findings.PORTS if variables.get(name, "").isdecimal()), None)
    for name in STARTING if port is None else ():
        if match := _PORT.search(_read(folder, name)):
            return int(match[1])
    if port is None and any(origin == FLASK for source in sources for origin in source.exports.values()):
        return FLASK_PORT
    return port or USUAL_PORT


def _live_port(folder: Path, agents: list[FoundAgent]) -> int:
    """Where the app of eval sets listens: as a service of the project does."""
    ports = (urlsplit(agent.address).port for agent in agents if agent.is_local)
    return next((port for port in ports if port), _port(folder, [], {}))


def _variables(folder: Path) -> dict[str, str]:
    """Of `.env`; what only an example of it names has no value here."""
    example = findings.read_variables(_read(folder, ".env.example"))
    keys = {name: "" for name in example if findings.KEY.fullmatch(name)}
    return keys | findings.read_variables(_read(folder, ".env"))


def _mcp_servers(folder: Path) -> Iterator[FoundServer]:
    for path in (*findings.MCP_FILES, "pyproject.toml"):
        yield from findings.read_mcp(_read(folder, path), path)


def _suites(folder: Path, files: list[str], project: Project) -> Iterator[FoundSuite]:
    """Files that Carob reads as suites: ours have to be sound, those of another tool only to be recognised."""
    catalog = catalog_for(project)
    for path in files:
        likely = _SUITE_NAME.search(path) and path.endswith((".json", ".yaml", ".yml"))
        data = _read(folder, path).encode() if likely and not path.endswith((".schema.json", ".tape.yaml")) else b""
        if not data:
            continue
        try:
            form = detect_format(SuiteFile(data, str(folder / path)), catalog.formats).name
            if form in OUR_OWN:
                list_rows(data, str(folder / path), catalog)
        except (CarobError, RefusedError, RecursionError):
            continue
        yield FoundSuite(path, form, form == "eval-set" and _LIVE.search(data) is not None)


def _requirements(folder: Path) -> str:
    """What a workflow can install the project from."""
    if (folder / "requirements.txt").is_file():
        return "requirements.txt"
    is_package = re.search(r"(?m)^\[(?:project|tool\.poetry)\]", _read(folder, "pyproject.toml"))
    return "pyproject.toml" if is_package else ""


def _pytest_folder(folder: Path, files: list[str]) -> str | None:
    """Where pytest looks for tests in this project; None if nothing says that it uses pytest."""
    try:
        tools = tomllib.loads(_read(folder, "pyproject.toml")).get("tool", {})
    except tomllib.TOMLDecodeError:
        tools = {}
    options = tools.get("pytest", {}).get("ini_options") if isinstance(tools.get("pytest"), dict) else None
    has_pytest_file = any(os.path.basename(path) in ("pytest.ini", "conftest.py") for path in files)
    tests = any(re.fullmatch(r"(?:.*/)?(?:test_[^/]*|[^/]*_test)\.py", path) for path in files)
    if not isinstance(options, dict) and not has_pytest_file and not tests:
        return None
    paths = options.get("testpaths") if isinstance(options, dict) else None
    first = paths[0] if isinstance(paths, list) and paths and isinstance(paths[0], str) else ""
    return first.strip("/") if first and (folder / first).is_dir() else ""
