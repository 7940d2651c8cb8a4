"""What the final message says and must not say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

from msgspec import Struct

from karat.checks.answer_nodes import find_in_markdown
from karat.checks.base import ALL_WORDS, ANSWER, Check, CheckRequest, Phrases, blank, each, quote_without, quoted
from karat.checks.sample_traces import says
from karat.model.check import CheckProblem, Example, Field
from karat.model.trace import TextLoss, Trace
from karat.model.verdict import CheckResult, Group, Status
from karat.text import phrases
from karat.text.regexes import safe_regex

CUT_SHORT = says("All good so far", cuts={"final_message": TextLoss("only the first part was kept")})


class MustSayAny(Check, Struct, frozen=True):
    """The final message contains at least one of the phrases."""

    name: ClassVar = "must_say_any"
    failure: ClassVar = ("", "did not say ")
    group: ClassVar = Group.FORMATTING
    channels: ClassVar = ANSWER
    fields: ClassVar = (Field("must_say_any", Phrases, "At least one of these phrases is in the final message."),)
    examples: ClassVar = (
        Example({"phrases": ["refund", "credit"]}, says("Your  REFUND is on its way."), Status.PASSED),
        Example({"phrases": ["refund", "credit"]}, says("Nothing was done."), Status.FAILED),
        Example({"phrases": ["refund"]}, says("<!-- refund -->Nothing was done."), Status.FAILED),
        Example({"phrases": ["refund"]}, CUT_SHORT, Status.UNKNOWN),
    )
    phrases: tuple[str, ...]

    @classmethod
    def read(cls, expected: Mapping[str, object]) -> Iterator[CheckRequest]:
        if "must_say_any" in expected:
            yield CheckRequest({"phrases": expected["must_say_any"]}, ("must_say_any",))

    @property
    def description(self) -> str:
        return quoted(self.phrases)

    def validate(self) -> Iterator[CheckProblem]:
        return blank(self.phrases)

    def judge(self, trace: Trace) -> CheckResult:
        found = phrases.find_any(trace.final_message, self.phrases)
        return self.present(trace, found[1] if found else None, quote_without(trace, self.phrases) if not found else "")


class MustNotSay(Check, Struct, frozen=True):
    """The final message does not contain the phrase."""

    name: ClassVar = "must_not_say"
    failure: ClassVar = ("no ", "said ")
    forbids: ClassVar = True
    group: ClassVar = Group.FORMATTING
    channels: ClassVar = ALL_WORDS
    fields: ClassVar = (Field("must_not_say", Phrases, "None of these phrases is in the final message."),)
    examples: ClassVar[tuple[Example, ...]] = (
        Example({"phrase": "as an AI"}, says("Here is the report."), Status.PASSED),
        Example({"phrase": "as an AI"}, says("As an\nAI, I cannot."), Status.FAILED),
        Example({"phrase": "as an AI"}, says("As an **AI**, I cannot."), Status.FAILED),
        Example({"phrase": "as an AI"}, says("As an \uff21\u200b\u0406, I cannot."), Status.FAILED),
        Example({"phrase": "as an AI"}, CUT_SHORT, Status.UNKNOWN),
    )
    phrase: str

    @classmethod
    def read(cls, expected: Mapping[str, object]) -> Iterator[CheckRequest]:
        return each(cls.name, "phrase", expected)

    @property
    def description(self) -> str:
        return f"no {self.phrase!r}"

    def validate(self) -> Iterator[CheckProblem]:
        return unfailable(self.phrase)

    def judge(self, trace: Trace) -> CheckResult:
        return self.absent(trace, phrases.find_forbidden(trace.final_message, self.phrase))


class MustMatchRegex(Check, Struct, frozen=True):
    """The regex is found in the final message: letter case is free, `^` and `$` match at every line."""

    name: ClassVar = "must_match_regex"
    failure: ClassVar = ("a ", "the answer has no ")
    group: ClassVar = Group.FORMATTING
    channels: ClassVar = ANSWER
    fields: ClassVar = (
        Field("must_match_regex", Phrases, "Each of these regexes is found in the final message.", since="0.2"),
    )
    examples: ClassVar = (
        Example({"pattern": r"^GitHub:\s*[0-9]+"}, says("Signals\ngithub: 12 commits"), Status.PASSED),
        Example({"pattern": r"^GitHub:\s*[0-9]+"}, says("See GitHub: 12 commits"), Status.FAILED),
        Example({"pattern": "total$"}, CUT_SHORT, Status.UNKNOWN),
        Example({"pattern": '- heading "Levers"'}, says("## Levers\n1. Roll back"), Status.PASSED),
        Example({"pattern": r"-\s*listitem: Roll"}, says("## Levers\nRoll back"), Status.FAILED),
    )
    pattern: str

    @classmethod
    def read(cls, expected: Mapping[str, object]) -> Iterator[CheckRequest]:
        return each("must_match_regex", "pattern", expected)

    @property
    def description(self) -> str:
        return f"a match of /{self.pattern}/"

    def validate(self) -> Iterator[CheckProblem]:
        return regex_problems(self.pattern)

    def judge(self, trace: Trace) -> CheckResult:
        span = safe_regex.find_required(self.pattern, trace.final_message)
        if span is None:
            span = next((place for _, place in find_in_markdown(self.pattern, trace.final_message)), None)
        return self.present(trace, span)


class MustNotMatchRegex(Check, Struct, frozen=True):
    """The regex is not found in the final message."""

    name: ClassVar = "must_not_match_regex"
    failure: ClassVar = ("no ", "the answer has a ")
    forbids: ClassVar = True
    group: ClassVar = Group.FORMATTING
    channels: ClassVar = ALL_WORDS
    fields: ClassVar = (
        Field("must_not_match_regex", Phrases, "None of these regexes is found in the final message.", since="0.2"),
    )
    examples: ClassVar = (
        Example({"pattern": "todo|tbd"}, says("All done."), Status.PASSED),
        Example({"pattern": "todo|tbd"}, says("Owner: TBD"), Status.FAILED),
        Example({"pattern": "todo|tbd"}, CUT_SHORT, Status.UNKNOWN),
    )
    pattern: str

    @classmethod
    def read(cls, expected: Mapping[str, object]) -> Iterator[CheckRequest]:
        return each("must_not_match_regex", "pattern", expected)

    @property
    def description(self) -> str:
        return f"no match of /{self.pattern}/"

    def validate(self) -> Iterator[CheckProblem]:
        return regex_problems(self.pattern)

    def judge(self, trace: Trace) -> CheckResult:
        return self.absent(trace, safe_regex.find_forbidden(self.pattern, trace.final_message))


def unfailable(phrase: str) -> Iterator[CheckProblem]:
    """The flaw of one blank phrase, at the entry itself."""
    for flaw in blank((phrase,)):
        yield flaw._replace(path=())


def regex_problems(pattern: str, *path: str | int) -> Iterator[CheckProblem]:
    """A regex that does not compile, or that every answer matches."""
    try:
        is_empty = safe_regex.matches_empty(pattern)
    except safe_regex.BadPattern as error:
        yield CheckProblem("bad-regex", f"{error}", path)
        return
    if is_empty:
        yield CheckProblem(
            "empty-expectation", "this regex matches the empty string, so it is found in every answer.", path
        )
