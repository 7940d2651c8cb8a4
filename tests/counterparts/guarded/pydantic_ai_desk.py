"""A desk of pydantic-ai behind a guard, with a model that follows a script: `python FILE POLICY LOG MODE`.

It prints what the model read after each call. MODE: `calls` makes one call too early and one in time; `approve`,
`reject` and `change` let a person decide about a large payment; `change` approves it with another amount.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from pydantic_ai import (  # type: ignore[import-not-found, unused-ignore]
    Agent,
    DeferredToolRequests,
    DeferredToolResults,
    ToolApproved,
)
from pydantic_ai.messages import (  # type: ignore[import-not-found, unused-ignore]
    ModelResponse,
    TextPart,
    ToolCallPart,
)
from pydantic_ai.models.function import FunctionModel  # type: ignore[import-not-found, unused-ignore]

import carob

POLICY, LOG, MODE = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
GUARD = carob.Guard(POLICY)
STEPS: list[tuple[str, dict[str, Any]]] = (
    [
        ("pay_invoice", {"id": "A", "amount": 80}),
        ("get_invoice", {"id": "A"}),
        ("pay_invoice", {"id": "A", "amount": 80}),
    ]
    if MODE == "calls"
    else [("pay_invoice", {"id": "A", "amount": 500})]
)


def answer(messages: Any, info: Any) -> ModelResponse:
    return ModelResponse(parts=[ToolCallPart(*STEPS.pop(0)) if STEPS else TextPart("Done.")])


desk = Agent(FunctionModel(answer), output_type=[str, DeferredToolRequests])


@desk.tool_plain
def get_invoice(id: str) -> dict[str, Any]:
    return {"id": id, "total": 80}


@desk.tool_plain
def pay_invoice(id: str, amount: int) -> str:
    with LOG.open("a") as log:
        log.write(f"{id} {amount}\n")
    return "paid"


VERDICTS = {"approve": True, "reject": False, "change": ToolApproved(override_args={"id": "A", "amount": 9_000})}

with GUARD.frameworks(), GUARD.conversation(user="Pay."):
    result = desk.run_sync("Pay.")
    if isinstance(result.output, DeferredToolRequests):
        for call in result.output.approvals:
            print("asked", call.args)
        approvals = {call.tool_call_id: VERDICTS[MODE] for call in result.output.approvals}
        results = DeferredToolResults(approvals=approvals)
        result = desk.run_sync(message_history=result.all_messages(), deferred_tool_results=results)
    for message in result.all_messages():
        for part in message.parts:
            if part.part_kind == "tool-return":
                print("answer", part.content)
