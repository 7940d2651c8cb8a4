"""What a suite cannot see is proposed, with a key that sees it: each is tried on the answer that would pass."""

from __future__ import annotations

import json
from typing import Any

import pytest

from carob.checks.sample_traces import calls
from carob.features.lint.base import TargetInfo
from carob.features.lint.linter import lint_source
from carob.features.lint.unseen import REPEATED, UNGROUNDED
from carob.model.verdict import CaseStatus
from catalogs import CATALOG
from laws.samples import build_trace, status

TWICE = calls("book:ok book:ok", text="Booked.")
FOUND = {"name": "find", "result": {"commits": 12}, "success": True}
INVENTED = build_trace({"final_message": "GitHub has 12 commits and 99 stars.", "tool_calls": [FOUND]})
OPEN = [
    (REPEATED, {"tool_calls_any": ["book"]}, {"max_calls": {"book": 1}}, TWICE),
    (REPEATED, {"tool_calls_any": ["book"]}, {"tools_used": ["book"]}, TWICE),
    (REPEATED, {"tool_calls": [{"tool": "book"}]}, {"no_effect_twice": True}, TWICE),
    (REPEATED, {"telemetry": ["tool.book start"]}, {"max_tool_calls": 1}, None),
    (REPEATED, {"tools_used": ["book"], "tools_match": "set"}, {"max_calls": {"book": 1}}, TWICE),
    (UNGROUNDED, {"must_ground_numbers": [12]}, {"grounded_numbers": True}, INVENTED),
    (UNGROUNDED, {"required_sources": ["github"]}, {"grounded_numbers": True}, INVENTED),
]


def proposed(expected: dict[str, Any]) -> set[str]:
    suite = {"carob": 1, "cases": [{"id": "A", "prompt": "p", "expected": expected}]}
    report = lint_source(json.dumps(suite).encode(), "s.json", CATALOG, TargetInfo())
    return {found.slug for found in report.suggestions} & {REPEATED, UNGROUNDED}


@pytest.mark.parametrize(("slug", "expected", "more", "wrong"), OPEN, ids=lambda value: str(value)[:40])
def test_what_would_pass_is_proposed_until_a_key_sees_it(
    slug: str, expected: dict[str, Any], more: dict[str, Any], wrong: Any
) -> None:
    assert proposed(expected) == {slug}
    assert proposed(expected | more) == set()
    if wrong is not None:
        assert status(expected, wrong) is CaseStatus.PASS
        assert status(expected | more, wrong) is CaseStatus.FAIL


@pytest.mark.parametrize(
    "expected",
    [{"tool_calls_any": ["get_order"]}, {"tool_calls": [{"tool": "book", "times": 1}]}, {"must_say_any": ["12"]}],
)
def test_nothing_is_proposed_where_nothing_is_open(expected: dict[str, Any]) -> None:
    assert proposed(expected) == set()
