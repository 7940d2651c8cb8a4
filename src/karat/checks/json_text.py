"""JSON in an answer as a parser reads it: the answer is nothing else, or holds it anywhere."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cached_property, lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypedDict

from msgspec import UNSET, Meta, Struct

from karat.checks.base import ANSWER, Check, excerpt, quote_answer, unreadable
from karat.checks.reading import read_each
from karat.checks.sample_traces import says
from karat.matchers.values import format_value
from karat.model.check import CheckProblem, Example, Field
from karat.model.trace import TextLoss, Trace
from karat.model.verdict import CheckResult, Group, Status

if TYPE_CHECKING:
    import jsonschema_rs

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


class JsonText(Check, Struct, frozen=True, dict=True):
    """The answer is JSON, or holds an object of it, that a schema accepts or that is a given value."""

    name: ClassVar = "json_text"
    group: ClassVar = Group.QA
    channels: ClassVar = ANSWER
    fields: ClassVar = (
        Field(
            "json_text",
            Annotated[list[JsonRule], Meta(min_length=1)],
            "The answer is JSON, or contains it in one `part`; one check per entry. Code fences are not removed.",
            since="1",
        ),
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

    read = read_each()

    @property
    def description(self) -> str:
        what = "an object of JSON in it" if self.part else "JSON and nothing else"
        like = f" like {format_value(self.schema)}" if self.schema is not None else ""
        same = f", which is {format_value(self.equals)}" if self.equals is not UNSET else ""
        return f"{'not: ' if self.negated else ''}{what}{like}{same}"

    def validate(self) -> Iterator[CheckProblem]:
        try:
            _ = self._compiled
        except ValueError as error:
            yield CheckProblem("bad-schema", f"the schema cannot be used: {excerpt(str(error))}.", ("schema",))

    def judge(self, trace: Trace) -> CheckResult:
        if why := unreadable(trace):
            return self.unknown(why)
        found = objects_in(trace.final_message) if self.part else parse_json(trace.final_message)
        if not found:
            return self._result(False, f"no JSON: {quote_answer(trace)}")
        wrong = [self._differs(value) for value in found]
        return self._result("" in wrong, "; ".join(wrong[:3]) if all(wrong) else format_value(found[wrong.index("")]))

    def _result(self, holds: bool, found: str) -> CheckResult:
        return self.passed(excerpt(found)) if holds is not self.negated else self.failed(excerpt(found))

    def _differs(self, value: object) -> str:
        """Why this is not the JSON that is wanted; the empty string if it is."""
        if self.equals is not UNSET and value != self.equals:
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
    found: list[Any] = []
    for _ in range(MOST_TRIED):
        if start < 0 or len(found) == MOST_PARTS:
            break
        try:
            value, end = decoder.raw_decode(text, start)
            found.append(value)
        except (ValueError, RecursionError):
            end = start + 1
        start = text.find("{", end)
    return tuple(found)


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")
