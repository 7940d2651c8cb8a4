"""The answer as a whole: word by word, as JSON, by its length; and the state that the agent ends in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property, lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import regex
from msgspec import Meta, Struct

from karat.checks.base import (
    ANSWER,
    Check,
    CheckRequest,
    Phrase,
    excerpt,
    out_of_reach,
    quote_answer,
    unreadable,
)
from karat.checks.json_paths import path_problems, values_at
from karat.checks.reading import read_members, read_whole
from karat.checks.sample_traces import says
from karat.checks.says import unfailable
from karat.matchers.matcher import Matcher
from karat.matchers.reading import MatchedValue, matcher
from karat.matchers.values import MISSING, format_value
from karat.model.check import CheckProblem, Example, Expected, Field
from karat.model.trace import TextLoss, Trace
from karat.model.verdict import CheckResult, EvidenceLocation, Group, Status
from karat.text.folding import fold
from karat.text.json_answers import json_answer
from karat.text.regexes import lazy
from karat.text.views import rendered_view

if TYPE_CHECKING:
    import jsonschema_rs

LONGEST_FOUND = 600
MOST_ERRORS = 5
NO_STATE = "the target gave no state"
ORDER: Mapping[str, Any] = {"type": "object", "required": ["total"], "properties": {"total": {"type": "number"}}}
CUT_OFF = says("Total", cuts={"final_message": TextLoss("only a part was kept")})
_GROUPING = lazy.regex(r"(?<=\d),(?=\d{3}(?!\d))")
_WORD = lazy.regex(
    r"[\p{Han}\p{Hiragana}\p{Katakana}]|[\p{L}\p{N}][^\s\p{Han}\p{Hiragana}\p{Katakana}]*", regex.VERSION1
)
"""What is between white space and holds a letter or digit; where no spaces are written, each sign."""


class AnswerEquals(Check, Struct, frozen=True):
    """The final message is this and nothing else, but for letter case, white space and typographic signs."""

    name: ClassVar = "answer_equals"
    failure: ClassVar = ("", "the answer is not ")
    group: ClassVar = Group.QA
    channels: ClassVar = ANSWER
    fields: ClassVar = (
        Field("answer_equals", Phrase | int | float, "The final message is this, and nothing else.", since="1"),
    )
    examples: ClassVar = (
        Example({"text": "Yes."}, says(" yes.\n"), Status.PASSED),
        Example({"text": "Yes."}, says("Yes. Gladly."), Status.FAILED),
        Example({"text": "1,200 rides"}, says("1200 rides"), Status.PASSED),
        Example({"text": "Total"}, CUT_OFF, Status.UNKNOWN),
    )
    text: str

    @classmethod
    def read(cls, expected: Expected) -> Iterator[CheckRequest]:
        if "answer_equals" in expected:
            given = expected["answer_equals"]
            yield CheckRequest({"text": given if isinstance(given, str) else format_value(given)}, ("answer_equals",))

    @property
    def description(self) -> str:
        return repr(self.text)

    def validate(self) -> Iterator[CheckProblem]:
        return unfailable(self.text)

    def judge(self, trace: Trace) -> CheckResult:
        why = unreadable(trace)
        if why:
            return self.unknown(why)
        text = trace.final_message
        same = _normalize(self.text) in (_normalize(text), _normalize(rendered_view(text).text))
        return self.passed(quote_answer(trace)) if same else self.failed(quote_answer(trace))

    def compared_values(self, trace: Trace) -> tuple[object, object]:
        return trace.final_message, self.text


def _normalize(text: str) -> str:
    """A text without what does not matter: 1,200 is 1200."""
    return _GROUPING.sub("", fold(text)).strip()


class AnswerJson(Check, Struct, frozen=True, dict=True):
    """The final message is JSON, or holds one fenced block of it, and that is as the schema says."""

    name: ClassVar = "answer_json"
    group: ClassVar = Group.QA
    channels: ClassVar = ANSWER
    fields: ClassVar = (
        Field(
            "answer_json",
            dict[str, Any] | Literal[True],
            "The answer is JSON that this JSON Schema accepts; `true`: any JSON.",
            since="1",
        ),
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

    read = read_whole("schema")

    @property
    def description(self) -> str:
        return f"JSON like {format_value(self.schema)}" if self.schema is not True else "JSON"

    def validate(self) -> Iterator[CheckProblem]:
        import jsonschema_rs

        try:
            jsonschema_rs.meta.validate(self.schema)
        except jsonschema_rs.ValidationError as error:
            yield CheckProblem(
                "bad-schema", f"not a JSON Schema: {excerpt(error.message)}.", tuple(error.instance_path)
            )
            return
        try:
            _ = self._compiled
        except ValueError as error:
            yield CheckProblem("bad-schema", f"the schema cannot be used: {excerpt(str(error))}.")

    def judge(self, trace: Trace) -> CheckResult:
        why = unreadable(trace)
        if why:
            return self.unknown(why)
        answer = json_answer(trace.final_message)
        if answer.why_not:
            return self.failed(f"{answer.why_not}: {quote_answer(trace)}")
        wrong = [*map(_error_text, islice(self._compiled.iter_errors(answer.value), MOST_ERRORS))]
        return (
            self.failed(excerpt("; ".join(wrong), LONGEST_FOUND)) if wrong else self.passed(format_value(answer.value))
        )

    @cached_property
    def _compiled(self) -> jsonschema_rs.Validator:
        """What it refers to must be in it: nothing is fetched."""
        import jsonschema_rs

        return jsonschema_rs.validator_for(self.schema, offline=True)


def _error_text(error: jsonschema_rs.ValidationError) -> str:
    where = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in error.instance_path)
    return f"{where.removeprefix('.')}: {error.message}" if where else error.message


class _ValueAt(Check):
    """What a JSONPath leads to must be as wanted."""

    __slots__ = ()

    path: str
    value: Any
    read = read_members("path", "value")

    @cached_property
    def made(self) -> Matcher:
        return matcher(self.value)

    @property
    def description(self) -> str:
        return f"{self.path} is {self.made.words}"

    def validate(self) -> Iterator[CheckProblem]:
        return path_problems(self.path)


class AnswerAt(_ValueAt, Struct, frozen=True, dict=True):
    """What a JSONPath leads to in the JSON of the answer is as wanted; of several values, each."""

    name: ClassVar = "answer_at"
    group: ClassVar = Group.QA
    channels: ClassVar = ANSWER
    fields: ClassVar = (
        Field(
            "answer_at",
            Annotated[dict[Phrase, MatchedValue], Meta(min_length=1)],
            "Values of a JSON answer by JSONPath (RFC 9535): {path: value or matcher}.",
            since="1",
        ),
    )
    examples: ClassVar = (
        Example({"path": "$.total", "value": {"$lte": 50}}, says('{"total": 12}'), Status.PASSED),
        Example({"path": "$.total", "value": {"$lte": 50}}, says('{"total": 80}'), Status.FAILED),
        Example({"path": "$.rows[*].n", "value": 1}, says('{"rows": [{"n": 1}, {"n": 2}]}'), Status.FAILED),
        Example({"path": "$.note", "value": {"$absent": True}}, says('{"total": 12}'), Status.PASSED),
        Example({"path": "$.total", "value": 12}, says("It is 12."), Status.FAILED),
        Example({"path": "$.total", "value": 12}, CUT_OFF, Status.UNKNOWN),
    )
    path: str
    value: Any

    def judge(self, trace: Trace) -> CheckResult:
        why = unreadable(trace)
        if why:
            return self.unknown(why)
        answer = json_answer(trace.final_message)
        if answer.why_not:
            return self.failed(f"{answer.why_not}: {quote_answer(trace)}")
        return at_path(self, self.path, self.made, answer.value)


def at_path(check: Check, path: str, wanted: Matcher, value: object, at: EvidenceLocation | None = None) -> CheckResult:
    """Whether what a path leads to is as wanted, and what differs."""
    found = values_at(path, value)
    wrong = [differing for where, one in found or [(path, MISSING)] for differing in wanted.differences(one, where)]
    if wrong:
        return check.failed(excerpt("; ".join(map(str, wrong[:MOST_ERRORS])), LONGEST_FOUND), at)
    return check.passed(excerpt(", ".join(format_value(one) for _, one in found[:MOST_ERRORS])), at)


class State(_ValueAt, Struct, frozen=True, dict=True):
    """What a JSONPath leads to in the state that the agent ended in is as wanted; of several values, each."""

    name: ClassVar = "state"
    group: ClassVar = Group.DECISION
    channels: ClassVar = frozenset({"state"})
    fields: ClassVar = (
        Field(
            "state",
            Annotated[dict[Phrase, MatchedValue], Meta(min_length=1)],
            "Values of the agent's final state by JSONPath (RFC 9535): {path: value or matcher}.",
            since="1",
        ),
    )
    examples: ClassVar = (
        Example({"path": "$.step", "value": "paid"}, says("Done.", state={"step": "paid"}), Status.PASSED),
        Example({"path": "$.step", "value": "paid"}, says("Done.", state={"step": "open"}), Status.FAILED),
        Example({"path": "$.step", "value": "paid"}, says("Done.", state={"other": 1}), Status.FAILED),
        Example({"path": "$.step", "value": "paid"}, says("Done."), Status.UNKNOWN),
    )
    path: str
    value: Any

    def judge(self, trace: Trace) -> CheckResult:
        why = trace.why_incomplete("state") or ("" if trace.state else NO_STATE)
        return self.unknown(why) if why else at_path(self, self.path, self.made, trace.state, EvidenceLocation("state"))


class MinWords(Check, Struct, frozen=True):
    """The final message has at least so many words that a reader sees."""

    name: ClassVar = "min_words"
    failure: ClassVar = ("at least ", "fewer than ")
    group: ClassVar = Group.FORMATTING
    channels: ClassVar = ANSWER
    fields: ClassVar = (Field("min_words", Annotated[int, Meta(ge=1)], "The minimum number of words.", since="1"),)
    examples: ClassVar = (
        Example({"least": 3}, says("It is paid."), Status.PASSED),
        Example({"least": 3}, says("Paid - yes!"), Status.FAILED),
        Example({"least": 3}, says("Yes. <!-- it is paid -->"), Status.FAILED),
        Example({"least": 3}, CUT_OFF, Status.UNKNOWN),
    )
    least: int

    read = read_whole("least")

    @property
    def description(self) -> str:
        return f"at least {self.least} words"

    @property
    def why_always_passes(self) -> str:
        return "every answer has at least one word. Require more, or remove this key." if self.least == 1 else ""

    def judge(self, trace: Trace) -> CheckResult:
        count = words_in(trace.final_message)
        if count >= self.least:
            return self.passed(f"{count} words")
        why = unreadable(trace)
        return self.unknown(why) if why else self.failed(f"{count} words: {quote_answer(trace)}")


class MaxWords(Check, Struct, frozen=True):
    """The final message has at most so many words that a reader sees."""

    name: ClassVar = "max_words"
    group: ClassVar = Group.FORMATTING
    channels: ClassVar = ANSWER
    fields: ClassVar = (Field("max_words", Annotated[int, Meta(ge=1)], "The maximum number of words.", since="1"),)
    examples: ClassVar = (
        Example({"most": 3}, says("It is paid."), Status.PASSED),
        Example({"most": 3}, says("It is paid now."), Status.FAILED),
        Example({"most": 3}, CUT_OFF, Status.UNKNOWN),
    )
    most: int

    read = read_whole("most")

    @property
    def description(self) -> str:
        return f"at most {self.most} words"

    @property
    def why_always_passes(self) -> str:
        return out_of_reach(self.most, 100_000, "a hundred thousand words")

    def judge(self, trace: Trace) -> CheckResult:
        count = words_in(trace.final_message)
        if count > self.most:
            return self.failed(f"{count} words: {quote_answer(trace)}")
        why = unreadable(trace)
        return self.unknown(why) if why else self.passed(f"{count} words")


@lru_cache(maxsize=8)
def words_in(text: str) -> int:
    return sum(1 for _ in _WORD.finditer(rendered_view(text).text))
