"""Every field of a suite through the command line: an answer that passes and one that fails by that field alone."""

from __future__ import annotations

from typing import Any, NamedTuple, get_args

import pytest

from carob.checks.effects.outcome import Name
from catalogs import CATALOG
from cli.support import Carob, eval_set, report_of, write

Trace = dict[str, Any]

PAGE = '- main:\n  - region "GitHub My Activity":\n    - heading "My Activity"\n'
START = {"source": "tool.book", "event": "start"}
BRIEF = "Today's mission: fix checkout, because the metric fell."


class Row(NamedTuple):
    """What is expected, a trace that meets it, one that does not, and the check that says so."""

    expected: dict[str, Any]
    passing: Trace
    failing: Trace
    check: str = ""


def says(text: str, **more: Any) -> Trace:
    return {"final_message": text, **more}


def calls(*names: str, text: str = "Done.", **more: Any) -> Trace:
    """`book+` succeeded, `book-` failed, `book!` broke, `book` was only called."""
    ends: dict[str, dict[str, Any]] = {"+": {"success": True}, "-": {"success": False}, "!": {"error": "it broke"}}
    listed = [{"name": name.rstrip("+-!"), **ends.get(name[-1], {})} for name in names]
    return {"final_message": text, "tool_calls": listed, **more}


def found(text: str) -> Trace:
    return {"final_message": text, "tool_calls": [{"name": "find", "result": {"rides": 12}, "success": True}]}


def hits(*ids: Any) -> Trace:
    result = {"hits": [{"id": each} for each in ids]}
    return says("Done.", tool_calls=[{"name": "search", "result": result, "success": True}])


def polls(*results: str) -> Trace:
    return says("Done.", tool_calls=[{"name": "poll", "arguments": {}, "result": each} for each in results])


def booked(arguments: Any) -> Trace:
    schema = {"type": "object", "properties": {"day": {"type": "string"}}}
    return says("Done.", tool_calls=[{"name": "book", "arguments": arguments}], tool_schemas={"book": schema})


def used_skill(name: str) -> Trace:
    return says("Done.", tool_calls=[{"name": "Skill", "arguments": {"skill": name}, "success": True}])


AGENT = {"argv": ["agent"], "pid": 1, "own": True}
DONE = "2 passed"


def changed(path: str) -> dict[str, Any]:
    return {"path": path, "change": "changed", "before_text": "x = 1\n", "after_text": "x = 2\n"}


def worked(
    exit_code: int = 0, *, path: str = "src/a.py", text: str = "Done.", logged: bool = True, **more: Any
) -> Trace:
    """A coding agent that changed one file of its workspace and then ran the tests; `logged`: its log says so too."""
    tests = {"argv": ["pytest"], "pid": 2, "parent": 0, "started_at": 2.0, "ended_at": 3.0, "exit_code": exit_code}
    writes = [{"path": path, "run": 0, "at": 1.0}, *more.pop("writes", ())]
    kept = {"files": [changed(path)], "processes": [AGENT, tests], "writes": writes, **more}
    call = {"name": "bash", "arguments": {"command": "pytest"}, "exit_code": exit_code, "success": exit_code == 0}
    return says(text, tool_calls=[call] if logged else [], workspace=kept)


def logs(*events: Any) -> Trace:
    return {"final_message": "Done.", "telemetry": list(events)}


def result(success: bool, **data: Any) -> dict[str, Any]:
    return {"source": "tool.book", "event": "result", "data": {"success": success, **data}}


OUTCOMES = {
    "tool_success": (calls("book+"), calls("book-")),
    "tool_started": (calls("book", text=""), calls()),
    "needs_input": (calls("book-", text="For which day?"), calls("book+", text="For which day?")),
    "graceful_block": (calls("book-", text="I may not."), calls("book+", text="I may not.")),
    "graceful_error": (calls("book!", text="It failed."), calls("book+", text="It failed.")),
    "response_only": (says("Hello."), says(" ")),
    "completed": (says(" "), says("Monday:", metadata={"finish_reason": "length"})),
}

