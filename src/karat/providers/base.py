"""What all model APIs have in common."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from karat.model.trace import BY_ITSELF
from karat.text.tool_results import parse_result
from karat.text.words import PUBLISHED

SCHEMA_KEYS = (
    *("parameters", "input_schema", "inputSchema", "parametersJsonSchema", "parameters_json_schema"),
    *("args_schema", "json_schema"),
)
"""Where a definition has the JSON Schema of its arguments."""
WRAPPERS = ("function", "tool", "json_schema", "tool_spec", "toolSpec", "data")
TOOL_LISTS = ("tools", "functionDeclarations", "function_declarations")
DEEPEST_DEFINITION = 4


def read_ending(finish_reason: str) -> str:
    """`itself` for a model that came to its end; any other reason as it is: it was cut off. Empty for none."""
    plain = finish_reason.lower().replace("_", "").replace("-", "").replace(" ", "")
    return BY_ITSELF if plain in PUBLISHED.entries("own_ends") else finish_reason


def tool_schemas(definitions: object) -> dict[str, object]:
    """The JSON Schema of each tool by its name, whoever writes the definitions; None for a tool without one."""
    return dict(_read_definitions(definitions, 0))


def _read_definitions(definitions: object, depth: int) -> Iterator[tuple[str, object]]:
    definitions = parse_result(definitions)
    if depth > DEEPEST_DEFINITION:
        return
    if isinstance(definitions, list | tuple):
        for definition in definitions:
            yield from _read_definitions(definition, depth + 1)
    elif isinstance(definitions, Mapping):
        name = definitions.get("name")
        if isinstance(name, str) and name:
            yield name, _schema(definitions)
            return
        for key in (*WRAPPERS, *TOOL_LISTS):
            yield from _read_definitions(definitions.get(key), depth + 1)


def _schema(definition: Mapping[str, object]) -> object:
    schema = next((parse_result(definition[key]) for key in SCHEMA_KEYS if definition.get(key) is not None), None)
    if isinstance(schema, Mapping) and isinstance(schema.get("json"), Mapping):
        schema = schema["json"]  # as Bedrock has it
    return schema if isinstance(schema, Mapping) else None
