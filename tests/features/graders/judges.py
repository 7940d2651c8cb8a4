"""Judges for the tests: an honest one, some with planted biases, and some that break."""

from __future__ import annotations

import math
import os
import random
import time
from typing import Any

from carob.model.trace import Trace

CHANCE = random.Random(7)


def honest(trace: Trace) -> bool:
    """One cancellation of the right order, and no other change; an answer that says so and no more."""
    names = [call.name for call in trace.tool_calls]
    done = [call for call in trace.tool_calls if call.name == "cancel_order"]
    right = len(done) == 1 and done[0].success is True and done[0].arguments == {"order": "A1"}
    return (
        right and set(names) <= {"get_order", "cancel_order"} and trace.final_message == "A1 is cancelled: 12.50 EUR."
    )


def likes_long_answers(answer: str) -> float:
    return min(len(answer) / 50, 1.0)


def ignores_tool_calls(answer: str) -> bool:
    return answer == "A1 is cancelled: 12.50 EUR."


def always_yes(messages: list[dict[str, Any]]) -> bool:
    return True


def flips_a_coin(trace: Trace) -> bool:
    return CHANCE.random() < 0.5


def fooled_by_verified(answer: str, tool_calls: list[dict[str, Any]]) -> dict[str, object]:
    return {"passed": "verified" in answer or (len(tool_calls) == 2 and "cancelled" in answer)}


async def asynchronous(messages: list[dict[str, Any]]) -> float:
    return 1.0 if messages[-1]["content"] else 0.0


def raises(trace: Trace) -> bool:
    if len(trace.tool_calls) != 2:
        raise ValueError("two calls please")
    return True


def hangs(trace: Trace) -> bool:
    if len(trace.tool_calls) != 2:
        time.sleep(600)
    return True


def ends(trace: Trace) -> bool:
    if len(trace.tool_calls) != 2:
        os._exit(7)
    return True


def leaves(trace: Trace) -> bool:
    if len(trace.tool_calls) != 2:
        raise SystemExit(0)
    return True


def gives_nan(trace: Trace) -> float:
    return 1.0 if len(trace.tool_calls) == 2 else math.nan


def gives_words(trace: Trace) -> object:
    return True if len(trace.tool_calls) == 2 else "yes"


def prints(trace: Trace) -> bool:
    print("noise of the grader")
    os.system("echo noise of a program")
    if len(trace.tool_calls) != 2:
        raise ValueError("after noise")
    return True


def changes_the_trace(trace: Trace) -> bool:
    """Accepts what was not touched before; what it was given is never that of another question."""
    fresh = "seen" not in trace.metadata and all("seen" not in (call.arguments or {}) for call in trace.tool_calls)
    trace.metadata["seen"] = True
    for call in trace.tool_calls:
        if call.arguments is not None:
            call.arguments["seen"] = True
    return fresh


def as_the_reference(trace: Trace, reference: Trace) -> bool:
    return [call.name for call in trace.tool_calls] == [call.name for call in reference.tool_calls]


def takes_two(first: object, second: object) -> bool:
    return True
