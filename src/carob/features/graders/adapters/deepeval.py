"""`deepeval:module:metric`: a metric of DeepEval, or a class or function that makes one.

What is expected is what the metadata of the conversation says, and the recorded calls and answer where it says nothing.
"""

from __future__ import annotations

import copy
import os
from typing import Any

from carob.features.graders.adapters.base import Judge, Loader
from carob.features.graders.forms import GraderInput, text_of_result
from carob.model.trace import Trace


def build(name: str, loader: Loader) -> Judge:
    os.environ.setdefault("DEEPEVAL_TELEMETRY_OPT_OUT", "YES")
    from deepeval.metrics import BaseMetric  # type: ignore[import-not-found,unused-ignore]
    from deepeval.test_case import LLMTestCase, ToolCall  # type: ignore[import-not-found,unused-ignore]

    named = loader.load_or_find(name, "deepeval.metrics")
    original = named if isinstance(named, BaseMetric) else named()

    def tools(trace: Trace) -> list[Any]:
        return [
            ToolCall(
                name=call.name,
                input_parameters=call.arguments if isinstance(call.arguments, dict) else None,
                output=text_of_result(call),
            )
            for call in trace.tool_calls
        ]

    def judge(given: GraderInput) -> object:
        expected_tools = given.expect("expected_tools")
        case = LLMTestCase(
            input=given.read.input,
            actual_output=given.read.final_message,
            expected_output=given.expect("expected_output") or given.expected.final_message,
            tools_called=tools(given.read),
            expected_tools=[ToolCall(**tool) for tool in expected_tools] if expected_tools else tools(given.expected),
            context=given.expect("context"),
            retrieval_context=given.expect("retrieval_context"),
        )
        metric = copy.copy(original)  # one that raised once calls every further answer wrong
        metric.measure(case, _show_indicator=False)
        return {"passed": bool(metric.is_successful()), "score": metric.score, "cost_usd": metric.evaluation_cost}

    return judge
