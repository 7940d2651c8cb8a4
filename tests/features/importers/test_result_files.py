"""Result files of other tools as recordings: BFCL, tau-bench, tau2."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import carob
from carob.text.python_values import parse_calls

FUNCTION = {"name": "math.area", "parameters": {"properties": {"base": {"type": "integer"}}, "required": ["base"]}}


def _question(number: int) -> dict[str, Any]:
    return {
        "id": f"simple_{number}",
        "question": [[{"role": "user", "content": "How large?"}]],
        "function": [FUNCTION],
        "ground_truth": [{"math.area": {"base": [10]}}],
    }


ANSWERS: dict[str, tuple[Any, str]] = {
    "json": ([{"math.area": '{"base": 10}'}], "PASS"),
    "a name without its dot": ([{"math_area": {"base": 10}}], "PASS"),
    "python": ("[math.area(base=10)]", "PASS"),
    "python in a fence": ("```\nmath.area(base=5 + 5)\n```", "FAIL"),
    "no name of an argument": ("[math.area(10)]", "PASS"),
    "another value": ("[math.area(base=11)]", "FAIL"),
    "words": ("It is large.", "FAIL"),
    "arguments that are not JSON": ([{"math.area": "base is 10"}], "FAIL"),
}


def _lines(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_results_of_bfcl_are_replayed(tmp_path: Path) -> None:
    suite = _lines(tmp_path / "BFCL_v4_simple.json", [_question(number) for number in range(len(ANSWERS))])
    rows = [{"id": f"simple_{number}", "result": result} for number, (result, _) in enumerate(ANSWERS.values())]
    result = carob.run(suite, f"replay:{_lines(tmp_path / 'result.json', rows)}")
    found = {name: record.verdict.status for name, record in zip(ANSWERS, result, strict=True)}
    assert found == {name: status for name, (_, status) in ANSWERS.items()}


@pytest.mark.parametrize("text", ["__import__('os').system('x')", "[f(a=open('x'))]", "[f(**{'a': 1})]", "[" * 3000])
def test_calls_as_python_are_never_run(text: str) -> None:
    try:
        calls = parse_calls(text)
    except ValueError:
        return
    assert all(isinstance(value, str) for call in calls for value in (*call.arguments.values(), *call.positional))


def _called(
    name: str, arguments: dict[str, Any], number: int, role: str = "assistant", **how: Any
) -> list[dict[str, Any]]:
    asked = {
        "id": f"c{number}",
        "name": name,
        "arguments": arguments,
        "function": {"name": name, "arguments": json.dumps(arguments)},
    }
    return [
        {"role": role, "content": None, "tool_calls": [asked]},
        {"role": "tool", "id": f"c{number}", "tool_call_id": f"c{number}", "name": name, "content": "ok", **how},
    ]


TASK = {"instruction": "Cancel 7.", "actions": [{"name": "cancel", "kwargs": {"id": 7}}], "outputs": ["12"]}
ASKED, STOP = {"role": "user", "content": "Cancel 7."}, {"role": "user", "content": "###STOP###"}
SAID = {"role": "assistant", "content": "You get 12 back."}
TRIALS = {
    "right": ([ASKED, *_called("cancel", {"id": 7}, 1), SAID, STOP], "PASS"),
    "another order": ([ASKED, *_called("cancel", {"id": 8}, 1), SAID, STOP], "FAIL"),
    "refused": ([ASKED, *_called("cancel", {"id": 7}, 1, content="Error: order not found"), SAID, STOP], "FAIL"),
    "said nothing": ([ASKED, *_called("cancel", {"id": 7}, 1), {**SAID, "content": "Done."}, STOP], "FAIL"),
    "cut off": ([ASKED, *_called("cancel", {"id": 7}, 1), SAID], "FAIL"),
    "broke": ([ASKED], "ERROR"),
}


def test_trajectories_of_tau_bench_are_suite_and_recording(tmp_path: Path) -> None:
    rows = [
        {"task_id": 3, "trial": n, "reward": 0.0, "info": {"task": TASK}, "traj": one}
        for n, (one, _) in enumerate(TRIALS.values())
    ]
    path = tmp_path / "trajectories.json"
    rows.append({"task_id": 4, "trial": 0, "reward": 0.0, "info": {"error": "no connection"}, "traj": []})
    path.write_text(json.dumps(rows), encoding="utf-8")
    every = [*carob.run(path, f"replay:{path}", repeat=len(TRIALS))]
    assert {record.verdict.status for record in every if record.case.id == "task-4"} == {"SKIP"}
    records = [record for record in every if record.case.id == "task-3"]
    found = {name: record.verdict.status for name, record in zip(TRIALS, records, strict=True)}
    assert found == {name: status for name, (_, status) in TRIALS.items()}
    assert [turn.input for turn in records[0].trace.turns] == ["Cancel 7."]


def _acted(name: str, thought: str = "Thought:\nI do it.\n", **arguments: Any) -> dict[str, Any]:
    return {
        "role": "assistant",
        "content": f"{thought}Action:\n{json.dumps({'name': name, 'arguments': arguments})}",
    }


RIGHT = {"role": "user", "content": "API output: ok"}
FAILED = {"role": "user", "content": "API output: Error: order not found"}
ANSWERED = _acted("respond", content="You get 12 back.")
ACTED = {
    "right": ([ASKED, _acted("cancel", id=7), RIGHT, ANSWERED, STOP], "PASS"),
    "without thoughts": ([ASKED, _acted("cancel", "", id=7), RIGHT, ANSWERED, STOP], "PASS"),
    "another order": ([ASKED, _acted("cancel", id=8), RIGHT, ANSWERED, STOP], "FAIL"),
    "one more": ([ASKED, _acted("cancel", id=7), RIGHT, _acted("cancel", id=8), RIGHT, ANSWERED, STOP], "FAIL"),
    "refused": ([ASKED, _acted("cancel", id=7), FAILED, ANSWERED, STOP], "FAIL"),
    "only said": ([ASKED, {"role": "assistant", "content": "I cancelled 7. You get 12 back."}, STOP], "FAIL"),
    "thought, not said": ([ASKED, _acted("cancel", "12 back. ", id=7), RIGHT, _acted("respond", content="Done."), STOP],
                          "FAIL"),
    "no result": ([ASKED, _acted("cancel", id=7), ANSWERED, STOP], "FAIL"),
}  # fmt: skip


def test_actions_of_tau_bench_in_words_are_calls(tmp_path: Path) -> None:
    rows = [
        {"task_id": 3, "trial": n, "reward": 0.0, "info": {"task": TASK}, "traj": one}
        for n, (one, _) in enumerate(ACTED.values())
    ]
    path = tmp_path / "trajectories.json"
    path.write_text(json.dumps(rows), encoding="utf-8")
    found = [record.verdict.status for record in carob.run(path, f"replay:{path}", repeat=len(ACTED))]
    assert dict(zip(ACTED, found, strict=True)) == {name: status for name, (_, status) in ACTED.items()}


def test_an_action_in_words_breaks_a_task_that_changes_nothing(tmp_path: Path) -> None:
    """It names no write, but another task of the file does."""
    look = {"instruction": "Look at 7.", "actions": [], "outputs": []}
    traj = [ASKED, _acted("cancel", id=7), RIGHT, ANSWERED, STOP]
    rows = [
        {"task_id": n, "trial": 0, "reward": 0.0, "info": {"task": task}, "traj": traj}
        for n, task in enumerate((look, TASK))
    ]
    path = tmp_path / "trajectories.json"
    path.write_text(json.dumps(rows), encoding="utf-8")
    assert [record.verdict.status for record in carob.run(path, f"replay:{path}")] == ["FAIL", "PASS"]


def test_results_of_tau2_are_suite_and_recording(tmp_path: Path) -> None:
    history = _called("cancel", {"id": 1}, 9)
    criteria = {
        "actions": [
            {"action_id": "1", "name": "cancel", "arguments": {"id": 7}},
            {"action_id": "2", "name": "reboot", "arguments": {}, "requestor": "user"},
        ],
    }
    task = {
        "id": "t1",
        "user_scenario": {"instructions": "Cancel 7."},
        "initial_state": {"message_history": history},
        "evaluation_criteria": criteria,
    }
    good = [*history, ASKED, *_called("cancel", {"id": 7}, 1), *_called("reboot", {}, 2, "user"), SAID]
    runs = [
        {"task_id": "t1", "messages": good, "termination_reason": "user_stop"},
        {"task_id": "t1", "messages": good, "termination_reason": "max_steps"},
        {"task_id": "t1", "messages": good[:-3], "termination_reason": "user_stop"},
    ]
    path = tmp_path / "results.json"
    path.write_text(json.dumps({"tasks": [task], "simulations": runs}, indent=1), encoding="utf-8")
    found = [record.verdict.status for record in carob.run(path, f"replay:{path}", repeat=3)]
    assert found == ["PASS", "FAIL", "FAIL"]


@pytest.mark.parametrize("shape", ["a line for each run", "a file for each run"])
def test_runs_of_agentdojo_are_a_recording(shape: str, tmp_path: Path) -> None:
    """Results are YAML, calls of two spellings; a task that an attack disturbed is another case."""
    suite = tmp_path / "banking.json"
    expected = {"tool_calls": [{"tool": "pay", "arguments": {"to": "A"}, "result": {"sent": 5}, "success": True}]}
    ids = ["banking-user_task_0", "banking-user_task_0-injection_task_3"]
    suite.write_text(
        json.dumps({"carob": 1, "cases": [{"id": i, "prompt": "Pay A.", "expected": expected} for i in ids]})
    )
    ours = {"suite_name": "banking", "user_task_id": "user_task_0", "injection_task_id": None}
    call = {"function": "pay", "args": {"to": "A"}, "id": "1"}
    paid = _dojo_run(call, {"content": "<<sent: 5>>", "error": None})
    failed = _dojo_run({"function": {"name": "pay", "arguments": '{"to": "A"}'}}, {"content": "", "error": "no money"})
    runs = [{**ours, "messages": paid}, {**ours, "injection_task_id": "injection_task_3", "messages": failed}]
    path = tmp_path / "runs.jsonl"
    if shape == "a line for each run":
        head = {"metadata": {"benchmark": "agent-dojo"}}
        lines = [{"metadata": {k: v for k, v in r.items() if k != "messages"}, "messages": r["messages"]} for r in runs]
        _lines(path, [head, *lines])
        assert [str(r.status) for r in carob.run(suite, f"replay:{path}")] == ["PASS", "FAIL"]
    else:
        path.write_text(json.dumps(runs[0], indent=1))
        assert [str(r.status) for r in carob.run(suite, f"replay:{path}", cases=ids[:1])] == ["PASS"]


def _dojo_run(call: dict[str, Any], result: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"role": "system", "content": "You pay."},
        {"role": "user", "content": [{"type": "text", "content": "Pay A."}]},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", **result},
        {"role": "assistant", "content": "Paid.", "tool_calls": None},
    ]


def test_what_is_not_recorded_is_an_error(tmp_path: Path) -> None:
    suite = _lines(tmp_path / "BFCL_v4_simple.json", [_question(0), _question(1)])
    recording = _lines(tmp_path / "result.json", [{"id": "simple_0", "result": "[math.area(base=10)]"}])
    found = [record.verdict.status for record in carob.run(suite, f"replay:{recording}")]
    assert found == ["PASS", "ERROR"]


def test_results_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    suite = _lines(tmp_path / "BFCL_v4_simple.json", [_question(0)])
    recording = tmp_path / "results.json"
    recording.write_text('{"tasks": [],\n "simulations": [{"messages": []}]}', encoding="utf-8")
    with pytest.raises(
        carob.CarobError, match=r"results.json \[1\]: a row of tau2 cannot be read: .*'task_id' is required"
    ):
        carob.run(suite, f"replay:{recording}")
