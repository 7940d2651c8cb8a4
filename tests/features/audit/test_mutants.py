"""What each operator makes of a trace, and what it leaves alone."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import repeat
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from carob.evidence.logs.events import tool_calls
from carob.features.audit.case_audit import EQUIVALENTS, PER_OPERATOR, mutants
from carob.features.audit.operators.base import Mutant, Operator, Subject, is_same
from carob.features.audit.operators.catalog import OPERATORS
from carob.model.trace import ToolCall, Trace
from features.audit.support import QUIET, bare_case, made

NAMED = {operator.name: operator for operator in OPERATORS}


def says(text: str) -> Trace:
    return Trace(case_id="example", final_message=text)


def calls(*made: ToolCall) -> Trace:
    return Trace(case_id="example", final_message="Done.", tool_calls=made)


def changes(name: str, trace: Trace, expected: dict[str, Any] = QUIET) -> list[str]:
    return [mutant.change for mutant in made(NAMED[name], trace, expected)]


def answers(name: str, text: str, expected: dict[str, Any] = QUIET) -> list[str]:
    return [mutant.trace.final_message for mutant in made(NAMED[name], says(text), expected)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("12 commits", ["15 commits"], id="plain"),
        pytest.param("12 commits and 12 reviews", ["15 commits and 15 reviews"], id="everywhere-it-stands"),
        pytest.param("12 of 120", ["15 of 120", "12 of 123"], id="one-at-a-time"),
        pytest.param(
            "1,200 rows, 3.5%, $9",
            ["1,203 rows, 3.5%, $9", "1,200 rows, 3.8%, $9", "1,200 rows, 3.5%, $2"],
            id="written-in-other-ways",
        ),
        pytest.param(
            "due 2026-03-12 at 10:30", ["due 2026-03-15 at 10:30", "due 2026-03-12 at 10:33"], id="dates-and-times"
        ),
        pytest.param("12ms and 30m", ["15ms and 30m", "12ms and 33m"], id="units"),
        pytest.param("the 2nd of v12, 4WD, B-7, 1.2.3", [], id="parts-of-words"),
        pytest.param("1. open\n2. close\n  3) wait", [], id="numbers-of-items"),
        pytest.param("1. open 1 door", ["1. open 4 door"], id="a-number-in-an-item"),
        pytest.param("nothing to count", [], id="none"),
    ],
)
def test_numbers(text: str, expected: list[str]) -> None:
    assert answers("number-changed", text) == expected


def test_of_many_mutants_a_sample_is_tried() -> None:
    text = " ".join(str(number) for number in range(100, 150))
    first, again, other = (made(NAMED["number-changed"], says(text), seed=seed) for seed in (0, 0, 1))
    assert len(first) == len(other) == PER_OPERATOR
    assert [m.change for m in first] == [m.change for m in again]
    assert [m.change for m in first] != [m.change for m in other]


@pytest.mark.parametrize(
    ("text", "asked", "expected"),
    [
        pytest.param("- GitHub: 3\n- Slack: 4\nDone.", {}, ["- Slack: 4\nDone.", "- GitHub: 3\nDone."], id="labels"),
        pytest.param(
            "Slack is quiet. GitHub is busy.", {"required_sources": ["github"]}, ["Slack is quiet."], id="asked"
        ),
        pytest.param(
            "Three PRs came in. A new approach.",
            {"required_sources": ["github"], "source_patterns": {"github": ["PR"]}},
            ["A new approach."],
            id="by-its-phrases-as-words",
        ),
        pytest.param(
            "- GitHub: 3\n- Slack: 4",
            {"required_sources": ["github", "Slack"]},
            ["- Slack: 4", "- GitHub: 3"],
            id="a-label-that-is-asked-for-counts-once",
        ),
        pytest.param("**GitHub:** 3\n**Slack**: 4", {}, ["**Slack**: 4", "**GitHub:** 3"], id="bold-labels"),
        pytest.param("Note: one label is no list of sources.", {}, [], id="a-single-label"),
        pytest.param("GitHub is all.", {"required_sources": ["GitHub"]}, [], id="nothing-left-is-an-empty-answer"),
    ],
)
def test_sources(text: str, asked: dict[str, Any], expected: list[str]) -> None:
    assert answers("source-removed", text, {**QUIET, **asked}) == expected


@pytest.mark.parametrize(
    ("text", "asked", "expected"),
    [
        pytest.param("Assumption: it rains.", {}, [": it rains."], id="built-in"),
        pytest.param("It is unclear, with low confidence.", {}, ["It is , with ."], id="several"),
        pytest.param(
            "ASM-1: it rains.",
            {"must_label_assumptions": True, "assumption_markers_any": ["ASM-1"]},
            [": it rains."],
            id="own",
        ),
        pytest.param("It rains for certain.", {}, [], id="none"),
    ],
)
def test_assumptions(text: str, asked: dict[str, Any], expected: list[str]) -> None:
    assert answers("assumptions-removed", text, {**QUIET, **asked}) == expected


FRESH = {"evidence_freshness_max_age_minutes": 60}


@pytest.mark.parametrize(
    ("text", "asked", "expected"),
    [
        pytest.param("seen 12 minutes ago", {}, ["seen 400 days ago"], id="said-to-be-an-age"),
        pytest.param("wait 12 minutes", {}, [], id="a-span-of-time"),
        pytest.param(
            "GitHub (12m), Slack (1h 30m)", FRESH, ["GitHub (400 days), Slack (400 days)"], id="the-case-asks"
        ),
        pytest.param("age=12;", {**FRESH, "evidence_freshness_regex": r"age=\d+"}, ["age=576000;"], id="own-regex"),
        pytest.param("no age at all", FRESH, [], id="none"),
    ],
)
def test_ages(text: str, asked: dict[str, Any], expected: list[str]) -> None:
    assert answers("ages-stale", text, {**QUIET, **asked}) == expected


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        pytest.param({}, ["As an AI language model, I cannot be sure."], id="nothing-forbidden"),
        pytest.param({"must_not_say": ["oops"], "must_not_contain": ["guess"]}, ["oops", "guess"], id="phrases"),
        pytest.param({"must_not_match_regex": ["^TODO$"]}, ["TODO"], id="a-text-that-the-regex-matches"),
    ],
)
def test_forbidden_words(asked: dict[str, Any], expected: list[str]) -> None:
    assert [text.split("\n")[1] for text in answers("answer-forbidden", "Fine.", {**QUIET, **asked})] == expected


def test_forbidden_words_stand_where_the_regex_looks() -> None:
    assert answers("answer-forbidden", "Fine.", {"must_not_match_regex": [r"\AOops"]}) == ["Oops\nFine."]
    dead = answers("answer-forbidden", "Fine.", {"must_not_match_regex": ["x$y"]})
    assert dead == ["Fine.\nAs an AI language model, I cannot be sure."]


def test_a_refusal_is_no_mutant_where_one_is_asked_for() -> None:
    assert answers("answer-refused", "No.", {"outcome": "graceful_block"}) == []
    assert len(answers("answer-refused", "No.")) == 1


@pytest.mark.parametrize(
    ("trace", "count"),
    [
        pytest.param(calls(ToolCall("book", success=False)), 1, id="failed"),
        pytest.param(calls(ToolCall("book", error="it broke")), 1, id="broke"),
        pytest.param(
            calls(ToolCall("book", success=False), ToolCall("book", success=True)), 0, id="in-the-end-it-worked"
        ),
        pytest.param(calls(), 0, id="no-tool"),
    ],
)
def test_success_is_claimed_only_after_a_failure(trace: Trace, count: int) -> None:
    assert len(changes("answer-claims-success", trace)) == count


def test_items_of_a_list_are_removed() -> None:
    assert answers("answer-bullets", "Do:\n- this\n2. that\nNow.") == ["Do:\nNow."]
    assert answers("answer-bullets", "- this") == []


def test_the_answer_is_cut_between_words() -> None:
    assert answers("answer-cut", "one two three four five six") == ["one two"]
    assert answers("answer-cut", "") == []


FIRST = ToolCall("a", started_at=1.0, ended_at=2.0)


@pytest.mark.parametrize(
    ("second", "expected"),
    [
        pytest.param(ToolCall("b", started_at=3.0, ended_at=4.0), ["b was called before a"], id="one-after-the-other"),
        pytest.param(ToolCall("b"), ["b was called before a"], id="times-unknown"),
        pytest.param(ToolCall("b", started_at=1.5, ended_at=4.0), [], id="side-by-side"),
        pytest.param(ToolCall("a", started_at=3.0, ended_at=4.0), [], id="the-same-tool"),
    ],
)
def test_moved(second: ToolCall, expected: list[str]) -> None:
    assert changes("tool-moved", calls(FIRST, second)) == expected


def test_tools_that_the_case_forbids_are_called() -> None:
    assert changes("tool-forbidden", calls(), {"tool_calls_none": ["drop", "wipe"]}) == [
        "drop was called as well",
        "wipe was called as well",
        "delete_everything was called as well",
    ]
    assert changes("tool-forbidden", calls(), {"must_say_any": ["x"]}) == ["delete_everything was called as well"]
    unseen = Trace(case_id="example", final_message="Done.", unobserved={"tools": "text alone"})
    assert changes("tool-forbidden", unseen) == []


START = {"source": "tool.a", "event": "start", "data": {"args": {"n": 1}, "call_id": "x"}}
END = {
    "ts": 1,
    "source": "tool.a",
    "event": "result",
    "data": {"call_id": "x", "result": {"success": False, "missingFields": ["d"]}},
}
OTHER = {"source": "tool.a", "event": "result", "success": True, "data": {"call_id": "y"}}
LOGGED = tuple(json.dumps(event) for event in ({"source": "turn"}, START, OTHER, END))
TWICE = (
    ToolCall("a", {"n": 1}, id="x", success=False, missing_fields=("d",)),
    ToolCall("a", {"n": 2}, id="y", success=True),
)


@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        pytest.param("tool-dropped", [0, 2], id="dropped"),
        pytest.param("tool-result-missing", [0, 1, 2], id="result-missing"),
    ],
)
def test_the_log_of_a_call_goes_with_it(operator: str, expected: list[int]) -> None:
    first = made(NAMED[operator], Trace(case_id="example", final_message="Done.", tool_calls=TWICE, telemetry=LOGGED))[
        0
    ]
    assert first.trace.telemetry == tuple(LOGGED[number] for number in expected)


@pytest.mark.parametrize(
    "operator", ["tool-dropped", "tool-renamed", "tool-doubled", "tool-outcome", "tool-result-missing"]
)
def test_calls_and_log_tell_the_same(operator: str) -> None:
    """What is derived from the changed log is what the changed calls say."""
    start, end = {**START, "data": {"args": {"n": 1}}}, {**END, "data": {"result": {"success": True}}}
    lines = tuple(json.dumps(event) for event in (start, end))
    trace = Trace(case_id="example", final_message="Done.", tool_calls=tool_calls(lines), telemetry=lines)
    (mutant,) = made(NAMED[operator], trace)
    derived = tool_calls(mutant.trace.telemetry)
    outcomes = [(call.name, call.success) for call in mutant.trace.tool_calls]
    assert sorted(outcomes, key=str) == sorted([(call.name, call.success) for call in derived], key=str)


@pytest.mark.parametrize("style", [{"separators": (",", ":")}, {}], ids=["compact", "spaced"])
def test_a_changed_line_keeps_its_style(style: dict[str, Any]) -> None:
    """A fixed-string search must be killed by what changed, not by a blank that moved."""
    line = json.dumps(START, **style)
    trace = Trace(
        case_id="example", final_message="Done.", tool_calls=(ToolCall("a", {"n": 1}, id="x"),), telemetry=(line,)
    )
    (mutant,) = made(NAMED["tool-arguments"], trace)
    assert mutant.trace.telemetry == (line.replace("1", "2"),)
    assert mutant.trace.tool_calls[0].arguments == {"n": 2}


PAGE = (
    '- main:\n  - button "Send"\n  - region "GitHub":\n    - button "Remove"\n'
    '  - log:\n    - article "Assistant":\n      - button "Snooze"\n'
)


@pytest.mark.parametrize(
    ("before", "asked", "expected"),
    [
        pytest.param(
            '- main:\n  - button "Send"', {}, ["region 'GitHub'", "button 'Snooze'"], id="what-the-turn-brought"
        ),
        pytest.param(PAGE, {}, [], id="nothing-new"),
        pytest.param(PAGE, {"must_allow_override_actions": ["snooze"]}, ["button 'Snooze'"], id="old-but-asked-for"),
        pytest.param(None, {}, ["region 'GitHub'"], id="no-page-from-before"),
    ],
)
def test_elements(before: str | None, asked: dict[str, Any], expected: list[str]) -> None:
    trace = Trace(case_id="example", final_message="Done.", page=PAGE, page_before=before)
    assert [
        c.removesuffix(" was not on the page") for c in changes("element-gone", trace, {**QUIET, **asked})
    ] == expected


def test_an_element_goes_with_all_that_stands_in_it() -> None:
    trace = Trace(case_id="example", final_message="Done.", page=PAGE, page_before="- main")
    gone = {m.change: m.trace.page for m in made(NAMED["element-gone"], trace)}
    left = gone["region 'GitHub' was not on the page"]
    assert left == PAGE.replace('  - region "GitHub":\n    - button "Remove"\n', "")


def test_the_database_is_undone_query_by_query() -> None:
    trace = Trace(case_id="example", final_message="Done.", database={"SELECT 1": [{"n": 1}], "SELECT 2": []})
    assert [m.trace.database for m in made(NAMED["database-undone"], trace)] == [
        {"SELECT 1": [], "SELECT 2": []},
        {"SELECT 1": [{"n": 1}], "SELECT 2": [{"undone": True}]},
    ]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
EVENTS = st.fixed_dictionaries(
    {
        "source": st.sampled_from(["tool.a", "tool.b", "turn"]),
        "event": st.sampled_from(["start", "result", "error", 3]),
    },
    optional={"data": JSON, "success": JSON, "call_id": JSON, "error": JSON},
).map(json.dumps)
CALLS = st.builds(
    ToolCall,
    st.sampled_from(["a", "b"]),
    arguments=JSON,
    id=st.none() | st.sampled_from(["1", "2"]),
    result=JSON,
    error=st.none() | st.text(max_size=5),
    success=st.none() | st.booleans(),
    started_at=st.none() | st.floats(0, 9),
    ended_at=st.none() | st.floats(0, 9),
)
PAGES = st.none() | st.text(alphabet='- \n"ab:\\[]', max_size=60) | st.just(PAGE)
TRACES = st.builds(
    Trace,
    case_id=st.just("example"),
    final_message=st.text(max_size=80) | st.from_regex(r"(?:[A-Z][a-z]+: \d{1,5}[.%m]? ?\n?){0,6}", fullmatch=True),
    tool_calls=st.lists(CALLS, max_size=4).map(tuple),
    telemetry=st.lists(EVENTS | st.text(max_size=20), max_size=6).map(tuple),
    page=PAGES,
    page_before=PAGES,
    database=st.dictionaries(st.text(max_size=5), JSON, max_size=2),
)
EVERYTHING = {
    "must_not_say": ["oops"], "tool_calls_none": ["zzz"], "must_label_assumptions": True, "required_sources": ["a"],
    "assumption_markers_any": ["aa"], "evidence_freshness_max_age_minutes": 5, "evidence_freshness_regex": r"\d+m",
    "must_allow_override_actions": ["a"], "must_ground_numbers": ["1200"], "tools_used": ["a"],
}  # fmt: skip


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(trace=TRACES)
def test_no_trace_is_too_strange(trace: Trace) -> None:
    """Whatever an agent left behind, operators and equivalents make traces of it, and each mutant differs."""
    subject = Subject(bare_case(EVERYTHING), trace)
    for operator in OPERATORS:
        for mutant in mutants(operator, subject):
            assert isinstance(mutant.trace, Trace)
            assert not is_same(mutant.trace, trace)
    for equivalent in EQUIVALENTS:
        assert isinstance(equivalent.change(subject), Trace | None)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(trace=TRACES)
def test_a_mutant_leaves_its_subject_alone(trace: Trace) -> None:
    before = repr(trace)
    subject = Subject(bare_case(EVERYTHING), trace)
    for operator in OPERATORS:
        list(operator.mutants(subject))
    assert repr(trace) == before


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.name)
def test_long_texts_are_no_trouble(operator: Operator) -> None:
    """Hostile sizes: a quarter of a mebibyte of what an operator looks for."""
    text = "Assumption: 12 m ago. GitHub: 7\n- item\n" * 6_500
    page = "".join(f'{" " * (n % 90)}- button "b{n}"\n' for n in range(9_000))
    trace = Trace(case_id="example", final_message=text, page=page, page_before="- main", telemetry=("{}",))
    assert len(mutants(operator, Subject(bare_case(EVERYTHING), trace))) <= PER_OPERATOR


def test_of_mutants_without_end_a_sample_is_made() -> None:
    trace = Trace(case_id="example", final_message="Hello.")
    endless = replace(OPERATORS[0], mutants=lambda subject: repeat(Mutant(subject.with_answer("Bye."), "it left", {})))
    assert len(mutants(endless, Subject(bare_case(EVERYTHING), trace))) == PER_OPERATOR


def test_only_a_success_can_be_denied() -> None:
    assert changes("tool-result-denied", calls(ToolCall("pay", success=False, error="no money"))) == []
    assert changes("tool-result-denied", calls(ToolCall("pay"))) == []
    assert changes("tool-result-denied", calls(ToolCall("pay", success=True, result="paid")))


def test_what_is_not_known_is_not_turned_around() -> None:
    assert changes("tool-outcome", calls(ToolCall("pay"))) == []
    assert changes("tool-result-missing", calls(ToolCall("pay", ended_at=3.0))) == []
    assert changes("tool-outcome", calls(ToolCall("pay", success=True))) == ["pay failed"]
    assert changes("tool-outcome", calls(ToolCall("pay", success=False))) == ["pay succeeded"]
