"""Results of promptfoo and ADK as recordings: old runs judged again."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import carob

CONFIG = {
    "prompts": ["Say {{x}}"],
    "tests": [{"vars": {"x": ["a", "b"]}, "assert": [{"type": "equals", "value": "Say {{x}}"}]}],
}


def row(prompt: str, output: Any, **more: Any) -> dict[str, Any]:
    response = {"output": output, "tokenUsage": {"prompt": 3, "completion": 4}, "cost": 0.01, "finishReason": "stop"}
    return {"prompt": {"raw": prompt, "label": "x"}, "response": response, "latencyMs": 12, **more}


def replay(folder: Path, suite: object, name: str, results: object, **how: Any) -> carob.RunResult:
    (folder / name).write_text(json.dumps(suite))
    (folder / "results.json").write_text(json.dumps(results, indent=2))
    return carob.run(folder / name, f"replay:{folder / 'results.json'}", **how)


def test_answers_of_promptfoo_are_found_by_their_prompts(tmp_path):
    rows = [row("Say b", "wrong"), row("Say a", "Say a"), row("Say a", "another time")]
    results = {"evalId": "e", "results": {"version": 3, "results": rows}}
    run = replay(tmp_path, CONFIG, "promptfooconfig.json", results)
    assert [record.status for record in run] == ["PASS", "FAIL"]
    trace = run.records[0].trace
    assert (trace.duration_ms, trace.ended_by, trace.metadata["cost_usd"]) == (12, "itself", 0.01)
    assert trace.tokens is not None
    assert (trace.tokens.input, trace.tokens.output) == (3, 4)
    twice = replay(tmp_path, CONFIG, "promptfooconfig.json", results, repeat=2)
    assert [record.status for record in twice] == ["PASS", "FAIL", "FAIL", "ERROR"]


def test_calls_of_an_answer_are_calls(tmp_path):
    suite = {"carob": 1, "cases": [{"id": "a", "prompt": "Say a", "expected": {"tool_calls": [
        {"tool": "f", "arguments": {"x": 1}}]}}]}  # fmt: skip
    call = [{"type": "function", "function": {"name": "f", "arguments": '{"x": 1}'}}]
    run = replay(tmp_path, suite, "s.json", {"results": {"results": [row("Say a", call)]}})
    assert [one.status for one in run.records[0].verdict.checks if one.name == "tool_calls"] == ["passed"]


@pytest.mark.parametrize("as_text", [False, True], ids=["object", "text"])
def test_results_of_adk_are_found_by_their_case(tmp_path, as_text):
    def turn(prompt: str, answer: str, key: str = "final_response") -> dict[str, Any]:
        uses = [{"name": "find", "args": {"q": prompt}}]
        parts = {"user_content": {"parts": [{"text": prompt}]}, key: {"parts": [{"text": answer}]}}
        return {**parts, "intermediate_data": {"tool_uses": uses}}

    turns = [turn("One?", "It is one."), turn("Two?", "It is two.")]
    suite = {"eval_cases": [{"eval_id": "c", "conversation": turns}, {"eval_id": "d", "conversation": turns[:1]}]}
    done = [
        {"eval_id": "c", "eval_metric_result_per_invocation": [{"actual_invocation": one} for one in turns]},
        {"eval_id": "d", "eval_metric_result_per_invocation": [{"actual_invocation": turn("One?", "No.")}]},
    ]
    results: object = {"eval_set_result_id": "r", "eval_case_results": done}
    run = replay(tmp_path, suite, "x.evalset.json", json.dumps(results) if as_text else results)
    assert [record.status for record in run] == ["PASS", "FAIL"]


TWO_PROVIDERS = [
    row("Say a", "Say a", provider={"id": "openai:gpt-4o"}),
    row("Say b", "wrong", provider={"id": "openai:gpt-4o"}),
    row("Say a", "wrong", provider={"id": "x", "label": "mine"}),
    row("Say b", "Say b", provider={"id": "x", "label": "mine"}),
]


@pytest.mark.parametrize(("provider", "statuses"), [("openai:gpt-4o", ["PASS", "FAIL"]), ("mine", ["FAIL", "PASS"])])
def test_the_results_of_one_provider_are_judged(tmp_path, monkeypatch, provider, statuses):
    toml = f'[targets.old]\nuse = "replay:results.json"\noptions.provider = "{provider}"\n'
    (tmp_path / "carob.toml").write_text(toml)
    (tmp_path / "promptfooconfig.json").write_text(json.dumps(CONFIG))
    (tmp_path / "results.json").write_text(json.dumps({"results": {"results": TWO_PROVIDERS}}))
    monkeypatch.chdir(tmp_path)
    assert [record.status for record in carob.run("promptfooconfig.json", "old", repeat=2)][::2] == statuses


@pytest.mark.parametrize("chosen", ["", 'options.provider = "gpt-5"\n'])
def test_results_of_several_providers_are_not_mixed(tmp_path, monkeypatch, chosen):
    (tmp_path / "carob.toml").write_text(f'[targets.old]\nuse = "replay:results.json"\n{chosen}')
    (tmp_path / "promptfooconfig.json").write_text(json.dumps(CONFIG))
    (tmp_path / "results.json").write_text(json.dumps({"results": {"results": TWO_PROVIDERS}}))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(carob.ConfigError, match=r"mine, openai:gpt-4o|no result is of the provider"):
        carob.run("promptfooconfig.json", "old")


def test_prompts_that_differ_in_what_the_system_says_have_results_of_their_own(tmp_path):
    def prompt(system: str) -> str:
        return json.dumps([{"role": "system", "content": system}, {"role": "user", "content": "{{x}}"}])

    tests = [{"vars": {"x": "Hi"}, "assert": [{"type": "equals", "value": "short"}]}]
    config = {"prompts": [prompt("Be long."), prompt("Be short.")], "tests": tests}
    said = {"Be long.": "long", "Be short.": "short"}
    rows = [row(prompt(system).replace("{{x}}", "Hi"), answer) for system, answer in said.items()]
    run = replay(tmp_path, config, "promptfooconfig.json", {"results": {"results": rows}})
    assert [record.status for record in run] == ["FAIL", "PASS"]


def test_tests_with_one_prompt_are_told_apart_by_their_variables(tmp_path):
    tests = [
        {"vars": {"x": "a", "want": want}, "assert": [{"type": "equals", "value": "{{want}}"}]} for want in ("1", "2")
    ]
    config = {"prompts": ["Say {{x}}"], "tests": tests}
    rows = [row("Say a", "2", vars={"x": "a", "want": "2"}), row("Say a", "1", vars={"x": "a", "want": "1"})]
    run = replay(tmp_path, config, "promptfooconfig.json", {"results": {"results": rows}})
    assert [record.status for record in run] == ["PASS", "PASS"]
    unnamed = [row("Say a", "2"), row("Say a", "1")]
    run = replay(tmp_path, config, "promptfooconfig.json", {"results": {"results": unnamed}})
    assert [record.status for record in run] == ["ERROR", "ERROR"]


SAME_TESTS = {
    "prompts": ["Say {{x}}", "Sing {{x}}"],
    "tests": [{"vars": {"x": "a"}, "assert": [{"type": "equals", "value": f"{n}"}]} for n in (1, 2)],
}


@pytest.mark.parametrize("repeat", [1, 2])
def test_tests_that_nothing_distinguishes_have_results_in_their_order(tmp_path, repeat):
    places = [(test, prompt) for test in range(2 * repeat) for prompt in (0, 1)]
    rows = [
        row(f"{('Say', 'Sing')[prompt]} a", f"{test // repeat + 1}", vars={"x": "a"}, testIdx=test, promptIdx=prompt)
        for test, prompt in reversed(places)
    ]
    run = replay(tmp_path, SAME_TESTS, "promptfooconfig.json", {"results": {"results": rows}}, repeat=repeat)
    assert [record.status for record in run] == ["PASS"] * 4 * repeat


@pytest.mark.parametrize("more", [{"testIdx": 0, "promptIdx": 0}, {}], ids=["too few", "not numbered"])
def test_results_are_not_chosen_from_where_they_may_be_of_several_tests(tmp_path, more):
    repeated = 1 if more else 2
    rows = [row(f"{verb} a", "1", vars={"x": "a"}, **more) for verb in ("Say", "Sing")] * repeated
    run = replay(tmp_path, SAME_TESTS, "promptfooconfig.json", {"results": {"results": rows}})
    assert [record.status for record in run] == ["ERROR"] * 4
    assert f"2 cases are the same, and which of {repeated} results" in run.records[0].verdict.reason


@pytest.mark.parametrize(
    ("prompt", "variables", "recorded", "named"),
    [
        ("{{x}}\n", {"x": "Hi\n"}, "Hi\n", {"x": "Hi\n"}),
        ('{"q": "{{x}}"}', {"x": "a"}, '{"q":"a"}', {"x": "a"}),
        ("Say {{x}}", {"x": "file://x.txt"}, "Say b", {"x": "file://x.txt"}),
        ("Say {{x}}", {"x": "{{y}}!", "y": "a"}, "Say a!", {"x": "{{y}}!", "y": "a"}),
    ],
    ids=["outer white space", "JSON", "a file", "a template"],
)
def test_the_result_of_a_prompt_is_found_however_it_is_written(tmp_path, prompt, variables, recorded, named):
    (tmp_path / "x.txt").write_text("b\n")
    tests = [{"vars": variables | {"want": want}, "assert": [{"type": "equals", "value": want}]} for want in "12"]
    rows = [row(recorded, want, vars=named | {"want": want}) for want in "21"]
    config = {"prompts": [prompt], "tests": tests}
    run = replay(tmp_path, config, "promptfooconfig.json", {"results": {"results": rows}})
    assert [record.status for record in run] == ["PASS", "PASS"]


def test_a_conversation_of_which_a_turn_was_not_recorded_was_not_recorded(tmp_path):
    tests = [{"vars": {"m": m}, "metadata": {"conversationId": "c"}} for m in ("One?", "Two?")]
    rows = [row("One?", "1", vars={"m": "One?"}, testCase={"metadata": {"conversationId": "c"}})]
    config = {"prompts": ["{{m}}"], "tests": tests}
    run = replay(tmp_path, config, "promptfooconfig.json", {"results": {"results": rows}})
    [record] = run
    assert record.trace.error is not None
    assert (record.trace.error.kind, record.status) == ("not-recorded", "ERROR")
    assert "contains no trace of this case" in record.trace.error.message


def test_the_turns_of_a_conversation_are_found_by_its_name(tmp_path):
    said = {"a": ["One?", "Go on.", "Go on."], "b": ["Two?", "Go on."]}
    tests, rows = [], []
    for name, prompts in said.items():
        for number, text in enumerate(prompts):
            metadata = {"conversationId": name}
            answer = f"{name}{number}"
            tests.append({"vars": {"m": text}, "metadata": metadata, "assert": [{"type": "equals", "value": answer}]})
            rows.append(row(text, answer, vars={"m": text}, testCase={"metadata": metadata}))
    config = {"prompts": ["{{m}}"], "tests": tests}
    order = [4, 3, 0, 1, 2]
    results = {"results": {"results": [rows[number] for number in order]}}
    run = replay(tmp_path, config, "promptfooconfig.json", results)
    assert [record.status for record in run] == ["PASS", "PASS"]


def test_lines_of_promptfoo_are_a_recording(tmp_path):
    rows = [row("Say b", "wrong", testIdx=1, promptIdx=0), row("Say a", "Say a", testIdx=0, promptIdx=0)]
    (tmp_path / "promptfooconfig.json").write_text(json.dumps(CONFIG))
    (tmp_path / "out.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in rows))
    run = carob.run(tmp_path / "promptfooconfig.json", f"replay:{tmp_path / 'out.jsonl'}")
    assert [record.status for record in run] == ["PASS", "FAIL"]


NEW_TABLE = """Description,x,[openai:gpt-4o] Say {{x}},Status,Score,Named Scores,Grader Reason,Comment
,a,Say a,PASS,1.00,,All assertions passed,
,b,"wrong, ""indeed""
and longer",FAIL,0.00,,"Expected ""Say b"", found more",
"""
OLD_TABLE = """x,[openai:gpt-4o] Say {{x}}
a,"[PASS] (1.00)

