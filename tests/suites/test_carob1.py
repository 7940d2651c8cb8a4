"""Carob 1: conversations, defaults, variables, tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

import carob
from carob.errors import ExitCode, SuiteError, UsageError
from carob.features.lint.base import TargetInfo
from carob.features.lint.linter import SLUGS, lint
from carob.model.suite import Case, Reply, Suite
from carob.suites import load, loads, templates
from carob.suites.documents.source import read_bytes
from carob.suites.reading import locate_suite
from catalogs import CATALOG
from suites.support import lines

DESK = """\
carob: 1
name: Refund desk
defaults:
  expected: { must_not_say: [as an AI], outcome: response_only }
cases:
  - id: refund-{country}
    tags: [smoke, money]
    each:
      - { country: fr, order: A-17, limit: 50 }
      - { country: de, order: B-04, limit: 80 }
    turns:
      - prompt: I want my money back.
        expected: { outcome: needs_input, tool_calls_none: [issue_refund] }
      - prompt: It is order {order}.
        expected:
          tool_calls:
            - { tool: issue_refund, arguments: { order: "{order}", amount: "{limit}", note: "{{order}} {other}" } }
  - id: stubborn-customer
    prompt: I want my money back.
    replies:
      - { asks_for: [order number], say: It is order A-17. }
    max_turns: 6
    xfail: known
    skip: later
    expected: { tool_calls: [{ tool: issue_refund }], must_not_say: [never] }
