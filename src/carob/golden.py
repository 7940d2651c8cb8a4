"""Golden cases judged one at a time, by the names that golden-set runners use: thin views of `judge`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from msgspec import Struct

from carob.api import judge, load_suite
from carob.model.trace import ToolCall, Trace
from carob.model.verdict import ACCEPTED

NO_RESULTS = "an ExecutionContext has the names of the tools that were called, but not their results"


class ExecutionContext(Struct, frozen=True):
    """A trace in short: what was asked, what the assistant said in all and in the end, which tools it called."""

    test_id: str
    test_input: str
    response: str
    tools_called: list[str]
    final_message: str

    @classmethod
    def of(cls, trace: Trace) -> ExecutionContext:
        spoken = "\n".join(m.content for m in trace.messages if m.role == "assistant") or trace.final_message
        return cls(
            trace.case_id, trace.input, spoken, [c.name for c in trace.tool_calls if c.called], trace.final_message
        )


class Validation(NamedTuple):
    """Whether a golden case passed, and a line for each check that did not."""

    passed: bool
    errors: list[str]


class DecisionValidator:
    """Judges golden decisions: the tools that were called, whether the allocation was made, the reasons given."""

    @staticmethod
    def validate(context: ExecutionContext, expected: Mapping[str, object]) -> Validation:
        """`expected` is that of a golden case: `tools_used`, `allocation_valid`, `reason_contains`."""
        return _validate(context, {"expected": dict(expected)})


class QAValidator:
    """Judges golden questions: what the answer must contain, and what it must not."""

    @staticmethod
    def validate(context: ExecutionContext, expected: Mapping[str, object]) -> Validation:
        """`expected` has `expected_contains`, `must_not_contain` or both, as a golden case has them."""
        return _validate(context, dict(expected))


def _validate(context: ExecutionContext, asks: dict[str, object]) -> Validation:
    suite = load_suite([{"id": context.test_id, "input": context.test_input, **asks}])
    calls = tuple(ToolCall(name) for name in context.tools_called)
    trace = Trace(
        case_id=context.test_id,
        input=context.test_input,
        final_message=context.final_message,
        tool_calls=calls,
        unobserved={"tool_results": NO_RESULTS},
    )
    verdict = judge(suite.cases[0], trace)
    return Validation(
        verdict.status == "PASS",
        [f"{check}" for check in verdict.checks if check.status not in ACCEPTED],
    )
