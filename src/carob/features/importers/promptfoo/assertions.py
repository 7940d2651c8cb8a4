"""Assertions of promptfoo as checks: what each type asks for, and which of them only another tool can judge."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from carob.features.importers.criteria import why_no_criterion
from carob.model.suite import MEETS
from carob.text.wording import did_you_mean, kind, quoted

NOT = "not-"
SET = "assert-set"
MODEL = "it needs a model"
OTHER_TOOL = "Carob does not judge it"
CODE_TYPES = ("javascript", "python")

_MODEL_GRADED = [
    "llm-rubric", "model-graded-closedqa", "model-graded-factuality", "factuality", "g-eval", "answer-relevance",
    "context-recall", "context-relevance", "context-faithfulness", "conversation-relevance", "similar",
    "similar:cosine", "similar:dot", "similar:euclidean", "classifier", "moderation", "select-best", "pi",
    "agent-rubric", "search-rubric", "trajectory:goal-success",
]  # fmt: skip
_NOT_BUILT = [
    "bleu", "gleu", "meteor", "rouge-n", "perplexity", "perplexity-score", "is-sql", "contains-sql", "is-xml",
    "contains-xml", "is-html", "contains-html", "is-refusal", "guardrails", "ruby", "webhook", "skill-used",
    "max-score", "human",
]  # fmt: skip
CRITERIA = ("llm-rubric", "model-graded-closedqa")
"""Types whose value is a criterion in words."""
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


def read_assertion(assertion: Assertion) -> list[Asked]:
    """The checks that an assertion asks for. Raises MisfitError with what is wrong with it."""
    reader = _READERS.get(assertion.type)
    if reader is None:
        nearest = _NEAREST.get(assertion.type)
        near = f"Use {quoted(nearest)}." if nearest else did_you_mean(assertion.type, known_types())
        if "tool" in assertion.type:
            near = f"{near} In Carob's own format: 'carob: 1', and expected: {{tool_calls: [{{tool: NAME}}]}}.".lstrip()
        raise MisfitError(f"promptfoo has no assertion {quoted(assertion.type)}. {near or 'See its documentation.'}")
    if assertion.type.startswith("trajectory:") and _names_pattern(assertion.value):
        return [unjudged_check(assertion, "Carob compares names of tools, not patterns")]
    return reader(assertion)


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
    if cell := _cell_pattern().match(text):
        negated, name, threshold, value = cell.groups()
        assertion: dict[str, Any] = {"type": f"{negated or ''}{name}"}
        if value is not None:
            assertion["value"] = value.strip()
        if threshold is not None:
            assertion["threshold"] = float(threshold)
        elif name in ("levenshtein", "latency", "cost"):
            assertion["threshold"] = 0.75
        return assertion
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
    path = _PATH.fullmatch(text)
    return f"${path[1]}" if path else None


def _text(assertion: Assertion) -> str:
    if isinstance(assertion.value, bool) or not isinstance(assertion.value, str | int | float) or assertion.value == "":
        raise MisfitError(f"{assertion.type} needs a text as `value`, not {kind(assertion.value)}.")
    return assertion.value if isinstance(assertion.value, str) else _as_text(assertion.value)


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _texts(assertion: Assertion) -> list[str]:
    value = _split(assertion.value) if isinstance(assertion.value, str) else assertion.value
    if not isinstance(value, list) or not value:
        raise MisfitError(f"{assertion.type} needs a list of texts as `value`, not {kind(assertion.value)}.")
    texts = [_as_text(each) for each in value]
    if not all(texts):
        raise MisfitError(f"{assertion.type} has an empty text, which is in every answer. Write what to look for.")
    return texts


def _split(value: str) -> list[str]:
    """Texts between commas, some of them quoted."""
    texts, offset = [], 0
    while offset < len(value) and (match := _FIELD.match(value, offset)) and match.end() > offset:
        quotes, plain = match.groups()
        part = plain.strip() if quotes is None else re.sub(r'\\(["\\])|""', lambda m: m[1] or '"', quotes)
        texts += [part] if part else []
        offset = match.end()
    return texts


def _number(assertion: Assertion) -> float:
    if isinstance(assertion.threshold, bool) or not isinstance(assertion.threshold, int | float):
        raise MisfitError(f"{assertion.type} needs a number as `threshold`.")
    return assertion.threshold


def _answer(assertion: Assertion, **rule: Any) -> list[Asked]:
    more = {"negated": True} if assertion.absent else {}
    return [Asked("answer_text", {**rule, **({"at": assertion.at} if assertion.at else {}), **more})]


def _contains(how: str, *, ignore_case: bool) -> Callable[[Assertion], list[Asked]]:
    folded: dict[str, Any] = {"ignore_case": True} if ignore_case else {}

    def read(assertion: Assertion) -> list[Asked]:
        return _answer(assertion, **{how: _text(assertion) if how == "contains" else _texts(assertion)}, **folded)

    return read


def _equals(assertion: Assertion) -> list[Asked]:
    if isinstance(assertion.value, dict | list) and not assertion.at:
        return _json(assertion, equals=assertion.value)
    if assertion.value is None:
        raise MisfitError("equals needs a `value`.")
    return _answer(assertion, equals=_as_text(assertion.value))


def _word_count(assertion: Assertion) -> list[Asked]:
    value = assertion.value
    if isinstance(value, str) and value.strip().isdigit():
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return _answer(assertion, min_words=value, max_words=value)
    bounds = {f"{key}_words": value[key] for key in ("min", "max") if key in value} if isinstance(value, dict) else {}
    if not bounds or not all(isinstance(bound, int) for bound in bounds.values()):
        raise MisfitError("word-count needs a whole number, or `min` and `max`, as `value`.")
    return _answer(assertion, **bounds)


def _levenshtein(assertion: Assertion) -> list[Asked]:
    distance = 5 if assertion.threshold is None else int(_number(assertion))
    return _answer(assertion, near=_as_text(assertion.value), distance=distance)


def _json(assertion: Assertion, **rule: Any) -> list[Asked]:
    return [Asked("json_text", {**rule, **({"negated": True} if assertion.absent else {})})]


def _is_json(*, part: bool) -> Callable[[Assertion], list[Asked]]:
    def read(assertion: Assertion) -> list[Asked]:
        rule: dict[str, Any] = {"part": True} if part else {}
        schema = assertion.value
        if isinstance(schema, str) and schema.strip():
            # A schema within the configuration as YAML text: most of it is JSON too.
            from carob.suites.documents.yaml import YamlDocument  # late: few need the parser

            schema = YamlDocument(schema.encode()).tree
        if not schema:
            return _json(assertion, **rule)
        if not isinstance(schema, dict):
            raise MisfitError(f"{assertion.type} needs a JSON Schema as `value`, not {kind(schema)}.")
        return _json(assertion, **rule, schema=schema)

    return read


def _finish_reason(assertion: Assertion) -> list[Asked]:
    if _text(assertion).lower() not in ("stop", "end_turn"):
        return [unjudged_check(assertion, OTHER_TOOL)]
    return [Asked("ended", {}, assertion.absent)]


def _check(name: str, **arguments: Callable[[Assertion], Any]) -> Callable[[Assertion], list[Asked]]:
    """One check, each of whose arguments is read from the assertion."""
    return lambda a: [Asked(name, {key: read(a) for key, read in arguments.items()}, a.absent)]


def _f1(assertion: Assertion) -> list[Asked]:
    threshold = 1.0 if assertion.threshold is None else _number(assertion)
    return [Asked("tool_call_f1", {"tools": _texts(assertion), "threshold": threshold}, assertion.absent)]


def _tool_used(assertion: Assertion) -> list[Asked]:
    if isinstance(assertion.value, dict):
        name = _step(assertion, assertion.value)
        times = {key: assertion.value[key] for key in ("min", "max") if key in assertion.value}
        return [Asked("tool_calls", {"tool": name, **({"times": times} if times else {})}, assertion.absent)]
    if assertion.absent:
        return [Asked("tool_calls_none", {"tool": name}) for name in _texts(assertion)]
    return [Asked("tool_calls", {"tool": name}) for name in _texts(assertion)]


def _step(assertion: Assertion, value: Mapping[str, Any]) -> str:
    name = value.get("name", value.get("pattern"))
    if not isinstance(name, str) or not name:
        raise MisfitError(f"{assertion.type} needs the `name` of a tool.")
    return name


def _tool_sequence(assertion: Assertion) -> list[Asked]:
    steps = assertion.value.get("steps") if isinstance(assertion.value, dict) else assertion.value
    if not isinstance(steps, list) or not steps:
        raise MisfitError("trajectory:tool-sequence needs a list of tools as `value`.")
    names = [step if isinstance(step, str) else _step(assertion, step) for step in steps]
    if isinstance(assertion.value, dict) and assertion.value.get("mode") == "exact":
        return [Asked("tools_used", {"tools": names, "match": "ordered"}, assertion.absent)]
    return [Asked("tool_order", {"tools": names}, assertion.absent)]


def _tool_args(assertion: Assertion) -> list[Asked]:
    if not isinstance(assertion.value, dict):
        raise MisfitError("trajectory:tool-args-match needs `name` and `args`.")
    args = assertion.value.get("args", assertion.value.get("arguments"))
    name = _step(assertion, assertion.value)
    if assertion.value.get("defaults") or assertion.value.get("ignore"):
        return [unjudged_check(assertion, OTHER_TOOL)]
    arguments = {"$eq": args} if assertion.value.get("mode") == "exact" else args
    return [Asked("tool_calls", {"tool": name, "arguments": arguments}, assertion.absent)]


def _step_count(assertion: Assertion) -> list[Asked]:
    value = assertion.value if isinstance(assertion.value, dict) else {}
    bounds = {key: value[key] for key in ("min", "max") if key in value}
    if value.get("type") == "tool" and "name" in value:
        return _tool_used(assertion)
    if value.get("type") == "tool" and "pattern" not in value and bounds.keys() == {"max"} and not assertion.absent:
        return [Asked("max_tool_calls", {"most": bounds["max"]})]
    return [unjudged_check(assertion, OTHER_TOOL)]


def _spans(**names: str) -> Callable[[Assertion], list[Asked]]:
    """A bound on spans: the keys of the value by those of the check."""

    def read(assertion: Assertion) -> list[Asked]:
        value = assertion.value if isinstance(assertion.value, dict) else {"max_count": assertion.value}
        rule = {ours: value[theirs] for ours, theirs in names.items() if theirs in value}
        if "max_errors" in names and not rule.keys() & {"max_errors", "max_error_percent"}:
            rule["max_errors"] = 0
        return [Asked("spans", rule, assertion.absent)]

    return read


def code(assertion: Assertion) -> list[Asked]:
    """Code that judges the answer: it is a check, and run only where the user trusts it."""
    rule: dict[str, Any] = {"language": assertion.type, "context": dict(assertion.context)}
    rule |= {"file": assertion.file} if assertion.file else {"code": assertion.code or _text(assertion)}
    rule |= {"function": assertion.function} if assertion.function else {}
    rule |= {"threshold": _number(assertion)} if assertion.threshold is not None else {}
    return [Asked("code", {**rule, **({"negated": True} if assertion.absent else {})})]


def criterion(assertion: Assertion) -> Asked:
    """A criterion that people decide; not judged where its value cannot be one."""
    if assertion.absent:
        return unjudged_check(assertion, MODEL)
    if not isinstance(assertion.value, str):
        return unjudged_check(assertion, f"its value is {kind(assertion.value)}")
    if why := why_no_criterion(assertion.value):
        return unjudged_check(assertion, why)
    return Asked(MEETS, {"says": assertion.value})


def unjudged_check(assertion: Assertion, why: str) -> Asked:
    """An expectation that only another tool can judge."""
    value = "" if assertion.value is None else _as_text(assertion.value)
    about = f": {value.strip()[:300]}" if value.strip() else ""
    return Asked("unjudged", {"what": f"{NOT if assertion.absent else ''}{assertion.type} ({why}){about}"})


_READERS: Mapping[str, Callable[[Assertion], list[Asked]]] = {
    "equals": _equals,
    "contains": _contains("contains", ignore_case=False),
    "contains-any": _contains("contains_any", ignore_case=False),
    "contains-all": _contains("contains_all", ignore_case=False),
    "icontains": _contains("contains", ignore_case=True),
    "icontains-any": _contains("contains_any", ignore_case=True),
    "icontains-all": _contains("contains_all", ignore_case=True),
    "starts-with": lambda assertion: _answer(assertion, starts_with=_text(assertion)),
    "regex": lambda assertion: _answer(assertion, regex=_text(assertion)),
    "word-count": _word_count,
    "levenshtein": _levenshtein,
    "is-json": _is_json(part=False),
    "contains-json": _is_json(part=True),
    "latency": _check("max_seconds", seconds=lambda assertion: _number(assertion) / 1000),
    "cost": _check("max_cost_usd", usd=_number),
    "finish-reason": _finish_reason,
    "is-valid-openai-tools-call": _check("valid_arguments"),
    "is-valid-openai-function-call": _check("valid_arguments"),
    "is-valid-function-call": _check("valid_arguments"),
    "tool-call-f1": _f1,
    "trajectory:tool-used": _tool_used,
    "trajectory:tool-sequence": _tool_sequence,
    "trajectory:tool-args-match": _tool_args,
    "trajectory:step-count": _step_count,
    "trace-span-count": _spans(pattern="pattern", min="min", max="max"),
    "trace-span-duration": _spans(pattern="pattern", max_ms="max", percentile="percentile"),
    "trace-error-spans": _spans(pattern="pattern", max_errors="max_count", max_error_percent="max_percentage"),
}
