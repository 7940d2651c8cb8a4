"""What the eval sets hold: enough cases, every field and outcome, and numbers that are those of the recorded data."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, get_args

import pytest

from carob.checks.effects.outcome import Name
from carob.checks.page.ui import grammar, resolve
from carob.checks.telemetry import shorthand
from catalogs import CATALOG

from .recorded import WEEK, counted, evidence, per_day, rows, shown
from .support import FILES, canvas, raw, suites

SPACES = {"The Launch Week space is open.": "beacon", "The Back Office space is open.": "cove"}
RENAMED = {"Release Radar": "Vercel Deployments"}

IN_GOLDEN_SETS = "it is about decisions that a database keeps, which the golden sets ask for; the canvas app makes none"
IN_OTHER_TOOLS = "it says what suites of other tools ask for, which tests/suites holds"
OTHER_TOOLS = ("answer_text", "json_text", "tool_call_f1", "response_match", "spans", "score_of", "code", "unjudged")
OTHER_TOOLS += ("meets", "answer_syntax")
OF_CODING_AGENTS = (
    "it is about the workspace of a coding agent; the canvas app has none, examples/coding_agent asks for it"
)
WORKSPACE = ("commands", "claims", "files", "diff", "skills", "outside", "network", "after")
IN_CAROB_1 = "the suites of the example agents in Carob 1 ask for it"
CAROB_1 = (
    *("tool_order", "tool_requires", "grounded_numbers", "grounded_constants", "grounded_in", "no_false_success"),
    *("only_effects", "in_any_turn", "valid_arguments", "ended"),
    *("no_effect_twice", "max_retries", "admits_failure", "no_leak"),
    *("state", "answer_equals", "answer_json", "answer_at", "min_words", "max_words", "max_tool_calls", "max_calls"),
    *("max_seconds", "max_first_token_seconds", "max_steps", "max_tokens", "max_cost_usd"),
)
UNUSED = {
    **dict.fromkeys(CAROB_1, IN_CAROB_1),
    **dict.fromkeys(OTHER_TOOLS, IN_OTHER_TOOLS),
    **dict.fromkeys(WORKSPACE, OF_CODING_AGENTS),
    "asks_for": IN_CAROB_1,
    "trajectory": IN_OTHER_TOOLS,
    **dict.fromkeys(("retrieved", "no_progress"), "no example agent searches or repeats itself: tests/laws has both"),
    "allocation_valid": IN_GOLDEN_SETS,
    "success_indicators": "it refines allocation_valid",
    "failure_indicators": "it refines allocation_valid",
    "database": "the canvas target has no database hook, so it would be unknown; the golden sets use it",
}
"""The fields that no eval set asks for, each with the reason."""
FIELDS = {*CATALOG.fields} - UNUSED.keys() | {"scoring"}


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
    assert {field for expected in asked for field in expected} == FIELDS
    assert {expected["outcome"] for expected in asked} == set(get_args(Name)) - {"completed"}
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


def grounded() -> Iterator[Any]:
    """Every number that is said to be one of a project's: its label, and the number asked for."""
    for expected in expectations():
        for entry in expected.get("must_ground_numbers", ()):
            project, _, what = entry["label"].partition(" ") if isinstance(entry, dict) else ("", "", "")
            if project in WEEK:
                plain = re.sub(r"\\.", " ", entry.get("regex", "").replace(",?", ""))
                number = entry["value"] if "value" in entry else re.findall(r"\d+", plain)[0]
                yield pytest.param(project, what, int(number), id=f"{project}-{what}-{number}".replace(" ", "-"))


@pytest.mark.parametrize(("project", "what", "number"), list({param.id: param for param in grounded()}.values()))
def test_numbers_are_those_of_the_recorded_data(project: str, what: str, number: int) -> None:
    assert counted(project)[what] == number


def project_of(case: dict[str, Any]) -> str:
    """Whose data the page shows in the end."""
    if case["prompt"] == "Switch to Launch Week":
        return "beacon"
    return next((SPACES[sentence] for sentence in case.get("preconditions", ()) if sentence in SPACES), "atlas")


def sentences(pattern: str) -> list[tuple[dict[str, Any], tuple[str, ...]]]:
    """Every sentence about the page that is of a pattern, with its case and what stands in the pattern's groups."""
    cases = [case for file in FILES for case in raw(file)["cases"]]
    found = [
        (case, re.fullmatch(pattern, entry))
        for case in cases
        for entry in case["expected"]["ui"]
        if "role" not in entry
    ]
    return [(case, match.groups()) for case, match in found if match]


def test_numbers_on_cards_are_those_of_the_recorded_data() -> None:
    found = sentences(r"The number (.+?) of (.+?) is (.+)\.")
    assert len(found) > 20
    for case, (label, card, value) in found:
        assert shown(project_of(case), RENAMED.get(card, card))[label] == value, case["id"]


def test_every_card_that_is_added_shows_all_its_numbers() -> None:
    told: dict[str, set[tuple[str, str]]] = {}
    for case, (label, card, _) in sentences(r"The number (.+?) of (.+?) is (.+)\."):
        told.setdefault(case["id"], set()).add((card, label))
    for case, (card,) in sentences(r"The card (.+?) is on the canvas\."):
        added = case["expected"]["outcome"] == "tool_success" and f"Added {card} to" in str(case["expected"])
        wanted = {(card, label) for label in shown(project_of(case), card)} if added else set()
        assert wanted <= told.get(case["id"], set()), case["id"]


def test_rows_and_charts_are_those_of_the_recorded_data() -> None:
    listed = sentences(r"(?:One card lists|Two cards list) (.+)\.")
    assert len(listed) >= 5
    for case, (row,) in listed:
        assert row in rows(project_of(case)), case["id"]
    charts = [
        entry["name"] for e in expectations() for entry in e["ui"] if isinstance(entry, dict) and entry["role"] == "img"
    ]
    assert charts == [per_day("atlas", "signup")]


def test_the_brief_on_the_canvas_weighs_all_evidence_of_the_recorded_data() -> None:
    weighed: dict[str, list[str]] = {}
    for case, (line,) in sentences(r"The brief weighs (.+)\."):
        weighed.setdefault(case["id"], []).append(line)
    briefs = [c for c in raw(FILES[2])["cases"] if "claim_evidence_alignment" in c["expected"]]
    assert weighed.keys() == {case["id"] for case in briefs}
    for case in briefs:
        lines = evidence(project_of(case), 10 if "stale after 10 minutes" in str(case.get("setup_prompts")) else 180)
        if "Slack is switched off." in case.get("preconditions", ()):
            lines[1] = "Slack: switched off in this space, no data"
        assert weighed[case["id"]] == lines


def test_the_brief_on_the_canvas_proposes_the_levers_that_the_answer_numbers() -> None:
    for case in raw(FILES[2])["cases"]:
        if "required_levers" in case["expected"]:
            levers = [
                groups[0] for told, groups in sentences(r"The brief proposes: (.+)\.") if told["id"] == case["id"]
            ]
            assert len(levers) == case["expected"]["required_levers"]
            numbered = [p for p in case["expected"]["must_match_regex"] if re.match(r"\^\d", p)]
            for number, (lever, pattern) in enumerate(zip(levers, numbered, strict=True), 1):
                assert re.match(pattern, f"{number}. {lever}"), case["id"]
