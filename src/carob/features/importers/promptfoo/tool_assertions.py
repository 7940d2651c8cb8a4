"""Assertions of promptfoo about calls, steps and spans, as checks of what the trace holds of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from carob.features.importers.promptfoo.assertion import (
    Asked,
    Assertion,
    MisfitError,
    number_of,
    texts_of,
    unjudged_check,
)
from carob.text.wording import kind

SKILL = "Skill"
"""The tool by which coding agents load a skill."""
NO_PATTERNS = "Carob compares names of tools, in which only * is a pattern"


def _names(value: Any) -> list[str]:
    """The names of tools in a value."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [name for key in ("name", "pattern", "steps") for name in _names(value.get(key))]
    return [name for each in value for name in _names(each)] if isinstance(value, list) else []


def _of_names(read: Callable[[Assertion], list[Asked]]) -> Callable[[Assertion], list[Asked]]:
    """Not judged where names are patterns that Carob does not have."""

    def read_names(assertion: Assertion) -> list[Asked]:
        has_pattern = any(sign in name for name in _names(assertion.value) for sign in "?|")
        return [unjudged_check(assertion, NO_PATTERNS)] if has_pattern else read(assertion)

    return read_names


def _f1(assertion: Assertion) -> list[Asked]:
    threshold = 1.0 if assertion.threshold is None else number_of(assertion)
    return [Asked("tool_call_f1", {"tools": texts_of(assertion), "threshold": threshold}, assertion.absent)]


def _tool_used(assertion: Assertion) -> list[Asked]:
    if isinstance(assertion.value, dict):
        return [
            Asked(
                "tool_calls", {"tool": _step(assertion, assertion.value), **_times(assertion.value)}, assertion.absent
            )
        ]
    if assertion.absent:
        return [Asked("tool_calls_none", {"tool": name}) for name in texts_of(assertion)]
    return [Asked("tool_calls", {"tool": name}) for name in texts_of(assertion)]


def _times(value: Mapping[str, Any], least: int = 1) -> dict[str, Any]:
    times = {key: value[key] for key in ("min", "max") if value.get(key) is not None}
    return {"times": {"min": least, **times}} if times else {}


def _step(assertion: Assertion, value: Mapping[str, Any]) -> str:
    name = value.get("pattern") or value.get("name")
    if not isinstance(name, str) or not name:
        raise MisfitError(f"{assertion.type} needs the `name` of a tool.")
    return name


def _tool_sequence(assertion: Assertion) -> list[Asked]:
    steps = assertion.value.get("steps") if isinstance(assertion.value, dict) else assertion.value
    if not isinstance(steps, list) or not steps:
        raise MisfitError("trajectory:tool-sequence needs a list of tools as `value`.")
    names = [step if isinstance(step, str) else _step(assertion, step) for step in steps]
    if not isinstance(assertion.value, dict) or assertion.value.get("mode") != "exact":
        return [Asked("tool_order", {"tools": names}, assertion.absent)]
    if any("*" in name for name in names):
        return [unjudged_check(assertion, "Carob compares all calls by the names of tools alone, without patterns")]
    return [Asked("tools_used", {"tools": names, "match": "ordered"}, assertion.absent)]


