"""A JSON Schema per suite format, made from the models that judge the files."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

from karat.suites.models import eval_set, golden

if TYPE_CHECKING:
    from pydantic import TypeAdapter

    from karat.model.check import Vocabulary

Kind = Literal["eval-set", "golden"]

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_NOTE = {"description": "A note of your own: kept, never judged."}
_OWN_RULES = ("scoring", "min_pass_rate")


def schema(kind: Kind, vocabulary: Vocabulary) -> dict[str, Any]:
    """The JSON Schema (2020-12) of a suite format, with every check that the vocabulary knows."""
    made = described((eval_set if kind == "eval-set" else golden)(vocabulary.fields).whole)
    defs = made["$defs"]
    for node in _objects([made, *defs.values()]):
        node["properties"]["metadata"] = _NOTE
        node["patternProperties"] = {"^x-": _NOTE}
    if kind == "eval-set":
        _eval_set_rules(defs)
    else:
        _golden_rules(defs)
    title = "Karat eval set" if kind == "eval-set" else "Karat golden set"
    return {"$schema": DIALECT, **made, "title": title}


@lru_cache(maxsize=8)
def _generated(adapter: TypeAdapter[Any]) -> bytes:
    import msgspec

    return msgspec.json.encode(adapter.json_schema(by_alias=True))


def described(adapter: TypeAdapter[Any]) -> dict[str, Any]:
    """The schema of a model as pydantic tells it."""
    import msgspec

    made: dict[str, Any] = msgspec.json.decode(_generated(adapter))
    return made


def _objects(nodes: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    return (node for node in nodes if "properties" in node)


def _eval_set_rules(defs: dict[str, Any]) -> None:
    """What holds between keys: something is expected, scoring stands in one place, and a weight counts."""
    expected = defs["Expected"]
    expected["anyOf"] = [{"required": [key]} for key in expected["properties"] if key not in (*_OWN_RULES, "metadata")]
    defs["Case"]["not"] = {
        "required": ["scoring", "expected"],
        "properties": {"expected": {"type": "object", "required": ["scoring"]}},
    }
    defs["SoftScore"]["properties"]["weights"]["not"] = {"additionalProperties": {"const": 0}}


def _golden_rules(defs: dict[str, Any]) -> None:
    case = defs["Case"]
    beside = [key for key in case["properties"] if key not in ("id", "input", "category", "constraints", "metadata")]
    case["anyOf"] = [{"required": [key]} for key in beside]
    case["not"] = {"required": ["expected", "expected_contains"], "properties": {"expected": {"type": "array"}}}
    inside = defs["Expected"]
    asked = [{"required": [key]} for key in inside["properties"] if key not in (*_OWN_RULES, "metadata")]
    case["if"] = {"not": {"anyOf": [{"required": [key]} for key in beside if key != "expected"]}}
    case["then"] = {"properties": {"expected": {"anyOf": [{"type": "array"}, {"anyOf": asked}]}}}