Say a

Pass Reason: All assertions passed"
b,"[FAIL] (0.00)

wrong

Fail Reason: Expected output"
"""
BROKEN_TABLE = """x,[openai:gpt-4o] Say {{x}},Status,Score
a,,ERROR,0.00
b,'=Say b,FAIL,0.00
"""


FILE_TABLE = NEW_TABLE.replace("] Say", "] /home/ann/prompts/say.txt: Say")


@pytest.mark.parametrize(
    ("table", "statuses", "answers"),
    [
        (NEW_TABLE, ["PASS", "FAIL"], ["Say a", 'wrong, "indeed"\nand longer']),
        (FILE_TABLE, ["PASS", "FAIL"], ["Say a", 'wrong, "indeed"\nand longer']),
        (OLD_TABLE, ["PASS", "FAIL"], ["Say a", "wrong"]),
        (BROKEN_TABLE, ["ERROR", "FAIL"], [None, "=Say b"]),
    ],
    ids=["new", "a prompt of a file", "old", "broken"],
)
def test_a_table_of_promptfoo_is_a_recording(tmp_path, table, statuses, answers):
    (tmp_path / "promptfooconfig.json").write_text(json.dumps(CONFIG))
    (tmp_path / "out.csv").write_text(table)
    run = carob.run(tmp_path / "promptfooconfig.json", f"replay:{tmp_path / 'out.csv'}")
    assert [record.status for record in run] == statuses
    found = [record.trace.final_message if record.trace else None for record in run]
    assert [one for one in found if one] == [one for one in answers if one]


def test_a_torn_row_of_a_table_has_a_place(tmp_path):
    tests = [*CONFIG["tests"], {"vars": {"x": "not there"}, "assert": [{"type": "contains", "value": "b"}]}]
    (tmp_path / "promptfooconfig.json").write_text(json.dumps({**CONFIG, "tests": tests}))
    (tmp_path / "out.csv").write_text(NEW_TABLE + "c,torn\n")
    *others, last = carob.run(tmp_path / "promptfooconfig.json", f"replay:{tmp_path / 'out.csv'}")
    assert "ERROR" not in {record.status for record in others}
    assert last.status == "ERROR"
    assert re.search(r"1 row cannot be read: .*out\.csv:5: the row has 2 cells", last.verdict.reason)
