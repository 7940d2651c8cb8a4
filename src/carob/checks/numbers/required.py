"""Numbers that the final message must state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal, InvalidOperation
from typing import Annotated, ClassVar, Final, Literal, NotRequired, TypedDict

from msgspec import Meta, Struct

from carob.checks import base
from carob.checks.answer.json import path_problems, values_at
from carob.checks.sample_traces import calls, performs, says
from carob.checks.tools.names import describe_calls, nameless, not_understood
from carob.matchers.values import format_value
from carob.model.check import CheckProblem, Example, Expected
from carob.model.trace import ToolCall, Trace
from carob.model.verdict import CheckResult, Group, Status
from carob.text.numbers.claimed import stated_numbers
from carob.text.numbers.whole import ground, unread_number
from carob.text.regexes import safe_regex
from carob.text.tool_names import is_named
from carob.text.tool_results import parse_result

PERCENT: Final = r"^\d{1,2}(\.\d+)?%$"
"""A tolerance as a share of the number."""


def lookup_trace(text: str, total: float) -> Trace:
    return performs(ToolCall("lookup", {}, result={"total": total, "found": True}, success=True), text=text)


class GroundedNumber(TypedDict):
    """A number to find: by `regex`, by `value`, or as `from_tool` gave it; next to one of `context_any` if given."""

    label: NotRequired[Annotated[str, Meta(min_length=1, description="What the number is, for reports.")]]
    regex: NotRequired[Annotated[str, Meta(min_length=1, description="A regex that is found in the message.")]]
    value: NotRequired[Annotated[base.Phrase | int | float, Meta(description="The number itself.")]]
    from_tool: NotRequired[Annotated[str, Meta(min_length=1, description="The tool whose last result has the number.")]]
    at: NotRequired[Annotated[str, Meta(min_length=1, description="JSONPath of it in that result; `$` if not given.")]]
    context_any: NotRequired[
        Annotated[base.Phrases, Meta(description="Phrases of which at least one must be in the message too.")]
    ]
    within: NotRequired[
        Annotated[
            Literal["line", "message"] | Annotated[str, Meta(pattern=PERCENT)] | Annotated[float, Meta(gt=0)],
            Meta(description="How close to the number that phrase must be; or the tolerance: `1%`, 0.5."),
        ]
    ]


class MustGroundNumber(base.Check, Struct, frozen=True):
    """The regex is found, or the value is there as a whole number with one of its context phrases next to it."""

    name: ClassVar = "must_ground_numbers"
    group: ClassVar = Group.NUMERIC_GROUNDING
    channels: ClassVar = base.ANSWER | base.CALLS
    metric: ClassVar = "numbers"
    field: ClassVar = base.own_field(
        Annotated[list[GroundedNumber | base.Phrase | int | float], Meta(min_length=1)],
        "Numbers that the final message states: a regex, a value as a whole number, or the result of `from_tool`.",
        since="0.2",
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
        Example({"value": "442.02", "within": "1%"}, says("It is about $440."), Status.PASSED),
        Example({"value": "442.02", "within": 2}, says("It is about $439."), Status.FAILED),
        Example({"value": "1200", "within": "1%"}, says("It is 1.201."), Status.UNKNOWN),
        Example({"regex": r"RISK_SCORE:\s*[0-9]{1,3}"}, says("Risk_Score: 40"), Status.PASSED),
        Example({"regex": r"RISK_SCORE:\s*[0-9]{1,3}"}, says("The risk is high."), Status.FAILED),
        Example(
            {"from_tool": "lookup", "at": "$.total"}, lookup_trace("It is 1,240.50 in all.", 1240.5), Status.PASSED
        ),
        Example(
            {"from_tool": "lookup", "at": "$.total"}, lookup_trace("It is 1,241.50 in all.", 1240.5), Status.FAILED
        ),
        Example({"from_tool": "lookup", "at": "$.sum"}, lookup_trace("It is 12.", 12), Status.FAILED),
        Example({"from_tool": "search", "at": "$.total"}, lookup_trace("It is 12.", 12), Status.FAILED),
        Example({"from_tool": "lookup", "at": "$.total"}, calls("lookup:pending", text="It is 12."), Status.UNKNOWN),
        Example({"from_tool": "lookup"}, says("It is 12."), Status.UNKNOWN),
    )
    label: str = ""
    regex: str = ""
    value: str = ""
    from_tool: str = ""
    at: str = "$"
    context_any: tuple[str, ...] = ()
    within: str | float = "message"

    @classmethod
    def read(cls, expected: Expected) -> Iterator[base.CheckRequest]:
        for index, entry in enumerate(expected.get("must_ground_numbers", ())):
            args = dict(entry) if isinstance(entry, Mapping) else {"value": entry}
            if "value" in args:
                args["value"] = _digits(args["value"])
            yield base.CheckRequest(args, ("must_ground_numbers", index))

    @classmethod
    def lack(cls, args: Mapping[str, object]) -> str:
        return str(args.get("label") or args.get("value") or args.get("regex") or args.get("from_tool"))

    @property
    def description(self) -> str:
        label = f"{self.label}: " if self.label else ""
        if self.regex:
            return f"{label}a match of /{self.regex}/"
        number = f"what {self.from_tool} gave at {self.at}" if self.from_tool else f"the number {self.value}"
        number += f" within {self.within}" if self._has_tolerance else ""
        near = " in the same line" if self.within == "line" else ""
        context = f" with {base.quoted(self.context_any)}{near}" if self.context_any else ""
        return f"{label}{number}{context}"

    def validate(self) -> Iterator[CheckProblem]:
        if [bool(self.regex), bool(self.value), bool(self.from_tool)].count(True) != 1:
            yield CheckProblem("wrong-shape", "give either 'regex' or 'value' or 'from_tool'.")
        if self.from_tool:
            yield from nameless(self.from_tool)
            yield from path_problems(self.at, "at")
        elif self.at != "$":
            yield CheckProblem("no-effect", "'at' has no effect without 'from_tool'.", ("at",))
        if self.regex:
            yield from base.regex_problems(self.regex, "regex")
        if self.value:
            for problem in base.blank((self.value,)):
                yield problem._replace(path=("value",))
        yield from base.blank(self.context_any, "context_any")
        if self.regex and self.context_any:
            yield CheckProblem("no-effect", "context_any has no effect next to 'regex'.", ("context_any",))
        if self._has_tolerance and (self.regex or (self.value and not _is_number(self.value))):
            yield CheckProblem("wrong-shape", "a tolerance needs a number as 'value', or 'from_tool'.", ("within",))
        if self.within == "line" and not self.context_any:
            yield CheckProblem("no-effect", "'within' has no effect without context_any.", ("within",))

    @property
    def _has_tolerance(self) -> bool:
        return self.within not in ("line", "message")

    def judge(self, trace: Trace) -> CheckResult:
        text = trace.final_message
        if self.regex:
            return self.present(trace, safe_regex.find_required(self.regex, text))
        return self._judge_result(trace) if self.from_tool else self._find_value(trace, self.value)

    def _judge_result(self, trace: Trace) -> CheckResult:
        """Whether all that the tool gave there is stated."""
        tool_calls = [call for call in trace.tool_calls if call.called and is_named(self.from_tool, call.full_name)]
        ended = [call for call in tool_calls if call.result is not None]
        doubt = (
            trace.why_incomplete("tools")
            or trace.why_incomplete("tool_results")
            or not_understood(trace, (self.from_tool,))
        )
        if not ended:
            dark = f"the result of {self.from_tool} is unknown" if any(c.error is None for c in tool_calls) else None
            return self.failed_unless(doubt or dark, describe_calls(trace))
        values = [value for _, value in values_at(self.at, parse_result(ended[-1].result))]
        odd = next((value for value in values if isinstance(value, bool | dict | list) or value is None), None)
        if not values or odd is not None:
            gave = f"{self.from_tool} gave {'nothing' if not values else format_value(odd)} at {self.at}"
            return self.unknown(doubt) if doubt else self.failed(gave)
        results = [self._find_value(trace, _digits(value)) for value in values if isinstance(value, str | int | float)]
        return next((result for result in results if result.status is not Status.PASSED), results[0])

    def _find_value(self, trace: Trace, value: str) -> CheckResult:
        text = trace.final_message
        if self._has_tolerance and _is_number(value):
            return self._find_near(trace, Decimal(value))
        forms = (value, *_roundings(value)) if self.from_tool else (value,)
        tried = (ground(text, form, self.context_any, self.within == "line") for form in forms)
        grounded = next(filter(None, tried), None)
        unread = None if grounded else unread_number(text, value)
        absent = f"{value} is not stated: {base.quote_answer(trace)}" if self.from_tool else ""
        return self._unread(trace, unread) if unread else self.present(trace, grounded, absent)

    def _find_near(self, trace: Trace, wanted: Decimal) -> CheckResult:
        """Whether an amount is stated that differs from the wanted one by the tolerance at most."""
        text, within = trace.final_message, str(self.within)
        most = abs(wanted) * Decimal(within[:-1]) / 100 if within.endswith("%") else Decimal(within)
        stated = stated_numbers(text)
        near = (number.value for number in stated if not number.unread and abs(number.value - wanted) <= most)
        grounded = next(filter(None, (ground(text, format(value, "f"), self.context_any) for value in near)), None)
        doubtful = (n.span for n in stated if n.unread or (n.other and abs(n.other[0] - wanted) <= most))
        unread = None if grounded else next(doubtful, None)
        return self._unread(trace, unread) if unread else self.present(trace, grounded)

    def _unread(self, trace: Trace, span: tuple[int, int]) -> CheckResult:
        near = base.excerpt(trace.final_message[span[0] : span[1] + 20])
        return self.unknown(f"{near!r} may be another number: have the agent write it in digits")


def _is_number(value: str) -> bool:
    try:
        return Decimal(value).is_finite()
    except InvalidOperation:
        return False


def _roundings(value: str) -> list[str]:
    """A number with a long fraction as an answer may write it."""
    if not _is_number(value):
        return []
    exact = Decimal(value)
    places = -int(exact.as_tuple().exponent)
    return [f"{exact:.{shorter}f}" for shorter in (2, 1, 0) if shorter < places]


def _digits(value: str | int | float) -> str:
    """The value as an answer writes it: 1e22 is a one and 22 zeros."""
    return format(Decimal(repr(value)), "f") if isinstance(value, float) else str(value)
