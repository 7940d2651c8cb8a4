"""JSON in the answer, as a schema, by paths or as a value; and the state that the agent ends in."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypedDict

from msgspec import UNSET, Meta, Struct

from carob.checks import base
from carob.checks.sample_traces import says
from carob.matchers.matcher import Matcher
from carob.matchers.reading import MatchedValue
from carob.matchers.reading import matcher as build_matcher
from carob.matchers.values import MISSING, format_value, is_same_value
from carob.model.check import CheckProblem, Example
from carob.model.trace import TextLoss, Trace
from carob.model.verdict import CheckResult, EvidenceLocation, Group, Status
from carob.rules.values import value_at
from carob.text.json_answers import json_answer
from carob.text.regexes import lazy

if TYPE_CHECKING:
    import jsonschema_rs
    from jsonpath_rfc9535 import JSONPathQuery

LONGEST_FOUND = 600
MOST_ERRORS = 5
NO_STATE = "the target gave no state"
ORDER: Mapping[str, Any] = {"type": "object", "required": ["total"], "properties": {"total": {"type": "number"}}}
CUT_OFF = says("Total", cuts={"final_message": TextLoss("only a part was kept")})


class AnswerJson(base.AnswerCheck, Struct, frozen=True, dict=True):
    """The final message is JSON, or holds one fenced block of it, and that is as the schema says."""

    name: ClassVar = "answer_json"
    group: ClassVar = Group.QA
    field: ClassVar = base.own_field(
        dict[str, Any] | Literal[True], "The answer is JSON that this JSON Schema accepts; `true`: any JSON."
    )
    examples: ClassVar = (
        Example({"schema": ORDER}, says('{"total": 12.5}'), Status.PASSED),
        Example({"schema": ORDER}, says('Here it is:\n```json\n{"total": 12}\n```\n'), Status.PASSED),
        Example({"schema": ORDER}, says('{"total": "12"}'), Status.FAILED),
        Example({"schema": ORDER}, says("The total is 12."), Status.FAILED),
        Example({"schema": True}, says("```\n[1]\n```\n```\n[2]\n```\n"), Status.FAILED),
        Example({"schema": ORDER}, CUT_OFF, Status.UNKNOWN),
    )
    schema: dict[str, Any] | bool

    read = base.read_with("schema")

    @property
    def description(self) -> str:
        return f"JSON like {format_value(self.schema)}" if self.schema is not True else "JSON"

    def validate(self) -> Iterator[CheckProblem]:
        import jsonschema_rs

        try:
            jsonschema_rs.meta.validate(self.schema)
        except jsonschema_rs.ValidationError as error:
            yield CheckProblem(
                "bad-schema", f"not a JSON Schema: {base.excerpt(error.message)}.", tuple(error.instance_path)
            )
            return
        try:
            _ = self._compiled
        except ValueError as error:
            yield CheckProblem("bad-schema", f"the schema cannot be used: {base.excerpt(str(error))}.")

    def judge(self, trace: Trace) -> CheckResult:
        return _judge_value(self, trace, self._judge)

    def _judge(self, value: object) -> CheckResult:
        wrong = [*map(_error_text, islice(self._compiled.iter_errors(value), MOST_ERRORS))]
        return self.failed(base.excerpt("; ".join(wrong), LONGEST_FOUND)) if wrong else self.passed(format_value(value))

    @cached_property
    def _compiled(self) -> jsonschema_rs.Validator:
        """What it refers to must be in it: nothing is fetched."""
        import jsonschema_rs

        return jsonschema_rs.validator_for(self.schema, offline=True)


def _judge_value(check: base.Check, trace: Trace, judge: Callable[[object], CheckResult]) -> CheckResult:
    if why := base.unreadable(trace):
        return check.unknown(why)
    answer = json_answer(trace.final_message)
    return check.failed(f"{answer.why_not}: {base.quote_answer(trace)}") if answer.why_not else judge(answer.value)


def _error_text(error: jsonschema_rs.ValidationError) -> str:
    where = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in error.instance_path)
    return f"{where.removeprefix('.')}: {error.message}" if where else error.message


class _ValueAt(base.Check, Struct, frozen=True, dict=True):
    """What a JSONPath leads to must be as wanted."""

    description_format: ClassVar = "{self.path} is {self.matcher.words}"
    path: str
    value: Any
    read = base.read_members("path", "value")

    @cached_property
    def matcher(self) -> Matcher:
        return build_matcher(self.value)

    def validate(self) -> Iterator[CheckProblem]:
        return path_problems(self.path)


class AnswerAt(_ValueAt, frozen=True, dict=True):
    """What a JSONPath leads to in the JSON of the answer is as wanted; of several values, each."""

    name: ClassVar = "answer_at"
    group: ClassVar = Group.QA
    channels: ClassVar = base.ANSWER
    field: ClassVar = base.own_field(
        Annotated[dict[base.Phrase, MatchedValue], Meta(min_length=1)],
        "Values of a JSON answer by JSONPath (RFC 9535): {path: value or matcher}.",
    )
    examples: ClassVar = (
        Example({"path": "$.total", "value": {"$lte": 50}}, says('{"total": 12}'), Status.PASSED),
        Example({"path": "$.total", "value": {"$lte": 50}}, says('{"total": 80}'), Status.FAILED),
        Example({"path": "$.rows[*].n", "value": 1}, says('{"rows": [{"n": 1}, {"n": 2}]}'), Status.FAILED),
        Example({"path": "$.note", "value": {"$absent": True}}, says('{"total": 12}'), Status.PASSED),
        Example({"path": "$.total", "value": 12}, says("It is 12."), Status.FAILED),
        Example({"path": "$.total", "value": 12}, CUT_OFF, Status.UNKNOWN),
    )

    def judge(self, trace: Trace) -> CheckResult:
        return _judge_value(self, trace, lambda value: at_path(self, self.path, self.matcher, value))


def at_path(
    check: base.Check, path: str, expected: Matcher, value: object, at: EvidenceLocation | None = None
) -> CheckResult:
    """Whether what a path leads to is as wanted, and what differs."""
    nodes = values_at(path, value)
    wrong = [differing for where, item in nodes or [(path, MISSING)] for differing in expected.differences(item, where)]
    if wrong:
        return check.failed(base.excerpt("; ".join(map(str, wrong[:MOST_ERRORS])), LONGEST_FOUND), at)
    return check.passed(base.excerpt(", ".join(format_value(item) for _, item in nodes[:MOST_ERRORS])), at)


class State(_ValueAt, frozen=True, dict=True):
    """What a JSONPath leads to in the state that the agent ended in is as wanted; of several values, each."""

    name: ClassVar = "state"
    group: ClassVar = Group.DECISION
    channels: ClassVar = frozenset({"state"})
    field: ClassVar = base.own_field(
        Annotated[dict[base.Phrase, MatchedValue], Meta(min_length=1)],
        "Values of the agent's final state by JSONPath (RFC 9535): {path: value or matcher}.",
    )
    examples: ClassVar = (
        Example({"path": "$.step", "value": "paid"}, says("Done.", state={"step": "paid"}), Status.PASSED),
        Example({"path": "$.step", "value": "paid"}, says("Done.", state={"step": "open"}), Status.FAILED),
        Example({"path": "$.step", "value": "paid"}, says("Done.", state={"other": 1}), Status.FAILED),
        Example({"path": "$.step", "value": "paid"}, says("Done."), Status.UNKNOWN),
    )

    def judge(self, trace: Trace) -> CheckResult:
        why = trace.why_incomplete("state") or ("" if trace.state else NO_STATE)
        return (
            self.unknown(why) if why else at_path(self, self.path, self.matcher, trace.state, EvidenceLocation("state"))
        )


DRAFT_7 = "http://json-schema.org/draft-07/schema#"
MOST_PARTS = 1_000
MOST_TRIED = 20_000
ROWS = {"type": "object", "required": ["rows"]}


class JsonRule(TypedDict, total=False):
    """JSON in the answer."""

    part: Annotated[Literal[True], Meta(description="The JSON may be any part of the answer, instead of all of it.")]
    schema: Annotated[dict[str, Any], Meta(description="A JSON Schema that it fits; draft 7 unless it has `$schema`.")]
    equals: Annotated[Any, Meta(description="The value that it equals.")]
    negated: Annotated[Literal[True], Meta(description="Invert the check: it must fail.")]


class JsonText(base.AnswerCheck, Struct, frozen=True, dict=True):
    """The answer is JSON, or holds an object of it, that a schema accepts or that is a given value."""

    name: ClassVar = "json_text"
    group: ClassVar = Group.QA
    field: ClassVar = base.own_field(
        Annotated[list[JsonRule], Meta(min_length=1)],
        "The answer is JSON, or contains it in one `part`; one check per entry. Code fences are not removed.",
    )
    examples: ClassVar = (
        Example({}, says('{"rows": []}'), Status.PASSED),
        Example({}, says('```\n{"rows": []}\n```'), Status.FAILED),
        Example({"part": True}, says('Here: {"rows": []}.'), Status.PASSED),
        Example({"part": True, "schema": ROWS}, says('Here: {"row": []}.'), Status.FAILED),
        Example({"schema": ROWS, "negated": True}, says("Nothing."), Status.PASSED),
        Example({"equals": {"a": [1]}}, says('{"a": [1.0]}'), Status.PASSED),
        Example({"equals": {"a": [1]}}, says('{"a": [1], "b": 2}'), Status.FAILED),
        Example({}, says("{}", cuts={"final_message": TextLoss("only a part was kept")}), Status.UNKNOWN),
    )
    part: bool = False
    schema: dict[str, Any] | None = None
    equals: Any = UNSET
    negated: bool = False

    read = base.read_each()

    @property
    def description(self) -> str:
        shape = "an object of JSON in it" if self.part else "JSON and nothing else"
        like = f" like {format_value(self.schema)}" if self.schema is not None else ""
        equality = f", which is {format_value(self.equals)}" if self.equals is not UNSET else ""
        return f"{'not: ' if self.negated else ''}{shape}{like}{equality}"

    def validate(self) -> Iterator[CheckProblem]:
        try:
            _ = self._compiled
        except ValueError as error:
            yield CheckProblem("bad-schema", f"the schema cannot be used: {base.excerpt(str(error))}.", ("schema",))

    def judge(self, trace: Trace) -> CheckResult:
        if why := base.unreadable(trace):
            return self.unknown(why)
        values = objects_in(trace.final_message) if self.part else parse_json(trace.final_message)
        if not values:
            return self._result(False, f"no JSON: {base.quote_answer(trace)}")
        wrong = [self._differs(value) for value in values]
        return self._result("" in wrong, "; ".join(wrong[:3]) if all(wrong) else format_value(values[wrong.index("")]))

    def _result(self, holds: bool, detail: str) -> CheckResult:
        return self.passed(base.excerpt(detail)) if holds is not self.negated else self.failed(base.excerpt(detail))

    def _differs(self, value: object) -> str:
        """Why this is not the JSON that is wanted; the empty string if it is."""
        if self.equals is not UNSET and not is_same_value(value, self.equals):
            return f"it is {format_value(value)}"
        errors = islice(self._compiled.iter_errors(value), 1) if self._compiled else ()
        return next((f"{error.message}" for error in errors), "")

    @cached_property
    def _compiled(self) -> jsonschema_rs.Validator | None:
        """What it refers to must be in it: nothing is fetched."""
        import jsonschema_rs  # late: few suites have a schema

        if self.schema is None:
            return None
        schema = self.schema if "$schema" in self.schema else {"$schema": DRAFT_7, **self.schema}
        return jsonschema_rs.validator_for(schema, offline=True, validate_formats=True)


@lru_cache(maxsize=8)
def parse_json(text: str) -> tuple[Any, ...]:
    """The value that a text is, if it is JSON."""
    try:
        return (json.loads(text, parse_constant=_refuse),)
    except (ValueError, RecursionError):
        return ()


@lru_cache(maxsize=8)
def objects_in(text: str) -> tuple[Any, ...]:
    """The objects of JSON that a text holds, the outermost of each place, of so many beginnings and no more."""
    decoder, start = json.JSONDecoder(parse_constant=_refuse), text.find("{")
    objects: list[Any] = []
    for _ in range(MOST_TRIED):
        if start < 0 or len(objects) == MOST_PARTS:
            break
        try:
            value, end = decoder.raw_decode(text, start)
            objects.append(value)
        except (ValueError, RecursionError):
            end = start + 1
        start = text.find("{", end)
    return tuple(objects)


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


LONGEST_PATH = 1000


@lru_cache(maxsize=1024)
def compile_path(path: str) -> JSONPathQuery:
    import jsonpath_rfc9535

    return jsonpath_rfc9535.compile(path)


def path_problems(path: str, *location: str | int) -> Iterator[CheckProblem]:
    """A JSONPath that does not parse."""
    from jsonpath_rfc9535 import JSONPathError

    if len(path) > LONGEST_PATH:
        yield CheckProblem("bad-jsonpath", f"the path is longer than {LONGEST_PATH} characters.", location, key=True)
        return
    try:
        compile_path(path)
    except JSONPathError as error:
        why = str(error).partition(", line")[0].splitlines()[0]
        yield CheckProblem(
            "bad-jsonpath", f"it is not a JSONPath: {why}. Write it as '$.total' or '$.items[*].price'.", location, True
        )


_PLAIN_PATH = lazy.pattern(r"(?a)\$(?:\.[A-Za-z_]\w*|\[(?:0|[1-9]\d{0,8})\])+")
_STEP = lazy.pattern(r"(?a)\.(\w+)|\[(\d+)\]")


@lru_cache(maxsize=1024)
def _plain_path(path: str) -> tuple[str, tuple[str | int, ...]] | None:
    """The normal form and the steps of a path of names and places alone: it can be followed without the engine."""
    if not _PLAIN_PATH.fullmatch(path):
        return None
    steps = tuple(name or int(place) for name, place in _STEP.findall(path))
    return "$" + "".join(f"[{step!r}]" for step in steps), steps


def values_at(path: str, value: object) -> list[tuple[str, object]]:
    """Every value that the path leads to, with its own path."""
    if plain := _plain_path(path):
        normal, steps = plain
        found = value_at(value, steps)
        return [] if found is MISSING else [(normal, found)]
    from jsonpath_rfc9535 import JSONPathError

    try:
        nodes = compile_path(path).find(value)  # type: ignore[arg-type]
    except JSONPathError:
        return []  # what it compares cannot be compared in this value: it leads nowhere
    return [(node.path(), node.value) for node in nodes]
