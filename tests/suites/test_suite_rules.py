"""Rules of a suite, of the files that it names and of carob.toml, and groups of tools."""

from __future__ import annotations

from pathlib import Path

import pytest

import carob
from carob.errors import CarobError, ExitCode, SuiteError
from carob.model.trace import ToolCall, Trace
from carob.model.verdict import Status

POLICY = """\
carob: 1
tools: {writes: ["pay*"]}
rules:
  - {id: consent, why: Ask first., each: {call: "@writes"}, needs: {last_user: ["@yes"]}}
"""
LOOK = "{id: look, each: {call: pay}, needs: {before: {call: get, success: true}}}"
CASES = "cases:\n  - {id: a, prompt: 'Yes, pay.', tags: [vip]}\n  - {id: b, prompt: Pay.}\n"


def suite(tmp_path: Path, text: str, name: str = "s.yaml") -> carob.Suite:
    (tmp_path / name).write_text(text)
    return carob.load_suite(tmp_path / name)


def paths(case: carob.Case) -> list[str]:
    return [spec.path for spec in case.checks if spec.name in ("rule", "shared_rule")]


def problems(tmp_path: Path, text: str) -> list[str]:
    with pytest.raises(SuiteError) as error:
        suite(tmp_path, text)
    return [f"{problem.line}:{problem.path} {problem.slug}" for problem in error.value.problems]


def test_rules_are_checks_of_every_case(tmp_path: Path) -> None:
    made = suite(tmp_path, f"carob: 1\nrules: [{LOOK}]\n{CASES}")
    assert [paths(case) for case in made.cases] == [["rules: look"], ["rules: look"]]
    assert made.rules == ("look",)


def test_a_file_of_rules_is_included_and_belongs_to_the_hash(tmp_path: Path) -> None:
    (tmp_path / "policy.carob.yaml").write_text(POLICY)
    text = f"carob: 1\nrules: [policy.carob.yaml, {LOOK}]\n{CASES}"
    before = suite(tmp_path, text)
    assert paths(before.cases[0]) == ["policy.carob.yaml: consent", "rules: look"]
    (tmp_path / "policy.carob.yaml").write_text(POLICY.replace("Ask first", "Ask"))
    assert suite(tmp_path, text).sha256 != before.sha256


@pytest.mark.parametrize(
    ("narrowed", "cases"),
    [("except: {tags: [vip]}", ["b"]), ("when: {tags: [vip]}", ["a"]), ("when: {metadata: {m: 1}}", ["a", "b"])],
)
def test_tags_are_looked_at_when_the_suite_is_read(tmp_path: Path, narrowed: str, cases: list[str]) -> None:
    rule = LOOK.replace("id: look", f"id: look, {narrowed}")
    made = suite(tmp_path, f"carob: 1\nrules: [{rule}]\n{CASES}")
    assert [case.id for case in made.cases if paths(case)] == cases


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("k.yaml", f"carob: 1\n{CASES}"),
        ("e.json", '{"version": "0.2", "cases": [{"id": "a", "prompt": "p", "expected": {"must_say_any": ["x"]}}]}'),
        ("g.json", '[{"id": "a", "input": "p", "expected_contains": ["x"], "must_not_contain": ["y"]}]'),
    ],
)
def test_rules_of_the_project_hold_in_every_format(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "policy.carob.yaml").write_text(POLICY)
    (tmp_path / "carob.toml").write_text('rules = ["policy.carob.yaml"]\n')
    made = suite(tmp_path, text, name)
    assert {spec.name for spec in made.cases[0].checks} >= {"shared_rule"}
    assert paths(made.cases[0]) == ["policy.carob.yaml: consent"]


def test_a_contract_needs_no_cases_and_is_not_run(tmp_path: Path) -> None:
    made = suite(tmp_path, POLICY, "policy.carob.yaml")
    assert (made.cases, made.rules) == ((), ("consent",))
    with pytest.raises(CarobError, match="nothing to run") as error:
        carob.run(made, target=lambda prompt: "x", results_dir=tmp_path)
    assert error.value.exit_code is ExitCode.NOTHING_SELECTED


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"carob: 1\nrules: []\n{CASES}", ["2:rules empty-suite"]),
        (f"carob: 1\nrules: 7\n{CASES}", ["2:rules wrong-type"]),
        ("carob: 1\nname: x\n", ["1: missing-field"]),
        (f"carob: 1\nrules:\n  - {LOOK}\n  - {LOOK}\n{CASES}", ["3:rules duplicate-id"]),
        (f"carob: 1\nrules: [s.yaml]\n{CASES}", ["2:rules[0] cyclic-rules"]),
        (f"carob: 1\nrules: [none.yaml]\n{CASES}", ["2:rules[0] missing-file"]),
        (
            f"carob: 1\nrules:\n  - id: x\n    each: {{call: '@writes'}}\n    at_most: 0\n{CASES}",
            ["4:rules[0].each.call unknown-group"],
        ),
        (
            f"carob: 1\nrules:\n  - id: x\n    each: {{call: pay}}\n    where: 'true'\n{CASES}",
            ["5:rules[0].where empty-expectation"],
        ),
        (
            "carob: 1\ncases:\n  - {id: a, prompt: p, expected: {tool_calls_none: ['@nope']}}\n",
            ["3:cases[0].expected.tool_calls_none[0] unknown-group"],
        ),
    ],
)
def test_what_is_wrong_has_its_place(tmp_path: Path, text: str, expected: list[str]) -> None:
    assert problems(tmp_path, text) == expected


