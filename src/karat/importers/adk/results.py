"""Results of `adk eval`: what the agent did in each invocation of an eval case."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Required, TypedDict

from karat.importers.adk.suite import Invocation, content_text, field, read_calls
from karat.targets.recordings.result_files import RecordedCase, ResultFile


class _Turn(TypedDict, total=False):
    actual_invocation: Required[Invocation]


class _Case(TypedDict, total=False):
    eval_id: str
    eval_case_id: str
    eval_metric_result_per_invocation: list[_Turn]


class _Results(TypedDict):
    eval_case_results: list[_Case]


class AdkResults(ResultFile):
    shape: ClassVar = list[_Results] | _Results

    def recognizes(self, first: object) -> bool:
        return field(first, "eval_case_results") is not None

    def read(self, values: Sequence[Any]) -> Iterator[RecordedCase]:
        repeats: Counter[str] = Counter()
        for result in field(values[0], "eval_case_results"):
            name = field(result, "eval_id") or field(result, "eval_case_id") or ""
            turns = [_form(field(invocation, "actual_invocation")) for invocation in _invocations(result)]
            if not turns:
                form: dict[str, Any] = {"error": "the result contains no invocation"}
            else:
                form = turns[0] if len(turns) == 1 else {"turns": turns}
            yield RecordedCase(name, form, repeats[name])
            repeats[name] += 1


def _invocations(result: Any) -> list[Any]:
    return field(result, "eval_metric_result_per_invocation") or []


def _form(invocation: Any) -> dict[str, Any]:
    calls = read_calls(field(invocation, "intermediate_data"))
    form: dict[str, Any] = {
        "input": content_text(field(invocation, "user_content")),
        "final_message": content_text(field(invocation, "final_response")),
    }
    requests = [{"name": call.name, "arguments": call.args} for call in calls or ()]
    return form | ({"tool_calls": requests} if calls is not None else {})
