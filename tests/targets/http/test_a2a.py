"""`a2a:`: which ends of a task are an answer, and which are none."""

from __future__ import annotations

import json

import pytest

from carob.targets.base import TargetError
from targets.conftest import ask, opened

from .server import constantly, http, serving

TEXT = {"parts": [{"text": "I am looking."}]}


async def answer_of(state: str) -> str:
    """What the agent says with a task in this state."""
    task = {"id": "t", "contextId": "c", "status": {"state": state, "message": TEXT}}
    body = json.dumps({"jsonrpc": "2.0", "id": "1", "result": {"task": task}})
    async with (
        serving(constantly(http(body, "application/json"))) as server,
        opened("a2a", server.url, options={"stream": False}) as target,
    ):
        return (await ask(target, "hello")).final_message


@pytest.mark.parametrize("state", ["TASK_STATE_COMPLETED", "TASK_STATE_INPUT_REQUIRED"])
async def test_a_task_that_has_ended_or_waits_is_an_answer(state: str) -> None:
    assert await answer_of(state) == "I am looking."


@pytest.mark.parametrize("state", ["TASK_STATE_SUBMITTED", "TASK_STATE_WORKING", "TASK_STATE_UNSPECIFIED", ""])
async def test_a_task_that_goes_on_is_no_answer(state: str) -> None:
    with pytest.raises(TargetError, match="the answer ended while the task was") as caught:
        await answer_of(state)
    assert caught.value.kind == "bad-answer"


@pytest.mark.parametrize("state", ["TASK_STATE_FAILED", "TASK_STATE_REJECTED", "TASK_STATE_CANCELED"])
async def test_a_task_that_failed_is_an_error_with_what_the_agent_said(state: str) -> None:
    with pytest.raises(TargetError, match=": I am looking") as caught:
        await answer_of(state)
    assert caught.value.kind == "agent"
