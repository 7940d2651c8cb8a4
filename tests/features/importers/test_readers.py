"""What other tools write in several forms, read alike."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import carob
from carob.features.importers.agentdojo import read_run
from carob.features.importers.evaluators import fill
from carob.features.importers.promptfoo.provider import as_short_form
from carob.features.importers.tau.results import OBSERVED, _read_actions
from carob.providers.gemini import Gemini

ASKED = {"role": "user", "content": [{"type": "text", "content": "Pay A."}, {"text": "Now."}]}
CALLS: dict[str, dict[str, Any]] = {
    "by name": {"function": "pay", "args": {"id": "A"}},
    "as a function": {"function": {"name": "pay", "arguments": {"id": "A"}}},
    "as JSON": {"function": {"name": "pay", "arguments": '{"id": "A"}'}},
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_call_of_agentdojo_is_read_in_every_form(call: dict[str, Any]) -> None:
    answer = {"role": "assistant", "content": None, "tool_calls": [call]}
    run = read_run([ASKED, answer, {"role": "tool", "content": "total: 80"}, {"role": "assistant", "content": "Paid."}])
    assert (run["input"], run["final_message"]) == ("Pay A.\nNow.", "Paid.")
    assert run["tool_calls"] == [{"name": "pay", "arguments": {"id": "A"}, "success": True, "result": {"total": 80}}]


def test_a_run_of_agentdojo_without_a_message_broke() -> None:
    assert read_run([]) == {"error": "the run broke before there was a message"}


def test_what_a_user_says_is_a_result_only_after_an_action() -> None:
    said = {"role": "user", "content": f"{OBSERVED}ok"}
    action = {"role": "assistant", "content": 'Action: {"name": "look", "arguments": {}}'}
    assert [message["role"] for message in _read_actions([said, action, said, said])] == [
        "user", "assistant", "tool", "user"
    ]  # fmt: skip


def test_places_are_filled_in_texts_alone() -> None:
    template = {"most": 3, "any": ["{{a}}", "{{a}} or {{b}}", None]}
    assert fill(template, {"a": [1]}) == {"most": 3, "any": [[1], "[1] or {{b}}", None]}


def test_text_alone_is_an_answer_of_a_provider() -> None:
    assert as_short_form("Paid.") == as_short_form({"output": "Paid."}) == {"final_message": "Paid."}


def run_code(*parts: str) -> list[bool | None]:
    """What became of the code that Gemini ran: `code`, `ok` and `failed` are its parts, in order."""
    outcomes = {"ok": "OUTCOME_OK", "failed": "OUTCOME_FAILED"}
    written = [
        {"executableCode": {"code": part}} if part == "code" else {"codeExecutionResult": {"outcome": outcomes[part]}}
        for part in parts
    ]
    reply = Gemini().reply({"candidates": [{"finishReason": "STOP", "content": {"parts": written}}]})
    return [call.success for call in reply.provider_calls]


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        (("code", "ok", "code", "failed"), [True, False]),
        (("code", "code", "failed"), [None, False]),
        (("code", "code", "failed", "ok"), [False, True]),
        (("code", "failed", "code"), [False, None]),
        (("code",), [None]),
    ],
)
def test_a_result_of_gemini_is_that_of_its_own_code(parts: tuple[str, ...], expected: list[bool | None]) -> None:
    assert run_code(*parts) == expected


@pytest.mark.parametrize("kind", ["MCP", "FUNCTION"])
def test_what_a_golden_says_of_a_tool_besides_its_call_is_not_dropped(tmp_path: Path, kind: str) -> None:
    golden = {"input": "Hi", "expected_tools": [{"name": "find", "type": kind, "reasoning": None}]}
    (tmp_path / "g.json").write_text(json.dumps([golden]))
    (case,) = carob.load_suite(tmp_path / "g.json").cases
    trace = carob.Trace(case_id=case.id, final_message="x", tool_calls=(carob.ToolCall("find", success=True),))
    left = [check.expected for check in carob.judge(case, trace).checks if check.status is carob.Status.UNJUDGED]
    assert left == [f"type of the tool find: {kind}"]


def test_a_test_of_promptfoo_names_prompts_that_there_are(tmp_path: Path) -> None:
    path = tmp_path / "promptfooconfig.yaml"
    tests = [{"vars": {"x": "hi"}, "prompts": [name], "assert": [{"type": "contains", "value": "hi"}]} for name in "ab"]
    prompts = [{"label": "a", "raw": "Say {{x}}."}, {"label": "c", "raw": "Shout {{x}}."}]
    path.write_text(json.dumps({"prompts": prompts, "providers": ["echo"], "tests": tests}))
    with pytest.raises(carob.SuiteError, match=r"tests\[1\].prompts\[0\]: no prompt is called 'b'. Known: a and c."):
        carob.load_suite(path)
    path.write_text(json.dumps({"prompts": prompts, "providers": ["echo"], "tests": tests[:1]}))
    assert [case.prompt for case in carob.load_suite(path).cases] == ["Say hi."]
