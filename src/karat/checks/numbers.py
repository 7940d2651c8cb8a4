"""Numbers that the final message must state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, ClassVar, Literal, NotRequired, TypedDict

from msgspec import Meta

from karat.checks.base import ANSWER, Check, Phrase, Phrases, Reading, blank, excerpt, quoted
from karat.checks.sample_traces import says
from karat.checks.says import regex_flaws
from karat.model.check import Example, Field, Flaw
from karat.model.trace import Trace
from karat.model.verdict import CheckResult, Group, Status
from karat.text import numbers, safe_regex


class GroundedNumber(TypedDict):
    """A number to find: by `regex`, or by `value`, the latter beside one of `context_any` if given."""

    label: NotRequired[Phrase]
    regex: NotRequired[Phrase]
    value: NotRequired[Phrase | int | float]
    context_any: NotRequired[Phrases]
    within: NotRequired[Literal["line", "message"]]


@dataclass(frozen=True, slots=True)
class MustGroundNumber(Check):
    """The regex is found, or the value stands as a whole number with one of its context phrases beside it."""

    name: ClassVar = "must_ground_numbers"
    group: ClassVar = Group.NUMERIC_GROUNDING
    looks_at: ClassVar = ANSWER
    feeds: ClassVar = "numbers"
    fields: ClassVar = (
        Field(
            "must_ground_numbers",
            Annotated[list[GroundedNumber | Phrase | int | float], Meta(min_length=1)],
            "Numbers that the final message states: a regex, or a value as a whole number.",
            since="0.2",
        ),
    )
    examples: ClassVar = (
        Example({"value": "12", "context_any": ["GitHub"]}, says("GitHub: 12 commits"), Status.PASSED),
        Example({"value": "12"}, says("build 124 of 2012, v1.12"), Status.FAILED),
        Example({"value": "12"}, says("12 Millionen"), Status.UNKNOWN),
        Example({"value": "12", "context_any": ["GitHub"]}, says("Slack: 12 mentions"), Status.FAILED),
        Example({"value": "12", "context_any": ["PR"]}, says("12 in April"), Status.FAILED),
        Example(
            {"value": "12", "context_any": ["GitHub"], "within": "line"}, says("GitHub: 3\nSlack: 12"), Status.FAILED
        ),
        Example({"regex": r"RISK_SCORE:\s*[0-9]{1,3}"}, says("Risk_Score: 40"), Status.PASSED),
        Example({"regex": r"RISK_SCORE:\s*[0-9]{1,3}"}, says("The risk is high."), Status.FAILED),
    )
    label: str = ""
    regex: str = ""
    value: str = ""
    context_any: tuple[str, ...] = ()
    within: Literal["line", "message"] = "message"

    @classmethod
    def read(cls, expected: Mapping[str, Any]) -> Iterator[Reading]:
        for index, entry in enumerate(expected.get("must_ground_numbers", ())):
            args = dict(entry) if isinstance(entry, Mapping) else {"value": entry}
            if "value" in args:
                args["value"] = _digits(args["value"])
            yield Reading(args, ("must_ground_numbers", index))

    @classmethod
    def lack(cls, args: Mapping[str, object]) -> str:
        return str(args.get("label") or args.get("value") or args.get("regex"))

    @property
    def wanted(self) -> str:
        label = f"{self.label}: " if self.label else ""
        if self.regex:
            return f"{label}a match of /{self.regex}/"
        near = " in the same line" if self.within == "line" else ""
        beside = f" with {quoted(self.context_any)}{near}" if self.context_any else ""
        return f"{label}the number {self.value}{beside}"

    def flaws(self) -> Iterator[Flaw]:
        if bool(self.regex) == bool(self.value):
            yield Flaw("wrong-shape", "give either 'regex' or 'value'.")
        if self.regex:
            yield from regex_flaws(self.regex, "regex")
        if self.value:
            for flaw in blank((self.value,)):
                yield flaw._replace(path=("value",))
        yield from blank(self.context_any, "context_any")
        if self.regex and self.context_any:
            yield Flaw("no-effect", "context_any has no effect beside 'regex'.", ("context_any",))
        if self.within == "line" and not self.context_any:
            yield Flaw("no-effect", "'within' has no effect without context_any.", ("within",))

    def judge(self, trace: Trace) -> CheckResult:
        text = trace.final_message
        if self.regex:
            return self.present(trace, safe_regex.find_required(self.regex, text))
        grounded = numbers.ground(text, self.value, self.context_any, self.within == "line")
        unread = None if grounded else numbers.unread_number(text, self.value)
        if unread:
            near = excerpt(text[unread[0] : unread[1] + 20])
            return self.unknown(f"{near!r} may be another number: have it written in digits")
        return self.present(trace, grounded.number if grounded else None)


def _digits(value: str | int | float) -> str:
    """The value as an answer writes it: 1e22 is a one and 22 zeros."""
    return format(Decimal(repr(value)), "f") if isinstance(value, float) else str(value)
