"""What other tools write in several forms, read alike."""

from __future__ import annotations

from typing import Any

import pytest

from carob.importers.agentdojo import read_run
from carob.importers.evaluators import fill
from carob.importers.promptfoo.provider import as_short_form
from carob.importers.tau.results import OBSERVED, _read_actions

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
