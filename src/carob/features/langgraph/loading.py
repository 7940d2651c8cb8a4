"""How a graph is got: a graph, a factory of one in any of its forms, or one that a `langgraph.json` names.

What its tool nodes know is read without running it.
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from carob.errors import ConfigError
from carob.plugins.code import load_attribute
from carob.targets.user_code import Environment
from carob.text.clean import loads
from carob.text.wording import did_you_mean, join_words, with_article

OFFERED = ("context", "config")
NAME_A_GRAPH = "Name a graph, compiled or not, or a function that returns one."


class GraphSource:
    """A graph, or a factory that makes one for all cases, or for each if it takes the context or the config of one."""

    def __init__(self, spec: str, value: Any) -> None:
        self._spec = spec
        self._found = value
        self._takes: dict[str, str] = {}
        if not is_graph(value) and not _is_builder(value):
            if not callable(value):
                kind = with_article(type(value).__name__)
                message = f"{spec!r} is {kind}, neither a graph nor a function that returns one."
                raise ConfigError(message, fix=NAME_A_GRAPH)
            self._takes = self._match_parameters(value)

    @property
    def each(self) -> bool:
        """Whether every conversation gets a graph of its own."""
        return bool(self._takes)

    async def graph(
        self, stack: AsyncExitStack, context: object = None, config: dict[str, object] | None = None
    ) -> object:
        """The graph; what it needs to be open is closed with the stack."""
        graph = self._found
        if not is_graph(graph) and not _is_builder(graph):
            offered = {"context": context, "config": config or {}}
            try:
                graph = await _build_graph(
                    graph, {name: offered[argument] for name, argument in self._takes.items()}, stack
                )
            except (Exception, SystemExit) as error:
                raise ConfigError(f"{self._spec!r} raised {type(error).__name__}: {error}") from error
        if _is_builder(graph):
            graph = graph.compile()
        if not is_graph(graph):
            message = f"{self._spec!r} returned {with_article(type(graph).__name__)}, which is not a graph."
            raise ConfigError(message, fix=NAME_A_GRAPH)
        return graph

    def _match_parameters(self, factory: Callable[..., object]) -> dict[str, str]:
        """Which parameters of the factory get what. `config` may also be recognised by its type."""
        try:
            parameters = inspect.signature(factory).parameters.values()
        except (ValueError, TypeError):
            return {}  # some callables written in C do not tell their parameters
        arguments = {}
        for parameter in parameters:
            free = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
            argument = "config" if "RunnableConfig" in str(parameter.annotation) else parameter.name
            if argument in OFFERED and not free and parameter.kind is not parameter.POSITIONAL_ONLY:
                arguments[parameter.name] = argument
            elif parameter.default is parameter.empty and not free:
                message = f"{self._spec!r} needs {parameter.name!r}, which Carob cannot provide."
                fix = "A factory may have the parameters `context` and `config`; any other needs a default."
                if parameter.name == "prompt":
                    fix = f"If it answers a prompt, it is a function: 'python:{self._spec}'. {fix}"
                raise ConfigError(message, fix=fix)
        return arguments


def parts(spec: str) -> tuple[str, str]:
    """The file or module of a spec, and the name in it; of a `langgraph.json` alone, no name."""
    file, _, name = spec.rpartition(":")
    return (spec, "") if spec.endswith(".json") else (file, name)


@contextmanager
def environment(spec: str, root: Path, variables: Mapping[str, str]) -> Iterator[str]:
    """The environment as the configuration and, for what is not set yet, the `langgraph.json` of a spec want it.

    Gives what has to be said of it: a file of variables that is not there, as in a fresh clone.
    """
    file, _ = parts(spec)
    project = read_project(root / file) if file.endswith(".json") else None
    defaults = project.env if project is not None else {}
    new_variables = {name: value for name, value in defaults.items() if name not in os.environ} | dict(variables)
    environment = Environment(new_variables)
    environment.set()
    try:
        yield project.without_env if project is not None else ""
    finally:
        environment.restore()


def source(spec: str, root: Path, path: Sequence[Path]) -> GraphSource:
    """What a spec names: `module:graph`, `file.py:graph`, or `langgraph.json:name`."""
    location, name = parts(spec)
    if not location.endswith(".json"):
        return GraphSource(spec, load_attribute(spec, root, path))
    file = root / location
    project = read_project(file)
    table = project.graphs
    if not name and len(table) == 1:
        name = next(iter(table))
    if name not in table:
        names = ", ".join(table) or "none"
        fix = did_you_mean(name, table) or f"Name one: {location}:{next(iter(table), 'graph')}"
        raise ConfigError(f"{location} names no graph {name!r} (it has: {names}).", fix=fix)
    entry = table[name]
    graph_path = entry.get("path") if isinstance(entry, dict) else entry
    if not isinstance(graph_path, str):
        raise ConfigError(f"the graph {name!r} has no path.", where=str(file), fix=HOW_NAMED)
    try:
        return GraphSource(spec, load_attribute(graph_path, file.parent, [*project.folders, *path]))
    except ConfigError as error:
        if project.missing:
            problem = f"{location} needs {join_words(project.missing, 'and')}, which is not installed here."
            error.message, error.fix = f"{error.message.rstrip('.')}.", f"{error.fix} {problem}".strip()
        raise


def is_graph(value: object) -> bool:
    return hasattr(value, "ainvoke") and not inspect.isclass(value)


def pregel(graph: Any) -> Any:
    """The graph itself, without the configuration that was bound to it."""
    while hasattr(graph, "bound"):
        graph = graph.bound
    return graph


async def _build_graph(factory: Callable[..., Any], arguments: dict[str, Any], stack: AsyncExitStack) -> Any:
    result = factory(**arguments)
    if inspect.isawaitable(result):
        result = await result
    if is_graph(result) or _is_builder(result):
        return result
    if hasattr(result, "__aenter__"):
        return await stack.enter_async_context(result)
    return stack.enter_context(result) if hasattr(result, "__enter__") else result


def _is_builder(value: object) -> bool:
    """A graph that is not compiled yet."""
    return hasattr(value, "compile") and hasattr(value, "add_node") and not inspect.isclass(value)


_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_LINE = re.compile(r"\s*(?:export\s+)?(?P<name>[A-Za-z_]\w*)\s*=\s*(?P<value>.*?)\s*")
_QUOTED = re.compile(r"""(['"])(?P<text>.*?)\1\s*(?:#.*)?""")

HOW_NAMED = 'Name graphs by file and attribute: "graphs": {"agent": "./agent.py:graph"}.'


@dataclass(frozen=True, slots=True)
class GraphProject:
    """What one file says. `missing` are packages that it asks for and that are not installed."""

    graphs: dict[str, object]
    env: dict[str, str]
    folders: tuple[Path, ...]
    missing: tuple[str, ...]
    without_env: str = ""
    """That the file of variables which it names is not there."""


def read_project(file: Path) -> GraphProject:
    """Read a `langgraph.json`, or raise ConfigError."""
    try:
        table = loads(file.read_bytes())
    except (OSError, ValueError) as error:
        raise ConfigError(f"it cannot be read: {_why(error)}.", where=str(file), fix=HOW_NAMED) from error
    graphs = table.get("graphs") if isinstance(table, dict) else None
    if not isinstance(table, dict) or not isinstance(graphs, dict):
        raise ConfigError("it has no `graphs`.", where=str(file), fix=HOW_NAMED)
    needed = table.get("dependencies", [])
    if not isinstance(needed, list) or not all(isinstance(entry, str) for entry in needed):
        fix = 'For instance: "dependencies": ["."].'
        raise ConfigError("its `dependencies` are not a list of strings.", where=str(file), fix=fix)
    local = [entry for entry in needed if entry.startswith((".", "/"))]
    folders = [folder for entry in local for folder in _folders(file, entry)]
    missing = tuple(entry for entry in needed if entry not in local and not _is_installed(entry))
    env = table.get("env")
    if isinstance(env, str) and not (file.parent / env).exists():
        without = (
            f"{file}: its `env` {env!r} does not exist: no variables are set from it. Create that file if it is needed."
        )
        return GraphProject(graphs, {}, (*folders, file.parent), missing, without)
    return GraphProject(graphs, _environment(file, env), (*folders, file.parent), missing)


def _folders(file: Path, entry: str) -> list[Path]:
    """Where the modules of a local dependency are: in its folder, or in the `src` of it."""
    folder = file.parent / entry
    if not folder.is_dir():
        fix = "Fix `dependencies`."
        raise ConfigError(f"its dependency {entry!r} is not a folder.", where=str(file), fix=fix)
    return [each for each in (folder / "src", folder) if each.is_dir()]


def _is_installed(entry: str) -> bool:
    name = _NAME.match(entry)
    try:
        return name is None or bool(version(name[0]))
    except PackageNotFoundError:
        return False


def _environment(file: Path, env: object) -> dict[str, str]:
    """`env`: a table, or the name of a file of `NAME=value` lines."""
    if env is None:
        return {}
    if isinstance(env, dict):
        return {str(name): str(value) for name, value in env.items()}
    if not isinstance(env, str):
        fix = 'For instance: "env": ".env".'
        raise ConfigError("its `env` is neither a table nor the name of a file.", where=str(file), fix=fix)
    try:
        lines = (file.parent / env).read_text("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        fix = "Create that file, or remove `env`."
        raise ConfigError(f"its `env` {env!r} cannot be read: {_why(error)}.", where=str(file), fix=fix) from error
    matches = (_LINE.fullmatch(line) for line in lines)
    return {line["name"]: _unquote(line["value"]) for line in matches if line}


def _unquote(value: str) -> str:
    quoted = _QUOTED.fullmatch(value)
    return quoted["text"] if quoted else re.split(r"\s+#", value)[0]


def _why(error: Exception) -> str:
    """What is wrong with a file whose name is in the error already."""
    return (isinstance(error, OSError) and error.strerror) or str(error)


DEEPEST = 20


def tools_of(graph: object) -> frozenset[str] | None:
    """The tools of a graph's tool nodes; None if it has no such node, because then any node may call anything."""
    names = {name for node in _nodes(graph, DEEPEST) for name in getattr(node, "tools_by_name", None) or ()}
    return frozenset(names) or None


def schemas_of(graph: object) -> dict[str, object]:
    """The JSON Schema of the arguments that a model gives to each tool of a graph's tool nodes; None if it has none."""
    tools = [tool for node in _nodes(graph, DEEPEST) for tool in (getattr(node, "tools_by_name", None) or {}).items()]
    return {name: _schema(tool) for name, tool in tools}


def _schema(tool: object) -> object:
    try:
        schema = getattr(tool, "tool_call_schema", None)
        return schema if isinstance(schema, dict) else schema.model_json_schema() if schema is not None else None
    except Exception:  # noqa: BLE001 - types of the user's that JSON Schema cannot say raise what they like
        return None


def _nodes(graph: object, depth: int) -> Iterator[object]:
    nodes = getattr(graph, "nodes", None)
    if not isinstance(nodes, Mapping) or not depth:
        return
    for node in nodes.values():
        inner = getattr(node, "bound", node)
        yield inner
        yield from _nodes(inner, depth - 1)
