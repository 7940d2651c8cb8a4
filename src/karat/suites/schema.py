"""A JSON Schema per suite format, made from the shapes that the files are held against."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal

from karat.suites.formats import eval_set, golden

if TYPE_CHECKING:
    from karat.model.check import Vocabulary

Kind = Literal["eval-set", "golden"]

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_NO_CHECKS = ("scoring", "min_pass_rate", "constraints", "metadata")


def schema(kind: Kind, vocabulary: Vocabulary) -> dict[str, object]:
    """The JSON Schema (2020-12) of a suite format, with every check that the vocabulary knows."""
    fields = tuple(vocabulary.fields)
    defs: dict[str, Any] = {}
    if kind == "eval-set":
        made = eval_set.shape(fields, tuple(vocabulary.groups)).suite.whole(defs)
        _eval_set_rules(defs)
    else:
        made = golden.shape(fields).suite.schema(defs)
        _golden_rules(defs)
    title = "Karat eval set" if kind == "eval-set" else "Karat golden set"
    return {"$schema": DIALECT, **made, "title": title, "$defs": defs}


def _eval_set_rules(defs: dict[str, Any]) -> None:
    """What holds between keys: something is expected, scoring stands in one place, and a weight counts."""
    expected = defs["Expected"]
    expected["anyOf"] = _any_of(key for key in expected["properties"] if key not in _NO_CHECKS)
    defs["Case"]["not"] = {
        "required": ["scoring", "expected"],
        "properties": {"expected": {"type": "object", "required": ["scoring"]}},
    }
    defs["SoftScore"]["properties"]["weights"]["not"] = {"additionalProperties": {"const": 0}}


def _golden_rules(defs: dict[str, Any]) -> None:
    case = defs["Case"]
    beside = [key for key in case["properties"] if key not in ("id", "input", "category", "constraints", "metadata")]
    case["anyOf"] = _any_of(beside)
    case["not"] = {"required": ["expected", "expected_contains"], "properties": {"expected": {"type": "array"}}}
    asked = _any_of(key for key in defs["Expected"]["properties"] if key not in _NO_CHECKS)
    case["if"] = {"not": {"anyOf": _any_of(key for key in beside if key != "expected")}}
    case["then"] = {"properties": {"expected": {"anyOf": [{"type": "array"}, {"anyOf": asked}]}}}


def _any_of(keys: Iterable[str]) -> list[dict[str, object]]:
    return [{"required": [key]} for key in keys]
