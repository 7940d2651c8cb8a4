"""Datasets of pydantic-evals: cases with inputs, and evaluators for each and for all.

Evaluators of its own are checks here. Those that ask a model are not judged, and neither are those that are code,
unless carob.toml says under [evaluators.NAME] what one asks for, with its arguments as `{{argument}}`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Required, TypedDict

from carob.features.importers.criteria import why_no_criterion
from carob.features.importers.evaluators import Evaluators, add_fields, fill
from carob.suites.diagnostics import Path
from carob.suites.formats.base import Format, ParsedSuite, SuiteCatalog, SuiteFile
from carob.suites.formats.builder import SuiteBuilder
from carob.suites.shapes.foreign import find_misfits
from carob.text.wording import did_you_mean, quoted

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


Spec = str | dict[str, Any]


class _Case(TypedDict, total=False):
    name: str
    inputs: Required[Any]
    evaluators: list[Spec]


class _Dataset(TypedDict, total=False):
    name: str
    cases: Required[list[_Case]]
    evaluators: list[Spec]
    report_evaluators: list[Spec]


class _Evaluator(NamedTuple):
    """How an evaluator is read: its arguments, by name in order, and what it asks for; None: a model judges it."""

    declared: type
    arguments: tuple[str, ...]
    fields: Callable[[Arguments], Fields | None]


class PydanticEvals(Format):
    """Inputs, expected outputs and evaluators."""

    name = "pydantic-evals"
    title = "pydantic-evals dataset"
    description = "an object with 'cases' that have 'inputs' (pydantic-evals)"

    def recognizes(self, file: SuiteFile) -> bool:
        cases = file.tree.get("cases") if isinstance(file.tree, dict) and "carob" not in file.tree else None
        first = next(iter(cases), None) if isinstance(cases, Sequence) and not isinstance(cases, str) else None
        return isinstance(first, dict) and "inputs" in first

    def read(self, file: SuiteFile, catalog: SuiteCatalog) -> ParsedSuite:
        tree = file.tree
        suite = SuiteBuilder(file, catalog)
        suite.require(tree, _Dataset)
        suite.refuse_unknown_keys(tree, _TOP, ())
        common = tree.get("evaluators") or []
        for index, row in enumerate(tree["cases"]):
            path = ("cases", index)
            suite.refuse_unknown_keys(row, _CASE, path)
            _add_case(suite, row, index, path, common, catalog.declared.evaluators)
        reports = tree.get("report_evaluators")
        metadata = {"report_evaluators": reports} if reports else {}
        return suite.build(name=tree.get("name") or "", metadata=metadata)


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
    evaluators_of_case = row.get("evaluators") or []
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
    name = row.get("name") or f"Case {index + 1}"
    suite.case(name, _prompt(row["inputs"]), path, metadata=metadata).expect(fields, path, places)


def _prompt(inputs: Any) -> str:
    if isinstance(inputs, dict) and len(inputs) == 1:
        inputs = next(iter(inputs.values()))
    return inputs if isinstance(inputs, str) else json.dumps(inputs, ensure_ascii=False, default=str)


def _fields(spec: Any, expected: Any, path: Path, evaluators: Evaluators, suite: SuiteBuilder) -> Fields:
    """What an evaluator asks for: `Name`, `{Name: value}`, `{Name: {argument: value}}`, or {name, arguments}."""
    if isinstance(spec, str):
        name, raw_arguments = spec, None
    elif len(spec) == 1:
        ((name, raw_arguments),) = spec.items()
    elif isinstance(spec.get("name"), str):
        name, raw_arguments = spec["name"], spec.get("arguments")
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
            "unjudged": [f"{name}: code of the project; say what it expects under [evaluators.{name}] of carob.toml"]
        }
    is_long = isinstance(spec, dict) and len(spec) > 1
    arguments = _arguments(raw_arguments, evaluator.arguments, several=is_long)
    before = len(suite.diagnostics)
    for key in arguments.keys() - {*evaluator.arguments}:
        message = f"unknown argument {quoted(key)} of {name}. {did_you_mean(key, evaluator.arguments)}".rstrip()
        suite.problem((*path, name), message, "unknown-field")
    for problem in find_misfits(arguments, evaluator.declared):
        suite.problem((*path, name, *problem.path), problem.message, problem.slug)
    if len(suite.diagnostics) > before:
        return {}
    fields = evaluator.fields({**arguments, "expected_output": expected})
    return {"unjudged": [_describe_left(name, arguments)]} if fields is None else fields


def _arguments(raw: Any, names: Sequence[str], *, several: bool) -> dict[str, Any]:
    """Arguments by name. A list is one value, but in the long form, where it holds `several`."""
    if raw is None:
        return {}
    if isinstance(raw, dict) and set(raw) & {*names}:
        return raw
    return dict(zip(names, raw if several and isinstance(raw, list) else [raw], strict=False))


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


def _trajectory(names: Sequence[str], match: str, arguments: Arguments) -> Fields:
    counted = {} if arguments.get("include_failed") else {"without_failed": True}
    return {"trajectory": {"calls": [{"tool": name} for name in names], "match": match, **counted}}


def _argument_correctness(arguments: Arguments) -> Fields | None:
    if arguments.get("occurrence", "first") != "first":
        return None
    expected = arguments["expected_arguments"]
    members = {name: {"$eq": value} for name, value in expected.items()}
    matcher = {"$eq": expected} if arguments.get("match_mode") == "exact" else members
    success = {} if arguments.get("include_failed") else {"success": True}
    arguments_field = {"arguments": matcher} if matcher else {}
    return {"tool_calls": [{"tool": arguments["tool_name"], **arguments_field, **success}]}


def _evaluator(
    fields: Callable[[Arguments], Fields | None], own: Mapping[str, Any], *, of_calls: bool = False
) -> _Evaluator:
    """An evaluator with the types of its own arguments. Those that several share come last."""
    declared = {**own, **({"include_failed": bool} if of_calls else {}), "evaluation_name": str}
    shape = TypedDict("_Arguments", declared, total=False)  # type: ignore[misc]  # a table of types
    return _Evaluator(shape, tuple(declared), fields)


def _criterion(given: Arguments, text: Any, others: Sequence[str]) -> Fields | None:
    """What a model is to judge, for people; None where it wants a score or a reference too."""
    if not isinstance(text, str) or why_no_criterion(text) or any(given.get(key) for key in others):
        return None
    return {"meets": [{"says": text, "sees": ["user", "answer"] if given.get("include_input") else ["answer"]}]}


def _leave_unjudged(*names: str) -> _Evaluator:
    return _evaluator(lambda given: None, dict.fromkeys(names, Any))


_BUILT_IN: Mapping[str, _Evaluator] = {
    "Equals": _evaluator(lambda given: _equals(given["value"]), {"value": Required[Any]}),
    "EqualsExpected": _evaluator(
        lambda given: {} if given["expected_output"] is None else _equals(given["expected_output"]), {}
    ),
    "Contains": _evaluator(_contains, {"value": Required[Any], "case_sensitive": bool, "as_strings": bool}),
    "IsInstance": _evaluator(_is_instance, {"type_name": Required[str]}),
    "MaxDuration": _evaluator(lambda given: {"max_seconds": given["seconds"]}, {"seconds": Required[float]}),
    "ToolCorrectness": _evaluator(
        lambda given: _trajectory(
            given["expected_tools"], "superset" if given.get("allow_extra") else "any_order", given
        ),
        {"expected_tools": Required[list[str]], "allow_extra": bool},
        of_calls=True,
    ),
    "TrajectoryMatch": _evaluator(
        lambda given: _trajectory(
            given["expected_trajectory"], "any_order" if given.get("order") == "any_order" else "ordered", given
        ),
        {"expected_trajectory": Required[list[str]], "order": str},
        of_calls=True,
    ),
    "ArgumentCorrectness": _evaluator(
        _argument_correctness,
        {
            "tool_name": Required[str],
            "expected_arguments": Required[dict[str, Any]],
            "match_mode": str,
            "occurrence": str,
        },
        of_calls=True,
    ),
    "MaxToolCalls": _evaluator(
        lambda given: {"max_tool_calls": given["max_calls"]}, {"max_calls": Required[int]}, of_calls=True
    ),
    "MaxModelRequests": _leave_unjudged("max_requests"),
    "HasMatchingSpan": _leave_unjudged("query"),
    "LLMJudge": _evaluator(
        lambda given: _criterion(given, given.get("rubric"), ("include_expected_output", "score")),
        dict.fromkeys(
            ("rubric", "model", "include_input", "include_expected_output", "model_settings", "score", "assertion"), Any
        ),
    ),
    "GEval": _evaluator(
        lambda given: _criterion(given, given.get("criteria"), ("evaluation_steps", "score_range")),
        dict.fromkeys(("criteria", "evaluation_steps", "score_range", "include_input", "model", "model_settings"), Any),
    ),
}
