"""Weak suites, each green with a right answer, each rejected by the audit or by lint."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

import pytest

from carob.errors import ExitCode
from carob.features.audit.run_audit import audit
from carob.features.lint.base import TargetInfo
from carob.features.lint.linter import lint
from carob.suites.reading import locate_suite
from catalogs import CATALOG
from features.audit import sample
from features.audit.support import Answer, case, recorded

PROMPT = "Book dyno 3 for vehicle 42 and tell me about it."
BOOKED: dict[str, Any] = {
    "final_message": "GitHub: 12 commits, seen 30 minutes ago. Vehicle 42 is on DYNO-03.",
    "tool_calls": [{"name": "book", "arguments": {"vehicle": 42, "dyno": 3}, "success": True}],
    "telemetry": [sample.event("book", "start"), sample.event("book", "result", success=True)],
    "page_before": sample.BOARD,
    "page": sample.TILE,
}
By = Literal["audit", "lint"]
WEAK: dict[str, tuple[By, dict[str, Any]]] = {
    "any answer will do": ("audit", {"outcome": "response_only"}),
    "a tool started": ("audit", {"outcome": "tool_started"}),
    "a tool succeeded": ("audit", {"outcome": "tool_success", "tool_calls_any": ["book"]}),
    "one word of the answer": ("audit", {"must_say_any": ["DYNO-03"]}),
    "nothing but a ban": ("audit", {"must_not_say": ["as an AI"]}),
    "a forbidden tool alone": ("audit", {"tool_calls_none": ["delete_vehicle"]}),
    "the right tools, any arguments": ("audit", {"tools_used": ["book"], "expected_contains": ["DYNO-03"]}),
    "the start of the answer": ("audit", {"must_match_regex": [r"\AGitHub:\s+12"], "tools_used": ["book"]}),
    "the page alone": ("audit", {"ui": [{"role": "heading", "name": "My Activity"}]}),
    "failures that a threshold forgives": (
        "audit",
        {"must_say_any": ["42"], "tools_used": ["book"], "scoring": {"soft_score": {"threshold": 0.1}}},
    ),
    "a letter in a name": ("lint", {"ui": [{"role": "heading", "name_contains": "y"}]}),
    "a role that every page has": ("lint", {"ui": [{"role": "main", "min": 1}]}),
    "a key of every line": ("lint", {"telemetry": ['"ts"']}),
    "evidence of any age": ("lint", {"evidence_freshness_max_age_minutes": 9_000_000}),
    "any number": ("lint", {"must_match_regex": [r"GitHub:\s*[0-9]+"]}),
    "words of the prompt": ("lint", {"must_say_any": ["vehicle 42"]}),
}


@pytest.mark.parametrize(("by", "expected"), WEAK.values(), ids=WEAK)
def test_a_weak_suite_is_rejected(by: By, expected: dict[str, Any], tmp_path: Path) -> None:
    tree = {"version": "0.3", "cases": [{**case(expected), "prompt": PROMPT}]}
    suite = locate_suite(json.dumps(tree).encode(), "weak.json", CATALOG)
    answers: dict[str, Answer] = {"A": BOOKED}
    journal = recorded(suite.suite, answers, tmp_path)
    assert journal.summary.passed == 1, "its weakness is that it is green"
    if by == "lint":
        assert lint(suite, CATALOG, TargetInfo())
    else:
        assert audit(journal).summary.exit_code(0.9) is ExitCode.FAILED
