"""A JSON Schema per suite format, made from the shapes that the files are held against."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from karat.suites.formats import eval_set, golden, karat1
from karat.suites.variables import NAME

if TYPE_CHECKING:
    from karat.model.check import Vocabulary

Kind = Literal["karat-1", "eval-set", "golden"]

DIALECT = "https://json-schema.org/draft/2020-12/schema"
TITLES: dict[Kind, str] = {
    "karat-1": "Karat 1 suite",
    "eval-set": "Karat eval set",
    "golden": "Karat golden set",
}
Node: TypeAlias = dict[str, Any]
"""A part of a JSON Schema: keywords, with whatever each of them takes."""
_VARIABLE: Node = {"$ref": "#/$defs/Variable"}
_ANYTHING = ("string", ["string", "number", "boolean", "null"])
"""Types among which a variable is one value more."""
_NO_CHECKS = ("scoring", "min_pass_rate", "constraints", "metadata")


def schema(kind: Kind, vocabulary: Vocabulary) -> dict[str, object]:
    """The JSON Schema (2020-12) of a suite format, with every check that the vocabulary knows."""
    fields = tuple(vocabulary.fields)
    defs: Node = {}
    if kind == "karat-1":
        made = karat1.shape(fields, tuple(vocabulary.groups)).suite.whole(defs)
        _karat1_rules(made, defs)
    elif kind == "eval-set":
        made = eval_set.shape(fields, tuple(vocabulary.groups)).suite.whole(defs)
        _eval_set_rules(defs)
    else:
        made = golden.shape(fields).suite.schema(defs)
        _golden_rules(defs)
    return {"$schema": DIALECT, **made, "title": TITLES[kind], "$defs": defs}


def _karat1_rules(made: Node, defs: Node) -> None:
    """What a case says and to whom, what its defaults may hold, and variables in the place of any other value."""
    case, templates = defs["Case"], defs["Case"]["properties"]
    case["oneOf"] = [{"required": ["prompt"]}, {"required": ["turns"]}]
    rows = {"type": "array", "minItems": 1, "items": {"type": "object"}}
    templates["each"] |= {"anyOf": [rows, {"type": "string", "pattern": r"\.(csv|jsonl)$"}]}
    for name in ("Case", "Turn", "Reply", "Expected"):
        properties = defs[name]["properties"]
        defs[name]["properties"] = {key: _or_variable(node) for key, node in properties.items()}
    own = {key: node for key, node in case["properties"].items() if key not in ("id", "each")}
    defs["Defaults"] = {
        **case,
        "title": "Defaults",
        "properties": own,
        "description": "What stands under every case: maps merge.",
    }
    for rule in ("oneOf", "required"):
        defs["Defaults"].pop(rule)
    about = made["properties"]["defaults"]["description"]
    made["properties"]["defaults"] = {"$ref": "#/$defs/Defaults", "description": about}
    spelled = {"type": "string", "pattern": rf"^\{{{NAME}\}}$"}
    defs["Variable"] = {"title": "Variable", "description": "A value of `vars` or of a row of `each`.", **spelled}


def _or_variable(node: Node) -> Node:
    """The same, or a variable: within lists and objects too."""
    about = {"description": node["description"]} if "description" in node else {}
    inner = {key: value for key, value in node.items() if key != "description"}
    if "items" in inner:
        inner["items"] = _or_variable(inner["items"])
    if isinstance(inner.get("additionalProperties"), dict):
        inner["additionalProperties"] = _or_variable(inner["additionalProperties"])
    if not inner or inner.get("type") in _ANYTHING:
        return node
    return {"anyOf": [inner, _VARIABLE], **about}


def _eval_set_rules(defs: Node) -> None:
    """What holds between keys: something is expected, scoring stands in one place, and a weight counts."""
    expected = defs["Expected"]
    expected["anyOf"] = _any_of(key for key in expected["properties"] if key not in _NO_CHECKS)
    defs["Case"]["not"] = {
        "required": ["scoring", "expected"],
        "properties": {"expected": {"type": "object", "required": ["scoring"]}},
    }
    defs["SoftScore"]["properties"]["weights"]["not"] = {"additionalProperties": {"const": 0}}


def _golden_rules(defs: Node) -> None:
    case = defs["Case"]
    beside = [key for key in case["properties"] if key not in ("id", "input", "category", "constraints", "metadata")]
    case["anyOf"] = _any_of(beside)
    case["not"] = {"required": ["expected", "expected_contains"], "properties": {"expected": {"type": "array"}}}
    asked = _any_of(key for key in defs["Expected"]["properties"] if key not in _NO_CHECKS)
    case["if"] = {"not": {"anyOf": _any_of(key for key in beside if key != "expected")}}
    case["then"] = {"properties": {"expected": {"anyOf": [{"type": "array"}, {"anyOf": asked}]}}}


def _any_of(keys: Iterable[str]) -> list[dict[str, object]]:
    return [{"required": [key]} for key in keys]
