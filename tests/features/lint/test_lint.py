"""Every slug: a suite that smells, at its place, and one that only looks like it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carob.features.langgraph.loading import tools_of
from carob.features.lint.base import TargetInfo
from carob.features.lint.linter import SLUGS, lint
from carob.suites.reading import locate_suite
from carob.text.regexes import safe_regex
from carob.text.regexes.examples import UnreadableError, example
from catalogs import CATALOG
from features.audit import sample
from features.audit.support import case

ROOT = Path(__file__).parents[3]
KNOWN = TargetInfo("staging", {"The {what} is lit.": [{"role": "img", "name": "{what}"}]}, frozenset({"find", "book"}))
PROMPT = "Tell the team what is late."


def smells(tree: Any, around: TargetInfo = KNOWN) -> list[str]:
    """Path and slug of everything that smells."""
    suite = locate_suite(json.dumps(tree).encode(), "s.json", CATALOG)
    smell_list = lint(suite, CATALOG, around)
    return [f"{problem.path.removeprefix('cases[0].expected.')} {problem.slug}" for problem in smell_list]


def of_case(expected: dict[str, Any], around: TargetInfo = KNOWN, **keys: Any) -> list[str]:
    words = {"must_not_say": ["zzz"], "expected_contains": ["express"]}
    return smells({"version": "0.3", "cases": [case({**words, **expected}, prompt=PROMPT) | keys]}, around)


SMELLS = [
    # prompt-satisfies
    ({"must_say_any": ["nothing", "LATE"]}, ["must_say_any[1] prompt-satisfies"]),
    ({"must_match_regex": ["^tell"]}, ["must_match_regex[0] prompt-satisfies"]),
    ({"reason_contains": ["the team"]}, ["reason_contains[0] prompt-satisfies"]),
    ({"must_ground_numbers": [{"regex": "team|late"}]}, ["must_ground_numbers[0] prompt-satisfies"]),
    ({"must_label_assumptions": True, "assumption_markers_any": ["tell"]}, ["must_label_assumptions prompt-satisfies"]),
    ({"required_sources": ["team"]}, []),
    ({"must_not_say": ["team"]}, []),
    ({"must_say_any": ["teams"]}, []),
    # group-without-checks
    ({"scoring": {"hard_fail": ["qa", "uncertainty"]}}, ["scoring.hard_fail[1] group-without-checks"]),
    (
        {"scoring": {"soft_score": {"weights": {"qa": 1, "decision": 2, "uncertainty": 0}}}},
        ["scoring.soft_score.weights.decision group-without-checks"],
    ),
    ({"scoring": {"hard_fail": ["tool_hygiene", "formatting", "qa"]}}, []),
    # telemetry-shorthand
    ({"telemetry": ["tool.find started"]}, ["telemetry[0] telemetry-shorthand"]),
    ({"telemetry": ["tool.find result success=true"]}, ["telemetry[0] telemetry-shorthand"]),
    ({"telemetry": ["tools.find start"]}, ["telemetry[0] telemetry-shorthand"]),
    ({"telemetry": ["success:false missingFields containing date"]}, ["telemetry[0] telemetry-shorthand"]),
    ({"telemetry": ["tool.find start", "tool.find  result success: true", "tool.find", "cache miss"]}, []),
    ({"telemetry": ['"missingFields":["date"]', '"success":true']}, []),
    # unknown-ui-sentence
    ({"ui": ["Confetti falls."]}, ["ui[0] unknown-ui-sentence"]),
    ({"ui": ["The lamp is lit.", "A GitHub tile is visible.", {"role": "alert"}]}, []),
    # loose-regex
    ({"must_match_regex": [r"[a-z]"]}, ["must_match_regex[0] prompt-satisfies", "must_match_regex[0] loose-regex"]),
    ({"must_not_match_regex": [r"\S"]}, ["must_not_match_regex[0] loose-regex", "expected_contains[0] contradiction"]),
    ({"required_levers": 1, "lever_regex": r"^\S.*"}, ["required_levers prompt-satisfies", "lever_regex loose-regex"]),
    ({"must_ground_numbers": [{"regex": r"\d+"}]}, ["must_ground_numbers[0].regex loose-regex"]),
    ({"must_ground_numbers": [{"regex": r"\d+ trains"}]}, ["must_ground_numbers[0].regex loose-regex"]),
    ({"must_match_regex": [r"\d+"]}, ["must_match_regex[0] loose-regex"]),
    ({"must_ground_numbers": [{"regex": r"12 trains"}], "must_match_regex": [r"\b41\b"]}, []),
    # snapshot-regex
    ({"required_levers": 1, "lever_regex": r"^\s*-\s*listitem:"}, ["lever_regex snapshot-regex"]),
    ({"must_match_regex": [r'- (?:button|link) "Ask']}, ["must_match_regex[0] snapshot-regex"]),
    ({"required_levers": 1, "lever_regex": r"^\s*-\s*(Status|Link): trains"}, []),
    # dead-regex
    ({"must_match_regex": [r"late\btrain"]}, ["must_match_regex[0] dead-regex"]),
    ({"must_not_match_regex": [r"x$\ny", r"(?<=a)b", r"(?=.*\d)[a-z]+\d", r"\p{Lu}q"]}, []),
    # loose-phrase
    ({"must_say_any": ["the", "express"]}, ["must_say_any[0] prompt-satisfies", "must_say_any[0] loose-phrase"]),
    ({"required_sources": ["Rail"], "source_patterns": {"Rail": ["issue"]}}, ["source_patterns.Rail[0] loose-phrase"]),
    (
        {"must_ground_numbers": [{"value": 7, "context_any": ["of"]}]},
        ["must_ground_numbers[0].context_any[0] loose-phrase"],
    ),
    ({"must_say_any": ["How can I help you?", "the express"]}, []),
    # contradiction
    ({"expected_contains": ["All is well"], "must_not_say": ["well"]}, ["expected_contains[0] contradiction"]),
    ({"must_say_any": ["bus", "car"], "must_not_match_regex": ["b[ua]s"]}, ["must_say_any[0] contradiction"]),
    ({"must_say_any": ["bus"], "must_not_match_regex": ["^bus$"]}, []),
    ({"must_match_regex": ["gone wrong"], "must_not_contain": ["wrong"]}, ["must_match_regex[0] contradiction"]),
    ({"required_sources": ["Rail"], "must_not_say": ["rail"]}, ["required_sources[0] contradiction"]),
    ({"reason_contains": ["was not found"], "allocation_valid": True}, ["reason_contains[0] contradiction"]),
    ({"reason_contains": ["was allocated"], "allocation_valid": False}, ["reason_contains[0] contradiction"]),
    ({"reason_contains": ["was allocated"], "allocation_valid": True}, []),
    ({"tool_calls_any": ["find", "book"], "tool_calls_none": ["book"]}, ["tool_calls_any[1] contradiction"]),
    ({"tool_calls": [{"tool": "book"}], "tool_calls_none": ["book"]}, ["tool_calls[0].tool contradiction"]),
    ({"telemetry": ["tool.book start"], "tool_calls_none": ["book"]}, ["telemetry[0] contradiction"]),
    ({"tools_used": ["book"], "tool_calls_none": ["book"]}, ["tools_used[0] contradiction"]),
    ({"tools_used": ["book"], "tools_match": "subset", "tool_calls_none": ["book"]}, []),
    ({"tools_used": [], "outcome": "tool_success"}, ["tools_used contradiction"]),
    (
        {"tools_used": ["find"], "tool_calls_any": ["book"]},
        ["tool_calls_any contradiction", "tool_calls_any[0] contradiction"],
    ),
    ({"tools_used": ["find"], "tools_match": "superset", "tool_calls_any": ["book"]}, []),
    ({"outcome": "graceful_block", "tool_calls": [{"tool": "book", "success": True}]}, ["tool_calls[0] contradiction"]),
    ({"outcome": "graceful_block", "telemetry": ["tool.book result success:true"]}, ["telemetry[0] contradiction"]),
    ({"outcome": "graceful_block", "telemetry": ["tool.book result success:false"]}, []),
    ({"ui": [{"role": "alert"}, {"role": "alert", "visible": False}]}, ["ui[1] contradiction"]),
    ({"ui": [{"role": "alert", "min": 1}, {"role": "alert", "max": 3}, {"role": "img", "visible": False}]}, []),
    # unknown-tool
    ({"tool_calls_any": ["find", "fnid"]}, ["tool_calls_any[1] unknown-tool"]),
    ({"tool_calls_none": ["drop"]}, ["tool_calls_none[0] unknown-tool"]),
    ({"tools_used": ["drop"]}, ["tools_used[0] unknown-tool"]),
    ({"tool_calls": [{"tool": "drop"}]}, ["tool_calls[0].tool unknown-tool"]),
    ({"tool_calls_none": ["drop_*"]}, ["tool_calls_none[0] unknown-tool"]),
    ({"tool_calls_none": ["f*", "*"]}, []),
    ({"telemetry": ["tool.drop start"]}, ["telemetry[0] unknown-tool"]),
]


@pytest.mark.parametrize(("expected", "found"), SMELLS, ids=[json.dumps(expected)[:80] for expected, _ in SMELLS])
def test_smell(expected: dict[str, Any], found: list[str]) -> None:
    assert sorted(of_case(expected)) == sorted(found)


def test_a_regex_for_snapshots_is_told_what_it_is_tried_on() -> None:
    tree = {"version": "0.3", "cases": [case({"required_levers": 1, "lever_regex": r"^\s*-\s*listitem:"})]}
    suite = locate_suite(json.dumps(tree).encode(), "s.json", CATALOG)
    assert [str(problem).partition("lever_regex: ")[2] for problem in lint(suite, CATALOG, KNOWN)] == [
        "this regex is for an accessibility snapshot: it finds nothing in an answer. It is tried on the "
        "answer's own snapshot, or on its Markdown written as one, and on nothing else. [snapshot-regex]"
    ]


@pytest.mark.parametrize(
    ("expected", "words"),
    [
        ({"expected_contains": ["All is well"], "must_not_say": ["well"]}, "must_not_say[0] forbids 'All is well': "),
        ({"tool_calls_any": ["book"], "tool_calls_none": ["find", "book"]}, "tool_calls_none[1]"),
    ],
)
def test_a_contradiction_names_the_other_field(expected: dict[str, Any], words: str) -> None:
    tree = {"version": "0.3", "cases": [case(expected)]}
    problems = map(str, lint(locate_suite(json.dumps(tree).encode(), "s.json", CATALOG), CATALOG, KNOWN))
    assert [words in line for line in problems if "[contradiction]" in line] == [True]


def test_a_case_that_the_prompt_passes() -> None:
    tree = {"version": "0.3", "cases": [case({"must_not_say": ["zzz"]})]}
    assert smells(tree) == ["cases[0].id echo-passes"]
    assert smells({"version": "0.3", "cases": [case({"must_say_any": ["the express"]})]}) == []
    assert smells({"version": "0.3", "cases": [case({"outcome": "tool_success", "must_not_say": ["zzz"]})]}) == []


def test_names_and_numbers_of_the_prompt_smell_where_nothing_else_is_asked() -> None:
    """An answer may take them up; but if that is all, the words of the answer are not looked at."""
    expected = {"required_sources": ["GitHub"], "must_ground_numbers": ["42"], "outcome": "tool_success"}
    alone = {"version": "0.3", "cases": [case(expected, prompt="Tell of GitHub and 42.")]}
    paths = ["required_sources[0] prompt-satisfies", "must_ground_numbers[0] prompt-satisfies"]
    assert sorted(smells(alone)) == sorted(paths)
    more = {
        "version": "0.3",
        "cases": [case({**expected, "must_say_any": ["merged"]}, prompt="Tell of GitHub and 42.")],
    }
    assert smells(more) == []
    question = {
        "version": "0.3",
        "cases": [case({**expected, "outcome": "needs_input"}, prompt="Tell of GitHub and 42.")],
    }
    assert smells(question) == []


def test_duplicate_prompts() -> None:
    words = {"must_say_any": ["the express"]}
    same = [case(words, "A", "What is  UP?"), case(words, "B", "What is up?"), case(words, "C", "What is down?")]
    assert smells({"version": "0.3", "cases": same}) == ["cases[1].prompt duplicate-prompt"]
    apart = [same[0], {**same[1], "setup_prompts": ["Hello."]}]
    assert smells({"version": "0.3", "cases": apart}) == []


def test_what_reading_tells_already() -> None:
    assert smells({"cases": [case({"must_say_any": ["the express"]})]}) == ["version missing-version"]
    tree = {"version": "0.1", "cases": [case({"must_match_regex": ["express"]})]}
    assert smells(tree) == ["must_match_regex newer-field"]


def test_golden_sets_smell_at_their_own_places() -> None:
    tree = [
        {"id": "a", "input": "Book it now.", "expected_contains": ["book it"], "must_not_contain": ["zzz"]},
        {"id": "b", "input": "Book that.", "expected": ["book that", "fine weather"]},
        {"id": "c", "input": "book  THAT.", "expected": {"reason_contains": ["book that"], "tools_used": ["drop"]}},
    ]
    assert smells(tree) == [
        "[0].id echo-passes",
        "[0].expected_contains[0] prompt-satisfies",
        "[1].expected[0] prompt-satisfies",
        "[2].input duplicate-prompt",
        "[2].expected.reason_contains[0] prompt-satisfies",
        "[2].expected.tools_used[0] unknown-tool",
    ]


def test_places_are_lines_and_columns() -> None:
    text = 'version: "0.3"\ncases:\n  - id: A\n    prompt: Hi there.\n    expected:\n      must_say_any: [hi, bye]\n'
    (diagnostic,) = lint(locate_suite(text.encode(), "s.yaml", CATALOG), CATALOG, TargetInfo(), ["echo-passes"])
    assert (diagnostic.line, diagnostic.column, diagnostic.path) == (6, 22, "cases[0].expected.must_say_any[0]")
    assert str(diagnostic).startswith("s.yaml:6:22 cases[0].expected.must_say_any[0]: the prompt itself holds 'hi'")


COMMANDS = [
    ({"run": "^pytest"}, ["commands[0] exit-not-asked"]),
    ({"run": "^pytest", "exit": 0}, []),
    ({"run": "pytest", "exit": 0}, ["commands[0].run loose-command"]),
    ({"run": "^git push", "never": True}, ["commands[0].run evaded-command"]),
    ({"run": r"^git (-\S+ (\S+ )?)*push", "never": True}, []),
    ({"run": "^rm -rf", "never": True}, ["commands[0].run evaded-command"]),
    ({"run": "^git commit -m 'wip'", "never": True}, ["commands[0].run evaded-command"]),
    ({"run": "^npx", "never": True}, []),
]


@pytest.mark.parametrize(("entry", "expected"), COMMANDS)
def test_commands_of_coding_agents(entry: dict[str, Any], expected: list[str]) -> None:
    only = {"id": "a", "prompt": PROMPT, "expected": {"commands": [entry]}}
    found = smells({"carob": 1, "cases": [only]}, TargetInfo())
    assert [smell for smell in found if "echo-passes" not in smell] == expected


def test_a_claim_is_bound_to_the_command_itself() -> None:
    only = {"id": "a", "prompt": PROMPT, "expected": {"claims": True}}
    for run, expected in (("pytest", ["claims loose-command"]), ("^pytest", [])):
        claims = {"tests": {"words": ["tests pass"], "run": run}}
        found = smells({"carob": 1, "claims": claims, "cases": [only]}, TargetInfo())
        assert [smell for smell in found if "echo-passes" not in smell] == expected


@pytest.mark.parametrize("slug", SLUGS)
def test_ignore(slug: str) -> None:
    words = {
        "must_say_any": ["hi"],
        "must_match_regex": [".", "x$y"],
        "required_levers": 1,
        "telemetry": ["tool.a started"],
    }
    more = {"ui": ["Hm."], "scoring": {"hard_fail": ["qa"]}, "tool_calls_none": ["drop"], "must_not_say": ["hi"]}
    tree = {
        "version": "0.2",
        "cases": [case({**words, **more}, prompt="Hi."), case({"must_say_any": ["it"]}, "B", "hi.")],
    }
    suite = locate_suite(json.dumps(tree).encode(), "s.json", CATALOG)
    slugs = {problem.slug for problem in lint(suite, CATALOG, KNOWN)}
    assert {problem.slug for problem in lint(suite, CATALOG, KNOWN, [slug])} == slugs - {slug}


def test_the_sample_is_clean() -> None:
    assert smells({"version": "0.3", "cases": list(sample.CASES)}, TargetInfo()) == []


def test_every_slug_has_its_row() -> None:
    page = (ROOT / "docs" / "lint.md").read_text("utf-8")
    rows = re.findall(r"^\| (`.*?) \|", page, re.MULTILINE)
    assert sorted(slug for row in rows for slug in re.findall(r"`(.*?)`", row)) == sorted(SLUGS)


def test_tools_are_only_known_where_the_graph_tells() -> None:
    class ToolNode:
        tools_by_name = {"find": 1, "book": 2}  # noqa: RUF012 - as LangGraph's class has it

    class Inner:
        nodes = {"tools": ToolNode()}  # noqa: RUF012

    class Bound:
        bound = Inner()

    class Graph:
        nodes = {"model": object(), "sub": Bound()}  # noqa: RUF012

    assert tools_of(Graph()) == {"find", "book"}
    assert tools_of(object()) is None
    assert of_case({"tool_calls_none": ["drop"]}, TargetInfo()) == []


@pytest.mark.parametrize(
    "pattern",
    [
        r"a{2,4}b?",
        r"[^\s\d]+\.",
        r"(?:x|yy)*z",
        r"^\d{4}-\d\d$",
        r"(ab)\1",
        r"(?i:q)\w\W",
        r"[a-c]-[x-z]",
        r"(?>ab|a)c",
    ],
)
def test_an_example_matches(pattern: str) -> None:
    text = example(pattern)
    assert text is not None
    assert safe_regex.search(pattern, text) is not None


def test_of_what_cannot_be_read_nothing_is_said() -> None:
    with pytest.raises(UnreadableError):
        example(r"\p{Lu}+")


@given(words=st.lists(st.text(alphabet="abc .*+?()[]|\\^$", min_size=1, max_size=4), min_size=1, max_size=3))
def test_examples_of_any_pattern_match_it(words: list[str]) -> None:
    pattern = "".join(words)
    try:
        safe_regex.compile_pattern(pattern)
        text = example(pattern)
    except (safe_regex.BadPattern, UnreadableError):
        return
    assert text is None or safe_regex.search(pattern, text) is not None