def _tool_args(assertion: Assertion) -> list[Asked]:
    value = assertion.value
    if not isinstance(value, dict) or not {"args", "arguments"} & value.keys():
        raise MisfitError("trajectory:tool-args-match needs `name` and `args`.")
    name, wanted = _step(assertion, value), value.get("args", value.get("arguments"))
    ignored = value.get("ignore", [])
    ignored = [ignored] if isinstance(ignored, str) else ignored
    defaults, is_exact = value.get("defaults", {}), value.get("mode") == "exact"
    if value.get("mode") not in (None, "exact", "partial"):
        raise MisfitError("trajectory:tool-args-match needs 'exact' or 'partial' as its mode.")
    if not isinstance(defaults, dict) or not isinstance(ignored, list) or not all(map(_is_name, ignored)):
        raise MisfitError("trajectory:tool-args-match needs an object as `defaults`, and names as `ignore`.")
    if not isinstance(wanted, dict):
        return [Asked("tool_calls", {"tool": name, "arguments": {"$eq": wanted}}, assertion.absent)]
    plain = {key: wanted[key] for key in wanted if not any(_covers(entry, key) for entry in ignored)}
    if any(key.startswith("$") for key in plain):
        return [unjudged_check(assertion, "an argument is called like a matcher")]
    if is_exact and not defaults and not ignored:
        return [Asked("tool_calls", {"tool": name, "arguments": {"$eq": wanted}}, assertion.absent)]
    arguments = {key: _argument(each, is_exact, defaults.get(key, _NONE)) for key, each in plain.items()}
    exact: dict[str, Any] = {}
    if is_exact:
        others = {key: {"$eq": each} for key, each in defaults.items() if key not in plain}
        exact = {"optional": others, **({"ignore": ignored} if ignored else {})}
    return [Asked("tool_calls", {"tool": name, "arguments": arguments, **exact}, assertion.absent)]


_NONE = object()


def _argument(wanted: Any, is_exact: bool, default: object) -> Any:
    """What an argument must be; one that equals its default counts as left out there, so it never is what is wanted."""
    value = {"$eq": wanted} if is_exact or not isinstance(wanted, dict | list) else _partly(wanted)
    return value if default is _NONE else {"$all": [value, {"$not": {"$eq": default}}]}


def _partly(wanted: Any) -> Any:
    if isinstance(wanted, dict) and not any(key.startswith("$") for key in wanted):
        return {key: _partly(each) for key, each in wanted.items()}
    return [*map(_partly, wanted)] if isinstance(wanted, list) else {"$eq": wanted}


def _is_name(entry: Any) -> bool:
    return isinstance(entry, str) and bool(entry.strip())


def _covers(entry: str, key: str) -> bool:
    """Whether an entry of `ignore` is a name, or a pattern of it."""
    pattern = re.escape(entry).replace(r"\*", ".*").replace(r"\?", ".")
    return entry == key or (pattern != re.escape(entry) and re.fullmatch(pattern, key, re.IGNORECASE) is not None)


def _step_count(assertion: Assertion) -> list[Asked]:
    value = assertion.value if isinstance(assertion.value, dict) else {}
    if not value.keys() & {"min", "max"}:
        raise MisfitError("trajectory:step-count needs `min` or `max`.")
    if value.get("type") not in ("tool", ["tool"]):
        return [unjudged_check(assertion, "it counts steps that are not calls, which Carob does not tell apart")]
    named = _step(assertion, value) if value.keys() & {"name", "pattern"} else "*"
    return [Asked("tool_calls", {"tool": named, **_times(value, 0)}, assertion.absent)]


def _spans(**names: str) -> Callable[[Assertion], list[Asked]]:
    """A bound on spans: the keys of the value by those of the check."""

    def read(assertion: Assertion) -> list[Asked]:
        value = assertion.value if isinstance(assertion.value, dict) else {"max_count": assertion.value}
        rule = {ours: value[theirs] for ours, theirs in names.items() if theirs in value}
        if "pattern" not in rule and "max_errors" not in names:
            raise MisfitError(f"{assertion.type} needs a `pattern` of names of spans.")
        if "max_errors" in names and not rule.keys() & {"max_errors", "max_error_percent"}:
            rule["max_errors"] = 0
        return [Asked("spans", rule, assertion.absent)]

    return read


def _valid_calls(assertion: Assertion) -> list[Asked]:
    """A call was made, and each call fits the tools of the configuration; else those that the trace has."""
    if assertion.absent:
        return [unjudged_check(assertion, "promptfoo does not invert it")]
    if isinstance(assertion.tools, str):
        return [unjudged_check(assertion, assertion.tools)]
    schemas = {name: _open(schema) for name, schema in assertion.tools.items()}
    return [
        Asked("tool_calls", {"tool": "*"}),
        Asked("valid_arguments", {"schemas": schemas} if schemas else {}),
    ]


