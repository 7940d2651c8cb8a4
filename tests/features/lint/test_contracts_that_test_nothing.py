"""Contracts that test nothing, in a case that tests something else: validate or lint has a word for each."""

from __future__ import annotations

import json
from typing import Any

import pytest

from carob.errors import Diagnostic, SuiteError
from carob.features.lint.base import TargetInfo
from carob.features.lint.linter import lint
from carob.suites.reading import locate_suite
from catalogs import CATALOG

pytestmark = pytest.mark.quick

EFFECTS = {"book": ["booked"], "refund": ["refunded"]}
TOOLS = TargetInfo("desk", {}, frozenset(("book", "refund", "pay", "fares")))


def problems(expected: dict[str, Any], effects: dict[str, Any] | None = None, **case: Any) -> list[Diagnostic]:
    """What validate refuses, or what lint says, of one case."""
    tree = {"carob": 1, "effects": effects or EFFECTS, "cases": [{"id": "A", "prompt": "Where is it?", **case}]}
    tree["cases"][0]["expected"] = {"must_not_match_regex": ["Paris"], **expected}
    sound = "must_say_any" if "must_say_any" not in expected else "reason_contains"
    tree["cases"][0]["expected"].setdefault(sound, ["Lyon"])
    try:
        return lint(locate_suite(json.dumps(tree).encode(), "s.json", CATALOG), CATALOG, TOOLS)
    except SuiteError as refused:
        return list(refused.problems)


def forbids(**argument: Any) -> dict[str, Any]:
    return {"tool_calls": [{"tool": "pay", "never": True, "arguments": {"amount": argument}}]}


def expects(**argument: Any) -> dict[str, Any]:
    return {"tool_calls": [{"tool": "pay", "arguments": {"amount": argument}}]}


VACUOUS: list[dict[str, Any]] = [
    {"only_effects": ["*"]},
    {"only_effects": ["book", "refund"]},
    {"only_effects": ["@effects"]},
    {"only_effects": ["b*", "r*"]},
    forbids(**{"$gt": "50"}),
    forbids(**{"$lte": "50.00"}),
    forbids(**{"$in": []}),
    forbids(**{"$any": []}),
    forbids(**{"$gt": 50, "$lt": 10}),
    forbids(**{"$regex": "(?!)"}),
    forbids(**{"$regex": "a^"}),
    forbids(**{"$length": {"$lt": 0}}),
    expects(**{"$gt": "50"}),
    expects(**{"$regex": ""}),
    expects(**{"$contains": ""}),
    expects(**{"$length": {"$gte": 0}}),
    {"tool_calls": [{"tool": "pay", "times": {"min": 0}}]},
    {"tool_calls": [{"tool": "pay", "times": {"min": 0, "max": 1000}}]},
    {"tool_calls": [{"tool": "pay", "result": {}}]},
    {"tool_calls_none": ["a|b"]},
    {"tool_calls_none": ["refund, book"]},
    {"tool_calls_none": ["refund.*"]},
    {"tool_calls_none": ["refund()"]},
    {"tool_calls_none": ["^refund$"]},
    {"tool_calls_none": ["no refund"]},
    {"tool_calls_none": ["refund?"]},
    {"max_calls": {"book|refund": 1}},
    {"must_not_say": ["refund.*issued"]},
    {"must_not_say": ["refund|issued"]},
    {"must_not_say": [r"\brefund\b"]},
    {"must_not_say": ["^Sorry"]},
    {"must_not_say": ["sorry$"]},
    {"must_not_say": ["[a-z]+ refund"]},
    {"must_not_say": ['"refund"']},
    {"must_not_say": ["${NAME}"]},
    {"must_not_say": ["{{name}}"]},
    {"must_not_say": [" ".join(["a sentence that is copied"] * 4)]},
    {"must_not_contain": [r"\d+ EUR"]},
    {"must_say_any": ["Lyon.*"]},
    {"no_leak": ["${API_KEY}"]},
    {"no_leak": ["$API_KEY"]},
    {"no_leak": ["%API_KEY%"]},
    {"no_leak": ["API_KEY"]},
    {"no_leak": ["<your key here>"]},
    {"no_leak": ["sk-..."]},
    {"no_leak": ["********"]},
    {"no_leak": ["[REDACTED]"]},
    {"no_leak": ["sk-[a-z0-9]+"]},
    {"must_not_match_regex": ["(?!)"]},
    {"must_not_match_regex": ["a^b"]},
    {"must_not_match_regex": [r"\b\Bx"]},
    {"must_say_any": ["."]},
    {"must_say_any": ["Lyon", "!"]},
    {"must_say_any": ["*"]},
    {"must_say_any": ["the"]},
    {"must_say_any": [" "]},
    {"expected_contains": ["."]},
    {"must_match_regex": ["."]},
    {"must_match_regex": ["(Lyon|)"]},
    {"in_any_turn": {"must_say_any": ["."]}},
    {"asks_for": ["?"]},
    {"must_allow_override_actions": ["a"]},
    {"must_ground_numbers": [{"from_tool": "farez", "at": "$.fare"}]},
    {"must_ground_numbers": [{"regex": r"\d+"}]},
    {"min_words": 0},
    {"min_words": 1},
    {"max_words": 1_000_000},
    {"max_tool_calls": 100_000},
    {"max_calls": {"book": 100_000}},
    {"max_retries": 100_000},
    {"max_seconds": 1e9},
    {"max_cost_usd": 1e9},
    {"answer_json": {}},
    {"answer_at": {"$.a": {"$any": [{"$absent": True}, {"$absent": False}]}}},
    {"state": {"$.a": {"$regex": ".*"}}},
    {"tool_requires": {"book": ["book"]}},
    {"tools_used": [], "tools_match": "superset"},
    {"evidence_freshness_max_age_minutes": 100_000_000},
    {"ui": [{"role": "main"}]},
    {"telemetry": ["info"]},
    {"spans": [{"pattern": "*", "min": 0}]},
    {"spans": [{"max": 1_000_000_000}]},
    {"spans": [{"max_error_percent": 100}]},
]


