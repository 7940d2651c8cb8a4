"""The JSON Schemas say what the loader says, as far as a schema can."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from catalogs import CATALOG
from suites.support import Small, case, eval_set, expecting, schema, slugs

GOLDEN_CASE = {"id": "A", "input": "i"}
EVERY_FIELD = {
    "outcome": "tool_success",
    "must_ground_numbers": [12, "1.5", {"regex": "a+", "x-n": 1}],
    "ui": ["A b component is visible.", {"role": "heading", "min": 2}],
    "source_patterns": {"github": ["PR"]},
    "required_sources": ["github"],
    "required_levers": 2,
    "claim_evidence_alignment": True,
    "min_pass_rate": 0.5,
    "scoring": {"hard_fail": ["qa"], "soft_score": {"threshold": 0.5, "weights": {"qa": 1, "decision": 0}}},
    "x-a": 1,
    "metadata": {},
}


ORDER = {"order": "{order}", "amount": {"$lte": "{limit}"}, "note": {"$absent": True}}
REFUNDS = {
    "carob": 1,
    "vars": {"order": "A-17", "limit": 6},
    "defaults": {"expected": {"must_not_say": ["as an AI"], "max_tool_calls": "{limit}"}, "tags": ["money"]},
    "cases": [
        {
            "id": "refund-{limit}",
            "each": [{"limit": 50}],
            "turns": [
                {"prompt": "I want my money back.", "expected": {"outcome": "needs_input"}},
                {"prompt": "{order}", "expected": {"tool_calls": [{"tool": "pay", "arguments": ORDER, "times": 1}]}},
            ],
        },
        {
            "id": "talks",
            "prompt": "Hello?",
            "replies": [{"asks_for": ["order"], "say": "A-17"}],
            "max_turns": 3,
            "expected": {"answer_at": {"$.a": {"$each": {"$gt": 1, "$not": {"$in": [2]}}}}, "max_tokens": {"input": 5}},
        },
    ],
}
"""A Carob 1 suite with something of everything."""


def nested(node: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every key that a schema names, at any depth, with what it says of it."""
    if isinstance(node, dict):
        named = node.get("properties")
        yield from named.items() if isinstance(named, dict) else ()
        for inner in node.values():
            yield from nested(inner)
    elif isinstance(node, list):
        for inner in node:
            yield from nested(inner)


def test_every_nested_key_is_described() -> None:
    keys = list(nested(schema("carob-1")))
    assert len(keys) > 60
    assert [name for name, node in keys if not node.get("description", "").endswith(".")] == []


def wrong(change: Callable[[Any], object]) -> Any:
    """The suite with one thing changed."""
    tree = copy.deepcopy(REFUNDS)
    change(tree)
    return tree


def first_turn(tree: Any) -> Any:
    return tree["cases"][0]["turns"][0]


def argument(tree: Any, value: object) -> None:
    tree["cases"][0]["turns"][1]["expected"]["tool_calls"][0]["arguments"] = {"amount": value}


def test_carob_1_is_what_the_schema_says() -> None:
    assert slugs(REFUNDS) == []
    assert valid("carob-1", REFUNDS)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda tree: tree.update(carob=2), id="version"),
        pytest.param(lambda tree: tree.update(defalts={}), id="unknown-in-the-suite"),
        pytest.param(lambda tree: tree["defaults"].update(id="x"), id="id-in-defaults"),
        pytest.param(lambda tree: tree["defaults"].update(expectd={}), id="unknown-in-defaults"),
        pytest.param(lambda tree: tree["cases"][0].update(prompt="a"), id="prompt-and-turns"),
        pytest.param(lambda tree: tree["cases"][1].pop("prompt"), id="neither"),
        pytest.param(lambda tree: first_turn(tree).update(sya="x"), id="unknown-in-a-turn"),
        pytest.param(lambda tree: first_turn(tree)["expected"].update(outcome="fine"), id="outcome"),
        pytest.param(lambda tree: argument(tree, {"$lessthan": 5}), id="unknown-matcher"),
        pytest.param(lambda tree: argument(tree, {"$lte": 5, "a": 1}), id="matcher-and-key"),
        pytest.param(lambda tree: argument(tree, {"$in": []}), id="empty-matcher"),
        pytest.param(lambda tree: argument(tree, {"a": [{"$type": "text"}]}), id="deep-matcher"),
    ],
)
def test_what_is_wrong_with_carob_1_is_wrong_for_the_schema(change: Callable[[Any], object]) -> None:
    tree = wrong(change)
    assert slugs(tree) != []
    assert not valid("carob-1", tree)


def valid(kind: str, tree: Any) -> bool:
    return bool(Draft202012Validator(schema(kind)).is_valid(tree))


