"""What is wrong with a rule as it is written, and where."""

from __future__ import annotations

import re
from typing import Any

import pytest

from carob.rules.contract import Contract
from carob.rules.reading import Surroundings, read_groups, read_rule, read_rules
from carob.system.installing import install_extra
from carob.text.tool_reading import ToolReading

EACH: dict[str, Any] = {"call": "pay", "arguments": {"id": {"$as": "id"}}}
NEEDS: dict[str, Any] = {"before": {"call": "get"}}
SOUND: dict[str, Any] = {"id": "a", "each": EACH, "needs": NEEDS}


@pytest.mark.parametrize(
    ("change", "path", "slug", "says"),
    [
        ({"neds": 1}, ("neds",), "unknown-field", "Did you mean 'needs'?"),
        ({"id": None}, ("id",), "wrong-type", "it is a text"),
        ({"id": " "}, ("id",), "empty-value", "blank"),
        ({"each": {"cal": "x"}}, ("each", "cal"), "unknown-field", "Did you mean 'call'?"),
        ({"each": {"call": []}}, ("each", "call"), "empty-expectation", "names no tool"),
        ({"each": {"call": "@write"}}, ("each", "call"), "unknown-group", "Did you mean '@writes'?"),
        ({"each": {"call": "pay", "except": ["pay"]}}, ("each", "except"), "never-triggered", "every tool"),
        (
            {"each": {"call": "pay", "success": True, "error": "x"}, "needs": NEEDS},
            ("each", "error"),
            "never-triggered",
            "no error",
        ),
        ({"each": {"call": "pay", "user": "x"}}, ("each",), "duplicate-field", "one kind of event"),
        ({"each": {"user": "yes", "success": True}}, ("each", "success"), "no-effect", "has no 'success'"),
        ({"each": {"call": "pay", "error": {"x": {"$lt": []}}}}, ("each", "error", "x", "$lt"), "wrong-type", ""),
        ({"each": {"call": "a", "error": {"x": [{"$as": "y"}]}}}, ("each", "error", "x", 0, "$as"), "bad-binding", ""),
        ({"needs": {"befor": {}}}, ("needs", "befor"), "unknown-field", "Did you mean 'before'?"),
        ({"needs": {"before": {"call": "get"}, "last": {"call": "get"}}}, ("needs",), "duplicate-field", "exactly one"),
        ({"needs": {"last_user": []}}, ("needs", "last_user"), "wrong-type", ""),
        ({"needs": {"last_user": ["!"]}}, ("needs", "last_user", 0), "empty-expectation", "every text"),
        ({"needs": {"last_user": "@yess"}}, ("needs", "last_user"), "unknown-value", "Did you mean '@yes'?"),
        (
            {"needs": {"before": {"call": "get", "arguments": {"id": {"$same": "di"}}}}},
            ("needs", "before", "arguments", "id", "$same"),
            "unbound",
            "Bind it with '$as'",
        ),
        (
            {"needs": {"before": {"call": "get", "result": {"x": {"$as": "y"}}}}},
            ("needs", "before"),
            "bad-binding",
            "{$same: y}",
        ),
        (
            {
                "each": {"call": "pay", "arguments": {"id": {"$as": "y"}}},
                "needs": {"last": {"call": "get", "arguments": {"id": {"$as": "y"}}}},
            },
            ("needs", "last"),
            "duplicate-id",
            "{$same: y}",
        ),
        ({"needs": [{"last": {"call": "a"}}, {"last": {"call": "b"}}]}, ("needs", 1), "duplicate-id", "'as'"),
        ({"needs": {**NEEDS, "where": "befor.result.x > 1"}}, ("needs", "where"), "bad-condition", "'before'?"),
        ({"where": "siz(each.arguments.x) > 1"}, ("where",), "bad-condition", "Did you mean 'size'?"),
        ({"where": "each.argument.x > 1"}, ("where",), "bad-condition", "Did you mean 'arguments'?"),
        ({"where": "each.arguments.x >"}, ("where",), "bad-condition", "Syntax error"),
        ({"where": "each.arguments.x + 1"}, ("where",), "bad-condition", "INT"),
        ({"where": "each.colour == 1"}, ("where",), "bad-condition", "It has "),
        ({"where": " || ".join(["each.index == 1"] * 1000)}, ("where",), "bad-condition", "characters, more than"),
        ({"where": "true"}, ("where",), "empty-expectation", "always holds"),
        ({"where": "each.arguments.x == each.arguments.x"}, ("where",), "empty-expectation", "always holds"),
        ({"where": "before.success || 1 == 1"}, ("where",), "empty-expectation", "always holds"),
        ({"where": "1 == 2"}, ("where",), "empty-expectation", "same for all"),
        ({"where": {"each.arguments.x": {}}}, ("where", "each.arguments.x"), "empty-expectation", ""),
        ({"where": {"arguments.x": 1}}, ("where", "arguments.x"), "bad-path", "'each.'"),
        ({"forbids": {"before": {"call": "x"}}}, ("forbids",), "duplicate-field", "Write two rules"),
        ({"total": "each.arguments.x"}, ("total",), "no-effect", "'at_most'"),
        ({"once": True}, ("once",), None, ""),
        ({"needs": {"after": {"call": "get"}}, "once": True}, ("once",), "no-effect", "last_user"),
        ({"mode": "blok"}, ("mode",), "unknown-value", "Did you mean 'block'?"),
        ({"on_unknown": "deny"}, ("on_unknown",), "unknown-value", "allow"),
        ({"when": {}}, ("when",), "empty-expectation", ""),
        ({"when": {"tags": ["a"]}, "except": {"tags": ["a"]}}, ("except", "tags"), "never-triggered", ""),
        ({"metadata": {"owner": "x"}, "x-note": 1}, (), None, ""),
    ],
)  # fmt: skip
def test_a_rule_that_makes_no_sense(change: dict, path: tuple, slug: str | None, says: str) -> None:
    rule, problems = read_rule({**SOUND, **change}, Surroundings({"writes": ["book_*"]}))
    if slug is None:
        assert rule is not None
        assert problems == []
        return
    assert rule is None
    assert (problems[0].path, problems[0].slug) == (path, slug), problems
    assert says in problems[0].message


