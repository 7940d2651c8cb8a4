"""Results of BFCL: a line per question, with the calls that the model asked for as JSON or as Python."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from karat.model.suite import Case
from karat.targets.recordings.base import RecordedCase, ResultFile
from karat.text.python_values import parse_calls

POSITIONAL = "positional"
"""Values of arguments without a name, until it is known which case the call belongs to."""


class BfclResults(ResultFile):
    def recognizes(self, first: object) -> bool:
        return isinstance(first, dict) and {"id", "result"} <= first.keys() and "case_id" not in first

    def read(self, values: Sequence[Any]) -> Iterator[RecordedCase]:
        for row in values:
            case_id, result = row["id"], row["result"]
            if isinstance(result, list) and result and isinstance(result[0], list):
                yield RecordedCase(case_id, {"turns": [*map(_read_steps, result)]})
            else:
                yield RecordedCase(case_id, _read_steps([result]))


def restore_names(form: dict[str, Any], case: Case) -> dict[str, Any]:
    """The calls by the names of the case: many services take no dot, and `math.sqrt` was asked for as `math_sqrt`.

    Arguments without a name are those that the case expects of the tool, in their order.
    """
    if "turns" in form:
        return {**form, "turns": [restore_names(turn, case) for turn in form["turns"]]}
    if not form.get("tool_calls"):
        return form
    wanted = [msgspec.json.decode(spec.args) for _, spec in case.all_checks if spec.name == "tool_calls"]
    names = {one["tool"].replace(".", "_"): one["tool"] for one in wanted if "." in one["tool"]}
    return {**form, "tool_calls": [_restore(call, names, wanted) for call in form["tool_calls"]]}


def _restore(call: dict[str, Any], names: Mapping[str, str], wanted: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    name = names.get(call["name"], call["name"])
    restored = {key: value for key, value in call.items() if key != POSITIONAL} | {"name": name}
    if values := call.get(POSITIONAL):
        given: Mapping[str, Any] = next(
            (one["arguments"] for one in wanted if one["tool"] == name and one.get("arguments")), {}
        )
        parameters = [*given.get("$eq", given.get("$only", given))]
        parameters += map(str, range(len(parameters), len(values)))
        restored["arguments"] = dict(zip(parameters, values, strict=False)) | call["arguments"]
    return restored


def _read_steps(steps: Sequence[Any]) -> dict[str, Any]:
    """One turn: the calls of all its steps, and the words of the last one without a call."""
    calls: list[dict[str, Any]] = []
    said = ""
    for step in steps:
        found = read_calls(step)
        if found is None:
            said = step if isinstance(step, str) else json.dumps(step)
        else:
            calls += found
    return {"final_message": said, "tool_calls": calls}


def read_calls(step: Any) -> list[dict[str, Any]] | None:
    """The calls of one answer of a model; None if it is words."""
    if isinstance(step, dict):
        step = [step]
    if isinstance(step, list):
        if not all(isinstance(one, dict) and len(one) == 1 for one in step):
            return None
        return [{"name": name, "arguments": _arguments(given)} for one in step for name, given in one.items()]
    try:
        found = parse_calls(str(step))
    except ValueError:
        return None
    return [
        {"name": one.name, "arguments": one.arguments, **({POSITIONAL: one.positional} if one.positional else {})}
        for one in found
    ]


def _arguments(given: Any) -> Any:
    if not isinstance(given, str):
        return given
    try:
        return json.loads(given)
    except ValueError:
        return {"": given}
