"""What can be wrong inside a suite: every problem at once, with its path and a way to mend it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from carob.suites import diagnostics
from suites.support import Small, case, eval_set, expecting, lines, slugs

GROUPS = (
    "tool_hygiene, synthesis_coverage, numeric_grounding, uncertainty, formatting, morning_brief_contract, "
    "decision, qa, budget, rules, workspace and meaning"
)
OUTCOMES = "tool_success, tool_started, needs_input, graceful_block, graceful_error, response_only and completed"
NOTHING = "Say what is expected, or leave the field out. [empty-expectation]"

EVERYTHING_WRONG = """\
{"name": 3, "version": "0.4", "casess": 1, "threshold": 2, "$schema": "s", "cases": [
 {"id": "A", "prompt": " ", "must_say": ["x"], "expected": {"outcome": "tool_sucess", "must_not_sya": ["é"],
  "must_ground_numbers": [{"labl": "l", "value": 1}, true, "", {"value": []}], "must_match_regex": ["("],
  "must_say_any": [], "required_levers": 0, "must_label_assumptions": null, "min_pass_rate": 0},
  "scoring": {"hard_fail": ["formating"], "soft_score": {"threshold": 1.5, "weights": {"qa": -1, "decisoin": 1}}}},
 {"id": "A", "prompt": "p", "expected": {}},
 {"id": "a\\tb", "prompt": "p", "expected": [], "catgory": "c"},
 7,
 {"id": "C", "prompt": "p", "scoring": {"soft_score": {"weights": {"qa": 0}}}, "expected": {"scoring": {},
  "must_match_regex": ["a*"], "lever_regex": "x"}}
]}
"""
EVERYTHING_SAID = f"""\
s.json:1:10 name: expected a string, found a number. Put it in quotes: "3". [wrong-type]
s.json:1:24 version: unknown value '0.4'. Known: 0.1, 0.2 and 0.3. [unknown-value]
s.json:1:31 casess: unknown field. Did you mean 'cases'? [unknown-field]
s.json:1:44 threshold: unknown field here: it belongs under 'scoring.soft_score'. [unknown-field]
s.json:2:24 cases[0].prompt: must not be blank. [empty-value]
s.json:2:29 cases[0].must_say: unknown field. Did you mean 'must_say_any', which belongs under 'expected'? \
[unknown-field]
s.json:2:72 cases[0].expected.outcome: unknown value 'tool_sucess'. Did you mean 'tool_success'? Known: {OUTCOMES}. \
[unknown-value]
s.json:2:87 cases[0].expected.must_not_sya: unknown field. Did you mean 'must_not_say'? [unknown-field]
s.json:3:28 cases[0].expected.must_ground_numbers[0].labl: unknown field. Did you mean 'label'? [unknown-field]
s.json:3:54 cases[0].expected.must_ground_numbers[1]: expected an object, a string or a number, found true. [wrong-type]
s.json:3:60 cases[0].expected.must_ground_numbers[2]: an empty string expects nothing. {NOTHING}
s.json:3:74 cases[0].expected.must_ground_numbers[3].value: expected a string or a number, found a list. [wrong-type]
s.json:3:101 cases[0].expected.must_match_regex[0]: missing ) at position 1 [bad-regex]
s.json:4:42 cases[0].expected.required_levers: must be at least 1, found 0. [out-of-range]
s.json:4:71 cases[0].expected.must_label_assumptions: expected true, found null. \
Leave the field out if it should not be checked. [wrong-type]
s.json:4:94 cases[0].expected.min_pass_rate: must be over 0, found 0. [out-of-range]
s.json:5:29 cases[0].scoring.hard_fail[0]: unknown value 'formating'. Did you mean 'formatting'? Known: {GROUPS}. \
[unknown-value]
s.json:5:71 cases[0].scoring.soft_score.threshold: must be at most 1, found 1.5. [out-of-range]
s.json:5:94 cases[0].scoring.soft_score.weights.qa: must be at least 0, found -1. [out-of-range]
s.json:5:98 cases[0].scoring.soft_score.weights.decisoin: unknown value 'decisoin'. Did you mean 'decision'? \
Known: {GROUPS}. [unknown-value]
s.json:6:2 cases[1]: the case checks nothing. Say in 'expected' what you expect. [no-checks]
s.json:6:9 cases[1].id: cases[0] already has the id 'A'. Give each case its own. [duplicate-id]
s.json:7:9 cases[2].id: contains a control character. Write it on one line, without tabs and escapes. \
[control-character]
s.json:7:44 cases[2].expected: expected an object, found a list. Write its keys without [ ] and '- '. [wrong-type]
s.json:7:48 cases[2].catgory: unknown field. Did you mean 'category'? [unknown-field]
s.json:8:2 cases[3]: expected an object, found a number. [wrong-type]
s.json:9:67 cases[4].scoring.soft_score.weights: no group has a weight over zero. Give one, or leave the weights out. \
[zero-weights]
s.json:9:93 cases[4].expected.scoring: scoring is in the case as well. Keep one. [duplicate-field]
s.json:10:24 cases[4].expected.must_match_regex[0]: this regex matches the empty string, so it is found in every \
answer. [empty-expectation]
"""


def test_all_problems_of_a_file_are_told_at_once_in_its_order() -> None:
    told = lines(EVERYTHING_WRONG)
    # What the checks themselves say of their arguments is theirs to word.
    worded_here = [line for line in told if not line.endswith(("[bad-regex]", "[no-effect]"))]
    assert worded_here == [
        line for line in EVERYTHING_SAID.splitlines() if not line.endswith(("[bad-regex]", "[no-effect]"))
    ]
    assert [line.split()[:2] for line in told] == [line.split()[:2] for line in EVERYTHING_SAID.splitlines()]


@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        pytest.param(eval_set(case()), [], id="good"),
        pytest.param(
            eval_set({"id": "A"}), ["cases[0].prompt missing-field", "cases[0].expected missing-field"], id="bare"
        ),
        pytest.param({"cases": {}}, ["cases wrong-type"], id="cases-is-an-object"),
        pytest.param({"cases": None}, ["cases wrong-type"], id="cases-is-null"),
        pytest.param(
            eval_set(case(), case(), case()), ["cases[1].id duplicate-id", "cases[2].id duplicate-id"], id="ids"
        ),
        pytest.param(eval_set(case(id="")), ["cases[0].id empty-value"], id="empty-id"),
        pytest.param(eval_set(case(id="a\n")), ["cases[0].id control-character"], id="id-with-a-line-end"),
        pytest.param(eval_set(case(id="\x1b[31m")), ["cases[0].id control-character"], id="id-with-an-escape"),
        pytest.param(
            eval_set(case(category="a\tb")), ["cases[0].category control-character"], id="category-with-a-tab"
        ),
        pytest.param(eval_set(case(prompt="\u3000\n")), ["cases[0].prompt empty-value"], id="blank-prompt"),
        pytest.param(
            eval_set(case(setup_prompts=["a", ""])), ["cases[0].setup_prompts[1] empty-value"], id="blank-setup"
        ),
        pytest.param(eval_set(case(expected=None)), ["cases[0].expected wrong-type"], id="expected-is-null"),
        pytest.param(eval_set(case(expected={"x-a": 1, "metadata": 2})), ["cases[0] no-checks"], id="only-notes"),
        pytest.param(
            eval_set(case(expected={"scoring": {}, "min_pass_rate": 1})), ["cases[0] no-checks"], id="only-scoring"
        ),
        pytest.param(eval_set(case(expected={"outcome": "tool_success"})), [], id="only-an-outcome"),
        pytest.param(expecting(outcome=5), ["cases[0].expected.outcome wrong-type"], id="outcome-is-a-number"),
        pytest.param(
            expecting(must_say_any="a"), ["cases[0].expected.must_say_any wrong-type"], id="string-for-a-list"
        ),
        pytest.param(
            expecting(must_say_any=[1]), ["cases[0].expected.must_say_any[0] wrong-type"], id="number-in-a-list"
        ),
        pytest.param(expecting(must_say_any=None), ["cases[0].expected.must_say_any wrong-type"], id="null"),
        pytest.param(
            expecting(required_levers=True), ["cases[0].expected.required_levers wrong-type"], id="true-is-no-1"
        ),
        pytest.param(
            expecting(required_levers=2.5), ["cases[0].expected.required_levers wrong-type"], id="half-a-lever"
        ),
        pytest.param(
            expecting(ui=[{"rol": "x", "min": -1}]),
            ["cases[0].expected.ui[0].rol unknown-field", "cases[0].expected.ui[0].min out-of-range"],
            id="nested-object",
        ),
        pytest.param(
            eval_set(case(scoring={"soft_score": {"weights": {}}})),
            ["cases[0].scoring.soft_score.weights zero-weights"],
            id="no-weights",
        ),
        pytest.param(
            eval_set(case(scoring={"soft_score": {"threshold": True, "weight": {}}})),
            [
                "cases[0].scoring.soft_score.threshold wrong-type",
                "cases[0].scoring.soft_score.weight unknown-field",
            ],
            id="scoring-of-the-wrong-type",
        ),
        pytest.param(
            expecting(must_say_any=["a"], min_pass_rate=1.1),
            ["cases[0].expected.min_pass_rate out-of-range"],
            id="rate",
        ),
        pytest.param([{"id": "A", "input": "i"}], ["[0] no-checks"], id="golden-without-checks"),
        pytest.param([{"id": "A", "input": "i", "expected": {}}], ["[0] no-checks"], id="golden-expecting-nothing"),
        pytest.param(
            [{"id": "A", "prompt": "i", "expected": ["a"]}],
            ["[0].prompt unknown-field"],
            id="prompt",
        ),
        pytest.param(
            [{"id": "A", "input": "i", "expected": ["a"], "expected_contains": ["b"]}],
            ["[0].expected duplicate-field"],
            id="both-spellings",
        ),
        pytest.param(
            [{"id": "A", "input": "i", "expected": ["", 1], "must_not_contain": []}],
            [
                "[0].expected[0] empty-expectation",
                "[0].expected[1] wrong-type",
            ],
            id="empty-phrases",
        ),
        pytest.param(
            [{"id": "A", "input": "i", "expected": {"tool_used": [], "allocation_valid": "yes"}}, 1],
            ["[0].expected.tool_used unknown-field", "[0].expected.allocation_valid wrong-type", "[1] wrong-type"],
            id="decision",
        ),
        pytest.param(
            [{"id": "A", "input": "i", "expected": 1}], ["[0].expected wrong-type"], id="expected-is-a-number"
        ),
        pytest.param(
            [{"id": "A", "input": "i", "expected": {"outcome": "tool_success", "min_pass_rate": 1.1}}],
            ["[0].expected.min_pass_rate out-of-range"],
            id="rate-in-a-golden-set",
        ),
        pytest.param(
            [{"id": "A", "input": "i", "expected": {"min_pass_rate": 1}}], ["[0] no-checks"], id="only-a-rate"
        ),
    ],
)
def test_problem(tree: Any, expected: list[str]) -> None:
    assert slugs(tree) == expected


@pytest.mark.parametrize(
    ("key", "level", "said"),
    [
        pytest.param("must_not_sya", "expected", "Did you mean 'must_not_say'?", id="typo"),
        pytest.param("Must_Say_Any", "expected", "Did you mean 'must_say_any'?", id="capitals"),
        pytest.param("must_say_any", "case", "it belongs under 'expected'.", id="one-level-up"),
        pytest.param("prompt", "expected", "it belongs in the case itself.", id="one-level-down"),
        pytest.param("captured_at", "case", "it belongs at the top of the file.", id="of-the-suite"),
        pytest.param("weights", "scoring", "it belongs under 'scoring.soft_score'.", id="of-the-soft-score"),
        pytest.param(
            "harm_fail", "case", "Did you mean 'hard_fail', which belongs under 'scoring'?", id="typo-elsewhere"
        ),
        pytest.param("input", "case", "Did you mean 'prompt'?", id="synonym"),
        pytest.param("zzz", "case", "Start its name with 'x-' to keep it as a note.", id="like-nothing"),
        pytest.param("z" * 5000, "case", "to keep it as a note.", id="long"),
        pytest.param("a\nb\x1b[2J", "case", "to keep it as a note.", id="hostile"),
    ],
)
def test_an_unknown_field_is_told_its_place(key: str, level: str, said: str) -> None:
    one = case(scoring={})
    target: dict[str, Any] = {"case": one, "expected": one["expected"], "scoring": one["scoring"]}[level]
    target[key] = 1
    told = lines(json.dumps(eval_set(one)))
    assert [line.endswith(f"{said} [unknown-field]") for line in told] == [True]
    assert len(told[0]) < 250
    assert told[0].isprintable()


@pytest.mark.parametrize(
    ("field", "value", "fix"),
    [("must_say_any", "a", "a string. Write ['a']."), ("tool_calls", "pay", "a string. Write [{tool: 'pay'}].")],
)
def test_a_text_for_a_list_is_shown_as_an_entry_of_one(field: str, value: str, fix: str) -> None:
    (line,) = lines(json.dumps(expecting(**{field: value})))
    assert line.partition("found ")[2] == f"{fix} [wrong-type]"


def test_a_problem_in_one_field_does_not_hide_those_of_its_neighbours() -> None:
    wrong = expecting(must_match_regex=["(", ""], must_not_match_regex=["["])
    assert slugs(wrong) == [
        "cases[0].expected.must_match_regex[1] empty-expectation",
        "cases[0].expected.must_not_match_regex[0] bad-regex",
    ]


def test_flaws_of_golden_keys_are_told_where_they_stand() -> None:
    blank = [{"id": "A", "input": "i", "expected": ["\u200b "], "must_not_contain": [" "]}]
    assert slugs(blank) == ["[0].expected[0] empty-expectation", "[0].must_not_contain[0] empty-expectation"]
    blank = [{"id": "A", "input": "i", "expected": {"reason_contains": ["a", " "]}}]
    assert slugs(blank) == ["[0].expected.reason_contains[1] empty-expectation"]


def test_a_vocabulary_from_outside_brings_its_own_fields() -> None:
    text = (
        '{"cases": [{"id": "A", "prompt": "p", "expected": {"copy": "nothing", "must_say_any": ["a"],\n'
        ' "colours": [{"shade": "", "nmae": "red"}, 3], "schema": [1, "2"]}}]}'
    )
    assert lines(text, catalog=Small()) == [
        "s.json:1:60 cases[0].expected.copy: nothing is like it. [bad-copy]",
        "s.json:1:71 cases[0].expected.must_say_any: unknown field. "
        "Start its name with 'x-' to keep it as a note. [unknown-field]",
        "s.json:2:14 cases[0].expected.colours[0].name: this field is required and missing. [missing-field]",
        f"s.json:2:24 cases[0].expected.colours[0].shade: an empty string expects nothing. {NOTHING}",
        "s.json:2:28 cases[0].expected.colours[0].nmae: unknown field. Did you mean 'name'? [unknown-field]",
        "s.json:2:44 cases[0].expected.colours[1]: expected an object, found a number. [wrong-type]",
        "s.json:2:62 cases[0].expected.schema[1]: expected a whole number, found a string."
        " Write 2, without quotes and units. [wrong-type]",
    ]


def test_more_problems_than_anyone_reads_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diagnostics, "MOST", 3)
    assert slugs(eval_set(*[case(id=i) for i in range(10)])) == [
        "cases[0].id wrong-type",
        "cases[1].id wrong-type",
        "cases[2].id wrong-type",
        "too-many-problems",
    ]
