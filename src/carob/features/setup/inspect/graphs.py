"""`carob init --inspect langgraph:module:graph`: what a graph takes and gives, its tools, and a first record."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import AsyncExitStack
from types import NoneType, UnionType
from typing import Union, get_args, get_origin, get_type_hints

from msgspec import structs

from carob.errors import ConfigError
from carob.features.langgraph.loading import environment, pregel, source, tools_of
from carob.features.langgraph.shapes import MESSAGES, PROMPT, fields_of, input_type, needed_context
from carob.features.langgraph.target import NO_STORE
from carob.features.setup.inspect.inspection import Inspection, Observation, describe_trace, lacks_model, prove_target
from carob.model.trace import Trace
from carob.targets.base import TargetError
from carob.targets.config import TargetConfig
from carob.text.wording import pluralize

ASKED = ("question", "query", "user_input", "input", "prompt", "request", "message", "text", "topic", "task")
ANSWERED = ("answer", "output", "response", "reply", "result", "final", "summary", "report", "generation", "text")
INVENTED = "test"
"""The value for a field that a graph needs besides the prompt."""
EMPTY: dict[str, object] = {"int": 0, "float": 0.0, "bool": False, "list": [], "table": {}}
"""Values of other kinds for a field of its context."""
WHOLE = "$"
DEEPEST = 4
NO_TEXT = "its state has neither `messages` nor a field of text for the prompt: set `input` and `output`"
EACH = "it is made for each case, so it is not known in advance"


async def inspect_graph(config: TargetConfig, prompt: str) -> Inspection:
    """Load the graph, see what it takes and gives, and send it a prompt."""
    graph = await _load_graph(config)
    trace, problem = None, NO_TEXT
    options: dict[str, object] = dict(config.options)
    if "context" not in options and config.setup is None and (needed := needed_context(graph)):
        kinds = _fields(graph, "context")
        options["context"] = {name: EMPTY.get(kinds.get(name, ""), INVENTED) for name in needed}
    remaining = list(_candidates(graph, options))
    while remaining and trace is None:
        candidate = remaining.pop(0)
        try:
            options, trace = await _try_options(config, candidate, prompt)
        except (TargetError, ConfigError) as error:
            problem = error.message
            if lacks_model(problem):
                break
            remaining += _with_what_is_missing(candidate) if NO_STORE in problem else ()
    recorded = [Observation("a first prompt records", _describe_recorded(trace))] if trace is not None else []
    table: dict[str, object] = {"use": config.use}
    if options:
        table["options"] = options
    return Inspection(config.name, table, (*_sightings(graph), *recorded), trace, problem)


def _with_what_is_missing(tried: dict[str, object]) -> list[dict[str, object]]:
    """The options with what the place where a graph runs gives it: a context, a store, or both."""
    more: list[dict[str, object]] = [{"context": {}}, {"store": "memory"}, {"store": "memory", "context": {}}]
    return [tried | each for each in more] if not {"context", "store"} & tried.keys() else []


async def _load_graph(config: TargetConfig) -> object:
    """The graph, as far as there is one before a case."""
    async with AsyncExitStack() as stack:
        stack.enter_context(environment(config.spec, config.root, config.env))
        graph_source = source(config.spec, config.root, config.import_path)
        return None if graph_source.each else pregel(await graph_source.graph(stack))


async def _try_options(
    config: TargetConfig, options: dict[str, object], prompt: str
) -> tuple[dict[str, object], Trace]:
    """The trace of a turn with these options; one that gave all of its state shows where the answer is."""
    trace = await prove_target(structs.replace(config, options=options), prompt)
    if options.get("output") != WHOLE:
        return options, trace
    options = options | {"output": _answer_path(trace.state, options.get("input"))}
    return options, await prove_target(structs.replace(config, options=options), prompt)


def _candidates(graph: object, options: dict[str, object]) -> Iterator[dict[str, object]]:
    """Options to try: those given alone, then with an input of the graph's own fields, and all that it gives read."""
    takes_fields = fields_of(graph, "input") if graph is not None else frozenset()
    gives = fields_of(graph, "output") if graph is not None else frozenset()
    speaks = not takes_fields or MESSAGES in takes_fields
    if speaks or ("input" in options and "output" in options):
        yield options
    outputs: dict[str, object] = {} if "output" in options else {"output": WHOLE}
    if speaks or "input" in options:
        yield options | outputs
        return
    takes = _fields(graph, "input")
    texts = [name for name, kind in takes.items() if kind == "text"]
    for name in sorted(texts, key=_rank(ASKED)):
        others: dict[str, object] = {other: INVENTED for other in texts if other != name}
        for input_state in [{name: PROMPT}, {name: PROMPT, **others}][: 2 if others else 1]:
            if MESSAGES in gives or not gives:  # the answer may be the last message, or all that it gives
                yield options | {"input": input_state}
            yield options | outputs | {"input": input_state}


