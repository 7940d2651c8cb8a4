"""What a Python file says of agents of frameworks: where each is made, what it needs, and what calls it."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
KINDS = {
    "agents": "openai-agents",
    "pydantic_ai": "pydantic-ai",
    "google.adk": "adk",
    "crewai": "crewai",
    "llama_index": "llama-index",
    "workflows": "llama-index",
    "smolagents": "smolagents",
    "agno": "agno",
    "strands": "strands",
    "agent_framework": "agent-framework",
    "autogen_agentchat": "autogen",
    "dspy": "dspy",
    "haystack": "haystack",
    "langchain.agents": "langchain",
    "semantic_kernel": "",
}
"""The packages of frameworks, each with the kind of target that takes its agents; empty where there is none."""
_CLASS = r"(?:\w*Agent|Crew|Team|Swarm|\w*GroupChat|\w*Workflow|AgentExecutor|dspy\.\w+|multiagent\.\w+)"
_MADE = re.compile(
    rf"\.{_CLASS}(?:\.(?:from_\w+|create\w*))?\(\)$|\.(?:as_agent|create_agent)\(\)$|\.\w*Builder\(\).*\.build\(\)$"
)
_DSPY = re.compile(r"^dspy\.(?:Module|Predict|ChainOfThought|ReAct|ProgramOfThought|CodeAct|\w*Agent)\(\)$")
_BASE = re.compile(r"(?:Agent|Workflow|Module|Crew|Team)$")
_DEPENDENCIES = ("deps_type", "context_type")
_PARTS = frozenset(
    {
        "handoffs",
        "sub_agents",
        "agents",
        "tools",
        "members",
        "participants",
        "managed_agents",
        "nodes",
        "start_executor",
    }
)
_RUNS = frozenset(
    {
        "run",
        "run_sync",
        "run_stream",
        "run_streamed",
        "iter",
        "arun",
        "kickoff",
        "invoke",
        "stream",
        "stream_async",
        "run_async",
        "ask",
    }
)
_HISTORY = frozenset(
    {"message_history", "history", "session", "chat_history", "thread", "ctx", "context", "session_id", "memory"}
)


class Need(NamedTuple):
    """A parameter without a default, with its type as it is written."""

    name: str
    hint: str = ""


@dataclass
class MadeAgent:
    """An agent that a file makes: at its top, by a function, by a method, or within one."""

    kind: str
    origin: str
    line: int
    name: str = ""
    """The variable or the attribute that holds it."""
    function: str = ""
    """What returns it, or what it is within."""
    owner: str = ""
    """The class that the function is a method of."""
    needs: tuple[Need, ...] = ()
    owner_needs: tuple[Need, ...] = ()
    is_async: bool = False
    is_returned: bool = False
    gives: bool = False
    """Whether what it is made within gives anything back."""
    dependencies: str = ""
    """The class of what it needs besides a prompt."""
    text: str = ""


@dataclass
class AgentFacts:
    """What a file says of agents."""

    made: list[MadeAgent] = field(default_factory=list)
    parts: set[str] = field(default_factory=set)
    """Names that another agent hands over to, or has as tools."""
    remembered: set[str] = field(default_factory=set)
    """Names that are called with what was said before."""
    routed: dict[str, str] = field(default_factory=dict)
    """Names that a route calls, with its path."""
    classes: dict[str, tuple[Need, ...]] = field(default_factory=dict)
    """What each class needs to be made."""


def find_facts(tree: ast.Module, origin: Callable[[ast.expr], str], origins: dict[str, str]) -> AgentFacts:
    """Read a file whose names come from `origins`."""
    facts = AgentFacts()
    for made in (node for node in tree.body if isinstance(node, ast.ClassDef)):
        bases = (name for name in map(origin, made.bases) if kind_of(name) is not None and _BASE.search(name))
        if base := next(bases, ""):
            origins[made.name] = base
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            facts.classes[node.name] = _fields(node)
    _read_body(tree.body, facts, origin)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            _read_use(node, facts)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and (route := _route_of(node)):
            called = {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}
            facts.routed |= dict.fromkeys(called, route)
    return facts


def kind_of(origin: str) -> str | None:
    """The kind of target for what comes from a package; None if it is of no framework."""
    return next((kind for package, kind in KINDS.items() if f"{origin}.".startswith(f"{package}.")), None)


def is_agent(origin: str) -> bool:
    if origin.startswith("dspy."):
        return _DSPY.match(origin) is not None
    return kind_of(origin) is not None and _MADE.search(origin) is not None


def _read_body(
    body: list[ast.stmt], facts: AgentFacts, origin: Callable[[ast.expr], str], owner: ast.ClassDef | None = None
) -> None:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            facts.made += _agents_within(node, owner, facts, origin)
        elif isinstance(node, ast.ClassDef):
            _read_body(node.body, facts, origin, node)
        elif isinstance(node, ast.If | ast.Try | ast.With):
            _read_body([*node.body, *getattr(node, "orelse", [])], facts, origin, owner)
        elif owner is None and (found := _read_assignment(node)) and is_agent(origin(found[1])):
            facts.made.append(_read_agent(found[1], origin, name=found[0]))


def _read_agent(value: ast.expr, origin: Callable[[ast.expr], str], name: str = "") -> MadeAgent:
    where = origin(value)
    call = value.value if isinstance(value, ast.Await) else value
    keywords = call.keywords if isinstance(call, ast.Call) else []
    wanted = [keyword.value for keyword in keywords if keyword.arg in _DEPENDENCIES]
    subscript = call.func if isinstance(call, ast.Call) else None
    if isinstance(subscript, ast.Subscript):
        wanted.append(subscript.slice.elts[0] if isinstance(subscript.slice, ast.Tuple) else subscript.slice)
    dependencies = next((each.id for each in wanted if isinstance(each, ast.Name)), "")
    return MadeAgent(
        kind_of(where) or "", where, value.lineno, name, dependencies=dependencies, text=ast.unparse(call)[:2000]
    )


def _agents_within(
    function: Function, owner: ast.ClassDef | None, facts: AgentFacts, origin: Callable[[ast.expr], str]
) -> Iterator[MadeAgent]:
    """The agents that a function makes: what it returns, what it sets on its object, what it keeps for itself."""
    own = [node for node in ast.walk(function) if isinstance(node, ast.stmt)]
    returned = [node.value for node in own if isinstance(node, ast.Return) and node.value is not None]
    names = {value.id for value in returned if isinstance(value, ast.Name)}
    found: list[MadeAgent] = []
    for node in own:
        if isinstance(node, ast.Return) and node.value is not None and is_agent(origin(node.value)):
            found.append(_read_agent(node.value, origin))
            found[-1].is_returned = True
        elif (assigned := _read_assignment(node)) and is_agent(origin(assigned[1])):
            made = _read_agent(assigned[1], origin, assigned[0])
            made.is_returned = assigned[0] in names
            found.append(made)
    for made in found:
        made.function, made.owner = function.name, owner.name if owner else ""
        made.needs = _needs(function, is_method=owner is not None)
        made.owner_needs = facts.classes.get(made.owner, ())
        made.is_async = isinstance(function, ast.AsyncFunctionDef)
        made.gives = bool(returned)
    yield from found


def _read_assignment(node: ast.stmt) -> tuple[str, ast.expr] | None:
    """The name and the value of an assignment, to a variable or to an attribute of `self`."""
    match node:
        case (
            ast.Assign(targets=[ast.Name(id=name)], value=value)
            | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
        ):
            return name, value
        case ast.Assign(targets=[ast.Attribute(value=ast.Name(id="self"), attr=name)], value=value):
            return f"self.{name}", value
    return None


def _needs(function: Function, *, is_method: bool) -> tuple[Need, ...]:
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    is_static = any(isinstance(each, ast.Name) and each.id == "staticmethod" for each in function.decorator_list)
    needed = positional[is_method and not is_static : len(positional) - len(arguments.defaults)]
    further = [
        each for each, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if default is None
    ]
    return tuple(
        Need(each.arg, ast.unparse(each.annotation) if each.annotation else "") for each in (*needed, *further)
    )


def _fields(node: ast.ClassDef) -> tuple[Need, ...]:
    """What a class is made with: the parameters of its `__init__`, or its fields without a value."""
    for inner in node.body:
        if isinstance(inner, ast.FunctionDef) and inner.name == "__init__":
            return _needs(inner, is_method=True)
    declared = (inner for inner in node.body if isinstance(inner, ast.AnnAssign) and inner.value is None)
    return tuple(
        Need(each.target.id, ast.unparse(each.annotation)) for each in declared if isinstance(each.target, ast.Name)
    )


def _read_use(call: ast.Call, facts: AgentFacts) -> None:
    for keyword in call.keywords:
        if keyword.arg in _PARTS:
            facts.parts |= {node.id for node in ast.walk(keyword.value) if isinstance(node, ast.Name)}
    if not isinstance(call.func, ast.Attribute):
        return
    subject = call.func.value.id if isinstance(call.func.value, ast.Name) else ""
    if call.func.attr == "as_tool":
        facts.parts.add(subject)
    if call.func.attr in _RUNS:
        given = {keyword.arg for keyword in call.keywords}
        first = call.args[0].id if call.args and isinstance(call.args[0], ast.Name) else ""
        listed = len(call.args) > 1 and not isinstance(call.args[1], ast.Constant | ast.JoinedStr)
        facts.remembered |= {subject} if given & _HISTORY else {first} if subject == "Runner" and listed else set()


def _route_of(function: Function) -> str:
    for decorator in function.decorator_list:
        if isinstance(decorator, ast.Call) and isinstance(decorator.func, ast.Attribute) and decorator.args:
            first = decorator.args[0]
            if decorator.func.attr in ("post", "route", "api_route", "websocket") and isinstance(first, ast.Constant):
                return f"POST {first.value!s}"
    return ""
