"""What frameworks put around the arguments and the result of a call: taken off by its shape, whoever wrote it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from carob.evidence.spans.otlp import NOT_RECORDED
from carob.providers.messages import decode_value
from carob.text.tool_results import parse_result

DEEPEST = 4
"""How many envelopes may be around a result."""
_SCHEMA_WORDS = frozenset(
    [
        *("type", "description", "title", "default", "enum", "const", "nullable", "items", "properties", "required"),
        *("additionalProperties", "anyOf", "oneOf", "allOf", "$ref", "$defs", "format", "pattern", "examples"),
        *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength"),
        *("minItems", "maxItems", "uniqueItems"),
    ]
)
_TYPED = frozenset({"type", "anyOf", "oneOf", "allOf", "$ref", "enum", "const"})
_ABOUT_A_BLOCK = frozenset({"type", "block_type", "id", "index", "annotations", "meta", "_meta", "extras"})
_FAILED = ("isError", "is_error")
_STRUCTURED = ("structuredContent", "structured_content")
_ENVELOPES = frozenset(("data", "kwargs", "content", *_FAILED, *_STRUCTURED))
"""Keys of which an envelope has at least one."""


def parameters_in(value: object) -> tuple[str, ...] | None:
    """The names of the parameters that a schema describes; None if the value is not a schema."""
    if not isinstance(value, Mapping):
        return None
    properties = value.get("properties")
    if isinstance(properties, Mapping) and value.get("type", "object") == "object" and value.keys() <= _SCHEMA_WORDS:
        return tuple(map(str, properties))
    return tuple(map(str, value)) if value and all(map(_is_typed, value.values())) else None


def passed_arguments(value: object, parameters: Sequence[str] | None) -> object:
    """The arguments of `{"args": [...], "kwargs": {...}}`; a value that is not such an envelope as it is.

    Arguments by position have the names of the parameters, if those are known.
    """
    table = decode_value(value)
    if not isinstance(table, Mapping) or not _is_envelope(table, parameters):
        return value
    by_name: Mapping[str, object] = table["kwargs"]
    by_place = table.get("args") or []
    if not by_place:
        return by_name
    names = parameters or ()
    if len(by_place) == 1 and not by_name and isinstance(alone := by_place[0], Mapping) and alone.keys() <= set(names):
        return alone  # handed over whole, in the place of arguments by name
    if len(by_place) > len(names):
        return NOT_RECORDED
    return {**dict(zip(names, by_place, strict=False)), **by_name}


def _is_envelope(table: Mapping[str, object], parameters: Sequence[str] | None) -> bool:
    if not isinstance(table.get("kwargs"), Mapping) or not isinstance(table.get("args", []), list):
        return False
    return table.keys() <= {"args", "kwargs"} if parameters is None else "kwargs" not in parameters


def arguments_within(recorded: object, requested: object, *, lossy: bool = False) -> object:
    """An object as the span has it; for a bare value, or none, what the model asked for."""
    value = decode_value(recorded)
    if isinstance(value, Mapping) and not lossy:
        return value
    if isinstance(requested, Mapping):
        fits = recorded is NOT_RECORDED or value in (None, "", "None") or lossy or value in requested.values()
        if fits or str(value) in map(str, requested.values()):
            return requested
    return NOT_RECORDED


def result_within(value: object) -> object:
    """What the tool gave, without the envelope of its framework. One that says that the call failed is kept."""
    for _ in range(DEEPEST):
        parsed = value if value is NOT_RECORDED else parse_result(value)
        inner = _open(parsed)
        if inner is value or (inner is parsed and parsed.__class__ is dict):
            return inner
        value = inner
    return value


def _open(value: object) -> object:
    if isinstance(value, list):
        return _text_of(value, value)
    if not (value.__class__ is dict or isinstance(value, Mapping)) or _ENVELOPES.isdisjoint(value):
        return value
    for inner in ("data", "kwargs"):
        if isinstance(table := value.get(inner), Mapping) and "content" in table:
            return table
    if "content" in value and "tool_call_id" in value:  # a message
        content = value["content"]
        return {"status": "error", "content": content} if value.get("status") == "error" else content
    if not any(key in value for key in (*_FAILED, *_STRUCTURED)):
        return value
    if any(value.get(key) is True for key in _FAILED):
        return value
    if isinstance(value.get("blocks"), list):  # of LlamaIndex, which keeps what the tool returned
        return _text_of(value["blocks"], value) if value.get("raw_output") is None else value["raw_output"]
    if isinstance(value.get("content"), list):  # of MCP
        table = next((value[key] for key in _STRUCTURED if isinstance(value.get(key), Mapping)), None)
        return _text_of(value["content"], value) if table is None else table
    return value


def _text_of(blocks: list[object], otherwise: object) -> object:
    """The text of blocks that are nothing but text; of several that are data each, a list of it."""
    if not _is_text(blocks):
        return otherwise
    texts = [block["text"] for block in blocks if isinstance(block, Mapping)]
    data = [parse_result(text) for text in texts]
    return data if len(data) > 1 and not any(isinstance(item, str) for item in data) else "".join(texts)


def _is_text(blocks: list[object]) -> bool:
    return bool(blocks) and all(
        isinstance(block, Mapping)
        and isinstance(block.get("text"), str)
        and (block.keys() == {"text"} or _is_text_block(block))
        for block in blocks
    )


def _is_text_block(block: Mapping[str, object]) -> bool:
    return "text" in (block.get("type"), block.get("block_type")) and block.keys() <= {"text", *_ABOUT_A_BLOCK}


def _is_typed(value: object) -> bool:
    return isinstance(value, Mapping) and value.keys() <= _SCHEMA_WORDS and not _TYPED.isdisjoint(value)