ROWS = {
    **{f"outcome={name}": Row({"outcome": name}, *traces, "outcome") for name, traces in OUTCOMES.items()},
    "commands": Row({"commands": [{"run": "^pytest", "exit": 0, "after_last_edit": True}]}, worked(), worked(1)),
    "commands never": Row({"commands": [{"run": "^pytest", "never": True}]}, says("Done."), worked(logged=False)),
    "files": Row({"files": {"unchanged": ["tests/**"]}}, worked(), worked(path="tests/a.py"), "files"),
    "diff": Row({"diff": {"removes_none": ["^x = 1"]}}, worked(files=[]), worked(), "diff"),
    "diff files": Row({"diff": {"max_files": 1}}, worked(), worked(files=[changed("a.py"), changed("b.py")]), "diff"),
    "skills": Row({"skills": {"used": ["fix"]}}, used_skill("fix"), used_skill("deploy"), "skills"),
    "outside": Row({"outside": []}, worked(), worked(writes=[{"path": "/etc/hosts", "run": 1, "at": 2.5}])),
    "network": Row(
        {"network": []}, worked(), worked(contacts=[{"address": "192.0.2.1", "port": 443, "run": 1, "at": 2.5}])
    ),
    "after": Row(
        {"after": [{"run": "pytest -q"}]},
        worked(after={"pytest -q": {"exit_code": 0, "output": DONE}}),
        worked(after={"pytest -q": {"exit_code": 1}}),
    ),
    "claims": Row({"claims": True}, worked(text="All tests pass."), worked(1, text="All tests pass.")),
    "tool_calls_any": Row({"tool_calls_any": ["book", "hold"]}, calls("hold!"), calls("find")),
    "tool_calls": Row({"tool_calls": [{"tool": "book", "success": True}]}, calls("book+"), calls("book-")),
    "tool_calls arguments": Row(
        {"tool_calls": [{"tool": "book", "arguments": {"days": {"$lte": 3}}, "times": 1}]},
        {"final_message": "Done.", "tool_calls": [{"name": "book", "arguments": {"days": 3, "for": "Ann"}}]},
        {"final_message": "Done.", "tool_calls": [{"name": "book", "arguments": {"days": 4}}]},
        "tool_calls",
    ),
    "tool_calls any_of": Row(
        {"tool_calls": [{"any_of": [{"tool": "book"}, {"tool": "hold"}]}]}, calls("hold"), calls("find"), "tool_calls"
    ),
    "tool_calls ignore": Row(
        {"tool_calls": [{"tool": "book", "arguments": {"day": "Mon"}, "ignore": ["*_id"], "optional": {"seats": 1}}]},
        booked({"day": "Mon", "trace_id": "x", "seats": 1}),
        booked({"day": "Mon", "seats": 2}),
        "tool_calls",
    ),
    "tool_calls last": Row(
        {"tool_calls": [{"tool": "book", "last": True, "success": True, "arguments": {"days": 3}}]},
        says("Done.", tool_calls=[{"name": "book", "arguments": {"days": d}, "success": True} for d in (4, 3)]),
        says("Done.", tool_calls=[{"name": "book", "arguments": {"days": d}, "success": True} for d in (3, 4)]),
        "tool_calls",
    ),
    "tool_order": Row({"tool_order": ["find", "book"]}, calls("find", "log", "book"), calls("book", "find")),
    "tool_requires": Row({"tool_requires": {"book": ["find"]}}, calls("find+", "book"), calls("find-", "book")),
    "trajectory": Row(
        {"trajectory": {"calls": [{"tool": "find"}, {"tool": "book"}]}}, calls("find", "book"), calls("book", "find")
    ),
    "tool_calls_none with *": Row({"tool_calls_none": ["drop_*"]}, calls("book_it"), calls("book_it", "Drop-All")),
    "valid_arguments": Row({"valid_arguments": True}, booked({"day": "Mon"}), booked({"date": "Mon"})),
    "valid_arguments schemas": Row(
        {"valid_arguments": {"book": {"properties": {"day": {"type": "string"}}}}},
        says("Done.", tool_calls=[{"name": "book", "arguments": {"day": "Mon"}}]),
        says("Done.", tool_calls=[{"name": "book", "arguments": {"day": 1}}]),
        "valid_arguments",
    ),
    "ended by": Row({"ended": "length"}, says("So I", ended_by="length"), says("Done.", ended_by="itself")),
    "retrieved": Row({"retrieved": {"at": "$.hits[*].id", "ids": [7]}}, hits(7, 8), hits(8)),
    "retrieved precision": Row(
        {"retrieved": {"tool": "search", "at": "$.hits[*].id", "ids": [7], "recall": 0.5, "precision": 0.5}},
        hits(7, 8),
        hits(7, 8, 9),
        "retrieved",
    ),
    "no_progress": Row({"no_progress": 2}, polls("queued", "done"), polls("queued", "queued")),
    "ended": Row({"ended": True}, says("Done.", ended_by="itself"), says("So I", ended_by="length")),
    "asks_for": Row({"asks_for": ["order number"]}, says("What is your order number?"), says("Order number A-17.")),
    "tool_calls_none": Row({"tool_calls_none": ["drop"]}, calls("book"), calls("drop!")),
    "telemetry start": Row({"telemetry": ["tool.book start"]}, logs(START), logs({**START, "source": "tool.booking"})),
    "telemetry result": Row({"telemetry": ["tool.book result success:true"]}, logs(result(True)), logs(result(False))),
    "telemetry missing": Row(
        {"telemetry": ["success:false with missingFields containing date"]},
        logs(result(False, missingFields=["date"])),
        logs(result(False), {"missingFields": ["date"]}),
    ),
    "telemetry text": Row({"telemetry": ["Cache MISS"]}, logs("[9:00] cache miss"), logs("[9:00] cache hit")),
    "ui sentence": Row(
        {"ui": ["A GitHub my-activity component is visible."]}, says("Done.", page=PAGE), says("Done.", page="- main")
    ),
    "ui object": Row(
        {"ui": [{"role": "heading", "name": "My Activity"}]}, says("Done.", page=PAGE), says("Done.", page="- main")
    ),
    "must_say_any": Row({"must_say_any": ["refund", "credit"]}, says("A CREDIT is due."), says("Nothing is due.")),
    "must_not_say": Row({"must_not_say": ["as an AI"]}, says("Here it is."), says("As an  AI, I cannot.")),
    "must_match_regex": Row({"must_match_regex": ["^total: \\d+$"]}, says("a\nTotal: 7\nb"), says("The total: 7")),
    "must_not_match_regex": Row({"must_not_match_regex": ["tbd|todo"]}, says("Done."), says("Owner: TBD")),
    "required_sources": Row({"required_sources": ["github"]}, says("GitHub is up."), says("An issue is open.")),
    "source_patterns": Row(
        {"required_sources": ["github"], "source_patterns": {"github": ["PR"]}},
        says("3 PRs were merged."),
        says("GitHub: a new approach."),
        "required_sources",
    ),
    "must_ground_numbers value": Row({"must_ground_numbers": [1200]}, says("1,200 sessions"), says("12000 sessions")),
    "must_ground_numbers context": Row(
        {"must_ground_numbers": [{"value": "12", "context_any": ["GitHub"], "within": "line"}]},
        says("GitHub: 12 commits"),
        says("GitHub: 3\nSlack: 12"),
    ),
    "must_ground_numbers regex": Row(
        {"must_ground_numbers": [{"label": "risk", "regex": "RISK:\\s*\\d+"}]}, says("risk: 40"), says("risk: high")
    ),
    "must_label_assumptions": Row({"must_label_assumptions": True}, says("Assuming all is in."), says("All is in.")),
    "assumption_markers_any": Row(
        {"must_label_assumptions": True, "assumption_markers_any": ["ASSUMPTION 1:"]},
        says("Assumption 1: all is in."),
        says("Assuming all is in."),
        "must_label_assumptions",
    ),
    "required_levers": Row({"required_levers": 2}, says("- one\n2. two"), says("- one\ntwo")),
    "lever_regex": Row(
        {"required_levers": 1, "lever_regex": "^lever:"}, says("Lever: one"), says("- one"), "required_levers"
    ),
    "claim_evidence_alignment": Row({"claim_evidence_alignment": True}, says(BRIEF), says("You have permission.")),
    "claim_marker_regex": Row(
        {"claim_evidence_alignment": True, "claim_marker_regex": "goal"},
        says("Goal: fix it, because the metric fell."),
        says(BRIEF),
        "claim_evidence_alignment",
    ),
    "evidence_marker_regex": Row(
        {"claim_evidence_alignment": True, "evidence_marker_regex": "proof"},
        says("Mission: fix it, because of this proof."),
        says(BRIEF),
        "claim_evidence_alignment",
    ),
    "alignment_marker_regex": Row(
        {"claim_evidence_alignment": True, "alignment_marker_regex": "since"},
        says("Mission: fix it, since the metric fell."),
        says(BRIEF),
        "claim_evidence_alignment",
    ),
    "evidence_freshness_max_age_minutes": Row(
        {"evidence_freshness_max_age_minutes": 90}, says("Slack (1 hour ago)"), says("Slack (2 hours ago, 5m ago)")
    ),
    "evidence_freshness_regex": Row(
        {"evidence_freshness_max_age_minutes": 90, "evidence_freshness_regex": "age=\\d+"},
        says("age=90"),
        says("age=91, 5m ago"),
        "evidence_freshness_max_age_minutes",
    ),
    "must_allow_override_actions": Row(
        {"must_allow_override_actions": ["Snooze"]},
        says("Done.", page='- button "Snooze"'),
        says("Done.", page='- heading "Snooze"'),
    ),
    "tools_used": Row({"tools_used": ["find", "book"]}, calls("book", "find"), calls("book", "find", "find")),
    "tools_used none": Row({"tools_used": []}, calls(), calls("book")),
    "tools_match": Row(
        {"tools_used": ["find", "book"], "tools_match": "ordered"},
        calls("find", "book"),
        calls("book", "find"),
        "tools_used",
    ),
    "allocation_valid": Row(
        {"allocation_valid": True}, calls("book+", text="Allocated."), calls("book+", text="Vehicle not found.")
    ),
    "allocation_valid false": Row({"allocation_valid": False}, says("It is unavailable."), says("It is booked.")),
    "success_indicators": Row(
        {"allocation_valid": True, "success_indicators": ["granted"]},
        calls("book+", text="Granted."),
        calls("book+", text="Booked."),
        "allocation_valid",
    ),
    "failure_indicators": Row(
        {"allocation_valid": False, "failure_indicators": ["nope"]},
        calls("book-", text="Nope."),
        calls("book+", text="Nope."),
        "allocation_valid",
    ),
    "database": Row(
        {"database": {"select count(*) from rides": [2]}},
        says("Done.", database={"select count(*) from rides": [{"n": 2}]}),
        says("Done.", database={"select count(*) from rides": [{"n": 1}]}),
    ),
    "state": Row(
        {"state": {"$.step": "paid"}}, says("Done.", state={"step": "paid"}), says("Done.", state={"step": "open"})
    ),
    "answer_equals": Row({"answer_equals": "Yes."}, says(" yes.\n"), says("Yes. Gladly.")),
    "answer_json": Row({"answer_json": {"required": ["n"]}}, says('{"n": 1}'), says('{"m": 1}')),
    "answer_at": Row({"answer_at": {"$.n": {"$gt": 0}}}, says('{"n": 1}'), says('{"n": 0}')),
    "min_words": Row({"min_words": 2}, says("Yes, gladly."), says("Yes.")),
    "max_words": Row({"max_words": 1}, says("Yes."), says("Yes, gladly.")),
    "grounded_numbers": Row({"grounded_numbers": True}, found("12 rides"), found("13 rides")),
    "grounded_constants": Row(
        {"grounded_numbers": True, "grounded_constants": [24]},
        found("12 rides in 24 hours"),
        found("12 rides in 25 hours"),
        "grounded_numbers",
    ),
    "grounded_in": Row(
        {"grounded_numbers": True, "grounded_in": ["policy.md"]},
        found("12 rides, each within 24 hours"),
        found("12 rides, each within 25 hours"),
        "grounded_numbers",
    ),
    "must_ground_numbers from_tool": Row(
        {"must_ground_numbers": [{"label": "rides", "from_tool": "find", "at": "$.rides"}]},
        found("12 rides"),
        found("13 rides"),
    ),
    "no_false_success": Row(
        {"no_false_success": True}, calls("book+", text="Booked."), calls("book-", text="Booked.")
    ),
    "only_effects": Row({"only_effects": []}, calls("find"), calls("book")),
    "only_effects exactly": Row(
        {"only_effects": "exactly", "tool_calls": [{"tool": "book"}]},
        calls("find", "book+", "book-"),
        calls("book+", "book+"),
        "only_effects",
    ),
    "no_effect_twice": Row({"no_effect_twice": True}, calls("book+"), calls("book+", "book+")),
    "max_retries": Row({"max_retries": 0}, calls("find+", "find+"), calls("find-", "find-")),
    "admits_failure": Row(
        {"admits_failure": {"usual": "It is there."}},
        calls("find-", text="I could not look it up."),
        calls("find-", text="It is there."),
    ),
    "no_leak": Row({"no_leak": ["KEY-5d81c07e"]}, calls(text="It is there."), calls(text="KEY-5d81c07e")),
    "in_any_turn": Row({"in_any_turn": {"must_say_any": ["fee"]}}, says("The fee is 5."), says("Goodbye.")),
    "max_tool_calls": Row({"max_tool_calls": 1}, calls("book"), calls("find", "book")),
    "max_calls": Row({"max_calls": {"book": 1}}, calls("find", "book"), calls("book", "book")),
    "max_seconds": Row({"max_seconds": 2}, says("Done.", duration_ms=1999), says("Done.", duration_ms=2001)),
    "max_first_token_seconds": Row(
        {"max_first_token_seconds": 1},
        says("Done.", timings={"first_token_ms": 900}),
        says("Done.", timings={"first_token_ms": 1100}),
    ),
    "max_steps": Row({"max_steps": 3}, says("Done.", steps=3), says("Done.", steps=4)),
    "max_tokens": Row(
        {"max_tokens": {"total": 50}},
        says("Done.", tokens={"input": 30, "output": 20}),
        says("Done.", tokens={"input": 31, "output": 20}),
    ),
    "max_cost_usd": Row(
        {"max_cost_usd": 0.01},
        says("Done.", tokens={"input": 2000, "output": 2000}),
        says("Done.", tokens={"input": 2001, "output": 2000}),
    ),
    "answer_text": Row({"answer_text": [{"contains": "Paris"}]}, says("In Paris."), says("In paris.")),
    "json_text": Row({"json_text": [{"schema": {"required": ["a"]}}]}, says('{"a": 1}'), says('{"b": 1}')),
    "answer_syntax": Row(
        {"answer_syntax": [{"language": "xml", "elements": ["a.b"]}]}, says("<a><b>x</b></a>"), says("<a>x</a>")
    ),
    "answer_syntax html": Row(
        {"answer_syntax": [{"language": "html", "part": True}]}, says("A <b>fee</b>"), says("A fee")
    ),
    "answer_syntax sql": Row(
        {"answer_syntax": [{"language": "sql", "dialect": "postgres", "tables": ["rides"], "statements": ["select"]}]},
        says("SELECT day FROM rides"),
        says("SELECT day FROM users"),
    ),
    "tool_call_f1": Row(
        {"tool_call_f1": {"tools": ["find", "book"], "threshold": 1.0}}, calls("find+", "book+"), calls("find+")
    ),
    "response_match": Row(
        {"response_match": {"texts": ["It costs five euros"], "threshold": 0.7}},
        says("It costs six euros"),
        says("No idea."),
    ),
    "score_of": Row(
        {"score_of": [{"threshold": 0.5, "of": [{"check": "answer_text", "args": {"contains": "a"}}]}]},
        says("a"),
        says("b"),
    ),
    "reason_contains": Row({"reason_contains": ["backup shift"]}, says("With Backup Shift."), says("As requested.")),
    "expected_contains": Row({"expected_contains": ["drives"]}, says("Supported_Drives"), says("Weights")),
    "must_not_contain": Row({"must_not_contain": ["guess"]}, says("I know."), says("My guess is 3.")),
}  # fmt: skip
WITHOUT_BOTH = {
    "unjudged": "judges nothing",
    "meets": "is judged by people",
    "code": "is not run unasked",
    "spans": "recordings hold none",
}
"""Fields of which no replayed answer passes, or fails; tests/checks has them."""
BESIDE = ("expected_contains", "must_not_contain")


