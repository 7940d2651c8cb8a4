"""Trajectories for agentevals: reference messages, and how an agent's own are compared with them.

agentevals has functions and no file format: this reads what its callers keep in files. A file is a list of examples,
one a line or one alone, or an object with `examples` and the arguments of `create_trajectory_match_evaluator` for all
of them. An example has `reference_outputs` (messages of OpenAI or LangChain, or an object with `messages`); a LangSmith
example has them as `outputs`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Required, TypedDict

from carob.suites.diagnostics import Document, Path, RefusedError
from carob.suites.documents.json import JsonLinesDocument
from carob.suites.formats.base import Format, ParsedSuite, SuiteCatalog, SuiteFile
from carob.suites.formats.builder import SuiteBuilder
from carob.suites.shapes.foreign import decode_json
from carob.text.wording import did_you_mean, join_words, quoted

MODES = {"strict": "ordered", "unordered": "any_order", "subset": "subset", "superset": "superset"}
ARGUMENTS = ("exact", "ignore", "subset", "superset")
_MODE, _ARGUMENTS, _OVERRIDES = "trajectory_match_mode", "tool_args_match_mode", "tool_args_match_overrides"
_HOW = (_MODE, _ARGUMENTS, _OVERRIDES)
_EXAMPLE = ("id", "name", "inputs", "outputs", "reference_outputs", "metadata", *_HOW)
_ROLES = {"human": "user", "ai": "assistant", "HumanMessage": "user", "AIMessage": "assistant"}


class _Function(TypedDict, total=False):
    name: Required[str]
    arguments: Required[str | dict[str, Any]]


class _FunctionCall(TypedDict):
    function: _Function


class _PlainCall(TypedDict, total=False):
    name: Required[str]
    args: dict[str, Any]
    arguments: str | dict[str, Any]


class _Message(TypedDict, total=False):
    content: str | list[str | dict[str, Any]]
    tool_calls: list[_FunctionCall | _PlainCall]


class _Modes(TypedDict, total=False):
    trajectory_match_mode: str
    tool_args_match_mode: str
    tool_args_match_overrides: dict[str, str | list[str]]


class _Example(_Modes, total=False):
    id: str | int
    name: str
    reference_outputs: list[Any] | dict[str, Any]
    outputs: list[Any] | dict[str, Any]


class _Examples(_Modes):
    examples: list[_Example]


class AgentEvals(Format):
    """Reference trajectories, compared call by call."""

    name = "agentevals"
    title = "agentevals trajectories"
    description = "examples with 'reference_outputs', or LangSmith examples whose 'outputs' are messages (agentevals)"

    def recognizes(self, file: SuiteFile) -> bool:
        rows, _, _ = _rows(file)
        first = next(iter(rows), None)
        return isinstance(first, dict) and _messages(_reference(first)) is not None

    def read(self, file: SuiteFile, catalog: SuiteCatalog) -> ParsedSuite:
        rows, at, document = _rows(file)
        if document and document.diagnostics:
            raise RefusedError(*document.diagnostics)
        declared = list[_Example] if document else _Examples if at else list[_Example] | _Example
        suite = SuiteBuilder(file, catalog, document)
        suite.require(document.tree if document else file.tree, declared)
        how: Mapping[str, Any] = {}
        if isinstance(file_tree := None if document else file.tree, dict) and at:
            suite.refuse_unknown_keys(file_tree, (*_HOW, "examples", "name"), ())
            how = {key: file_tree[key] for key in _HOW if key in file_tree}
        for index, row in enumerate(rows):
            _add_case(suite, row, index, (*at, index) if len(rows) > 1 or at or document else (), how)
        return suite.build()


def _rows(file: SuiteFile) -> tuple[Sequence[Any], Path, Document | None]:
    if file.name.endswith(".jsonl"):
        document = JsonLinesDocument(file.data)
        return document.rows, (), document
    tree = file.tree
    if isinstance(tree, dict):
        return (
            (tree["examples"], ("examples",), None)
            if isinstance(tree.get("examples"), Sequence)
            else ([tree], (), None)
        )
    return tree if isinstance(tree, Sequence) and not isinstance(tree, str) else [], (), None


def _reference(example: Mapping[str, Any]) -> Any:
    return example.get("reference_outputs", example.get("outputs") if "inputs" in example else None)


def _messages(value: Any) -> list[Mapping[str, Any]] | None:
    """The messages of a trajectory, or None if it is not one."""
    listed = value.get("messages") if isinstance(value, dict) else value
    if not isinstance(listed, list) or not listed:
        return None
    plain = [_fields(message) | {"role": _role(message)} if isinstance(message, dict) else None for message in listed]
    return [message for message in plain if message] if all(message and message["role"] for message in plain) else None


def _fields(message: dict[str, Any]) -> dict[str, Any]:
    """What a message holds; LangChain writes it one level further down."""
    inner = message.get("kwargs")
    return inner if isinstance(inner, dict) else message


def _role(message: Mapping[str, Any]) -> str:
    name_given = message.get("role") or message.get("type") or ""
    place = message.get("id")
    name = place[-1] if "lc" in message and isinstance(place, list) and place else name_given
    return _ROLES.get(str(name), "tool" if name == "ToolMessage" else str(name))


def _add_case(suite: SuiteBuilder, row: Any, index: int, path: Path, how: Mapping[str, Any]) -> None:
    messages = _messages(_reference(row))
    if messages is None:
        suite.problem(path, "an example is an object with 'reference_outputs', a list of messages.", "wrong-type")
        return
    suite.refuse_unknown_keys(row, _EXAMPLE, path)
    reference_path = (*path, "reference_outputs" if "reference_outputs" in row else "outputs")
    suite.require(messages, list[_Message], reference_path)
    fields = _read_expected({**how, **row}, messages, path, reference_path, suite)
    prompts = [_words(message) for message in messages if message["role"] == "user"] or [_input(row)]
    name = str(row.get("id") or row.get("name") or f"trajectory-{index + 1}")
    case = suite.case(name, prompts[0], path)
    case.expect({"outcome": "completed", "trajectory": fields}, path, {"trajectory": reference_path})
    for prompt in prompts if len(prompts) > 1 else ():
        case.turn(prompt, path)


def _read_expected(
    how: Mapping[str, Any], messages: Sequence[Mapping[str, Any]], path: Path, reference_path: Path, suite: SuiteBuilder
) -> dict[str, Any]:
    mode, arguments = how.get(_MODE) or "strict", how.get(_ARGUMENTS) or "exact"
    for key, value, values in ((_MODE, mode, [*MODES]), (_ARGUMENTS, arguments, ARGUMENTS)):
        if value not in values:
            fix = did_you_mean(value, values) or f"Known: {join_words(values, 'and')}."
            suite.problem((*path, key), f"unknown mode {quoted(value)}. {fix}", "unknown-value")
    overrides = how.get(_OVERRIDES) or {}
    steps: list[Any] = []
    for number, message in enumerate(messages):
        calls = []
        for call in message.get("tool_calls") or ():
            name, args = _call(call)
            if not isinstance(args, dict):
                suite.problem(
                    (*reference_path, number), "a tool call has 'name' and 'args', or a 'function' with JSON arguments."
                )
                continue
            calls.append({"tool": name, **_arguments(args, overrides.get(name) or arguments, mode)})
        if calls:
            steps.append(calls if len(calls) > 1 else calls[0])
    return {"calls": steps, "match": MODES.get(mode, "ordered")}


def _call(call: Any) -> tuple[str, Any]:
    about = call.get("function", call) if isinstance(call, dict) else {}
    return str(about.get("name", "")), decode_json(about.get("arguments", about.get("args")), None)


def _arguments(args: Mapping[str, Any], how: Any, mode: str) -> dict[str, Any]:
    """What agentevals takes for the same arguments: it compares both ways for `unordered`, and turned for `subset`."""
    if isinstance(how, list):
        return {"arguments": members} if (members := _at_keys(args, how)) else {}
    if mode == "unordered" and how in ("subset", "superset"):
        how = "exact"
    if mode == "subset":
        how = {"subset": "superset", "superset": "subset"}.get(how, how)
    if how == "ignore":
        return {}
    if how == "superset":
        return {"arguments": {name: {"$eq": value} for name, value in args.items()}} if args else {}
    if how == "subset":
        optional = {name: {"$any": [{"$absent": True}, {"$eq": value}]} for name, value in args.items()}
        return {"arguments": {"$only": optional}}
    return {"arguments": {"$eq": dict(args)}}


def _at_keys(args: Mapping[str, Any], keys: Sequence[str]) -> dict[str, Any]:
    """The values at these keys alone, `a.b` for one within another."""
    members = [_at_key(args, str(key).split(".")) for key in keys]
    return members[0] if len(members) == 1 else {"$all": members} if members else {}


def _at_key(value_around: Any, parts: Sequence[str]) -> dict[str, Any]:
    """The value at a path; where the reference has none, there is none, whatever of the path is missing."""
    first, *more = parts
    value = value_around.get(first) if isinstance(value_around, dict) else None
    nothing = [{"$absent": True}, {"$eq": None}]
    if not more:
        return {first: {"$any": nothing} if value is None else {"$eq": value}}
    below = _at_key(value, more)
    inner: Any = value
    for part in more:
        inner = inner.get(part) if isinstance(inner, dict) else None
    return {first: {"$any": [*nothing, {"$not": {"$type": "object"}}, below]} if inner is None else below}


def _words(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return str(content or "")


def _input(row: Mapping[str, Any]) -> str:
    """The prompt where no message of the reference is one: `inputs`, or its only text."""
    inputs = row.get("inputs")
    if messages := _messages(inputs):
        return next((_words(message) for message in messages if message["role"] == "user"), "")
    if isinstance(inputs, dict) and len(inputs) == 1:
        inputs = next(iter(inputs.values()))
    return inputs if isinstance(inputs, str) else json.dumps(inputs, ensure_ascii=False) if inputs else "(no input)"
