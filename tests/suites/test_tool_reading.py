"""What a file of rules says of calls, wherever its rules judge: recordings, runs, and a guard before a call is made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import carob
from carob.errors import ConfigError, SuiteError
from carob.suites.rules import WITH_CASES

FIND_FIRST = """\
rules:
  - id: find-first
    each: { call: pay, success: true }
    needs: { before: { call: find, success: true } }
"""
READING = """\
carob: 1
tool_names: { Desk-find: find, Desk-pay: pay }
plain_text: success
success: { find: { field: state, is: [here] } }
"""


def write(folder: Path, text: str, name: str = "policy.yaml") -> str:
    (folder / name).write_text(text)
    return str(folder / name)


def request(number: int, tool: str, result: str) -> list[dict[str, Any]]:
    call = {"id": f"c{number}", "type": "function", "function": {"name": f"Desk-{tool}", "arguments": "{}"}}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{number}", "content": result},
    ]


def messages(state: str) -> list[dict[str, Any]]:
    found = request(1, "find", json.dumps({"state": state}))
    return [
        {"role": "user", "content": "Pay."},
        *found,
        *request(2, "pay", "Paid."),
        {"role": "assistant", "content": "Ok."},
    ]


def verdict(folder: Path, policy: str, state: str) -> str:
    judge = carob.prepare_judge(write(folder, policy))
    [check] = judge(carob.trace_from_messages(messages(state))).checks
    return check.status.value


@pytest.mark.parametrize(("state", "expected"), [("here", "passed"), ("gone", "failed")])
def test_recordings_are_read_as_the_file_says(state: str, expected: str, tmp_path: Path) -> None:
    assert verdict(tmp_path, READING + FIND_FIRST, state) == expected


@pytest.mark.parametrize(
    ("left_out", "expected"),
    [("tool_names: { Desk-find: find, Desk-pay: pay }\n", "unknown"), ("plain_text: success\n", "unknown")],
)
def test_without_it_less_is_known(left_out: str, expected: str, tmp_path: Path) -> None:
    assert verdict(tmp_path, (READING + FIND_FIRST).replace(left_out, ""), "gone") == expected


def test_rules_that_read_calls_in_different_ways_are_judged_side_by_side(tmp_path: Path) -> None:
    write(tmp_path, READING + FIND_FIRST, "inner.yaml")
    outer = 'carob: 1\nrules:\n  - {id: none, each: {call: "Desk-*"}, at_most: 1}\n  - inner.yaml\n'
    judge = carob.prepare_judge(write(tmp_path, outer))
    statuses = [check.status.value for check in judge(carob.trace_from_messages(messages("here"))).checks]
    assert statuses == ["failed", "passed"]
    with pytest.raises(ConfigError, match="different things of `success`"):
        carob.Guard(str(tmp_path / "policy.yaml"))


@pytest.mark.parametrize(("state", "expected"), [("here", "passed"), ("gone", "failed")])
def test_a_run_with_rules_of_carob_toml_reads_calls_so_too(
    state: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, READING + FIND_FIRST)
    write(tmp_path, 'rules = ["policy.yaml"]\n', "carob.toml")
    write(tmp_path, "carob: 1\ncases: [{id: a, prompt: Pay., expected: {must_say_any: [Ok]}}]\n", "suite.yaml")
    trace = carob.trace_from_messages(messages(state))
    run = carob.run(tmp_path / "suite.yaml", lambda prompt: trace, results_dir=tmp_path / "runs", workers=0)
    [record] = run
    assert [check.status.value for check in record.verdict.checks if check.rule_id] == [expected]
    [again] = carob.rescore(run.journal, results_dir=tmp_path / "again").records
    assert again.verdict.checks == record.verdict.checks


def test_a_guard_reads_calls_so_before_the_next_is_made(tmp_path: Path) -> None:
    with carob.Guard(write(tmp_path, READING + FIND_FIRST)).conversation() as conversation:
        conversation.report(conversation.allow("Desk-find", {}), {"state": "gone"})
        assert conversation.allow("Desk-pay", {}).rule == "find-first"
        conversation.report(conversation.allow("Desk-find", {}), {"state": "here"})
        assert conversation.allow("Desk-pay", {})


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (
            "success: { find: { field: state } }",
            "success.find: give either `field` with `is`, or `text`; `failure_text` next to it, or alone.",
        ),
        ("success: { find: { text: a* } }", "success.find: `text` matches every result."),
        ("success: { find: { text: '(' } }", "success.find: `text` is not a regex: "),
        ("success: { find: { feild: x } }", "success.find.feild: unknown field. Did you mean 'field'?"),
        ("plain_text: yes", "plain_text: unknown value 'yes'. Known: success."),
        ("tool_names: [a]", "tool_names: expected an object, found a list."),
        ("tool_names: {a: b}\ncases: []", f"tool_names: {WITH_CASES}"),
    ],
)
def test_what_can_be_wrong(line: str, problem: str, tmp_path: Path) -> None:
    write(tmp_path, f"carob: 1\n{line}\n{FIND_FIRST}")
    with pytest.raises(SuiteError) as error:
        carob.load_suite(tmp_path / "policy.yaml")
    messages = [f"{one.path}: {one.message}" for one in error.value.problems]
    assert any(message.startswith(problem) for message in messages), messages


def test_what_is_wrong_in_a_file_that_is_named_is_placed_there(tmp_path: Path) -> None:
    write(tmp_path, f"carob: 1\nsuccess: {{ find: {{ field: x }} }}\n{FIND_FIRST}", "inner.yaml")
    write(tmp_path, "carob: 1\nrules: [inner.yaml]\n")
    with pytest.raises(SuiteError) as error:
        carob.load_suite(tmp_path / "policy.yaml")
    [problem] = error.value.problems
    assert (Path(problem.file).name, problem.line, problem.path) == ("inner.yaml", 2, "success.find")