def field(name: str) -> str:
    return name.replace("=", " ").split()[0]


def write_project() -> None:
    """What the rows need next to their suite."""
    claims = '[claims]\ntests = { words = ["tests pass"], run = "^pytest" }\n'
    write("carob.toml", '[prices]\ninput = 1.0\noutput = 4.0\n[effects]\nbook = ["booked"]\n' + claims)
    write("policy.md", "A ride is found within 24 hours.\n")


def observed(trace: Trace) -> Trace:
    """The trace of an agent that was seen to have no page and to call nothing, unless it says otherwise."""
    page = {} if "page" in trace else {"page": None}
    tools: Trace = {} if {"tool_calls", "telemetry"} & trace.keys() else {"tool_calls": []}
    return {**trace, **page, **tools}


def judged(carob: Carob, suite: object, trace: Trace, folder: str) -> Any:
    """The report's entry of the case, after a run that replays the trace."""
    write_project()
    write("s.json", suite)
    write("r.jsonl", [{"case_id": "A", **observed(trace)}])
    carob("run", "s.json", "-t", "replay:r.jsonl", "--results-dir", folder)
    return report_of(folder)["cases"][0]


def check(carob: Carob, suite: object, row: Row, name: str) -> None:
    assert judged(carob, suite, row.passing, "passing")["status"] == "PASS"
    entry = judged(carob, suite, row.failing, "failing")
    assert entry["status"] == "FAIL"
    assert entry["checks"]["unknown"] == []
    assert {failed["name"] for failed in entry["checks"]["failed"]} == {row.check or field(name)}


@pytest.mark.parametrize(("name", "row"), ROWS.items(), ids=ROWS)
def test_in_an_eval_set(carob: Carob, name: str, row: Row) -> None:
    check(carob, eval_set({"id": "A", "prompt": "p", "expected": row.expected}), row, name)


@pytest.mark.parametrize(("name", "row"), ROWS.items(), ids=ROWS)
def test_in_a_golden_set(carob: Carob, name: str, row: Row) -> None:
    asked = row.expected if field(name) in BESIDE else {"expected": row.expected}
    check(carob, [{"id": "A", "input": "p", **asked}], row, name)


def test_the_short_spelling_of_expected_contains(carob: Carob) -> None:
    row = ROWS["expected_contains"]
    check(carob, [{"id": "A", "input": "p", "expected": ["drives"]}], row, "expected_contains")


def test_every_field_and_outcome_has_a_row() -> None:
    assert {field(name) for name in ROWS} | WITHOUT_BOTH.keys() == {*CATALOG.fields}
    assert {row.expected["outcome"] for name, row in ROWS.items() if field(name) == "outcome"} == set(get_args(Name))