def _answer_path(state: Mapping[str, object], input_state: object) -> str:
    """Where in the state the answer most likely is: words that were not given to it."""
    input_keys = set(input_state) if isinstance(input_state, dict) else set()
    paths = [path for path in _texts(state) if path[0] not in input_keys]
    if not paths:
        raise TargetError("bad-answer", f"no answer found in the state of the graph (it has: {', '.join(state)})")
    best = min(paths, key=lambda path: min(map(_rank(ANSWERED), path)))
    return "$" + "".join(f".{part}" if part.isidentifier() else f"[{json.dumps(part)}]" for part in best)


def _texts(value: object, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The ways to all words in a state."""
    if isinstance(value, str) and value.strip() and path:
        yield path
    elif isinstance(value, dict) and len(path) < DEEPEST:
        for name, inner in value.items():
            yield from _texts(inner, (*path, name))


def _rank(names: tuple[str, ...]) -> Callable[[str], int]:
    """By how early one of these words is in a name; other names come last, as they came."""
    return lambda name: next((place for place, word in enumerate(names) if word in name.lower()), len(names))


def _fields(graph: object, which: str) -> dict[str, str]:
    """The fields of a schema of the graph, with what they hold."""
    schema = getattr(getattr(graph, "builder", graph), f"{which}_schema", None)
    if which == "input" and not hasattr(graph, "builder") and fields_of(graph, "input"):
        schema = input_type(graph)
    try:
        hints = get_type_hints(schema) if schema is not None else {}
    except (NameError, TypeError):  # types that are not there at run time, or an entrypoint that takes no table
        return {}
    return {name: _kind(hint) for name, hint in hints.items()}


def _kind(hint: object) -> str:
    """What a field holds, as people say it."""
    if get_origin(hint) in (UnionType, Union):
        hint = next((part for part in get_args(hint) if part is not NoneType), hint)
    kind = get_origin(hint) or hint
    names: dict[object, str] = {str: "text", list: "list", dict: "table"}
    return names.get(kind, getattr(kind, "__name__", str(kind)))


def _sightings(graph: object) -> Iterator[Observation]:
    if graph is None:
        yield Observation("graph", (EACH,))
        return
    for which in ("input", "output", "context"):
        fields = _fields(graph, which)
        if fields or which != "context":
            yield Observation(
                which, tuple(f"{name}: {kind}" for name, kind in fields.items()) or ("no fields are declared",)
            )
    nodes = [name for name in getattr(graph, "nodes", ()) if not name.startswith("__")]
    yield Observation("nodes", (f"{pluralize(len(nodes), 'node')}: {', '.join(nodes)}",))
    tools = tools_of(graph)
    yield Observation("tools", tuple(sorted(tools)) if tools else ("none in tool nodes: any node may call anything",))
    saver = getattr(graph, "checkpointer", None)
    none = "none: earlier prompts are sent again, and interrupts cannot be answered"
    yield Observation("checkpointer", (none if saver in (None, False) else type(saver).__name__,))


def _describe_recorded(trace: Trace) -> tuple[str, ...]:
    state = (f"state: {', '.join(trace.state)}",) if trace.state else ()
    spent = (f"{trace.tokens.input} tokens in, {trace.tokens.output} out",) if trace.tokens else ()
    return (*describe_trace(trace), *state, *spent)
