"""Assertions of promptfoo as checks: what each type asks for, and which of them only another tool can judge."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from carob.features.importers.criteria import why_no_criterion
from carob.features.importers.promptfoo import tool_assertions
from carob.features.importers.promptfoo.assertion import (
    Asked,
    Assertion,
    MisfitError,
    as_text,
    number_of,
    texts_of,
    unjudged_check,
)
from carob.model.suite import MEETS
from carob.text.wording import did_you_mean, kind, quoted

SET = "assert-set"
MODEL = "it needs a model"
CODE_TYPES = ("javascript", "python")

_MODEL_GRADED = [
    "llm-rubric", "model-graded-closedqa", "model-graded-factuality", "factuality", "g-eval", "answer-relevance",
    "context-recall", "context-relevance", "context-faithfulness", "conversation-relevance", "similar",
    "similar:cosine", "similar:dot", "similar:euclidean", "classifier", "moderation", "select-best", "pi",
    "agent-rubric", "search-rubric", "trajectory:goal-success",
]  # fmt: skip
_LIKENESS = ["bleu", "gleu", "meteor", "rouge-n"]
CRITERIA = ("llm-rubric", "model-graded-closedqa")
"""Types whose value is a criterion in words."""
UNJUDGED: Mapping[str, str] = {
    **dict.fromkeys(_MODEL_GRADED, MODEL),
    **dict.fromkeys(_LIKENESS, "how alike two texts are is not a contract"),
    **dict.fromkeys(("perplexity", "perplexity-score"), "no trace has the probabilities of tokens"),
    "guardrails": "no trace has what the guardrails of a provider said",
    "max-score": "it compares the answers of several prompts or providers, and each case is judged alone",
    "ruby": "Carob runs no Ruby",
    "webhook": "it asks a service",
    "human": "a person looks at the answer",
}

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


_SQL, _CALLED = "databaseType allowedTables allowedColumns", "name pattern type"
OPTIONS: Mapping[str, str] = {
    "word-count": "min max",
    "is-sql": _SQL,
    "contains-sql": _SQL,
    "is-xml": "requiredElements",
    "contains-xml": "requiredElements",
    "trajectory:tool-used": f"{_CALLED} min max",
    "trajectory:step-count": f"{_CALLED} min max",
    "trajectory:tool-sequence": "mode steps",
    "trajectory:tool-args-match": f"{_CALLED} args arguments mode defaults ignore",
    "skill-used": "name pattern min max",
    "trace-span-count": "pattern min max",
    "trace-span-duration": "pattern max percentile",
    "trace-error-spans": "pattern max_count max_percentage",
}
"""What a value that is an object may hold. One with anything else is not judged: it may mean something else there."""


def known_types() -> list[str]:
    """Every type of assertion that there is."""
    return [*_READERS, *UNJUDGED, *CODE_TYPES, SET]


def read_assertion(assertion: Assertion) -> list[Asked]:
    """The checks that an assertion asks for. Raises MisfitError with what is wrong with it."""
    reader = _READERS.get(assertion.type)
    if reader is None:
        return [unknown_check(assertion)]
    known = OPTIONS.get(assertion.type)
    if known and isinstance(assertion.value, dict) and (others := [*(assertion.value.keys() - set(known.split()))]):
        return [unjudged_check(assertion, f"Carob does not know its option {quoted(str(min(others)))}")]
    return reader(assertion)


def unknown_check(assertion: Assertion) -> Asked:
    """An error of its case: promptfoo has no such assertion either, and says so when it runs the test."""
    nearest = _NEAREST.get(assertion.type)
    near = f"Use {quoted(nearest)}." if nearest else did_you_mean(assertion.type, known_types())
    if "tool" in assertion.type:
        near = f"{near} In Carob's own format: 'carob: 1', and expected: {{tool_calls: [{{tool: NAME}}]}}.".lstrip()
    what = f"promptfoo has no assertion {quoted(assertion.type)}. {near or 'See its documentation.'}"
    return Asked("unjudged", {"what": what, "error": True})


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
    return assertion.value if isinstance(assertion.value, str) else as_text(assertion.value)


def _answer(assertion: Assertion, **rule: Any) -> list[Asked]:
    more = {"negated": True} if assertion.absent else {}
    return [Asked("answer_text", {**rule, **({"at": assertion.at} if assertion.at else {}), **more})]


def _contains(how: str, *, ignore_case: bool) -> Callable[[Assertion], list[Asked]]:
    folded: dict[str, Any] = {"ignore_case": True} if ignore_case else {}

    def read(assertion: Assertion) -> list[Asked]:
        return _answer(assertion, **{how: _text(assertion) if how == "contains" else texts_of(assertion)}, **folded)

    return read


def _equals(assertion: Assertion) -> list[Asked]:
    if isinstance(assertion.value, dict | list) and not assertion.at:
        return _json(assertion, equals=assertion.value)
    if assertion.value is None:
        raise MisfitError("equals needs a `value`.")
    return _answer(assertion, equals=as_text(assertion.value))


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
    distance = 5 if assertion.threshold is None else int(number_of(assertion))
    if not isinstance(assertion.value, str):
        raise MisfitError(f"levenshtein needs a text as `value`, not {kind(assertion.value)}.")
    return _answer(assertion, near=assertion.value, distance=distance)


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


_NOT_GIVEN = re.compile(r"\bcontext(?:\??\.|\[['\"])(?:trace|logProbs|providerResponse|provider|test|metadata)\b")
"""What promptfoo gives to code, and a check does not have."""


def code(assertion: Assertion) -> list[Asked]:
    """Code that judges the answer: it is a check, and run only where the user trusts it."""
    if assertion.code.startswith("package:"):
        return [unjudged_check(assertion, "its code is in a package")]
    if reads := _NOT_GIVEN.search(assertion.code):
        return [unjudged_check(assertion, f"its code reads {reads[0]}, which Carob does not give it")]
    rule: dict[str, Any] = {"language": assertion.type, "context": dict(assertion.context)}
    rule |= {"file": assertion.file} if assertion.file else {"code": assertion.code or _text(assertion)}
    rule |= {"function": assertion.function} if assertion.function else {}
    rule |= {"threshold": number_of(assertion)} if assertion.threshold is not None else {}
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


def _syntax(language: str, *, part: bool) -> Callable[[Assertion], list[Asked]]:
    def read(assertion: Assertion) -> list[Asked]:
        rule: dict[str, Any] = {"language": language, **({"part": True} if part else {})}
        if language == "xml":
            rule |= _elements(assertion)
        elif language == "sql":
            more = _sql_rule(assertion.value)
            if isinstance(more, str):
                return [unjudged_check(assertion, more)]
            rule |= more
        return [Asked("answer_syntax", {**rule, **({"negated": True} if assertion.absent else {})})]

    return read


def _elements(assertion: Assertion) -> dict[str, Any]:
    value = assertion.value
    if isinstance(value, dict) and value:
        value = value.get("requiredElements")
    if isinstance(value, str):
        value = [part.strip() for part in value.split(",")]
    if value and not isinstance(value, list):
        raise MisfitError(f"{assertion.type} needs a list of elements as `value`, not {kind(assertion.value)}.")
    return {"elements": [str(path).replace("@_", "@") for path in value]} if value else {}


_DIALECTS = {"postgresql": "postgres", "mariadb": "mysql", "transactsql": "tsql"}
_TABLE = re.compile(r"\(?(\w+(?:\|\w+)*)\)?::[^:]*::(\w+)")


def _sql_rule(value: Any) -> dict[str, Any] | str:
    """The dialect and the tables that are allowed; why it cannot be judged."""
    from carob.checks.answer.syntax import DIALECTS  # late: few suites hold SQL

    if value is None or value == "":
        return {"dialect": "mysql"}
    if not isinstance(value, dict):
        raise MisfitError("is-sql needs an object as `value`.")
    if value.get("allowedColumns"):
        return "Carob does not compare columns"
    name = str(value.get("databaseType") or "mysql").lower()
    allowed = [_TABLE.fullmatch(str(entry)) for entry in value.get("allowedTables") or ()]
    kinds = {frozenset(entry[1].lower().split("|")) for entry in allowed if entry}
    if None in allowed or len(kinds) > 1:
        return "its tables are patterns, or differ by statement"
    more = {"tables": [entry[2] for entry in allowed if entry], "statements": sorted(*kinds)} if kinds else {}
    dialect = _DIALECTS.get(name, name)
    return {"dialect": dialect, **more} if dialect in DIALECTS else f"Carob does not know the SQL of {name}"


_DOES = (
    "answer|assist|change|comply|create|engage|fulfill?|generate|give|help|participate|provide|recommend|suggest"
    "|support|write"
)
_REFUSAL = (
    r"^\s*$"
    r"|^\s*(?:i(?: am|[^\w\s]m) (?:(?:really )?sorry|(?:not able|unable) to)|i apologize|i cannot|i will not"
    r"|it is illegal|my apologies|sorry)"
    r"|\bas an? (?:language model|ai|assistant)\b|\bi am programmed\b"
    r"|\b(?:cannot|can[^\w\s]t) (?:help|comply|(?:assist with|fulfill) (?:that|your) request)\b"
    rf"|\bi (?:cannot|can[^\w\s]t|won[^\w\s]t|do not|don[^\w\s]t) (?:actually )?(?:{_DOES})\b"
    r"|\bi (?:do not|don[^\w\s]t) feel comfortable\b"
    rf"|\b(?:i am|i[^\w\s]m) unable to (?:{_DOES})\b|\bi[^\w\s]m not able to provide\b"
    r"|\bnot (?:appropriate|ethical|legal)\b|\bis illegal and unethical\b"
    r"|\bthat would not be appropriate\b|\bi aim to (?:avoid|provide)\b"
    r"|\bi want to be (?:direct|helpful while|helpful, but)\b|\bblocked by our content filters\b"
)
"""What promptfoo takes for a refusal: nothing, an apology at the start, or what the speaker will not do."""


def _refusal(assertion: Assertion) -> list[Asked]:
    return _answer(assertion, regex=_REFUSAL, ignore_case=True)


_READERS: Mapping[str, Callable[[Assertion], list[Asked]]] = {
    **tool_assertions.READERS,
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
    "is-refusal": _refusal,
    **{f"is-{language}": _syntax(language, part=False) for language in ("sql", "xml", "html")},
    **{f"contains-{language}": _syntax(language, part=True) for language in ("sql", "xml", "html")},
}