def _open(schema: Any) -> Any:
    """The schema as its own tool reads it, which accepts other parameters where it does not say."""
    return {"additionalProperties": True, **_with_plain_types(schema)} if isinstance(schema, dict) else schema


def _with_plain_types(schema: Any) -> Any:
    """A schema with its types in lower case, which Google's are not."""
    if isinstance(schema, list):
        return [*map(_with_plain_types, schema)]
    if not isinstance(schema, dict):
        return schema
    plain = {key: _with_plain_types(below) for key, below in schema.items()}
    return plain | ({"type": plain["type"].lower()} if isinstance(plain.get("type"), str) else {})


def _skill_used(assertion: Assertion) -> list[Asked]:
    value = assertion.value
    if not isinstance(value, dict):
        return [_skill(assertion, {"$eq": name.strip()}, {}) for name in texts_of(assertion)]
    name, pattern = (value.get(key) for key in ("name", "pattern"))
    if not (isinstance(name, str) and name.strip()) and not (isinstance(pattern, str) and pattern.strip()):
        raise MisfitError("skill-used needs the `name` or a `pattern` of a skill.")
    if not all(_is_count(value[key]) for key in ("min", "max") if key in value):
        raise MisfitError("skill-used needs whole numbers as `min` and `max`.")
    wanted = [{"$eq": name.strip()}] if isinstance(name, str) else []
    if isinstance(pattern, str):
        glob = re.escape(pattern.strip()).replace(r"\*", ".*").replace(r"\?", ".")
        wanted.append({"$regex": f"^(?i:{glob})$"})
    bounds = {} if assertion.absent else _times(value, 0 if "max" in value and "min" not in value else 1)
    return [_skill(assertion, wanted[0] if len(wanted) == 1 else {"$all": wanted}, bounds)]


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _skill(assertion: Assertion, name: Mapping[str, Any], more: Mapping[str, Any]) -> Asked:
    never = {"never": True} if assertion.absent else {}
    return Asked("tool_calls", {"tool": SKILL, "arguments": {"skill": name}, "success": True, **never, **more})


def _ending(assertion: Assertion) -> list[Asked]:
    if not isinstance(assertion.value, str) or not assertion.value.strip():
        raise MisfitError(f"finish-reason needs a text as `value`, not {kind(assertion.value)}.")
    return [Asked("ended", {"reason": assertion.value}, assertion.absent)]


def _measure(name: str, argument: str, divisor: float = 1) -> Callable[[Assertion], list[Asked]]:
    return lambda assertion: [Asked(name, {argument: number_of(assertion) / divisor}, assertion.absent)]


READERS: Mapping[str, Callable[[Assertion], list[Asked]]] = {
    "latency": _measure("max_seconds", "seconds", 1000),
    "cost": _measure("max_cost_usd", "usd"),
    "finish-reason": _ending,
    "skill-used": _skill_used,
    "is-valid-openai-tools-call": _valid_calls,
    "is-valid-openai-function-call": _valid_calls,
    "is-valid-function-call": _valid_calls,
    "tool-call-f1": _f1,
    "trajectory:tool-used": _of_names(_tool_used),
    "trajectory:tool-sequence": _of_names(_tool_sequence),
    "trajectory:tool-args-match": _of_names(_tool_args),
    "trajectory:step-count": _of_names(_step_count),
    "trace-span-count": _spans(pattern="pattern", min="min", max="max"),
    "trace-span-duration": _spans(pattern="pattern", max_ms="max", percentile="percentile"),
    "trace-error-spans": _spans(pattern="pattern", max_errors="max_count", max_error_percent="max_percentage"),
}
OF_OUTPUT = frozenset(
    ("tool-call-f1", "is-valid-openai-tools-call", "is-valid-openai-function-call", "is-valid-function-call")
)
"""Those that look for calls in the output, and not in the trace: a transform may change them."""


def is_of_trace(name: str) -> bool:
    """Whether an assertion of this type judges what was seen besides the output, which no transform changes."""
    return name in READERS and name not in OF_OUTPUT