@pytest.mark.parametrize("expected", VACUOUS, ids=str)
def test_a_contract_that_tests_nothing_gets_a_word_at_its_place(expected: dict[str, Any]) -> None:
    key = next(iter(expected))
    assert any(key in problem.path for problem in problems(expected)), problems(expected)


def test_there_are_more_than_sixty_of_them() -> None:
    assert len({str(expected) for expected in VACUOUS}) == len(VACUOUS) > 60


@pytest.mark.parametrize("threshold", [0, 0.05])
def test_a_threshold_that_every_answer_reaches_gets_a_word(threshold: float) -> None:
    found = problems({}, scoring={"soft_score": {"threshold": threshold}})
    assert any("threshold" in problem.path for problem in found)


SOUND: list[dict[str, Any]] = [
    {"only_effects": []},
    {"only_effects": ["book"]},
    forbids(**{"$gt": 50}),
    forbids(**{"$gt": "2026-01-01"}),
    forbids(**{"$regex": "^DE"}),
    forbids(**{"$length": {"$gt": 40}}),
    forbids(**{"$in": ["a", "b"]}),
    forbids(**{"$not": {"$eq": 3}}),
    forbids(**{"$contains": "gift"}),
    expects(**{"$length": {"$gte": 1}}),
    {"tool_calls": [{"tool": "pay", "times": {"min": 0, "max": 2}}]},
    {"tool_calls": [{"tool": "pay", "result": {"status": "paid"}}]},
    {"tool_calls_none": ["refund", "boo*", "@effects"]},
    {"must_not_say": ["as an AI", "$50", "A-17", "5 | 6", "RISK_SCORE", "what?", "C:\\temp", "<b>", "a.b", "(sic)"]},
    {"must_say_any": ["Lyon*", "✅", "100%", "it's", "the 'blue' one"]},
    {"no_leak": ["sk-live-51H8xk2", "my dog is called Rex", "KEY-5d81c07e"]},
    {"spans": [{"pattern": "chat *", "max": 3}]},
    {"max_retries": 2},
    {"asks_for": ["order number"]},
]


@pytest.mark.parametrize("expected", SOUND, ids=str)
def test_a_contract_that_tests_something_gets_none(expected: dict[str, Any]) -> None:
    assert [str(problem) for problem in problems(expected)] == []


@pytest.mark.parametrize(
    "wording",
    [
        *("issue", "issuing", "issuance", "to issue", "issue the refund", "send", "cancel", "cancellation", "payment"),
        *("booking", "*", "refund*", "update", "delete it", "confirmation"),
    ],
)
def test_an_entry_of_effects_that_no_sentence_claims_is_named(wording: str) -> None:
    (problem,) = problems({"no_false_success": True}, {"issue_refund": ["refunded", wording]})
    assert (problem.slug, problem.path) == ("unclaimable-effect", "effects.issue_refund[1]")
    assert f"no sentence can claim '{wording}'" in problem.message


@pytest.mark.parametrize(
    "wording",
    [
        *(
            "issued",
            "sent",
            "booking is confirmed",
            "all set",
            "live",
            "put on hold",
            "paid out",
            "set",
            "open",
            "taken",
        ),
        *("on its way", "erstattet", "remboursé", "返金しました", "e-mailed", "made", "complete", "rückgängig gemacht"),
    ],
)
def test_an_entry_of_effects_that_sentences_claim_is_not_named(wording: str) -> None:
    assert problems({"no_false_success": True}, {"issue_refund": [wording]}) == []


def test_a_smell_of_what_is_above_all_cases_is_reported_once() -> None:
    cases = [{"id": name, "prompt": f"Where is {name}?", "expected": {"must_say_any": ["Lyon"]}} for name in "ABC"]
    defaults = {"expected": {"must_not_say": ["a.*b"], "max_seconds": 1e9, "no_false_success": True}}
    tree = {"carob": 1, "effects": {"pay": ["pay"]}, "defaults": defaults, "cases": cases}
    found = lint(locate_suite(json.dumps(tree).encode(), "s.json", CATALOG), CATALOG, TOOLS)
    assert sorted((problem.slug, problem.path) for problem in found) == [
        ("regex-as-phrase", "defaults.expected.must_not_say[0]"),
        ("unclaimable-effect", "effects.pay[0]"),
        ("vacuous-bound", "defaults.expected.max_seconds"),
    ]