@pytest.mark.parametrize(
    ("rule", "slug"),
    [
        ({"id": "a", "each": EACH}, "no-checks"),
        ({"id": "a", "needs": NEEDS}, "missing-field"),
        ({"id": "a", "each": EACH, "at_most": 1.5}, "wrong-type"),
        ({"id": "a", "each": EACH, "at_most": -1}, "wrong-type"),
        ({"id": "a", "each": EACH, "at_most": True}, "wrong-type"),
        ({"id": "a", "each": EACH, "same": "each"}, "bad-path"),
        ({"id": "a", "each": EACH, "same": "each.argumets.x"}, "bad-path"),
        ({"id": "a", "each": EACH, "same": "each.arguments.x[*]"}, "bad-path"),
        ({"id": "a", "each": EACH, "where": {"each.arguments.x[*].y": 1}}, "bad-path"),
        ({"id": "a", "each": EACH, "values_from": {}}, "wrong-type"),
        ({"id": "a", "each": EACH, "values_from": {"each.arguments.x": []}}, "empty-expectation"),
    ],
)
def test_a_form_that_makes_no_sense(rule: dict, slug: str) -> None:
    made, problems = read_rule(rule)
    assert made is None
    assert slug in [problem.slug for problem in problems]


def test_two_rules_with_one_id() -> None:
    _, problems = read_rules([SOUND, SOUND])
    assert [(problem.path, problem.slug) for problem in problems] == [((1, "id"), "duplicate-id")]


@pytest.mark.parametrize("value", [None, True, 7, 1.5, "text", [], [[]], {}, {"": None}, [{}]])
def test_any_other_value_gets_an_error_with_a_place(value: object) -> None:
    """Law 8: any value of a rule replaced by any other, and no traceback."""
    whole = {
        **SOUND, "why": "w", "when": {"tags": ["a"], "metadata": {"m": 1}}, "except": {"tags": ["b"]}, "mode": "ask",
        "needs": [{"last": {"call": "get", "success": True, "arguments": {"id": {"$same": "id"}}}, "as": "x"},
                  {"last_user": ["yes"]}], "where": "x.result.n > 1", "on_unknown": "allow",
    }  # fmt: skip
    for changed in _changed(whole, value):
        rule, problems = read_rule(changed)
        assert (rule is None) == bool(problems)


def _changed(tree: Any, value: object) -> list[Any]:
    made = [value]
    members = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, member in members:
        for inner in _changed(member, value):
            copy = dict(tree) if isinstance(tree, dict) else list(tree)
            copy[key] = inner
            made.append(copy)
    return made


def test_groups_of_tools() -> None:
    groups, problems = read_groups({"writes": ["a"], "none": [], "more": ["@writes"]})
    assert groups == {"writes": ["a"], "more": ["@writes"]}
    assert [problem.path for problem in problems] == [("none",), ("more",)]
    assert read_groups([])[1][0].slug == "wrong-type"


def test_without_the_library_a_condition_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    from carob.errors import UsageError
    from carob.rules import conditions

    conditions._environment.cache_clear()
    monkeypatch.setitem(sys.modules, "cel_expr_python", None)
    with pytest.raises(UsageError, match=re.escape(install_extra("cel"))):
        read_rule({**SOUND, "where": "each.arguments.x > 1"})


@pytest.mark.parametrize("tree", [{"id": "a"}, "a", 7, None])
def test_rules_that_are_no_list_are_refused(tree: object) -> None:
    rules, problems = read_rules(tree)
    assert rules == []
    assert [(problem.slug, problem.path) for problem in problems] == [("wrong-type", ())]


def test_rules_that_read_calls_in_different_ways_are_no_contract() -> None:
    around = [Surroundings(), Surroundings(reading=ToolReading(plain_text="success"))]
    rules = [rule for each in around for rule in read_rules([SOUND], each)[0]]
    with pytest.raises(ValueError, match="in different ways"):
        Contract(rules)
