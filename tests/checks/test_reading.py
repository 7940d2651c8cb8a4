"""How the fields of `expected` become checks, and what the catalog says of fields that make no sense."""

from __future__ import annotations

from typing import Any

import pytest

from carob.checks.sample_traces import says
from carob.model.verdict import Status
from catalogs import CATALOG


def asked(expected: dict[str, Any]) -> list[tuple[str, str]]:
    return [(a.spec.name, a.spec.path) for a in CATALOG.read(expected)]


def flaws(expected: dict[str, Any]) -> list[tuple[str, tuple[str | int, ...]]]:
    problems = [(f.slug, (*a.path, *f.path)) for a in CATALOG.read(expected) for f in a.problems]
    return problems + [(f.slug, f.path) for f in CATALOG.unused_fields(expected)]


@pytest.mark.parametrize(
    ("expected", "paths"),
    [
        pytest.param({}, [], id="the-outcome-alone"),
        pytest.param({"tool_calls_any": ["a", "b"]}, ["tool_calls_any"], id="any-is-one-check"),
        pytest.param(
            {"tool_calls_none": ["a", "b"]}, ["tool_calls_none[0]", "tool_calls_none[1]"], id="none-is-one-each"
        ),
        pytest.param({"telemetry": ["a", "b"]}, ["telemetry[0]", "telemetry[1]"], id="telemetry-one-each"),
        pytest.param({"ui": ["A x tile is shown.", {"role": "alert"}]}, ["ui[0]", "ui[1]"], id="ui-one-each"),
        pytest.param({"must_say_any": ["a", "b"]}, ["must_say_any"], id="say-any-is-one-check"),
        pytest.param({"must_not_say": ["a", "b"]}, ["must_not_say[0]", "must_not_say[1]"], id="not-say-one-each"),
        pytest.param({"must_match_regex": ["a"]}, ["must_match_regex[0]"], id="regex"),
        pytest.param({"required_sources": ["s", "t"]}, ["required_sources[0]", "required_sources[1]"], id="sources"),
        pytest.param(
            {"must_ground_numbers": [12, "13", {"regex": "a"}]},
            [f"must_ground_numbers[{i}]" for i in range(3)],
            id="numbers",
        ),
        pytest.param({"must_allow_override_actions": ["Snooze"]}, ["must_allow_override_actions[0]"], id="actions"),
        pytest.param({"tools_used": []}, ["tools_used"], id="no-tools-is-a-check"),
        pytest.param({"reason_contains": ["a", "b"]}, ["reason_contains[0]", "reason_contains[1]"], id="reasons"),
        pytest.param(
            {"expected_contains": ["a"], "must_not_contain": ["b"]},
            ["expected_contains[0]", "must_not_contain[0]"],
            id="qa",
        ),
    ],
)
def test_fields_become_checks(expected: dict[str, Any], paths: list[str]) -> None:
    (outcome, *others) = asked(expected)
    assert outcome == ("outcome", "outcome")
    assert [path for _, path in others] == paths


@pytest.mark.parametrize(
    ("value", "answer"),
    [
        pytest.param(1e22, "10,000,000,000,000,000,000,000 atoms", id="large"),
        pytest.param(1e-05, "a share of 0.00001", id="small"),
        pytest.param(-2.5e-7, "-0.00000025", id="negative"),
        pytest.param(12.0, "12 commits", id="whole"),
        pytest.param(0.1, "0.1", id="as-written"),
    ],
)
def test_a_float_is_looked_for_in_digits(value: float, answer: str) -> None:
    (_, number) = CATALOG.read({"must_ground_numbers": [value]})
    (check,) = CATALOG.checks((number.spec,))
    assert check.judge(says(answer)).status is Status.PASSED
    assert check.judge(says("2e+22, 2e-05 or 13")).status is Status.FAILED


@pytest.mark.parametrize(
    ("expected", "slug", "path"),
    [
        pytest.param({"must_say_any": ["x", " \n"]}, "empty-expectation", ("must_say_any", 1), id="blank-phrase"),
        pytest.param({"must_not_say": ["\u200b"]}, "empty-expectation", ("must_not_say", 0), id="invisible-phrase"),
        pytest.param({"must_match_regex": ["(a"]}, "bad-regex", ("must_match_regex", 0), id="regex-does-not-compile"),
        pytest.param(
            {"must_match_regex": ["a*"]}, "empty-expectation", ("must_match_regex", 0), id="regex-matches-empty"
        ),
        pytest.param(
            {"must_not_match_regex": ["x?"]}, "empty-expectation", ("must_not_match_regex", 0), id="not-regex"
        ),
        pytest.param(
            {"must_ground_numbers": [{"label": "a"}]}, "wrong-shape", ("must_ground_numbers", 0), id="no-number"
        ),
        pytest.param(
            {"must_ground_numbers": [{"regex": "a", "value": "1"}]},
            "wrong-shape",
            ("must_ground_numbers", 0),
            id="regex-and-value",
        ),
        pytest.param(
            {"must_ground_numbers": [{"value": "1", "within": "line"}]},
            "no-effect",
            ("must_ground_numbers", 0, "within"),
            id="within-without-context",
        ),
        pytest.param({"ui": [{"visible": True}]}, "wrong-shape", ("ui", 0), id="ui-of-nothing"),
        pytest.param({"ui": [{"role": "a", "min": 0}]}, "empty-expectation", ("ui", 0), id="at-least-none"),
        pytest.param({"ui": [{"role": "a", "min": 3, "max": 2}]}, "out-of-range", ("ui", 0), id="min-over-max"),
        pytest.param(
            {"source_patterns": {"s": ["S"]}}, "no-effect", ("source_patterns", "s"), id="pattern-of-no-source"
        ),
        pytest.param({"assumption_markers_any": ["x"]}, "no-effect", ("assumption_markers_any",), id="markers-alone"),
        pytest.param({"lever_regex": "x"}, "no-effect", ("lever_regex",), id="lever-regex-alone"),
        pytest.param({"evidence_marker_regex": "x"}, "no-effect", ("evidence_marker_regex",), id="marker-regex-alone"),
        pytest.param(
            {"evidence_freshness_regex": "x"}, "no-effect", ("evidence_freshness_regex",), id="age-regex-alone"
        ),
        pytest.param({"success_indicators": ["x"]}, "no-effect", ("success_indicators",), id="indicators-alone"),
        pytest.param({"tools_match": "set"}, "no-effect", ("tools_match",), id="match-alone"),
        pytest.param(
            {"tools_used": [], "tools_match": "superset"}, "empty-expectation", ("tools_used",), id="superset-of-none"
        ),
    ],
)
def test_what_makes_no_sense_is_a_flaw(expected: dict[str, Any], slug: str, path: tuple[str | int, ...]) -> None:
    assert flaws(expected) == [(slug, path)]
