"""What is vacuous by its shape is found, and what looks like it and is not stays unmentioned."""

from __future__ import annotations

import json
from typing import Any

import pytest

from karat.checks.catalog import CATALOG
from karat.smells.base import Surroundings
from karat.smells.linter import lint
from karat.suites.reading import located


def slugs(expected: dict[str, Any]) -> set[str]:
    tree = {"version": "0.3", "cases": [{"id": "A", "prompt": "How was it?", "expected": expected}]}
    return {problem.slug for problem in lint(located(json.dumps(tree).encode(), "s.json", CATALOG), Surroundings())}


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
]


@pytest.mark.parametrize(("slug", "expected"), VACUOUS, ids=[str(expected) for _, expected in VACUOUS])
def test_the_vacuous_is_found(slug: str, expected: dict[str, Any]) -> None:
    assert slug in slugs(expected)


@pytest.mark.parametrize("expected", MEANT, ids=str)
def test_what_says_something_is_left_alone(expected: dict[str, Any]) -> None:
    assert slugs(expected) == set()
