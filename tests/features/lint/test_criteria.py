"""Criteria that lint points out, and those that it leaves alone."""

from __future__ import annotations

import json

import pytest

from carob.checks.catalog import catalog_for
from carob.features.lint.base import TargetInfo
from carob.features.lint.linter import lint_source
from carob.plugins.project import Project

PLAIN = "offers a refund or says why not"


def slugs(text: str, *more: str) -> set[str]:
    expected = {"must_not_say": ["idiot"], "meets": [text, *more]}
    suite = {"carob": 1, "cases": [{"id": "a", "prompt": "Pay.", "expected": expected}]}
    report = lint_source(json.dumps(suite).encode(), "s.json", catalog_for(Project()), TargetInfo())
    return {smell.slug for smell in report.smells}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (PLAIN, set()),
        ("names the fee that the tool gave", set()),
        ("asks which order is meant", set()),
        ("greets the user and offers a refund", {"several-claims"}),
        ("Is polite. Names the fee.", {"several-claims"}),
        ("names the fee as well as the date", {"several-claims"}),
        ("rate the politeness from 1 to 5", {"score-scale"}),
        ("scores at least 8/10 for tone", {"score-scale"}),
        ("is appropriate for children", {"vague-criterion"}),
        ("a" * 501, {"long-criterion"}),
        ("does not promise a refund", {"absent-criterion"}),
        ("mentions 'refund'", {"exact-criterion"}),
        ('states "you have 14 days" near the top', {"quoted-words"}),
        ("writes `npm ci` in the workflow", {"quoted-words"}),
        ("says that it's the user's own order", set()),
        ("the answer is valid JSON", {"exact-criterion"}),
        ("calls the issue_refund tool", {"exact-criterion"}),
        ("uses at most 50 words", {"exact-criterion"}),
    ],
)
def test_a_criterion(text: str, found: set[str]) -> None:
    assert slugs(text) == found


def test_a_case_of_criteria_alone() -> None:
    suite = {"carob": 1, "cases": [{"id": "a", "prompt": "Pay.", "expected": {"meets": [PLAIN]}}]}
    report = lint_source(json.dumps(suite).encode(), "s.json", catalog_for(Project()), TargetInfo())
    assert "only-criteria" in {smell.slug for smell in report.smells}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('tells the user "14 days", or `two weeks`', 'must_say_any: ["14 days", "two weeks"]'),
        ("tells no user “trust me”", 'must_not_say: ["trust me"]'),
    ],
)
def test_quoted_words_are_shown_as_a_key(text: str, line: str) -> None:
    suite = {"carob": 1, "cases": [{"id": "a", "prompt": "Pay.", "expected": {"meets": [text]}}]}
    report = lint_source(json.dumps(suite).encode(), "s.json", catalog_for(Project()), TargetInfo())
    assert [line in smell.message for smell in report.smells if smell.slug == "quoted-words"] == [True]
