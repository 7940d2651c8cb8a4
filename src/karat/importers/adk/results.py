"""Results of `adk eval`: what the agent did in each invocation of an eval case."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from karat.importers.adk.suite import content_text, field, read_calls
from karat.targets.recordings.result_files import RecordedCase, ResultFile


class AdkResults(ResultFile):
    def recognizes(self, first: object) -> bool:
        return isinstance(field(_value(first), "eval_case_results"), list)

    def read(self, values: Sequence[Any]) -> Iterator[RecordedCase]:
        repeats: Counter[str] = Counter()
        for result in field(_value(values[0]), "eval_case_results"):
            name = str(field(result, "eval_id") or field(result, "eval_case_id"))
            turns = [_form(field(one, "actual_invocation")) for one in _invocations(result)]
            if not turns:
                form: dict[str, Any] = {"error": "the result contains no invocation"}
            else:
                form = turns[0] if len(turns) == 1 else {"turns": turns}
            yield RecordedCase(name, form, repeats[name])
            repeats[name] += 1


def _value(given: object) -> object:
    """The result; some versions write it as a text that is JSON."""
    return json.loads(given) if isinstance(given, str) else given


def _invocations(result: Any) -> list[Any]:
    return field(result, "eval_metric_result_per_invocation") or []


def _form(invocation: Any) -> dict[str, Any]:
    calls = read_calls(field(invocation, "intermediate_data"))
    form: dict[str, Any] = {
        "input": content_text(field(invocation, "user_content")),
        "final_message": content_text(field(invocation, "final_response")),
    }
    made = [{"name": call.name, "arguments": call.args} for call in calls or ()]
    return form | ({"tool_calls": made} if calls is not None else {})
