"""Agents of frameworks as targets: by their names, or through a small file that makes them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from carob.features.setup.survey.findings import Bridge, FoundAgent
from carob.features.setup.survey.python_agents import MadeAgent, Need
from carob.features.setup.survey.python_source import PROMPT_NAMES, PythonSource
from carob.features.setup.survey.ranking import AgentCandidate, sort_candidates
from carob.targets.catalog import find_kind

BRIDGE = "carob_agent.py"
HOOKS = "carob_hooks.py"
PROMPTS = PROMPT_NAMES | {"task", "user_msg", "topic"}
_OPTIONAL = re.compile(r"\bNone\b|\bOptional\[")
_NAME = re.compile(r"[A-Za-z_]\w*")
_MAKER = '''\
"""Carob asks the agent that `make_agent` makes, a new one for each conversation."""

{imports}

{define} make_agent():
{gaps}    return {made}
'''
_ANSWER = '''\
"""Carob asks the agent through `answer`."""

{imports}

{define} answer(prompt):
{gaps}    return {made}
'''
_SETUP = '''\
"""Carob calls `setup` before each case: what it returns is what the agent needs besides the prompt."""

{imports}


def setup():
{gaps}    return {made}
'''


class Filled(NamedTuple):
    """A call, what has to be imported for it, and what is to be filled in."""

    text: str
    imports: tuple[str, ...] = ()
    gaps: tuple[str, ...] = ()


def find_framework_agents(sources: Sequence[PythonSource]) -> Iterator[FoundAgent]:
    """The agents that Carob can ask in this process, the one that answers users first."""
    made = [(source, each) for source in sources for each in source.agents.made if is_framework(each, sources)]
    parts = {name for source in sources for name in source.agents.parts}
    remembered = {name for source in sources for name in source.agents.remembered}
    routed = {name: path for source in sources for name, path in source.agents.routed.items()}
    found: dict[tuple[str, str], FoundAgent] = {}
    candidates: list[AgentCandidate] = []
    for source, each in made:
        agent = _target(source, each, sources)
        name = each.name.removeprefix("self.") or each.function
        key = (f"{source.path}:{each.line}", name)
        if agent is None or key in found:
            continue
        found[key] = agent
        names = {name, each.function, each.owner} - {""}
        route = next((routed[each] for each in names if each in routed), "")
        candidates.append(
            AgentCandidate(
                source.path,
                each.line,
                name,
                each.text,
                bool(names & parts) or _is_used(source, made),
                bool(names & remembered),
                route,
            )
        )
    for candidate, why in sort_candidates(candidates):
        agent = found[candidate.place, candidate.name]
        yield agent._replace(what=f"{agent.what} {candidate.name}{why}")


def _is_used(source: PythonSource, made: Sequence[tuple[PythonSource, MadeAgent]]) -> bool:
    """Whether another file that makes agents imports this one."""
    last = source.module.rpartition(".")[2]
    origins = (origin for other, _ in made if other is not source for origin in other.names.values())
    return any(last in origin.split(".")[:-1] for origin in origins)


def is_framework(made: MadeAgent, sources: Sequence[PythonSource]) -> bool:
    """Whether its package is not a package of the project itself, as `agents` may be."""
    package = made.origin.partition(".")[0]
    return not any(source.module.split(".")[0] == package for source in sources)


def _target(source: PythonSource, made: MadeAgent, sources: Sequence[PythonSource]) -> FoundAgent | None:
    """The target of an agent; None if nothing reaches it, or no target takes it."""
    kind, where = made.kind, f"{source.path}:{made.line}"
    if not kind or find_kind(kind) is None:
        return None
    options, hook = _dependencies(source, made, sources)
    name = (made.name.removeprefix("self.") or made.function).strip("_") or "agent"
    what = f"{kind} agent"
    is_builder = made.origin.endswith(".build()")
    if not made.function and not is_builder:
        return FoundAgent(f"{kind}:{source.path}:{made.name}", what, where, name, options=options, bridge=hook)
    is_plain = made.is_returned and not made.owner and not {need.name for need in made.needs} - {"context"}
    if is_plain and not is_builder:
        return FoundAgent(f"{kind}:{source.path}:{made.function}", what, where, name, options=options, bridge=hook)
    bridge, is_maker = _bridge(source, made, sources, is_builder=is_builder)
    if bridge is None:
        return None
    use = f"{kind}:{BRIDGE}:make_agent" if is_maker else f"python:{BRIDGE}:answer"
    return FoundAgent(use, what, where, name, bridge=bridge)


def _bridge(
    source: PythonSource, made: MadeAgent, sources: Sequence[PythonSource], *, is_builder: bool
) -> tuple[Bridge | None, bool]:
    """The file that reaches an agent, and whether it makes the agent, or asks it."""
    of_object = made.name.startswith("self.")
    is_maker = of_object or made.is_returned or is_builder
    if not is_maker and not made.gives:
        return None, False
    entry = made.owner or made.function or made.name
    needs = made.owner_needs if made.owner else made.needs
    filled = _call(entry, needs, source, sources, asks=not (is_maker or made.owner))
    if not made.function:
        filled = Filled(entry)
    elif made.owner and not of_object:
        method = _call(made.function, made.needs, source, sources, asks=not is_maker)
        filled = Filled(
            f"{filled.text}.{method.text}", (*filled.imports, *method.imports), (*filled.gaps, *method.gaps)
        )
    text = f"{filled.text}.{made.name.removeprefix('self.')}" if of_object else filled.text
    text = f"await {text}" if made.is_async and not of_object else text
    text = f"{text}.as_agent()" if is_builder else text
    template = _MAKER if is_maker else _ANSWER
    define = "async def" if text.startswith("await") else "def"
    imports = (f"from {source.module} import {entry}", *filled.imports)
    written = template.format(imports=_join(imports), define=define, gaps=_raise(filled.gaps, BRIDGE), made=text)
    return Bridge(BRIDGE, written, _gap(filled.gaps, BRIDGE)), is_maker


def _dependencies(
    source: PythonSource, made: MadeAgent, sources: Sequence[PythonSource]
) -> tuple[dict[str, object], Bridge | None]:
    """The hook that gives an agent what it needs besides the prompt."""
    owner = next((each for each in _likely(source, sources) if made.dependencies in each.agents.classes), None)
    if not made.dependencies or owner is None:
        return {}, None
    filled = _call(made.dependencies, owner.agents.classes[made.dependencies], owner, sources)
    imports = (f"from {owner.module} import {made.dependencies}", *filled.imports)
    text = _SETUP.format(imports=_join(imports), gaps=_raise(filled.gaps, HOOKS), made=filled.text)
    return {"setup": f"{HOOKS.removesuffix('.py')}:setup"}, Bridge(HOOKS, text, _gap(filled.gaps, HOOKS))


def _likely(source: PythonSource, sources: Sequence[PythonSource]) -> Iterator[PythonSource]:
    yield source
    yield from (other for other in sources if other is not source)


def _call(
    name: str, needs: Sequence[Need], source: PythonSource, sources: Sequence[PythonSource], *, asks: bool = False
) -> Filled:
    """A call with a value for each parameter: the prompt where it asks, or an object of a class that needs nothing."""
    values, imports, gaps = [], [], []
    for need in needs:
        hint = need.hint.strip("\"'")
        origin = _origin(hint, source, sources)
        value = "prompt" if asks and need.name in PROMPTS else "None" if _OPTIONAL.search(hint) else ""
        module, _, last = hint.rpartition(".")
        if not value and source.names.get(module) == module and _NAME.fullmatch(last):
            value = f"{hint}()"
            imports.append(f"import {module}")
        elif not value and _NAME.fullmatch(hint) and "." in origin and not _needs_values(hint, sources):
            value = f"{hint}()"
            imports.append(f"from {origin.rpartition('.')[0]} import {hint}")
        if not value:
            gaps.append(f"{need.name}{f' ({hint})' if hint else ''}")
        values.append(f"{need.name}={value or '...'}")
    return Filled(f"{name}({', '.join(values)})", tuple(imports), tuple(gaps))


def _origin(name: str, source: PythonSource, sources: Sequence[PythonSource]) -> str:
    """Where a class comes from: a file of the project that has it, or what this file imports it from."""
    owner = next((each for each in _likely(source, sources) if name in each.agents.classes), None)
    return f"{owner.module}.{name}" if owner is not None else source.names.get(name, "")


def _needs_values(name: str, sources: Sequence[PythonSource]) -> bool:
    """Whether a class of the project is made with something."""
    return any(source.agents.classes.get(name) for source in sources)


def _join(imports: Sequence[str]) -> str:
    return "\n".join(dict.fromkeys(imports))


def _gap(gaps: Sequence[str], path: str) -> tuple[str, ...]:
    """What the user is to do, where anything is missing."""
    return (f"fill in {', '.join(gaps)} in {path}",) if gaps else ()


def _raise(gaps: Sequence[str], path: str) -> str:
    """The line that says what is to be filled in, until it is."""
    return "".join(f"    raise NotImplementedError({f'{gap}, and remove this line'!r})\n" for gap in _gap(gaps, path))
