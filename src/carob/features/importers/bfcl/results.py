"""Results of BFCL: a line per question, with the calls that the model asked for as JSON or as Python."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, TypedDict

from carob.evidence.exports.record import RecordedCase
from carob.evidence.exports.results import POSITIONAL, ResultReader
from carob.suites.shapes.foreign import decode_json, require_type
from carob.text.python_values import parse_calls


class _Answer(TypedDict):
    id: str
    result: Any


def _read(row: Any) -> Iterator[RecordedCase]:
    require_type(row, _Answer)
    result = row["result"]
    if isinstance(result, list) and result and isinstance(result[0], list):
        yield RecordedCase(row["id"], {"turns": [*map(_read_steps, result)]})
    else:
        yield RecordedCase(row["id"], _read_steps([result]))


RESULTS = ResultReader(_read, accepts=lambda row: "case_id" not in row)


def _read_steps(steps: Sequence[Any]) -> dict[str, Any]:
    """One turn: the calls of all its steps, and the words of the last one without a call."""
    calls: list[dict[str, Any]] = []
    answer = ""
    for step in steps:
        calls_of_step = read_calls(step)
        if calls_of_step is None:
            answer = step if isinstance(step, str) else json.dumps(step)
        else:
            calls += calls_of_step
    return {"final_message": answer, "tool_calls": calls}


def read_calls(step: Any) -> list[dict[str, Any]] | None:
    """The calls of one answer of a model; None if it is words."""
    if isinstance(step, dict):
        step = [step]
    if isinstance(step, list):
        if not all(isinstance(call, dict) and len(call) == 1 for call in step):
            return None
        pairs = [pair for call in step for pair in call.items()]
        return [{"name": name, "arguments": decode_json(arguments, {"": arguments})} for name, arguments in pairs]
    try:
        calls = parse_calls(str(step))
    except ValueError:
        return None
    return [
        {"name": call.name, "arguments": call.arguments, **({POSITIONAL: call.positional} if call.positional else {})}
        for call in calls
    ]
