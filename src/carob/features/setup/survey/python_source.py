"""What a Python file defines, read from its syntax: graphs, web apps with their routes, functions that answer."""

from __future__ import annotations

import ast
import re
import shlex
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import NamedTuple

from carob.features.setup.survey.python_agents import AgentFacts, find_facts

GRAPH_PACKAGES = ("langgraph", "langchain.agents", "deepagents")
APPS = frozenset({"FastAPI", "Starlette", "Litestar", "Quart", "Sanic", "Flask"})
AG_UI = ("to_ag_ui", "AGUIApp", "AGUIAdapter")
ADAPTERS = {"ag_ui": "ag-ui", "vercel_ai": "ai-sdk", "chatkit": "chatkit"}
"""Parts of the modules whose import says which protocol the routes of a file speak."""
A2A = ("to_a2a", "A2AStarletteApplication", "A2AFastAPIApplication")
PROMPT_NAMES = frozenset(
    {"prompt", "message", "question", "query", "text", "user_input", "user_message", "input", "utterance", "request"}
)
ANSWERING = frozenset(
    {"answer", "ask", "reply", "respond", "chat", "agent", "assistant", "bot", "invoke", "run", "handle", "main"}
)
GIVEN = frozenset({"conversation", "case", "context"})
"""What Carob gives to a function that asks for it by name."""
_MAKES_GRAPH = re.compile(r"\.compile(\(\))?$|\.compile\(\)\.|\.create_\w*(agent|supervisor|swarm)\w*(\(\))?$")


class Route(NamedTuple):
    """A path of a web app that takes a POST; `router` is the variable that it was added to."""

    path: str
    router: str


@dataclass
class PythonSource:
    """What one file defines at its top, by name; a place is a line."""

    path: str
    graphs: dict[str, int] = field(default_factory=dict)
    apps: dict[str, int] = field(default_factory=dict)
    """Web apps. Those that speak a protocol of agents are in `protocols` too."""
    protocols: dict[str, str] = field(default_factory=dict)
    routes: list[Route] = field(default_factory=list)
    prefixes: dict[str, str] = field(default_factory=dict)
    """What is put before the routes of a router, by where that was imported from, or by its name."""
    route_protocol: str = ""
    answers: dict[str, int] = field(default_factory=dict)
    exports: dict[str, str] = field(default_factory=dict)
    """Where the values of its names come from, and under `name()` what its functions return."""
    imported: dict[str, tuple[str, int]] = field(default_factory=dict)
    """Values that come from another file of the project, or from a package, with their lines."""
    names: dict[str, str] = field(default_factory=dict)
    """Where each imported name comes from."""
    agents: AgentFacts = field(default_factory=AgentFacts)
    port: int | None = None

    def resolve(self, sources: list[PythonSource]) -> None:
        """Recognise graphs whose builder is in another file."""
        for variable, (origin, line) in self.imported.items():
            for source in sources:
                for name, value in source.exports.items():
                    end = f"{source.module.rpartition('.')[2]}.{name}"
                    _, match, suffix = f".{origin}".rpartition(f".{end}")
                    if match and (not suffix or suffix.startswith(".")) and is_graph(value + suffix):
                        self.graphs[variable] = line

    def serve_line(self, app: str, port: int) -> str:
        """The command that serves one of its web apps, or what a function of it makes."""
        origin = self.exports.get(app, "") or self.exports.get(f"{app}()", "")
        if origin.endswith(".Flask()"):  # which speaks WSGI
            return f"flask --app {shlex.quote(f'{self.module}:{app}')} run --port {port}"
        is_factory = app not in self.exports and f"{app}()" in self.exports
        return f"uvicorn {'--factory ' * is_factory}{shlex.quote(f'{self.module}:{app}')} --port {port}"

    @property
    def module(self) -> str:
        """The file as `python -m` names it."""
        parts = PurePosixPath(self.path).with_suffix("").parts
        return ".".join(parts[1:] if parts[0] == "src" and len(parts) > 1 else parts)


def read_python(path: str, text: str) -> PythonSource | None:
    """Read a file without running it; None if it is not Python that this version understands."""
    try:
        with warnings.catch_warnings(action="ignore"):
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    reader = _Reader(path)
    try:
        reader.read(tree)
    except RecursionError:
        return None
    return reader.source


