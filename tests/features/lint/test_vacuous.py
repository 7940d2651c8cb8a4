"""What is vacuous by its shape is found, and what looks like it and is not stays unmentioned."""

from __future__ import annotations

import json
from typing import Any

import pytest

from carob.features.lint.base import TargetInfo
from carob.features.lint.linter import lint
from carob.suites.reading import locate_suite
from catalogs import CATALOG


def slugs(expected: dict[str, Any]) -> set[str]:
    tree = {"carob": 1, "cases": [{"id": "A", "prompt": "How was it?", "expected": expected}]}
    suite = locate_suite(json.dumps(tree).encode(), "s.json", CATALOG)
    return {problem.slug for problem in lint(suite, CATALOG, TargetInfo())}


def says(pattern: str) -> dict[str, Any]:
    return {"must_match_regex": [pattern]}


VACUOUS = [
    ("vacuous-ui", {"ui": [{"role": "button", "name_contains": "e"}]}),
    ("vacuous-ui", {"ui": [{"role": "button", "name_contains": " E "}]}),
    ("vacuous-ui", {"ui": [{"role": "main"}]}),
    ("vacuous-ui", {"ui": [{"role": "document", "min": 1}]}),
    ("vacuous-ui", {"ui": [{"role": "generic", "min": 1}]}),
    ("vacuous-telemetry", {"telemetry": ['"ts"']}),
    ("vacuous-telemetry", {"telemetry": ["{"]}),
    ("vacuous-telemetry", {"telemetry": ["e"]}),
    ("vacuous-telemetry", {"telemetry": ['"level":"info"']}),
    ("vacuous-freshness", {"evidence_freshness_max_age_minutes": 5_000_000}),
    ("vacuous-freshness", {"evidence_freshness_max_age_minutes": 525_600}),
    ("loose-regex", says(r"GitHub:\s*[0-9]+")),
    ("loose-regex", says(r"\d{1,3}\s+commits")),
    ("loose-regex", {"must_ground_numbers": [{"regex": r"GitHub:\s*\d+"}]}),
    ("loose-regex", {"must_ground_numbers": [{"regex": r"[\d,]+ commits"}]}),
    ("vacuous-bound", {"max_seconds": 100000}),
    ("vacuous-bound", {"max_first_token_seconds": 600}),
    ("vacuous-bound", {"max_steps": 1000}),
    ("vacuous-bound", {"max_tool_calls": 5000}),
    ("vacuous-bound", {"max_calls": {"find": 2, "book": 9999}}),
    ("vacuous-bound", {"max_tokens": {"total": 10**9}}),
    ("vacuous-bound", {"max_cost_usd": 5000}),
    ("vacuous-bound", {"min_words": 1}),
    ("vacuous-bound", {"max_words": 1_000_000}),
    ("prompt-satisfies", {"answer_equals": "how was it?"}),
    ("vacuous-value", {"answer_json": {}}),
    ("vacuous-value", {"answer_json": {"title": "Order", "properties": {"y": True}}}),
    ("vacuous-value", {"answer_at": {"$.a": {"$any": [{"$absent": False}, {"$absent": True}]}}}),
    (
        "vacuous-value",
        {"state": {"$.a": {"$any": [{"$type": ["string", "number", "boolean", "null"]}, [], {}, {"$ne": 1}]}}},
    ),
    ("vacuous-value", {"tool_calls": [{"tool": "a", "arguments": {"b": {"$not": {"$gt": 1, "$lt": 1}}}}]}),
    ("idle-expectation", {"tool_requires": {"pay": ["verify"]}}),
    ("idle-expectation", {"tool_requires": {"pay": ["verify"]}, "tool_calls_any": ["verify"]}),
    ("idle-expectation", {"grounded_numbers": True}),
]
MEANT = [
    {"ui": [{"role": "button", "name_contains": "Snooze"}]},
    {"ui": [{"role": "button", "name_contains": "e", "max": 0}]},
    {"ui": [{"role": "main", "name": "Board"}]},
    {"ui": [{"role": "listitem", "min": 2}]},
    {"telemetry": ["tool.find start"]},
    {"telemetry": ['"status": "ok"']},
    {"telemetry": ['"filters": {"repo": "atlas-web"}']},
    {"evidence_freshness_max_age_minutes": 1440},
    says(r"GitHub:\s*12\b"),
    says(r"^\d+\.\s+Welcome"),
    says(r"12\s+commits,\s+\d+\s+reviews"),
    {"must_ground_numbers": [{"regex": r"GitHub:\s*12"}]},
    {
        "must_say_any": ["splendid"],
        "max_seconds": 60,
        "max_tokens": 200_000,
        "max_words": 500,
        "min_words": 2,
        "max_steps": 40,
    },
    {"answer_equals": "It was fine."},
    {"answer_json": True},
    {"answer_json": {"type": "object"}},
    {"answer_at": {"$.a": {"$absent": False}}},
    {"answer_at": {"$.a": {"$ne": "open"}, "$.b": {"$not": {"$regex": "^a+$"}}, "$.c": 3, "$.d": {"$gte": 0}}},
    {"tool_calls": [{"tool": "a", "arguments": {"b": {"$type": "string"}}}]},
    {"tool_requires": {"pay": ["verify"]}, "tool_calls": [{"tool": "pay"}]},
    {"grounded_numbers": True, "tool_calls_any": ["count"]},
]


@pytest.mark.parametrize(("slug", "expected"), VACUOUS, ids=[str(expected) for _, expected in VACUOUS])
def test_the_vacuous_is_found(slug: str, expected: dict[str, Any]) -> None:
    assert slug in slugs(expected)


@pytest.mark.parametrize("expected", MEANT, ids=str)
def test_what_says_something_is_left_alone(expected: dict[str, Any]) -> None:
    assert slugs(expected) == set()