@pytest.mark.parametrize("kind", ["carob-1", "eval-set", "golden"])
def test_the_schema_is_a_schema(kind: str) -> None:
    made = schema(kind)
    Draft202012Validator.check_schema(made)
    assert made["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    docs = {f.name: f.doc for f in CATALOG.fields.values()}
    properties = made["$defs"]["Expected"]["properties"]
    assert {name: properties[name]["description"] for name in properties if name in docs} == {
        f.name: f.doc for f in CATALOG.fields.values() if kind != "golden" or not f.in_case
    }


def test_making_a_schema_twice_gives_the_same() -> None:
    first = schema("golden")
    first["$defs"].clear()
    assert schema("golden")["$defs"]


@pytest.mark.parametrize(
    ("kind", "tree"),
    [
        pytest.param("eval-set", eval_set(case()), id="smallest"),
        pytest.param("eval-set", expecting(**EVERY_FIELD), id="many-fields"),
        pytest.param("eval-set", {"cases": [case()], "$schema": "x", "metadata": 1, "x-b": None}, id="notes"),
        pytest.param("eval-set", eval_set(case(scoring={"metadata": 1})), id="scoring-in-the-case"),
        pytest.param("golden", [{**GOLDEN_CASE, "expected": {"tools_used": []}, "constraints": 1}], id="decision"),
        pytest.param("golden", [{**GOLDEN_CASE, "expected": {"tools_used": [], "min_pass_rate": 0.5}}], id="repeats"),
        pytest.param("golden", [{**GOLDEN_CASE, "expected": ["a"], "must_not_contain": ["b"]}], id="short-qa"),
        pytest.param(
            "golden", [{**GOLDEN_CASE, "expected": {"x-n": 1}, "must_not_contain": ["b"]}], id="notes-in-golden"
        ),
    ],
)
def test_good_suites_hold(kind: str, tree: Any) -> None:
    assert slugs(tree) == []
    assert valid(kind, tree)


@pytest.mark.parametrize(
    ("kind", "tree"),
    [
        pytest.param("eval-set", eval_set(), id="no-cases"),
        pytest.param("eval-set", eval_set(case(), version="0.4"), id="version"),
        pytest.param("eval-set", eval_set(case(), nam="a"), id="unknown-in-the-suite"),
        pytest.param("eval-set", eval_set(case(promt="a")), id="unknown-in-the-case"),
        pytest.param("eval-set", expecting(must_say_any=["a"], must_not_sya=["b"]), id="unknown-in-expected"),
        pytest.param("eval-set", expecting(must_ground_numbers=[{"valu": 1}]), id="unknown-in-an-entry"),
        pytest.param("eval-set", expecting(), id="nothing-expected"),
        pytest.param("eval-set", expecting(min_pass_rate=1, metadata=1), id="nothing-expected-but-notes"),
        pytest.param("eval-set", expecting(must_say_any=[]), id="empty-list"),
        pytest.param("eval-set", expecting(must_say_any=[""]), id="empty-string"),
        pytest.param("eval-set", expecting(required_levers=0), id="zero-levers"),
        pytest.param("eval-set", expecting(outcome="fine"), id="outcome"),
        pytest.param("eval-set", expecting(must_say_any=["a"], min_pass_rate=0), id="rate"),
        pytest.param("eval-set", eval_set(case(id="a\tb")), id="tab-in-an-id"),
        pytest.param("eval-set", eval_set(case(prompt=" ")), id="blank-prompt"),
        pytest.param("eval-set", eval_set(case(scoring={"hard_fail": ["style"]})), id="group"),
        pytest.param("eval-set", eval_set(case(scoring={"soft_score": {"threshold": 2}})), id="threshold"),
        pytest.param("eval-set", eval_set(case(scoring={"soft_score": {"weights": {"qa": -1}}})), id="negative-weight"),
        pytest.param("eval-set", eval_set(case(scoring={"soft_score": {"weights": {"qa": 0}}})), id="zero-weights"),
        pytest.param(
            "eval-set", eval_set(case(scoring={"soft_score": {"weights": {"style": 1}}})), id="weighted-group"
        ),
        pytest.param(
            "eval-set",
            eval_set(case(scoring={}, expected={"outcome": "tool_success", "scoring": {}})),
            id="two-scorings",
        ),
        pytest.param("golden", [], id="empty"),
        pytest.param("golden", [GOLDEN_CASE], id="golden-nothing-expected"),
        pytest.param("golden", [{**GOLDEN_CASE, "expected": {"x-n": 1}}], id="golden-only-notes"),
        pytest.param("golden", [{**GOLDEN_CASE, "expected": ["a"], "expected_contains": ["b"]}], id="both-spellings"),
        pytest.param(
            "golden", [{**GOLDEN_CASE, "expected": {"min_pass_rate": 0, "outcome": "tool_success"}}], id="golden-rate"
        ),
        pytest.param("golden", [{**GOLDEN_CASE, "expected": {"min_pass_rate": 1}}], id="golden-only-a-rate"),
        pytest.param("golden", [{**GOLDEN_CASE, "must_not_contain": []}], id="golden-empty-list"),
    ],
)
def test_bad_suites_are_refused_by_loader_and_schema(kind: str, tree: Any) -> None:
    assert slugs(tree) != []
    assert not valid(kind, tree)


def test_a_field_from_outside_is_in_the_schema() -> None:
    made = schema("eval-set", Small())
    assert made["$defs"]["Expected"]["properties"]["copy"]["description"] == "The answer is a copy of this."
    assert made["$defs"]["Colour"]["required"] == ["name"]
    assert made["$defs"]["Colour"]["patternProperties"].keys() == {"^x-"}
