"""The tools that an agent is offered, from whatever lists them: each by its name, with the schema of its arguments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from carob.errors import ConfigError
from carob.evidence.exports.reading import read_conversations
from carob.plugins.code import load_attribute
from carob.providers.base import table, tool_schemas
from carob.suites.diagnostics import RefusedError
from carob.suites.documents.source import utf8

FIX = (
    "Name a file with the answer to an MCP server's tools/list, with definitions of tools or an OpenAPI document, a "
    "recording, or Python: tools.py:TOOLS."
)
METHODS = ("get", "put", "post", "delete", "patch", "options", "head")
DEEPEST = 8
"""References of an OpenAPI document are followed so deep."""


def read_tools(source: str, root: Path) -> dict[str, object]:
    """The tools that a file lists, that a recording has calls of, or that a value in Python holds.

    Raises ConfigError where there are none. A schema that is not known is None.
    """
    file, _, value = source.rpartition(":")
    if value.isidentifier() and file and not Path(source).exists():
        tools = dict(_read_python(source, root))
    else:
        tools = dict(_read_definitions(Path(source))) or _read_recorded(source)
    if not tools:
        raise ConfigError("it lists no tools.", where=source, fix=FIX, slug="no-tools")
    return tools


def _read_python(source: str, root: Path) -> Iterator[tuple[str, object]]:
    from carob.targets.in_process.functions import find_tool

    value: Any = load_attribute(source, root, [root])
    if isinstance(value, Mapping):
        yield from ((str(name), None) for name in value)
        return
    for tool in value if isinstance(value, Iterable) else [value]:
        if isinstance(tool, Mapping):
            yield from tool_schemas(tool).items()
        else:
            yield (tool if isinstance(tool, str) else find_tool(tool).name), None


def _read_definitions(path: Path) -> Iterator[tuple[str, object]]:
    """What a file of definitions lists, alone or in an answer of an MCP server; nothing: it is something else."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"it cannot be read: {error.strerror}.", where=str(path), fix=FIX, slug="no-tools") from None
    try:
        tree: Any = _parse(data, path.suffix)
    except (RefusedError, ValueError, RecursionError):
        return
    if isinstance(tree, dict) and isinstance(tree.get("result"), dict):
        tree = tree["result"]
    if isinstance(tree, list) and all(isinstance(name, str) for name in tree):
        yield from ((name, None) for name in tree)
    elif isinstance(tree, dict) and "paths" in tree and not {"openapi", "swagger"}.isdisjoint(tree):
        yield from _read_operations(tree)
    elif not isinstance(tree, dict) or "tools" in tree:
        yield from tool_schemas(tree).items()


def _parse(data: bytes, suffix: str) -> object:
    if suffix in (".yaml", ".yml"):
        from carob.suites.documents.yaml import YamlDocument

        return YamlDocument(utf8(data)).tree
    return msgspec.json.decode(data)


def _read_operations(document: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    """Each operation of an OpenAPI document as a tool, by its id, or by its method and path."""
    for path, operations in table(document.get("paths")).items():
        shared = table(operations).get("parameters")
        for method in METHODS:
            operation = table(table(operations).get(method))
            if not operation:
                continue
            name = operation.get("operationId") or f"{method} {path}"
            yield str(name), _schema_of(operation, shared if isinstance(shared, list) else [], document)


def _schema_of(operation: Mapping[str, Any], shared: list[Any], document: Mapping[str, Any]) -> dict[str, Any]:
    """One schema of the parameters and the body."""
    body = _resolve(operation.get("requestBody"), document)
    contents = [table(one).get("schema") for one in table(body.get("content")).values()]
    schema = _resolve(contents[0], document) if contents else {}
    properties, required = dict(table(schema.get("properties"))), [*(schema.get("required") or ())]
    listed = operation.get("parameters")
    for entry in (*shared, *(listed if isinstance(listed, list) else ())):
        parameter = _resolve(entry, document)
        if isinstance(name := parameter.get("name"), str):
            kept = {key: parameter[key] for key in ("type", "enum", "minimum", "maximum") if key in parameter}
            properties[name] = parameter.get("schema") or kept
            required += [name] if parameter.get("required") is True else []
    named = {key: document[key] for key in ("components", "definitions") if key in document}
    return {"type": "object", "properties": properties, "required": required, **named}


def _resolve(value: object, document: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a reference names, or the value itself."""
    for _ in range(DEEPEST):
        reference = table(value).get("$ref")
        if not isinstance(reference, str) or not reference.startswith("#/"):
            break
        value = document
        for step in reference[2:].split("/"):
            value = table(value).get(step.replace("~1", "/").replace("~0", "~"))
    return table(value)


def _read_recorded(source: str) -> dict[str, object]:
    tools: dict[str, object] = {}
    for conversation in read_conversations([source]):
        trace = conversation.trace
        for turn in trace.turns or (trace,):
            tools |= turn.tool_schemas
            for call in (*turn.setup_calls, *turn.tool_calls):
                tools.setdefault(call.name, None)
    return tools
