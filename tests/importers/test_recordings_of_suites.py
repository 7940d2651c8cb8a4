"""Results of promptfoo and ADK as recordings: old runs judged again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import karat

CONFIG = {
    "prompts": ["Say {{x}}"],
    "tests": [{"vars": {"x": ["a", "b"]}, "assert": [{"type": "equals", "value": "Say {{x}}"}]}],
}


def row(prompt: str, output: Any, **more: Any) -> dict[str, Any]:
    response = {"output": output, "tokenUsage": {"prompt": 3, "completion": 4}, "cost": 0.01, "finishReason": "stop"}
    return {"prompt": {"raw": prompt, "label": "x"}, "response": response, "latencyMs": 12, **more}


def replay(folder: Path, suite: object, name: str, results: object, **how: Any) -> karat.RunResult:
    (folder / name).write_text(json.dumps(suite))
    (folder / "results.json").write_text(json.dumps(results, indent=2))
    return karat.run(folder / name, f"replay:{folder / 'results.json'}", **how)


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
    suite = {"karat": 1, "cases": [{"id": "a", "prompt": "Say a", "expected": {"tool_calls": [
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
