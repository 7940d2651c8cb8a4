"""Evaluators of other tools, in the Python that has one of them: a line of JSON per answer in, a verdict per line out.

Run by `peers.py` as `python peer_judges.py NAME`, never imported.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from datetime import UTC
from typing import Any

Row = dict[str, Any]


def agentevals() -> Callable[[Row], bool]:
    from agentevals.trajectory.match import create_trajectory_match_evaluator  # type: ignore[import-not-found]

    def judge(row: Row) -> bool:
        evaluator = create_trajectory_match_evaluator(**row["how"])
        return bool(evaluator(outputs=row["outputs"], reference_outputs=row["reference"])["score"])

    return judge


def deepeval() -> Callable[[Row], bool]:
    os.environ["DEEPEVAL_TELEMETRY_OPT_OUT"] = "YES"
    from deepeval.metrics import ExactMatchMetric, ToolCorrectnessMetric  # type: ignore[import-not-found]
    from deepeval.models import DeepEvalBaseLLM  # type: ignore[import-not-found]
    from deepeval.test_case import LLMTestCase, ToolCall, ToolCallParams  # type: ignore[import-not-found]

    class NoModel(DeepEvalBaseLLM):  # type: ignore[misc]  # the metric wants one, and asks it nothing
        def load_model(self) -> None: ...

        def generate(self, *given: Any) -> str:
            raise AssertionError("no model is asked")

        async def a_generate(self, *given: Any) -> str:
            raise AssertionError("no model is asked")

        def get_model_name(self) -> str:
            return "none"

    def judge(row: Row) -> bool:
        golden, actual = row["golden"], row["actual"]
        case = LLMTestCase(
            input=golden["input"],
            actual_output=actual["output"],
            expected_output=golden.get("expected_output"),
            tools_called=[ToolCall(**one) for one in actual["tools"]],
            expected_tools=[ToolCall(**one) for one in golden.get("expected_tools", ())],
        )
        if row["metric"] == "exact_match":
            metric = ExactMatchMetric()
        else:
            parameters = any("input_parameters" in one for one in golden["expected_tools"])
            metric = ToolCorrectnessMetric(
                threshold=1,
                model=NoModel(),
                async_mode=False,
                evaluation_params=[ToolCallParams.INPUT_PARAMETERS] if parameters else [],
            )
        metric.measure(case, _show_indicator=False)
        return bool(metric.is_successful())

    return judge


def pydantic() -> Callable[[Row], bool]:
    from datetime import datetime, timedelta

    from pydantic_evals import Dataset  # type: ignore[import-not-found]
    from pydantic_evals.evaluators import EvaluatorContext  # type: ignore[import-not-found]
    from pydantic_evals.otel.span_tree import SpanNode, SpanTree  # type: ignore[import-not-found]

    def spans(calls: list[Row]) -> Any:
        tree = SpanTree()
        began = datetime(2026, 1, 1, tzinfo=UTC)
        nodes = []
        for number, call in enumerate(calls):
            start = began + timedelta(seconds=number)
            attributes = {"gen_ai.tool.name": call["name"], "tool_arguments": json.dumps(call["arguments"])}
            status = "error" if call.get("success") is False else "unset"
            nodes.append(
                SpanNode(
                    name="running tool",
                    trace_id=1,
                    span_id=number + 1,
                    parent_span_id=None,
                    start_timestamp=start,
                    end_timestamp=start,
                    attributes=attributes,
                    status=status,
                )
            )
        tree.add_spans(nodes)
        return tree

    def judge(row: Row) -> bool:
        dataset = Dataset[Any, Any, Any].from_dict({"name": "d", "cases": [row["case"]]})
        case = dataset.cases[0]
        context = EvaluatorContext(
            name=case.name,
            inputs=case.inputs,
            metadata=None,
            expected_output=case.expected_output,
            output=row["output"],
            duration=row["seconds"],
            _span_tree=spans(row["calls"]),
            attributes={},
            metrics={},
        )
        found = case.evaluators[0].evaluate_sync(context)
        value = getattr(found, "value", found)
        return bool(value) if isinstance(value, bool | dict) else value == 1.0

    return judge


def main() -> None:
    judge = {"agentevals": agentevals, "deepeval": deepeval, "pydantic": pydantic}[sys.argv[1]]()
    for line in sys.stdin:
        try:
            found: Any = judge(json.loads(line))
        except Exception as error:  # noqa: BLE001 - what the other tool raises is its verdict
            found = f"{type(error).__name__}: {error}"
        print("\nVERDICT " + json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