"""
EXPECTED = {"must_say_any": ["a"]}
TEMPLATE = {"id": "A-{name}", "prompt": "{name} {n}", "expected": {"required_levers": "{n}"}}

OUTSIDE = (
    "is outside the project of the suite. Move it inside, or make .. the project: put a carob.toml there. [outside]"
)


def suite(tree: Any) -> Suite:
    return loads(json.dumps({"carob": 1, **tree}).encode(), "s.json", CATALOG)


def one(**case: Any) -> Case:
    (only,) = suite({"cases": [{"id": "A", "prompt": "p", "expected": EXPECTED, **case}]}).cases
    return only


def args(specs: Any) -> dict[str, Any]:
    return {spec.path: msgspec.json.decode(spec.args) for spec in specs}


def told(tree: Any) -> list[str]:
    return [line.partition(" ")[2] for line in lines(json.dumps({"carob": 1, **tree}))]


def test_the_refund_desk() -> None:
    read = loads(DESK.encode(), "desk.yaml", CATALOG)
    assert (read.format, read.version, read.name) == ("carob-1", "1", "Refund desk")
    french, german, stubborn = read.cases
    assert [case.id for case in read.cases] == ["refund-fr", "refund-de", "stubborn-customer"]
    assert french.tags == ("smoke", "money")
    assert [turn.prompt for turn in german.turns] == ["I want my money back.", "It is order B-04."]
    assert german.prompt == "I want my money back."
    assert args(german.turns[1].checks)["tool_calls[0]"] == {
        "tool": "issue_refund",
        "arguments": {"order": "B-04", "amount": 80, "note": "{order} {other}"},
    }
    assert args(german.turns[0].checks).keys() == {"outcome", "tool_calls_none[0]"}
    assert args(german.checks).keys() == {"outcome", "must_not_say[0]"}
    assert args(german.checks)["must_not_say[0]"] == {"phrase": "as an AI"}
    assert stubborn.turns == ()
    assert stubborn.replies == (Reply(("order number",), "It is order A-17."),)
    assert (stubborn.max_turns, stubborn.skip, stubborn.xfail) == (6, "later", "known")
    assert args(stubborn.checks)["must_not_say[0]"] == {"phrase": "never"}
    assert args(stubborn.checks)["must_not_say[1]"] == {"phrase": "as an AI"}


def test_a_turn_that_expects_nothing_has_no_checks_and_the_case_judges_no_outcome_unasked() -> None:
    turns = [{"prompt": "a"}, {"prompt": "b", "expected": {"outcome": "tool_success"}}]
    (only,) = suite({"cases": [{"id": "A", "turns": turns}]}).cases
    assert (only.checks, only.turns[0].checks, only.outcome) == ((), (), "tool_success")
    assert args(only.turns[1].checks)["outcome"]["outcome"] == "tool_success"


@pytest.mark.parametrize(
    ("text", "variables", "filled"),
    [
        pytest.param("{n}", {"n": 5}, 5, id="type"),
        pytest.param("{n}", {"n": [1, {"a": None}]}, [1, {"a": None}], id="list"),
        pytest.param("{n} {n}", {"n": 5}, "5 5", id="within"),
        pytest.param("is {n}", {"n": True}, "is true", id="true"),
        pytest.param("{{n}} {n}", {"n": "x"}, "{n} x", id="literal"),
        pytest.param("{{m}} {m} {} {0} a{2,3}", {"n": "x"}, "{{m}} {m} {} {0} a{2,3}", id="other-braces"),
        pytest.param("{n}", {"n": "a {m}", "m": 3}, "a 3", id="variables-of-variables"),
        pytest.param("{n}", {"n": "{other}"}, "{other}", id="not-again"),
        pytest.param("{n}", {"n": "__import__('os')"}, "__import__('os')", id="inert"),
        pytest.param("{n.real}{n!r}{n:d}", {"n": 5}, "{n.real}{n!r}{n:d}", id="no-format-language"),
    ],
)
def test_variables(text: str, variables: dict[str, Any], filled: Any) -> None:
    case = one(vars=variables, expected={"tool_calls": [{"tool": "t", "arguments": {"a": text}}]})
    assert args(case.checks)["tool_calls[0]"]["arguments"] == {"a": filled}


def test_the_nearest_variable_counts() -> None:
    case = {"id": "A", "vars": {"c": "case"}, "each": [{"d": "row"}], "prompt": "{a} {b} {c} {d}", "expected": EXPECTED}
    tree = {
        "vars": {"a": "suite", "b": "suite", "c": "suite", "d": "suite"},
        "defaults": {"vars": {"b": "defaults", "c": "defaults"}},
        "cases": [case],
    }
    assert suite(tree).cases[0].prompt == "suite defaults case row"


def test_maps_of_defaults_merge_and_lists_are_replaced_for_every_case_alike() -> None:
    defaults = {"expected": {"must_not_say": ["x"], "scoring": 1}, "x-note": 1, "tags": ["d"]}
    del defaults["expected"]["scoring"]  # type: ignore[attr-defined]
    own = {"prompt": "p", "expected": {"must_say_any": ["a"]}}
    cases = suite({"defaults": defaults, "cases": [{"id": "A", **own}, {"id": "B", "tags": ["o"], **own}]}).cases
    assert [case.tags for case in cases] == [("d",), ("o",)]
    assert [case.metadata for case in cases] == [{"x-note": 1}] * 2
    assert all(args(case.checks).keys() == {"outcome", "must_say_any", "must_not_say[0]"} for case in cases)


def test_what_defaults_forbid_adds_up_and_the_smaller_bound_holds() -> None:
    defaults = {
        "must_not_say": ["x"],
        "tool_calls": [{"tool": "a", "never": True}, {"tool": "b"}],
        "max_words": 5,
        "max_calls": {"a": 1, "b": 9},
        "max_tokens": 50,
        "tool_requires": {"a": ["b"]},
        "must_say_any": ["default"],
    }
    own = {
        "must_not_say": ["y", "x"],
        "tool_calls": [{"tool": "c"}],
        "max_words": "{most}",
        "max_calls": {"a": 3, "b": 2},
        "max_tokens": {"total": 90, "input": 10},
        "tool_requires": {"a": ["c"]},
        "must_say_any": ["own"],
    }
    case = {"id": "A", "prompt": "p", "vars": {"most": 9}, "expected": own}
    checks = args(suite({"defaults": {"expected": defaults}, "cases": [case]}).cases[0].checks)
    assert [checks[f"must_not_say[{number}]"]["phrase"] for number in (0, 1)] == ["y", "x"]
    assert [checks[f"tool_calls[{number}]"]["tool"] for number in (0, 1)] == ["c", "a"]
    assert "tool_calls[2]" not in checks
    assert checks["max_words"]["most"] == 5
    assert (checks["max_calls.a"]["most"], checks["max_calls.b"]["most"]) == (1, 2)
    assert (checks["max_tokens.total"]["most"], checks["max_tokens.input"]["most"]) == (50, 10)
    assert checks["tool_requires.a"]["first"] == ["c", "b"]
    assert checks["must_say_any"]["phrases"] == ["own"]


def test_override_replaces_or_drops_a_prohibition_of_defaults() -> None:
    defaults = {"must_not_say": ["x"], "max_calls": {"a": 1}, "max_words": 5}
    own = {"max_calls": {"b": 9}, "max_words": 9}
    case = {"id": "A", "prompt": "p", "override": ["must_not_say", "max_calls"], "expected": own}
    tree = {"defaults": {"expected": defaults}, "cases": [case]}
    assert args(suite(tree).cases[0].checks).keys() == {"outcome", "max_calls.b", "max_words"}
    assert args(suite(tree).cases[0].checks)["max_words"]["most"] == 5
    assert told({**tree, "cases": [{**case, "override": ["max_steps"]}]}) == [
        "cases[0].override[0]: `defaults` expect no 'max_steps', so there is nothing to override. Leave it out. "
        "[no-effect]"
    ]


def test_braces_that_are_nearly_a_variable_are_a_warning() -> None:
    read = suite({"cases": [{"id": "A", "vars": {"order": 1}, "prompt": "{oder}", "expected": EXPECTED}]})
    assert read.cases[0].prompt == "{oder}"
    assert [w.partition(" ")[2] for w in read.warnings] == [
        "cases[0].prompt: warning: '{oder}' is not a variable, so it is sent as it is. "
        "Did you mean '{order}'? [near-variable]"
    ]


@pytest.mark.parametrize(
    ("case", "said"),
    [
        pytest.param(
            {"vars": {"a": "{b}", "b": "x{a}"}},
            ["vars.a: circular variables: a → b → a. Give one of them a value. [cyclic-variable]"],
            id="circle",
        ),
        pytest.param(
            {"id": "A{n}", "each": [{"n": 1, "m": 2}, {"n": 2}], "prompt": "is {m}"},
            ["prompt: the row has no 'm', which other rows of its table have. Give it one. (row 2) [missing-variable]"],
            id="missing",
        ),
        pytest.param({"each": []}, ["each: the table has no rows. [empty-table]"], id="empty-table"),
        pytest.param({"each": 3}, ["each: expected a list, found a number. [wrong-type]"], id="no-table"),
        pytest.param(
            {"each": [{"n": 1}, {"n": 2}]},
            ["id: cases[0], row 1, already has the id 'A'. Give each case its own. (row 2) [duplicate-id]"],
            id="one-id",
        ),
        pytest.param(
            {"id": "A{n}", "each": [{"n": 1}, {"n": 2}], "expected": {"required_levers": "{n}", "must_say_any": "{n}"}},
            [f"expected.must_say_any: expected a list, found a number. (row {n}) [wrong-type]" for n in (1, 2)],
            id="wrong-in-rows",
        ),
        pytest.param(
            {"vars": {"n": [1]}, "prompt": "is {n}"},
            ["prompt: 'n' is a list or an object, which cannot be part of a text. [wrong-type]"],
            id="list-in-a-text",
        ),
        pytest.param(
            {"vars": [1]},
            ["vars: expected an object, found a list. Write its keys without [ ] and '- '. [wrong-type]"],
            id="vars",
        ),
        pytest.param(
            {"turns": [{"prompt": "p", "expected": EXPECTED}]},
            ["prompt: 'turns' is here too. Keep one. [duplicate-field]"],
            id="prompt-and-turns",
        ),
        pytest.param(
            {"max_turns": 2},
            ["max_turns: it limits 'replies', which are missing. Leave it out, or add them. [no-effect]"],
            id="max-turns-alone",
        ),
        pytest.param(
            {"replies": [{"asks_for": ["x"], "says": "y"}]},
            [
                "replies[0].say: this field is required and missing. [missing-field]",
                "replies[0].says: unknown field. Did you mean 'say'? [unknown-field]",
            ],
            id="reply",
        ),
        pytest.param(
            {"each": "../t.csv"},
            [f"each: '../t.csv' {OUTSIDE}"],
            id="outside",
        ),
        pytest.param({"each": "gone.csv"}, ["each: 'gone.csv' no such file. [missing-file]"], id="no-such-table"),
    ],
)
def test_what_can_be_wrong(case: dict[str, Any], said: list[str]) -> None:
    expected = [f"cases[0].{line}" for line in said]
    assert told({"cases": [{"id": "A", "prompt": "p", "expected": EXPECTED, **case}]}) == expected


def test_a_problem_of_many_rows_is_shown_for_the_first_of_them() -> None:
    rows = [{"n": n, "m": n % 7} for n in range(9)]
    case = {"id": "A{n}", "prompt": "p", "each": rows, "expected": {**EXPECTED, "must_say": ["x"]}}
    lines = told({"cases": [case]})
    assert len(lines) == 4
    assert [line.partition("(")[2].partition(")")[0] for line in lines] == [
        "row 1",
        "row 2",
        "row 3",
        "and in 6 more rows",
    ]


@pytest.mark.parametrize(
    "case",
    [
        {"prompt": "p"},
        {"prompt": "p", "expected": {"min_pass_rate": 1}},
        {"turns": [{"prompt": "p"}]},
        {"turns": [{"prompt": "p", "expected": {"must_say_any": []}}]},
    ],
)
def test_a_case_that_checks_nothing(case: dict[str, Any]) -> None:
    said = "cases[0]: the case checks nothing. Say in 'expected' what you expect. [no-checks]"
    assert told({"cases": [{"id": "A", **case}]}) == [said]


def test_a_case_that_says_nothing() -> None:
    said = "cases[0]: the case says nothing to the agent. Give it a 'prompt' or 'turns'. [missing-field]"
    assert told({"cases": [{"id": "A", "expected": EXPECTED}]}) == [said]


def test_flaws_of_a_turn_are_told_where_they_stand() -> None:
    turns = [{"prompt": "p", "expected": EXPECTED}, {"prompt": "q", "expected": {"must_match_regex": ["a", "("]}}]
    (line,) = told({"cases": [{"id": "A", "turns": turns}]})
    assert line.startswith("cases[0].turns[1].expected.must_match_regex[1]: ")


def test_what_is_wrong_with_the_defaults_is_told_there_and_once() -> None:
    cases = [{"id": name, "prompt": "p", "expected": EXPECTED} for name in "AB"]
    assert told({"defaults": {"expected": {"must_not_sya": ["x"]}, "id": "x"}, "cases": cases}) == [
        "defaults.expected.must_not_sya: unknown field. Did you mean 'must_not_say'? [unknown-field]",
        "defaults.id: it differs in every case. Write it there. [unknown-field]",
    ]


@pytest.mark.parametrize("version", ["1", True, None, 1.0])
def test_other_versions_are_refused(version: Any) -> None:
    (line,) = lines(json.dumps({"carob": version, "cases": [{"id": "A", "prompt": "p", "expected": EXPECTED}]}))
    assert "carob: expected 1, found" in line


def table(folder: Path, name: str, text: str | bytes) -> Path:
    (folder / name).write_bytes(text.encode() if isinstance(text, str) else text)
    path = folder / "s.json"
    path.write_text(json.dumps({"carob": 1, "cases": [{**TEMPLATE, "each": name}]}))
    return path


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("t.csv", 'name,n\r\nfr,1\r\n\r\n"d,e",2\r\n'),
        ("t.CSV", '\ufeffname,n\nfr,1\n"d,e",2'),
        ("t.jsonl", '{"name": "fr", "n": 1}\n\n{"name": "d,e", "n": 2}\n'),
    ],
)
def test_a_table_beside_the_suite(name: str, text: str, tmp_path: Path) -> None:
    read = load(table(tmp_path, name, text), CATALOG)
    assert [case.prompt for case in read.cases] == ["fr 1", "d,e 2"]
    assert 2 in args(read.cases[1].checks)["required_levers"].values()
    assert read.sha256 != load(table(tmp_path, name, text.replace("fr", "it")), CATALOG).sha256


def test_a_cell_stays_as_it_is_written_within_a_text(tmp_path: Path) -> None:
    path = table(tmp_path, "t.csv", "name,n\n1.10,1\n007,1\n")
    assert [case.id for case in load(path, CATALOG).cases] == ["A-1.10", "A-007"]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("t.csv", "name,n\nfr,1\nde\n", ":3:1: the line has 1 cells, the table has 2 columns. [bad-table]"),
        ("t.csv", 'name,n\n"fr,1\n', ":2:1: the line is not CSV: unexpected end of data. [bad-table]"),
        ("t.csv", "name,n\n", ":1:1: the table has no rows. [empty-table]"),
        ("t.csv", "", ":1:1: the file is empty. [empty-file]"),
        ("t.csv", "name,name\n1,2\n", ":1:1: the column 'name' appears twice. [bad-table]"),
        ("t.csv", b"name,n\n\xff,1\n", ":2:1: not UTF-8: byte 0xff at offset 7. Save the file as UTF-8. [not-utf-8]"),
        ("t.jsonl", '{"n": 1}\n{"n"', ":2:1: the line is not JSON: EOF while parsing an object. [bad-table]"),
        ("t.jsonl", "[1]\n", ":1:1: expected an object, found a list. [bad-table]"),
        (
            "t.jsonl",
            '{"n": 99999999999999999999}',
            ":1:1: the number does not fit in 64 bits. Write it as a string. [bad-table]",
        ),
    ],
)
def test_bad_tables(name: str, text: str | bytes, said: str, tmp_path: Path) -> None:
    with pytest.raises(SuiteError) as caught:
        load(table(tmp_path, name, text), CATALOG)
    assert str(caught.value) == f"{tmp_path / name}{said}"
    assert caught.value.exit_code == ExitCode.USAGE


def test_an_error_in_a_row_names_the_line_of_the_table(tmp_path: Path) -> None:
    with pytest.raises(SuiteError) as caught:
        load(table(tmp_path, "t.csv", "name,n\nfr,1\nde,0\n"), CATALOG)
    said = "cases[0].expected.required_levers: must be at least 1, found 0. (t.csv:3) [out-of-range]"
    assert str(caught.value).endswith(said)


def test_a_suite_of_single_prompts_runs() -> None:
    read = suite(
        {"cases": [{**TEMPLATE, "each": [{"name": "a", "n": 1}], "expected": {"must_say_any": ["{name} {n}"]}}]}
    )
    assert carob.run(read, lambda prompt: f"You said: {prompt}").ok
    assert not carob.run(read, lambda prompt: "no").ok


def test_one_turn_does_not_judge_a_conversation() -> None:
    (case,) = suite({"cases": [{"id": "A", "turns": [{"prompt": "p", "expected": EXPECTED}]}]}).cases
    with pytest.raises(UsageError, match="has 1 turn, the trace 0"):
        carob.judge(case, carob.Trace(case_id="A", final_message="a"))


def test_lint_looks_at_conversations(tmp_path: Path) -> None:
    path = tmp_path / "desk.yaml"
    path.write_text(DESK)
    path.write_text(DESK.replace("as an AI", "as an AI, money").replace("never]", "never, I want my money back.]"))
    slugs = {
        problem.slug for problem in lint(locate_suite(read_bytes(path), str(path), CATALOG), CATALOG, TargetInfo())
    }
    assert slugs <= set(SLUGS)


def test_rows_share_a_cluster_unless_they_name_their_own() -> None:
    expected, rows = {"must_say_any": ["ok"]}, [{"n": "1"}, {"n": "2"}]
    cases = [
        {"id": "a-{n}", "prompt": "x", "each": rows, "expected": expected},
        {"id": "b-{n}", "prompt": "x", "each": rows, "cluster": "row-{n}", "expected": expected},
        {"id": "c", "prompt": "x", "cluster": "row-1", "expected": expected},
        {"id": "d", "prompt": "x", "expected": expected},
    ]
    found = carob.load_suite({"carob": 1, "cases": cases}).cases
    assert [case.cluster for case in found] == ["a-{n}", "a-{n}", "row-1", "row-2", "row-1", ""]


def test_templates_of_one_id_are_two_clusters() -> None:
    cases = [
        {"id": "{name}", "prompt": "x", "each": [{"name": name}], "expected": {"must_say_any": ["ok"]}} for name in "ab"
    ]
    found = carob.load_suite({"carob": 1, "cases": cases}).cases
    assert [case.cluster for case in found] == ["{name}", "{name} #2"]


def test_a_variable_that_no_text_can_hold_is_refused_inside_of_another_variable() -> None:
    with pytest.raises(SuiteError) as refused:
        one(vars={"all": ["a"], "text": "of {all}"}, prompt="{text}")
    assert "cases[0].vars.text: 'all' is a list or an object, which cannot be part of a text" in str(refused.value)


@pytest.mark.parametrize("rows", [1, 3])
def test_what_variables_stand_for_is_bounded(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each case on its own, and all cases of a file together."""
    monkeypatch.setattr(templates, "MOST_FILLED", 250)
    monkeypatch.setattr(templates, "MOST_FILLED_IN_FILE", 500)
    case = {"id": "a-{n}", "prompt": "{long} {long}", "each": [{"n": n, "long": "x" * 110} for n in range(rows)]}
    if rows == 1:
        assert suite({"cases": [{**case, "expected": EXPECTED}]}).cases[0].prompt == f"{'x' * 110} {'x' * 110}"
        case["prompt"] += " {long}"
    with pytest.raises(SuiteError) as refused:
        suite({"cases": [{**case, "expected": EXPECTED}]})
    (problem,) = refused.value.problems
    assert "cases[0].prompt: the variables of this file stand for too much text" in str(problem)
    assert problem.slug == "too-large"
