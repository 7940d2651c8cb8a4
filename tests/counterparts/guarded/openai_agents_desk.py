"""A desk of OpenAI's Agents SDK behind a guard, with a model that follows a script: `python FILE POLICY LOG MODE`.

It prints what the model read after each call. MODE: `calls` makes one call too early and one in time; `approve`,
`reject` and `always` let a person decide about a large payment; `always` is asked once and pays twice.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from agents import (  # type: ignore[import-not-found, unused-ignore]
    Agent,
    Model,
    ModelResponse,
    Runner,
    Usage,
    function_tool,
    set_tracing_disabled,
)
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

import carob

POLICY, LOG, MODE = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
GUARD = carob.Guard(POLICY)
set_tracing_disabled(True)


@function_tool
def get_invoice(id: str) -> str:
    return json.dumps({"id": id, "total": 80})


@function_tool(needs_approval=GUARD.needs_approval("pay_invoice"))
def pay_invoice(id: str, amount: int) -> str:
    with LOG.open("a") as log:
        log.write(f"{id} {amount}\n")
    return "paid"


SCRIPTS: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "calls": [
        ("pay_invoice", {"id": "A", "amount": 80}),
        ("get_invoice", {"id": "A"}),
        ("pay_invoice", {"id": "A", "amount": 80}),
    ],
    "approve": [("pay_invoice", {"id": "A", "amount": 500})],
    "reject": [("pay_invoice", {"id": "A", "amount": 500})],
    "always": [("pay_invoice", {"id": "A", "amount": 500}), ("pay_invoice", {"id": "B", "amount": 900})],
}


class Scripted(Model):
    def __init__(self) -> None:
        self.steps = [*SCRIPTS[MODE]]

    async def get_response(self, *_: Any, **__: Any) -> ModelResponse:
        if not self.steps:
            text = ResponseOutputText(type="output_text", text="Done.", annotations=[])
            output: Any = ResponseOutputMessage(
                id="m", type="message", role="assistant", status="completed", content=[text]
            )
        else:
            name, arguments = self.steps.pop(0)
            call = f"call_{len(self.steps)}"
            output = ResponseFunctionToolCall(
                type="function_call", call_id=call, name=name, arguments=json.dumps(arguments)
            )
        return ModelResponse(output=[output], usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError


async def work() -> Any:
    agent = Agent(name="desk", model=Scripted(), tools=[get_invoice, pay_invoice])
    result = await Runner.run(agent, "Pay.")
    while result.interruptions:
        state = result.to_state()
        for asked in result.interruptions:
            print("asked", asked.arguments)
            if MODE == "reject":
                state.reject(asked)
            else:
                state.approve(asked, always_approve=MODE == "always")
        result = await Runner.run(agent, state)
    return result


with GUARD.frameworks(), GUARD.conversation(user="Pay."):
    for item in asyncio.run(work()).to_input_list():
        if item.get("type") == "function_call_output":
            print("answer", item["output"])