class _Reader:
    def __init__(self, path: str) -> None:
        self.source = PythonSource(path)
        self._origins: dict[str, str] = {}
        self._own_prefixes: dict[str, str] = {}

    def read(self, tree: ast.Module) -> None:
        for node in ast.walk(tree):
            self._read_import(node)
        self.source.names = dict(self._origins)
        spoken = {ADAPTERS[part] for origin in self._origins.values() for part in origin.split(".") if part in ADAPTERS}
        self.source.route_protocol = next(iter(spoken)) if len(spoken) == 1 else ""
        functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
        for function in functions:
            self._read_result(function)
            if result := self._origins.get(f"{function.name}()"):
                self.source.exports[f"{function.name}()"] = result
        for node in _top(tree.body):
            for name, value in _assignments(node):
                self._origins[name] = self._origin(value)
                self._classify(name, node.lineno)
                self.source.exports[name] = self._origins[name]
                if isinstance(value, ast.Call) and (prefix := _text(value, "prefix") or _text(value, "url_prefix")):
                    self._own_prefixes[name] = prefix
        for function in (node for node in _top(tree.body) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)):
            self._read_function(function)
        self._read_methods(tree)
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                self._read_call(node)
        for function in functions:
            for decorator in function.decorator_list:
                self._read_route(decorator)
        self.source.agents = find_facts(tree, self._origin, self._origins)

    def _read_import(self, node: ast.AST) -> None:
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.partition(".")[0]
                self._origins[alias.asname or top] = alias.name if alias.asname else top
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                self._origins[alias.asname or alias.name] = f"{node.module or ''}.{alias.name}".lstrip(".")

    def _read_result(self, function: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """What a function returns, so far as its own lines say."""
        origins = dict(self._origins)
        result = ""
        for node in _own_nodes(function):
            for name, value in _assignments(node):
                self._origins[name] = self._origin(value)
            if isinstance(node, ast.Return) and node.value is not None:
                result = self._origin(node.value)
        self._origins = origins | ({f"{function.name}()": result} if self._is_known(result) else {})

    def _is_known(self, origin: str) -> bool:
        return is_graph(origin) or origin.rpartition(".")[2].removesuffix("()") in APPS

    def _origin(self, node: ast.expr) -> str:
        """Where a value comes from: `langgraph.graph.StateGraph().compile()`."""
        match node:
            case ast.Name(id=name):
                return self._origins.get(name, name)
            case ast.Attribute(value=value, attr=attr):
                return f"{self._origin(value)}.{attr}"
            case ast.Call(func=func):
                called = f"{self._origin(func)}()"
                return self._origins.get(called, called)
            case ast.Await(value=value) | ast.Subscript(value=value):  # `Agent[Context](...)`
                return self._origin(value)
        return ""

    def _classify(self, name: str, line: int) -> None:
        origin = self._origins[name]
        last = origin.rpartition(".")[2].removesuffix("()")
        if is_graph(origin):
            self.source.graphs[name] = line
        elif origin.endswith("()") and (last in APPS or last in AG_UI or last in A2A):
            self.source.apps[name] = line
            if last not in APPS:
                self.source.protocols[name] = "ag-ui" if last in AG_UI else "a2a"
        elif origin.endswith("()") and "." in origin:
            self.source.imported[name] = origin, line

    def _read_function(self, function: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        arguments = function.args
        parameters = [*arguments.posonlyargs, *arguments.args]
        needed = parameters[: len(parameters) - len(arguments.defaults)]
        origin = self._origins.get(f"{function.name}()", "")
        if origin and {node.arg for node in needed} <= {"context", "config"}:
            category = self.source.graphs if is_graph(origin) else self.source.apps
            if not category:
                category[function.name] = function.lineno
            return
        if any(
            "langgraph" in self._origin(node) and "entrypoint" in self._origin(node) for node in _decorators(function)
        ):
            self.source.graphs[function.name] = function.lineno
            return
        if _answers(function):
            self.source.answers[function.name] = function.lineno

    def _read_methods(self, tree: ast.Module) -> None:
        """Methods that answer, of objects that the file makes of its own classes."""
        classes = {node.name: node for node in _top(tree.body) if isinstance(node, ast.ClassDef)}
        for node in _top(tree.body):
            for name, value in _assignments(node):
                class_node = (
                    classes.get(self._origin(value).removesuffix("()")) if isinstance(value, ast.Call) else None
                )
                for method in class_node.body if class_node else ():
                    if isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef) and _answers(method, is_method=True):
                        self.source.answers[f"{name}.{method.name}"] = method.lineno

    def _read_call(self, call: ast.Call) -> None:
        last = self._origin(call.func).rpartition(".")[2]
        port = _keyword(call, "port")
        if last == "run" and type(port) is int:
            self.source.port = port
        if last == "include_router" and call.args:
            self.source.prefixes[self._origin(call.args[0])] = _text(call, "prefix")
        if last in ("Route", "add_api_route", "add_route"):
            router = self._origin(call.func.value) if isinstance(call.func, ast.Attribute) else ""
            self._add_route(call, router, needs_method=True)

    def _read_route(self, decorator: ast.expr) -> None:
        if not isinstance(decorator, ast.Call) or not isinstance(decorator.func, ast.Attribute):
            return
        method, router = decorator.func.attr, decorator.func.value
        if method in ("post", "route", "api_route") and isinstance(router, ast.Name):
            self._add_route(decorator, router.id, needs_method=method != "post")

    def _add_route(self, call: ast.Call, router: str, *, needs_method: bool) -> None:
        path = call.args[0].value if call.args and isinstance(call.args[0], ast.Constant) else _text(call, "path")
        methods = next((node.value for node in call.keywords if node.arg == "methods"), None)
        posts = isinstance(methods, ast.List | ast.Tuple | ast.Set) and any(
            isinstance(node, ast.Constant) and str(node.value).upper() == "POST" for node in methods.elts
        )
        if isinstance(path, str) and path.startswith("/") and "{" not in path and (posts or not needs_method):
            self.source.routes.append(Route(self._own_prefixes.get(router, "") + path, router))


def is_graph(origin: str) -> bool:
    """Whether a value that comes from there is a graph of LangGraph."""
    return origin.startswith(GRAPH_PACKAGES) and _MAKES_GRAPH.search(origin) is not None


def _top(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a module, those under an `if` or a `try` too."""
    for node in body:
        yield node
        for inner in ("body", "orelse", "finalbody"):
            if isinstance(node, ast.If | ast.Try | ast.With):
                yield from _top(getattr(node, inner, []))


def _own_nodes(function: ast.AST) -> Iterator[ast.AST]:
    """All within a function but for what is within functions of its own, which return values of their own."""
    for node in ast.iter_child_nodes(function):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield node
            yield from _own_nodes(node)


def _assignments(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    match node:
        case ast.Assign(targets=targets, value=value):
            yield from ((target.id, value) for target in targets if isinstance(target, ast.Name))
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
            yield name, value


def _decorators(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.expr]:
    return [decorator.func if isinstance(decorator, ast.Call) else decorator for decorator in function.decorator_list]


def _answers(function: ast.FunctionDef | ast.AsyncFunctionDef, *, is_method: bool = False) -> bool:
    """Whether a function takes a prompt, needs nothing that Carob does not have, and gives an answer."""
    arguments = function.args
    parameters = [*arguments.posonlyargs, *arguments.args]
    needed = parameters[is_method : len(parameters) - len(arguments.defaults)]
    words = set(function.name.lower().split("_"))
    if function.name.startswith("_") or function.decorator_list or not words & ANSWERING or not needed:
        return False
    kwonly = [
        parameter for parameter, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if not default
    ]
    further = {parameter.arg for parameter in (*needed[1:], *kwonly)}
    hint = needed[0].annotation
    is_text = hint is None or (isinstance(hint, ast.Name) and hint.id == "str")
    return needed[0].arg in PROMPT_NAMES and is_text and further <= GIVEN and not _gives_nothing(function)


def _gives_nothing(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a function is known not to return an answer."""
    hint = function.returns
    if isinstance(hint, ast.Constant | ast.Name):
        return (hint.value if isinstance(hint, ast.Constant) else hint.id) in (None, "None", "bool", "int", "float")
    return not any(isinstance(node, ast.Return) and node.value is not None for node in ast.walk(function))


def _keyword(call: ast.Call, name: str) -> object:
    """The value of a keyword, if it is a constant."""
    value = next((keyword.value for keyword in call.keywords if keyword.arg == name), None)
    return value.value if isinstance(value, ast.Constant) else None


def _text(call: ast.Call, name: str) -> str:
    value = _keyword(call, name)
    return value.rstrip("/") if isinstance(value, str) else ""
