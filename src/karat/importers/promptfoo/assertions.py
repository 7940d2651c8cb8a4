"""Assertions of promptfoo as checks: what each type asks for, and which of them only another tool can judge."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from karat.text.wording import did_you_mean, kind, quoted

NOT = "not-"
SET = "assert-set"
MODEL = "it needs a model"
OTHER_TOOL = "Karat does not judge it"
CODE_TYPES = ("javascript", "python")

_MODEL_GRADED = [
    "llm-rubric",
    "model-graded-closedqa",
    "model-graded-factuality",
    "factuality",
    "g-eval",
    "answer-relevance",
    "context-recall",
    "context-relevance",
    "context-faithfulness",
    "conversation-relevance",
    "similar",
    "similar:cosine",
    "similar:dot",
    "similar:euclidean",
    "classifier",
    "moderation",
    "select-best",
    "pi",
    "agent-rubric",
    "search-rubric",
    "trajectory:goal-success",
]
_NOT_BUILT = [
    "bleu",
    "gleu",
    "meteor",
    "rouge-n",
    "perplexity",
    "perplexity-score",
    "is-sql",
    "contains-sql",
    "is-xml",
    "contains-xml",
    "is-html",
    "contains-html",
    "is-refusal",
    "guardrails",
    "ruby",
    "webhook",
    "skill-used",
    "max-score",
    "human",
]
UNJUDGED: Mapping[str, str] = {**dict.fromkeys(_MODEL_GRADED, MODEL), **dict.fromkeys(_NOT_BUILT, OTHER_TOOL)}

_NEAREST = {
    "min-length": "word-count",
    "max-length": "word-count",
    "length": "word-count",
    "not-empty": "regex",
    "empty": "regex",
    "json-schema": "is-json",
    "json-schema-valid": "is-json",
    "contains-json-property": "contains-json",
    "ends-with": "regex",
}
"""Types that promptfoo does not have and people write, by the one that does it."""
_STEP = r"\.[A-Za-z_$][\w$]*|\[\d+\]|\[['\"][^'\"]+['\"]\]"
_PATH = re.compile(rf"(?:JSON\.parse\(\s*output\s*\)|output|json)((?:{_STEP})+)")
_FIELD = re.compile(r'\s*(?:"((?:[^"\\]|\\.|"")*)"|([^,]*))\s*(?:,|$)')


class Asked(NamedTuple):
    """A check that an assertion asks for: its name and arguments."""

    name: str
    args: dict[str, Any]
    negated: bool = False
    """Whether the opposite must hold, for a check that has no argument for that."""


class Assertion(NamedTuple):
    """An assertion with its variables filled in."""

    type: str
    value: Any
    threshold: Any
    absent: bool
    at: str = ""
    """The JSONPath that its transform is."""
    context: Mapping[str, Any] = {}
    file: str = ""
    """The file that holds its code."""
    function: str = ""
    code: str = ""


class MisfitError(Exception):
    """A value that an assertion cannot have."""


def known_types() -> list[str]:
    """Every type of assertion that there is."""
    return [*_READERS, *UNJUDGED, *CODE_TYPES, SET]


def read_assertion(one: Assertion) -> list[Asked]:
    """The checks that an assertion asks for. Raises MisfitError with what is wrong with it."""
    reader = _READERS.get(one.type)
    if reader is None:
        near = f"Use {quoted(_NEAREST[one.type])}." if one.type in _NEAREST else did_you_mean(one.type, known_types())
        raise MisfitError(f"promptfoo has no assertion {quoted(one.type)}. {near or 'See its documentation.'}")
    if one.type.startswith("trajectory:") and _names_pattern(one.value):
        return [unjudged_check(one, "Karat compares names of tools, not patterns")]
    return reader(one)


def _names_pattern(value: Any) -> bool:
    """Whether tools are named by a pattern."""
    if isinstance(value, str):
        return any(sign in value for sign in "*?")
    if isinstance(value, dict):
        return any(_names_pattern(value.get(key)) for key in ("name", "pattern", "steps"))
    return isinstance(value, list) and any(map(_names_pattern, value))


def from_text(text: str) -> dict[str, Any]:
    """An assertion as a cell of a table writes it: `contains: Paris`, `not-icontains:x`, `levenshtein(5): x`."""
    for prefix, name in (("javascript:", "javascript"), ("fn:", "javascript"), ("eval:", "javascript")):
        if text.startswith(prefix):
            return {"type": name, "value": text.removeprefix(prefix).strip()}
    for prefix in ("grade:", "llm-rubric:"):
        if text.startswith(prefix):
            return {"type": "llm-rubric", "value": text.removeprefix(prefix).strip()}
    if text.startswith("python:"):
        return {"type": "python", "value": text.removeprefix("python:").strip()}
    if text.startswith("file://"):
        return {"type": "python" if ".py" in text else "javascript", "value": text}
    if found := _cell_pattern().match(text):
        negated, name, threshold, value = found.groups()
        given: dict[str, Any] = {"type": f"{negated or ''}{name}"}
        if value is not None:
            given["value"] = value.strip()
        if threshold is not None:
            given["threshold"] = float(threshold)
        elif name in ("levenshtein", "latency", "cost"):
            given["threshold"] = 0.75
        return given
    return {"type": "equals", "value": text}


@lru_cache(maxsize=1)
def _cell_pattern() -> re.Pattern[str]:
    """`not-type(threshold): value`; the longest type first, since some begin with another."""
    types = sorted((name for name in known_types() if name != SET), key=len, reverse=True)
    each = "|".join(map(re.escape, types))
    return re.compile(rf"(not-)?({each})(?:\(([\d.]+)\))?\s*(?::\s*(.*))?$", re.DOTALL)


def path_of(transform: str) -> str | None:
    """The JSONPath that a transform is; None if it is more than a path."""
    text = transform.strip().removesuffix(";").removeprefix("return ").strip()
    found = _PATH.fullmatch(text)
    return f"${found[1]}" if found else None


def _text(one: Assertion) -> str:
    if isinstance(one.value, bool) or not isinstance(one.value, str | int | float) or one.value == "":
        raise MisfitError(f"{one.type} needs a text as `value`, not {kind(one.value)}.")
    return one.value if isinstance(one.value, str) else _as_text(one.value)


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _texts(one: Assertion) -> list[str]:
    value = _split(one.value) if isinstance(one.value, str) else one.value
    if not isinstance(value, list) or not value:
        raise MisfitError(f"{one.type} needs a list of texts as `value`, not {kind(one.value)}.")
    texts = [_as_text(each) for each in value]
    if not all(texts):
        raise MisfitError(f"{one.type} has an empty text, which is in every answer. Write what to look for.")
    return texts


def _split(value: str) -> list[str]:
    """Texts between commas, some of them quoted."""
    found, place = [], 0
    while place < len(value) and (match := _FIELD.match(value, place)) and match.end() > place:
        quotes, plain = match.groups()
        part = plain.strip() if quotes is None else re.sub(r'\\(["\\])|""', lambda m: m[1] or '"', quotes)
        found += [part] if part else []
        place = match.end()
    return found


def _number(one: Assertion) -> float:
    if isinstance(one.threshold, bool) or not isinstance(one.threshold, int | float):
        raise MisfitError(f"{one.type} needs a number as `threshold`.")
    return one.threshold


def _answer(one: Assertion, **rule: Any) -> list[Asked]:
    more = {"negated": True} if one.absent else {}
    return [Asked("answer_text", {**rule, **({"at": one.at} if one.at else {}), **more})]


def _contains(how: str, *, ignore_case: bool) -> Callable[[Assertion], list[Asked]]:
    folded: dict[str, Any] = {"ignore_case": True} if ignore_case else {}

    def read(one: Assertion) -> list[Asked]:
        return _answer(one, **{how: _text(one) if how == "contains" else _texts(one)}, **folded)

    return read


def _equals(one: Assertion) -> list[Asked]:
    if isinstance(one.value, dict | list) and not one.at:
        return _json(one, equals=one.value)
    if one.value is None:
        raise MisfitError("equals needs a `value`.")
    return _answer(one, equals=_as_text(one.value))


def _word_count(one: Assertion) -> list[Asked]:
    value = one.value
    if isinstance(value, str) and value.strip().isdigit():
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return _answer(one, min_words=value, max_words=value)
    bounds = {f"{key}_words": value[key] for key in ("min", "max") if key in value} if isinstance(value, dict) else {}
    if not bounds or not all(isinstance(bound, int) for bound in bounds.values()):
        raise MisfitError("word-count needs a whole number, or `min` and `max`, as `value`.")
    return _answer(one, **bounds)


def _levenshtein(one: Assertion) -> list[Asked]:
    distance = 5 if one.threshold is None else int(_number(one))
    return _answer(one, near=_as_text(one.value), distance=distance)


def _json(one: Assertion, **rule: Any) -> list[Asked]:
    return [Asked("json_text", {**rule, **({"negated": True} if one.absent else {})})]


def _is_json(*, part: bool) -> Callable[[Assertion], list[Asked]]:
    def read(one: Assertion) -> list[Asked]:
        rule: dict[str, Any] = {"part": True} if part else {}
        schema = one.value
        if isinstance(schema, str) and schema.strip():
            # A schema within the configuration as YAML text: most of it is JSON too.
            from karat.suites.documents.yaml import YamlDocument  # late: few need the parser

            schema = YamlDocument(schema.encode()).tree
        if not schema:
            return _json(one, **rule)
        if not isinstance(schema, dict):
            raise MisfitError(f"{one.type} needs a JSON Schema as `value`, not {kind(schema)}.")
        return _json(one, **rule, schema=schema)

    return read


def _latency(one: Assertion) -> list[Asked]:
    return [Asked("max_seconds", {"seconds": _number(one) / 1000}, one.absent)]


def _cost(one: Assertion) -> list[Asked]:
    return [Asked("max_cost_usd", {"usd": _number(one)}, one.absent)]


def _finish_reason(one: Assertion) -> list[Asked]:
    if _text(one).lower() not in ("stop", "end_turn"):
        return [unjudged_check(one, OTHER_TOOL)]
    return [Asked("ended", {}, one.absent)]


def _valid_calls(one: Assertion) -> list[Asked]:
    return [Asked("valid_arguments", {}, one.absent)]


def _f1(one: Assertion) -> list[Asked]:
    threshold = 1.0 if one.threshold is None else _number(one)
    return [Asked("tool_call_f1", {"tools": _texts(one), "threshold": threshold}, one.absent)]


def _tool_used(one: Assertion) -> list[Asked]:
    if isinstance(one.value, dict):
        name, times = _step(one, one.value), {key: one.value[key] for key in ("min", "max") if key in one.value}
        return [Asked("tool_calls", {"tool": name, **({"times": times} if times else {})}, one.absent)]
    if one.absent:
        return [Asked("tool_calls_none", {"tool": name}) for name in _texts(one)]
    return [Asked("tool_calls", {"tool": name}) for name in _texts(one)]


def _step(one: Assertion, value: Mapping[str, Any]) -> str:
    name = value.get("name", value.get("pattern"))
    if not isinstance(name, str) or not name:
        raise MisfitError(f"{one.type} needs the `name` of a tool.")
    return name


def _tool_sequence(one: Assertion) -> list[Asked]:
    steps = one.value.get("steps") if isinstance(one.value, dict) else one.value
    if not isinstance(steps, list) or not steps:
        raise MisfitError("trajectory:tool-sequence needs a list of tools as `value`.")
    names = [step if isinstance(step, str) else _step(one, step) for step in steps]
    if isinstance(one.value, dict) and one.value.get("mode") == "exact":
        return [Asked("tools_used", {"tools": names, "match": "ordered"}, one.absent)]
    return [Asked("tool_order", {"tools": names}, one.absent)]


def _tool_args(one: Assertion) -> list[Asked]:
    if not isinstance(one.value, dict):
        raise MisfitError("trajectory:tool-args-match needs `name` and `args`.")
    args = one.value.get("args", one.value.get("arguments"))
    name = _step(one, one.value)
    if one.value.get("defaults") or one.value.get("ignore"):
        return [unjudged_check(one, OTHER_TOOL)]
    wanted = {"$eq": args} if one.value.get("mode") == "exact" else args
    return [Asked("tool_calls", {"tool": name, "arguments": wanted}, one.absent)]


def _step_count(one: Assertion) -> list[Asked]:
    value = one.value if isinstance(one.value, dict) else {}
    bounds = {key: value[key] for key in ("min", "max") if key in value}
    if value.get("type") == "tool" and "name" in value:
        return _tool_used(one)
    if value.get("type") == "tool" and "pattern" not in value and bounds.keys() == {"max"} and not one.absent:
        return [Asked("max_tool_calls", {"most": bounds["max"]})]
    return [unjudged_check(one, OTHER_TOOL)]


def _spans(**names: str) -> Callable[[Assertion], list[Asked]]:
    """A bound on spans: the keys of the value by those of the check."""

    def read(one: Assertion) -> list[Asked]:
        value = one.value if isinstance(one.value, dict) else {"max_count": one.value}
        rule = {ours: value[theirs] for ours, theirs in names.items() if theirs in value}
        if "max_errors" in names and not rule.keys() & {"max_errors", "max_error_percent"}:
            rule["max_errors"] = 0
        return [Asked("spans", rule, one.absent)]

    return read


def code(one: Assertion) -> list[Asked]:
    """Code that judges the answer: it is a check, and run only where the user trusts it."""
    rule: dict[str, Any] = {"language": one.type, "context": dict(one.context)}
    rule |= {"file": one.file} if one.file else {"code": one.code or _text(one)}
    rule |= {"function": one.function} if one.function else {}
    rule |= {"threshold": _number(one)} if one.threshold is not None else {}
    return [Asked("code", {**rule, **({"negated": True} if one.absent else {})})]


def unjudged_check(one: Assertion, why: str) -> Asked:
    """An expectation that only another tool can judge."""
    said = one.value if isinstance(one.value, str) else "" if one.value is None else json.dumps(one.value)
    about = f": {said.strip()[:300]}" if said.strip() else ""
    return Asked("unjudged", {"what": f"{NOT if one.absent else ''}{one.type} ({why}){about}"})


_READERS: Mapping[str, Callable[[Assertion], list[Asked]]] = {
    "equals": _equals,
    "contains": _contains("contains", ignore_case=False),
    "contains-any": _contains("contains_any", ignore_case=False),
    "contains-all": _contains("contains_all", ignore_case=False),
    "icontains": _contains("contains", ignore_case=True),
    "icontains-any": _contains("contains_any", ignore_case=True),
    "icontains-all": _contains("contains_all", ignore_case=True),
    "starts-with": lambda one: _answer(one, starts_with=_text(one)),
    "regex": lambda one: _answer(one, regex=_text(one)),
    "word-count": _word_count,
    "levenshtein": _levenshtein,
    "is-json": _is_json(part=False),
    "contains-json": _is_json(part=True),
    "latency": _latency,
    "cost": _cost,
    "finish-reason": _finish_reason,
    "is-valid-openai-tools-call": _valid_calls,
    "is-valid-openai-function-call": _valid_calls,
    "is-valid-function-call": _valid_calls,
    "tool-call-f1": _f1,
    "trajectory:tool-used": _tool_used,
    "trajectory:tool-sequence": _tool_sequence,
    "trajectory:tool-args-match": _tool_args,
    "trajectory:step-count": _step_count,
    "trace-span-count": _spans(pattern="pattern", min="min", max="max"),
    "trace-span-duration": _spans(pattern="pattern", max_ms="max", percentile="percentile"),
    "trace-error-spans": _spans(pattern="pattern", max_errors="max_count", max_error_percent="max_percentage"),
}