def test_a_problem_of_an_included_file_has_the_place_in_that_file(tmp_path: Path) -> None:
    (tmp_path / "policy.carob.yaml").write_text("carob: 1\nrules:\n  - {id: a, each: {call: x}, at_mots: 1}\n")
    with pytest.raises(SuiteError) as error:
        suite(tmp_path, f"carob: 1\nrules: [policy.carob.yaml]\n{CASES}")
    wrong = error.value.problems[0]
    assert (Path(wrong.file).name, wrong.line, wrong.path) == ("policy.carob.yaml", 3, "rules[0].at_mots")


def test_groups_of_tools_in_expected(tmp_path: Path) -> None:
    text = """
carob: 1
tools: {writes: ["pay*", refund], reads: [get]}
cases:
  - id: a
    prompt: p
    expected:
      tool_calls_none: ["@writes"]
      tool_calls_any: ["@reads"]
      max_calls: {"@writes": 1}
      tool_calls: [{tool: "@reads"}]
"""
    case = suite(tmp_path, text).cases[0]
    paid = Trace(case_id="a", final_message="Done.", tool_calls=(ToolCall("refund", success=True),))
    looked = Trace(case_id="a", final_message="Done.", tool_calls=(ToolCall("get", success=True),))
    assert {c.name: c.status for c in carob.judge(case, paid).checks}["tool_calls_none"] is Status.FAILED
    assert {c.status for c in carob.judge(case, looked).checks} == {Status.PASSED}


CALLS = (
    ToolCall("get", {"id": 1}, success=True, result={}, message="1"),
    ToolCall("pay", {"id": 1}, success=True, result={}, message="2"),
)


def test_a_broken_rule_fails_a_case_whose_threshold_holds(tmp_path: Path) -> None:
    text = f"carob: 1\nrules: [{LOOK}]\ncases:\n  - {{id: a, prompt: p, scoring: {{soft_score: {{threshold: 0.1}}}}}}\n"
    case = suite(tmp_path, text).cases[0]
    held = carob.judge(case, Trace(case_id="a", input="p", final_message="Done.", tool_calls=CALLS))
    broken = carob.judge(case, Trace(case_id="a", input="p", final_message="Done.", tool_calls=CALLS[1:]))
    assert (held.status, broken.status) == ("PASS", "FAIL")
    assert broken.hard_fail_triggered == ("rules",)
    assert broken.checks[-1].at.index == 0


def answer(prompt: str) -> dict:
    """An agent that pays where it is asked to."""
    calls = [
        {"name": "get", "arguments": {"id": 1}, "result": {}, "message": "1"},
        {"name": "pay", "arguments": {"id": 1}, "result": {}, "message": "2"},
    ]
    return {"final_message": "Done.", "tool_calls": calls if "pay" in prompt.lower() else []}


def test_what_was_not_triggered_is_reported_as_not_tested(tmp_path: Path) -> None:
    other = "{id: other, each: {call: never_called}, at_most: 1}"
    cases = "cases:\n  - {id: a, prompt: 'Yes, pay.'}\n  - {id: c, prompt: Hello.}\n"
    made = suite(tmp_path, f"carob: 1\nrules: [{LOOK}, {other}]\n{cases}")
    result = carob.run(made, target=answer, results_dir=tmp_path, workers=0)
    assert [record.status for record in result] == ["PASS", "PASS"]
    assert (result.summary.rules, result.summary.untested_rules) == (2, ("other",))
    assert result.exit_code is ExitCode.OK
    assert "1 of 2 rules not tested (other)" in repr(result)


def test_a_contract_of_which_nothing_was_triggered_exits_5(tmp_path: Path) -> None:
    made = suite(tmp_path, f"carob: 1\nrules: [{LOOK}]\ncases:\n  - {{id: c, prompt: Hello.}}\n")
    result = carob.run(made, target=answer, results_dir=tmp_path, workers=0)
    assert result.exit_code is ExitCode.NOTHING_SELECTED
    again = carob.rescore(result.journal.path)
    assert again.exit_code is ExitCode.NOTHING_SELECTED
    assert again.summary.untested_rules == ("look",)
