"""What the eval sets hold: enough cases, every field and outcome, and numbers that are those of the recorded data."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from karat.checks.outcome import OUTCOMES
from karat.checks.telemetry import shorthand
from karat.checks.ui import grammar, resolve

from .support import FILES, ROOT, canvas, raw, suites

WEEK = json.loads((ROOT / "examples/canvas_app/data/week.json").read_text("utf-8"))["projects"]
DAY = 24 * 60
ME = "mira"

FIELDS = {
    "outcome",
    "tool_calls_any",
    "tool_calls_none",
    "telemetry",
    "ui",
    "must_say_any",
    "must_not_say",
    "must_match_regex",
    "must_not_match_regex",
    "required_sources",
    "source_patterns",
    "must_ground_numbers",
    "must_label_assumptions",
    "assumption_markers_any",
    "required_levers",
    "lever_regex",
    "claim_evidence_alignment",
    "claim_marker_regex",
    "evidence_marker_regex",
    "alignment_marker_regex",
    "evidence_freshness_max_age_minutes",
    "evidence_freshness_regex",
    "must_allow_override_actions",
    "tools_used",
    "tools_match",
    "reason_contains",
    "expected_contains",
    "must_not_contain",
    "scoring",
}


def expectations() -> list[dict[str, Any]]:
    return [case["expected"] for file in FILES for case in raw(file)["cases"]]


@pytest.mark.parametrize(("file", "least"), list(zip(FILES, (14, 8, 6), strict=True)))
def test_there_are_enough_cases_and_no_warnings(file: str, least: int) -> None:
    suite = next(suite for suite in suites() if suite.file.endswith(file))
    assert len(suite.cases) >= least
    assert suite.warnings == ()
    assert f"v{suite.version}.json" in file


def test_together_they_use_every_field_outcome_and_shorthand() -> None:
    asked = expectations()
    assert {field for expected in asked for field in expected} >= FIELDS
    assert {expected["outcome"] for expected in asked} == set(OUTCOMES)
    entries = {entry for expected in asked for entry in expected["telemetry"]}
    patterns = [shorthand(entry) for entry in entries]
    assert None in patterns, "a plain string"
    kinds = {(p.event, p.success, p.field is not None) for p in patterns if p is not None}
    assert kinds == {
        ("start", None, False),
        ("result", True, False),
        ("result", False, False),
        (None, False, True),
    }
    numbers = [entry for expected in asked for entry in expected.get("must_ground_numbers", ())]
    assert {tuple(sorted(n)) if isinstance(n, dict) else "bare" for n in numbers} == {
        ("label", "regex"),
        ("context_any", "label", "value", "within"),
        "bare",
    }
    scored = [expected["scoring"] for expected in asked if "scoring" in expected]
    assert any("hard_fail" in scoring for scoring in scored)
    assert any("weights" in scoring.get("soft_score", {}) and "hard_fail" not in scoring for scoring in scored)


def test_every_integration_and_subject_has_its_cases() -> None:
    categories = [case["category"] for case in raw(FILES[0])["cases"]]
    assert {"github", "slack", "posthog", "vercel", "spaces", "templates", "rules", "errors"} <= set(categories)
    assert {"integration-off", "blocked", "needs-input"} <= set(categories)
    assert {"conflict", "empty-source", "stale", "strict-format", "assumptions", "numbers"} <= {
        case["category"] for case in raw(FILES[1])["cases"]
    }
    assert {"contract", "low-confidence", "stale-evidence", "override"} <= {
        case["category"] for case in raw(FILES[2])["cases"]
    }


def test_every_sentence_about_the_page_can_be_read() -> None:
    vocabulary = canvas().ui_vocabulary
    by_vocabulary, by_grammar, structural = set(), set(), 0
    for case in (case for suite in suites() for case in suite.cases):
        for spec in resolve(case, vocabulary).checks:
            if spec.name != "ui":
                continue
            args = json.loads(bytes(spec.args))
            sentence = args.get("sentence", "")
            structural += not sentence
            if sentence and args.get("elements"):
                by_vocabulary.add(sentence)
            elif sentence:
                assert grammar(sentence), sentence
                by_grammar.add(sentence)
    assert len(by_vocabulary) > 10
    assert len(by_grammar) >= 6
    assert structural >= 4


def test_every_precondition_can_be_brought_about() -> None:
    known = canvas().options["preconditions"]
    named = {sentence for suite in suites() for case in suite.cases for sentence in case.preconditions}
    assert named == set(known)


def counted(project: str) -> dict[str, int]:
    """The numbers of a project, counted from its recorded week without the app's help."""
    synced, events = WEEK[project]["synced_minutes_ago"], WEEK[project]["events"]
    windows = {"today": (0, DAY), "yesterday": (DAY, 2 * DAY), "this week": (0, 7 * DAY), "last day": (0, DAY)}
    found: dict[str, int] = {}

    def put(noun: str, source: str, kind: str, **wanted: object) -> None:
        fitting = [
            event
            for event in events
            if (event["source"], event["kind"]) == (source, kind)
            and all(event["data"].get(key) == value for key, value in wanted.items())
        ]
        found[noun] = len(fitting)
        for window, (since, until) in windows.items():
            inside = [e for e in fitting if synced[source] + since <= e["minutes_ago"] < synced[source] + until]
            found[f"{noun} {window}"] = sum(event["data"].get("count", 1) for event in inside)

    put("commits", "github", "commit")
    put("waiting reviews", "github", "pull_request", status="open", review="waiting", reviewer=ME)
    put("open bugs", "github", "issue", status="open", label="bug")
    put("messages", "slack", "message")
    put("mentions", "slack", "message", mentions_me=True)
    put("unanswered", "slack", "message", mentions_me=True, answered=False)
    put("incidents", "slack", "message", topic="incident")
    put("praise", "slack", "message", topic="praise")
    for noun in ("signup", "checkout", "exception", "pageview"):
        put(f"{noun}s", "posthog", noun)
    put("deployments", "vercel", "deployment")
    put("failed", "vercel", "deployment", status="error")
    for source, minutes in synced.items():
        found[f"{source} age"] = minutes if minutes < 180 else minutes // 60
    return found


def grounded() -> Iterator[Any]:
    """Every number that is said to be one of a project's: its label, and the number asked for."""
    for expected in expectations():
        for entry in expected.get("must_ground_numbers", ()):
            project, _, what = entry["label"].partition(" ") if isinstance(entry, dict) else ("", "", "")
            if project in WEEK:
                plain = re.sub(r"\\.", " ", entry.get("regex", ""))
                number = entry["value"] if "value" in entry else re.findall(r"\d+", plain)[0]
                yield pytest.param(project, what, int(number), id=f"{project}-{what}-{number}".replace(" ", "-"))


@pytest.mark.parametrize(("project", "what", "number"), list({param.id: param for param in grounded()}.values()))
def test_numbers_are_those_of_the_recorded_data(project: str, what: str, number: int) -> None:
    assert counted(project)[what] == number


def test_bare_numbers_are_those_of_the_recorded_data() -> None:
    case = next(case for case in raw(FILES[1])["cases"] if case["id"] == "SYN12")
    bare = [entry for entry in case["expected"]["must_ground_numbers"] if isinstance(entry, int)]
    beacon = counted("beacon")
    kinds = ("signups", "checkouts", "exceptions", "pageviews")
    wanted = [beacon[f"{kind} {window}"] for kind in kinds for window in ("today", "yesterday", "this week")]
    assert bare[1:] == [*wanted, beacon["deployments this week"]]
