"""The tools that a model or an agent was offered, as providers, protocols and spans write them → names and schemas."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from karat.evidence.tool_results import parse_result

SCHEMAS = (
    *("parameters", "input_schema", "inputSchema", "parametersJsonSchema", "parameters_json_schema"),
    *("args_schema", "json_schema"),
)
"""Where a definition has the JSON Schema of its arguments."""
INSIDE = ("function", "tool", "json_schema", "tool_spec", "toolSpec", "data")
LISTS = ("tools", "functionDeclarations", "function_declarations")


def schemas_in(definitions: object) -> dict[str, object]:
    """The JSON Schema of each tool by its name; None for one that has none."""
    return dict(_read(definitions, 0))


def _read(given: object, depth: int) -> Iterator[tuple[str, object]]:
    given = parse_result(given)
    if depth > 4:
        return
    if isinstance(given, list | tuple):
        for one in given:
            yield from _read(one, depth + 1)
        return
    if not isinstance(given, Mapping):
        return
    name = given.get("name")
    if isinstance(name, str) and name:
        yield name, _schema(given)
        return
    for key in (*INSIDE, *LISTS):
        yield from _read(given.get(key), depth + 1)


def _schema(table: Mapping[str, object]) -> object:
    found = next((parse_result(table[key]) for key in SCHEMAS if table.get(key) is not None), None)
    if isinstance(found, Mapping) and isinstance(found.get("json"), Mapping):
        found = found["json"]  # as Bedrock has it
    return found if isinstance(found, Mapping) else None
