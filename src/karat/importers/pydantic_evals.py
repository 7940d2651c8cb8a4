"""Datasets of pydantic-evals: cases with inputs, and evaluators for each and for all.

Evaluators of its own are checks here. Those that ask a model are not judged, and neither are those that are code,
unless karat.toml says under [evaluators.NAME] what one asks for, with its arguments as `{{argument}}`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from karat.importers.evaluators import Evaluators, add_fields, fill
from karat.suites.diagnostics import Path
from karat.suites.formats.base import Format, ParsedSuite, SuiteCatalog, SuiteFile
from karat.suites.formats.builder import SuiteBuilder
from karat.text.wording import did_you_mean, quoted

_TOP = ("$schema", "name", "cases", "evaluators", "report_evaluators", "metadata")
_CASE = ("name", "inputs", "metadata", "expected_output", "evaluators")
_TYPES = {
    "dict": "object",
    "list": "array",
    "tuple": "array",
    "int": "integer",
    "float": "number",
    "bool": "boolean",
    "NoneType": "null",
}
Fields = dict[str, Any]
Arguments = Mapping[str, Any]


class _Evaluator(NamedTuple):
    """How an evaluator is read: the names of its arguments in order, and what it asks for; None: a model judges it."""

    arguments: tuple[str, ...]
    fields: Callable[[Arguments], Fields | None]


class PydanticEvals(Format):
    """Inputs, expected outputs and evaluators."""

    name = "pydantic-evals"
    title = "pydantic-evals dataset"
    description = "an object with 'cases' that have 'inputs' (pydantic-evals)"

    def recognizes(self, file: SuiteFile) -> bool:
        cases = file.tree.get("cases") if isinstance(file.tree, dict) and "karat" not in file.tree else None
        first = next(iter(cases), None) if isinstance(cases, Sequence) and not isinstance(cases, str) else None
        return isinstance(first, dict) and "inputs" in first

    def read(self, file: SuiteFile, catalog: SuiteCatalog) -> ParsedSuite:
        tree = file.tree
        suite = SuiteBuilder(file, catalog)
        suite.refuse_unknown_keys(tree, _TOP, ())
        common = _as_list(tree.get("evaluators"))
        for index, row in enumerate(tree["cases"]):
            path = ("cases", index)
            if not isinstance(row, dict) or "inputs" not in row:
                suite.problem(path, "a case is an object with 'inputs'.", "wrong-type")
                continue
            suite.refuse_unknown_keys(row, _CASE, path)
            _add_case(suite, row, index, path, common, catalog.declared.evaluators)
        reports = _as_list(tree.get("report_evaluators"))
        metadata = {"report_evaluators": reports} if reports else {}
        return suite.build(name=str(tree.get("name") or ""), metadata=metadata)


def _as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, Sequence) and not isinstance(value, str) else []


def _add_case(
    suite: SuiteBuilder,
    row: Mapping[str, Any],
    index: int,
    path: Path,
    common: Sequence[Any],
    evaluators: Evaluators,
) -> None:
    fields: Fields = {}
    places: dict[str, Path] = {}
    evaluators_of_case = _as_list(row.get("evaluators"))
    specs = [(evaluator, (*path, "evaluators", number)) for number, evaluator in enumerate(evaluators_of_case)]
    specs += [(evaluator, ("evaluators", number)) for number, evaluator in enumerate(common)]
    for spec, spec_path in specs:
        more = _fields(spec, row.get("expected_output"), spec_path, evaluators, suite)
        if not add_fields(fields, more):
            name = next(iter(more))
            message = f"two evaluators set '{name}' in ways that cannot be combined. Keep one."
            suite.problem(spec_path, message, "duplicate-field")
        places |= {key: spec_path for key in more if key not in places}
    if not fields:
        fields["unjudged"] = ["no evaluator: the dataset contains only the expected output"]
    fields.setdefault("outcome", "completed")
    metadata = {"notes": row["metadata"]} if row.get("metadata") is not None else {}
    name = str(row.get("name") or f"Case {index + 1}")
    suite.case(name, _prompt(row["inputs"]), path, metadata=metadata).expect(fields, path, places)


def _prompt(inputs: Any) -> str:
    if isinstance(inputs, dict) and len(inputs) == 1:
        inputs = next(iter(inputs.values()))
    return inputs if isinstance(inputs, str) else json.dumps(inputs, ensure_ascii=False, default=str)


def _fields(spec: Any, expected: Any, path: Path, evaluators: Evaluators, suite: SuiteBuilder) -> Fields:
    """What an evaluator asks for: `Name`, `{Name: value}`, `{Name: {argument: value}}`, or {name, arguments}."""
    if isinstance(spec, str):
        name, raw_arguments = spec, None
    elif isinstance(spec, dict) and len(spec) == 1:
        ((name, raw_arguments),) = spec.items()
    elif isinstance(spec, dict) and "name" in spec:
        name, raw_arguments = str(spec["name"]), spec.get("arguments")
    else:
        suite.problem(path, "an evaluator is a name, or an object with its name and arguments.", "wrong-type")
        return {}
    if name in evaluators:
        values = raw_arguments if isinstance(raw_arguments, dict) else {"value": raw_arguments}
        return dict(fill(evaluators[name], {**values, "expected_output": expected}))
    evaluator = _BUILT_IN.get(name)
    if evaluator is None:
        if near := did_you_mean(name, _BUILT_IN):
            suite.problem(path, f"unknown evaluator {quoted(name)}. {near}", "unknown-evaluator")
        return {
            "unjudged": [f"{name}: code of the project; say what it expects under [evaluators.{name}] of karat.toml"]
        }
    arguments = _arguments(raw_arguments, evaluator.arguments)
    for key in arguments.keys() - {*evaluator.arguments, "evaluation_name"}:
        message = f"unknown argument {quoted(key)} of {name}. {did_you_mean(key, evaluator.arguments)}".rstrip()
        suite.problem((*path, name), message, "unknown-field")
    try:
        fields = evaluator.fields({**arguments, "expected_output": expected})
    except (KeyError, TypeError, ValueError) as error:
        suite.problem(
            path,
            f"the argument {error} of {name} is missing or wrong. Known: {', '.join(evaluator.arguments)}.",
            "wrong-type",
        )
        return {}
    return {"unjudged": [_describe_left(name, arguments)]} if fields is None else fields


def _arguments(raw: Any, names: Sequence[str]) -> dict[str, Any]:
    if raw is None:
        return {}
    if isinstance(raw, dict) and set(raw) & {*names, "evaluation_name"}:
        return raw
    values = raw if isinstance(raw, list) and names and len(names) > 1 and names[0] != "expected_tools" else [raw]
    return dict(zip(names, values, strict=False))


def _describe_left(name: str, arguments: Arguments) -> str:
    words = " ".join(
        str(arguments.get("rubric") or arguments.get("criteria") or next(iter(arguments.values()), "")).split()
    )
    return f"{name}: {words[:300]}".rstrip(": ")


def _equals(value: Any) -> Fields:
    return {"answer_text": [{"equals": value}]} if isinstance(value, str) else {"json_text": [{"equals": value}]}


def _contains(arguments: Arguments) -> Fields | None:
    value = arguments["value"]
    if isinstance(value, str) or (arguments.get("as_strings") and isinstance(value, int | float)):
        folded = {} if arguments.get("case_sensitive", True) else {"ignore_case": True}
        return {"answer_text": [{"contains": str(value), **folded}]}
    if arguments.get("as_strings"):
        return None
    if isinstance(value, dict):
        return {"answer_at": {"$": {name: {"$eq": member} for name, member in value.items()}}}
    return {"answer_at": {"$": {"$contains": {"$eq": value}}}}


def _is_instance(arguments: Arguments) -> Fields | None:
    name = str(arguments["type_name"])
    if name in ("str", "object"):
        return {"outcome": "completed"}
    return {"answer_at": {"$": {"$type": _TYPES[name]}}} if name in _TYPES else None


def _trajectory(names: Sequence[str], match: str, arguments: Arguments, *, failed: bool = False) -> Fields:
    counted = {} if arguments.get("include_failed", failed) else {"without_failed": True}
    return {"trajectory": {"calls": [{"tool": str(name)} for name in names], "match": match, **counted}}


def _argument_correctness(arguments: Arguments) -> Fields | None:
    if arguments.get("occurrence", "first") != "first":
        return None
    expected = arguments["expected_arguments"]
    members = {name: {"$eq": value} for name, value in expected.items()}
    matcher = {"$eq": expected} if arguments.get("match_mode") == "exact" else members
    success = {} if arguments.get("include_failed") else {"success": True}
    arguments_field = {"arguments": matcher} if matcher else {}
    return {"tool_calls": [{"tool": arguments["tool_name"], **arguments_field, **success}]}


def _max_duration(arguments: Arguments) -> Fields:
    return {"max_seconds": float(arguments["seconds"])}


def _by_model(arguments: Arguments) -> None:
    return None


_AGENTIC = ("include_failed", "evaluation_name")
_BUILT_IN: Mapping[str, _Evaluator] = {
    "Equals": _Evaluator(("value",), lambda arguments: _equals(arguments["value"])),
    "EqualsExpected": _Evaluator(
        (), lambda arguments: {} if arguments["expected_output"] is None else _equals(arguments["expected_output"])
    ),
    "Contains": _Evaluator(("value", "case_sensitive", "as_strings"), _contains),
    "IsInstance": _Evaluator(("type_name",), _is_instance),
    "MaxDuration": _Evaluator(("seconds",), _max_duration),
    "ToolCorrectness": _Evaluator(
        ("expected_tools", "allow_extra", *_AGENTIC),
        lambda arguments: _trajectory(
            arguments["expected_tools"], "superset" if arguments.get("allow_extra") else "any_order", arguments
        ),
    ),
    "TrajectoryMatch": _Evaluator(
        ("expected_trajectory", "order", *_AGENTIC),
        lambda arguments: _trajectory(
            arguments["expected_trajectory"],
            "any_order" if arguments.get("order") == "any_order" else "ordered",
            arguments,
        ),
    ),
    "ArgumentCorrectness": _Evaluator(
        ("tool_name", "expected_arguments", "match_mode", "occurrence", *_AGENTIC), _argument_correctness
    ),
    "MaxToolCalls": _Evaluator(
        ("max_calls", *_AGENTIC), lambda arguments: {"max_tool_calls": int(arguments["max_calls"])}
    ),
    "MaxModelRequests": _Evaluator(("max_requests",), _by_model),
    "HasMatchingSpan": _Evaluator(("query",), _by_model),
    "LLMJudge": _Evaluator(
        ("rubric", "model", "include_input", "include_expected_output", "model_settings", "score", "assertion"),
        _by_model,
    ),
    "GEval": _Evaluator(
        ("criteria", "evaluation_steps", "score_range", "include_input", "model", "model_settings"), _by_model
    ),
}
