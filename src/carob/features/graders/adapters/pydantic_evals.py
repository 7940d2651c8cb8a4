"""`pydantic-evals:module:evaluator`: an evaluator of pydantic-evals, or a class or function that makes one.

The calls are spans of the context, as pydantic-ai writes them. What is expected is `expected_output` of the metadata,
and the recorded answer without it.
"""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from carob.features.graders.adapters.base import Judge, Loader, read_mapping
from carob.features.graders.forms import GraderInput, text_of_result
from carob.model.trace import Trace

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)


def build(name: str, loader: Loader) -> Judge:
    from pydantic_evals.evaluators import (  # type: ignore[import-not-found,unused-ignore]
        Evaluator,
        EvaluatorContext,
    )
    from pydantic_evals.otel.span_tree import SpanNode, SpanTree  # type: ignore[import-not-found,unused-ignore]

    evaluator = loader.load_or_find(name, "pydantic_evals.evaluators")
    evaluator = evaluator if isinstance(evaluator, Evaluator) else evaluator()

    def spans(trace: Trace) -> Any:
        tree = SpanTree()
        tree.add_spans([SpanNode(**span) for span in _spans(trace)])
        return tree

    def judge(given: GraderInput) -> object:
        trace = given.read
        context = EvaluatorContext(
            name=trace.case_id,
            inputs=trace.input,
            metadata=given.trace.metadata,
            expected_output=given.expect("expected_output") or given.expected.final_message,
            output=trace.final_message,
            duration=(trace.duration_ms or 0) / 1000,
            _span_tree=spans(trace),
            attributes={},
            metrics={},
        )
        value = evaluator.evaluate(context)
        value = asyncio.run(_wait(value)) if inspect.isawaitable(value) else value
        if isinstance(value, Mapping):
            return read_mapping({key: getattr(each, "value", each) for key, each in value.items()})
        return getattr(value, "value", value)

    return judge


async def _wait(value: Any) -> Any:
    return await value


def _spans(trace: Trace) -> list[dict[str, Any]]:
    """A span for each call, one after the other."""
    return [
        {
            "name": "running tool",
            "trace_id": 1,
            "span_id": number + 1,
            "parent_span_id": None,
            "start_timestamp": BEGAN + timedelta(seconds=number),
            "end_timestamp": BEGAN + timedelta(seconds=number + 1),
            "attributes": {
                "gen_ai.tool.name": call.name,
                "tool_arguments": json.dumps(call.arguments, default=str),
                "tool_response": text_of_result(call),
            },
            "status": "error" if call.success is False else "unset",
        }
        for number, call in enumerate(trace.tool_calls)
    ]
