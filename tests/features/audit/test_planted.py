"""Vacuous cases, one per kind of emptiness: each is green, and each is found by lint or by the audit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from carob.features.audit.run_audit import audit
from carob.features.lint.base import TargetInfo
from carob.features.lint.linter import lint
from carob.model.verdict import CaseStatus
from carob.suites.reading import locate_suite
from catalogs import CATALOG
from features.audit import sample
from features.audit.support import Answer, case, recorded

PROMPT = "Summarise the trains of the week."
TRAINS = "Of 12 trains 41 minutes late, seen 30 minutes ago, the worst was the express. Assumption: the log is whole."
CALLED: Answer = {
    "final_message": TRAINS,
    "tool_calls": [{"name": "find_trains", "arguments": {"week": 7}, "success": True}],
}
TWO_CALLS: Answer = {
    "final_message": TRAINS,
    "tool_calls": [
        {"name": "find_trains", "arguments": {"week": 7}, "success": True},
        {"name": "rank_trains", "arguments": {}, "success": True},
    ],
}
FAILED: Answer = {
    "final_message": "No train could be found.",
    "tool_calls": [{"name": "find_trains", "success": False}],
}
SOURCES: Answer = {"final_message": "Rail: 12 trains\nRoad: 4 buses\nNote: based on data.", "tool_calls": []}
LISTED: Answer = {"final_message": "Late trains:\n- the express\n- the night train\nThat is all.", "tool_calls": []}
PAGED: Answer = {"final_message": TRAINS, "tool_calls": [], "page": sample.TILE, "page_before": sample.BOARD}
STORED: Answer = {"final_message": TRAINS, "tool_calls": [], "database": {"SELECT count(*) FROM t": [{"n": 1}]}}
LOGGED: Answer = {"final_message": TRAINS, "telemetry": [sample.event("find_trains", "start")]}


class Planted(NamedTuple):
    """What a vacuous case expects, the answer that it passes with, and who must find it how."""

    found_by: str
    expected: dict[str, Any]
    answer: Answer = CALLED
    beside: tuple[dict[str, Any], ...] = ()
    version: str = "0.3"
    green: bool = True


SAID = {"must_say_any": ["express"]}
WEIGHTED = {"hard_fail": ["uncertainty"]}
PLANTED = {
    "a phrase that the prompt holds": Planted("lint prompt-satisfies", {"must_say_any": ["trains"]}),
    "a regex that the prompt satisfies": Planted(
        "lint prompt-satisfies", {"must_match_regex": [r"\bweek\b"]}, "A week."
    ),
    "a hard-fail group without a check": Planted("lint group-without-checks", {**SAID, "scoring": WEIGHTED}),
    "a weight on a group without a check": Planted(
        "lint group-without-checks", {**SAID, "scoring": {"soft_score": {"weights": {"formatting": 1, "qa": 9}}}}
    ),
    "a shorthand that is none": Planted(
        "lint telemetry-shorthand", {"telemetry": ["tool.find_trains started"]}, LOGGED, green=False
    ),
    "a sentence that nobody reads": Planted("lint unknown-ui-sentence", {"ui": ["It looks good."]}, PAGED, green=False),
    "a regex that matches everything": Planted("lint loose-regex", {"must_match_regex": [r"\w+"]}),
    "a number that may be any": Planted("lint loose-regex", {"must_ground_numbers": [{"regex": "[0-9]+"}]}),
    "a forbidden regex that cannot match": Planted(
        "lint dead-regex", {**SAID, "must_not_match_regex": [r"(?=sorry, m)sorry, no"]}
    ),
    "words that must and must not be said": Planted(
        "lint contradiction", {"must_say_any": ["the express", "bus"], "must_not_say": ["bus"]}
    ),
    "a tool that must and must not be called": Planted(
        "lint contradiction", {"tool_calls_any": ["find_trains", "drop"], "tool_calls_none": ["drop"]}
    ),
    "the same question twice": Planted(
        "lint duplicate-prompt", SAID, beside=(case(SAID, "Z", "summarise the  TRAINS of the week."),)
    ),
    "a field that the version does not know": Planted(
        "lint newer-field", {"required_levers": 1}, LISTED, version="0.1"
    ),
    "a forbidden tool that does not exist": Planted("lint unknown-tool", {**SAID, "tool_calls_none": ["drop_trains"]}),
    "any answer at all": Planted("control repeats the prompt", {"outcome": "response_only"}),
    "only what must not be said": Planted("control answers as in other", {"must_not_say": ["sorry"]}),
    "a word that every answer has": Planted("control answers as in other", {"must_say_any": ["the", "a"]}),
    "numbers that nobody looks at": Planted("survivor number-changed", SAID),
    "an age that may be any": Planted(
        "survivor ages-stale", {**SAID, "evidence_freshness_max_age_minutes": 10_000_000}
    ),
    "a start that needs no answer": Planted(
        "survivor answer-emptied", {"outcome": "tool_started", "tool_calls_any": ["find_trains"]}
    ),
    "a tool whose success nobody asks for": Planted(
        "survivor tool-outcome", {**SAID, "tool_calls_any": ["find_trains"]}
    ),
    "a tool that nobody waits for": Planted("survivor tool-result-missing", {**SAID, "outcome": "tool_started"}),
    "arguments that nobody looks at": Planted("survivor tool-arguments", {**SAID, "tools_used": ["find_trains"]}),
    "a list of tools that may be longer": Planted(
        "survivor tool-doubled", {**SAID, "tools_used": ["find_trains"], "tools_match": "superset"}
    ),
    "an order that nobody minds": Planted(
        "survivor tool-moved", {**SAID, "tools_used": ["find_trains", "rank_trains"]}, TWO_CALLS
    ),
    "a choice of tools, one of them idle": Planted(
        "survivor tool-dropped", {**SAID, "tool_calls_any": ["find_trains", "rank_trains"]}, TWO_CALLS
    ),
    "no tool is forbidden": Planted("survivor tool-forbidden", {**SAID, "outcome": "tool_success"}),
    "a failure that may be sold as success": Planted(
        "survivor answer-claims-success", {"outcome": "response_only", "tools_used": ["find_trains"]}, FAILED
    ),
    "a refusal will do": Planted("survivor answer-refused", {"outcome": "tool_success", "tools_used": ["find_trains"]}),
    "only the start is looked at": Planted("survivor answer-cut", {"must_match_regex": [r"^Of\s+12"]}),
    "a source known by a common word": Planted(
        "survivor source-removed",
        {"required_sources": ["Road"], "source_patterns": {"Road": ["data"]}, "must_ground_numbers": ["12"]},
        SOURCES,
    ),
    "a marker that is no marker": Planted(
        "lint loose-phrase",
        {**SAID, "must_label_assumptions": True, "assumption_markers_any": ["the"]},
        "Assumption: it is the express.",
    ),
    "doubts that nobody asks for": Planted("survivor assumptions-removed", SAID),
    "an age that is none": Planted(
        "survivor ages-stale",
        {**SAID, "evidence_freshness_max_age_minutes": 60, "evidence_freshness_regex": r"\d+\s+trains"},
    ),
    "a list that nobody counts": Planted(
        "survivor answer-bullets", {"must_match_regex": [r"^Late", r"is\s+all"]}, LISTED
    ),
    "a page that nobody looks at": Planted("survivor element-gone", {**SAID, "ui": [{"role": "main"}]}, PAGED),
    "a log that nobody reads": Planted("survivor telemetry-missing", {**SAID, "tools_used": ["find_trains"]}, LOGGED),
    "a database that nobody asks": Planted("survivor database-undone", SAID, STORED),
    "nothing is forbidden to say": Planted("survivor answer-forbidden", SAID),
}


@pytest.mark.parametrize("planted", PLANTED.values(), ids=PLANTED)
def test_emptiness_is_found(planted: Planted, tmp_path: Path) -> None:
    other = case({"must_say_any": ["kettle"]}, "other", "Where is it?")
    cases = [{**case(planted.expected), "prompt": PROMPT}, other, *planted.beside]
    suite = locate_suite(json.dumps({"version": planted.version, "cases": cases}).encode(), "planted.json", CATALOG)
    boils = "The kettle boils, a little late."
    answers: dict[str, Answer] = {"A": planted.answer, "other": {"final_message": boils, "tool_calls": []}, "Z": CALLED}
    journal = recorded(suite.suite, answers, tmp_path)
    (record, *_) = journal.records()
    assert (record.status is CaseStatus.PASS) is planted.green, "the emptiness of a case is that it is green"

    how, _, what = planted.found_by.partition(" ")
    if how == "lint":
        tools = frozenset(("find_trains", "rank_trains", "drop")) if what == "unknown-tool" else None
        assert what in {problem.slug for problem in lint(suite, CATALOG, TargetInfo("t", tools=tools))}
        return
    (entry, *_) = audit(journal).cases
    assert entry.case_id == "A"
    assert what in (entry.controls if how == "control" else {survivor.operator for survivor in entry.survivors})


def test_there_are_twenty_kinds_and_more() -> None:
    assert len(PLANTED) >= 20
    assert len({planted.found_by for planted in PLANTED.values()}) >= 20
