"""What golden sets ask: which tools were used, whether the allocation was made, which phrases stand in the answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Literal, NamedTuple

from msgspec import Struct

from karat.checks.base import (
    ALL_WORDS,
    ANSWER,
    CALLS,
    Check,
    CheckRequest,
    Phrase,
    Phrases,
    blank,
    each,
    unreadable,
)
from karat.checks.sample_traces import UNSEEN_TOOLS, calls, says
from karat.checks.says import CUT_SHORT, MustNotSay, unfailable
from karat.checks.tools import called, nameless, not_understood
from karat.model.check import CheckProblem, Example, Expected, Field
from karat.model.trace import Trace
from karat.model.verdict import CheckResult, EvidenceLocation, Group, Status
from karat.text import phrases
from karat.text.forms.offsets import Span

Match = Literal["exact", "ordered", "set", "subset", "superset"]


class ToolsUsed(Check, Struct, frozen=True):
    """The names of the tools called are those listed: exactly, or as `match` says."""

    name: ClassVar = "tools_used"
    group: ClassVar = Group.DECISION
    looks_at: ClassVar = CALLS
    fields: ClassVar = (
        Field(
            "tools_used",
            list[Phrase],
            "The tools called, each as often as listed; `[]` means none.",
        ),
        Field(
            "tools_match",
            Match,
            "How `tools_used` is compared: `exact` (any order), `ordered`, `set`, `subset` (nothing but these), "
            "`superset` (at least these).",
        ),
    )
    companions: ClassVar = {"tools_match": "tools_used"}
    examples: ClassVar = (
        Example({"tools": ["find", "book"]}, calls("book find"), Status.PASSED),
        Example({"tools": ["book"]}, calls("book book"), Status.FAILED),
        Example({"tools": []}, calls(""), Status.PASSED),
        Example({"tools": []}, calls("book"), Status.FAILED),
        Example({"tools": []}, calls("book:refused"), Status.FAILED),
        Example({"tools": ["book"]}, calls("book:refused"), Status.FAILED),
        Example({"tools": []}, calls("", telemetry=("12:00 calling tool book",)), Status.UNKNOWN),
        Example({"tools": []}, UNSEEN_TOOLS, Status.UNKNOWN),
        Example({"tools": ["find", "book"], "match": "ordered"}, calls("find book"), Status.PASSED),
        Example({"tools": ["find", "book"], "match": "ordered"}, calls("book find"), Status.FAILED),
        Example({"tools": ["find", "book"], "match": "set"}, calls("book find book"), Status.PASSED),
        Example({"tools": ["find", "book"], "match": "set"}, calls("book"), Status.FAILED),
        Example({"tools": ["find", "book"], "match": "subset"}, calls("book"), Status.PASSED),
        Example({"tools": ["find", "book"], "match": "subset"}, calls("drop"), Status.FAILED),
        Example({"tools": ["book"], "match": "superset"}, calls("find book"), Status.PASSED),
        Example({"tools": ["book"], "match": "superset"}, calls("find"), Status.FAILED),
    )
    tools: tuple[str, ...]
    match: Match = "exact"

    @classmethod
    def read(cls, expected: Mapping[str, object]) -> Iterator[CheckRequest]:
        if "tools_used" in expected:
            args = {"tools": expected["tools_used"], "match": expected.get("tools_match", "exact")}
            yield CheckRequest(args, ("tools_used",))

    @property
    def wanted(self) -> str:
        how = {"exact": "", "ordered": " in this order", "set": " any number of times"}.get(self.match)
        prefix = {"subset": "nothing but ", "superset": "at least "}.get(self.match, "")
        return f"{prefix}{', '.join(self.tools) or 'no tool call'}{how or ''}"

    def flaws(self) -> Iterator[CheckProblem]:
        if self.match == "superset" and not self.tools:
            yield CheckProblem("empty-expectation", "every run calls at least no tool: name one, or drop tools_match.")
        yield from nameless(*self.tools)
        for tool in self.tools:
            if "*" in tool:
                message = (
                    f"tools_used lists tools exactly, and {tool!r} names several. Use tool_calls_any or max_calls."
                )
                yield CheckProblem("wildcard", message)

    def judge(self, trace: Trace) -> CheckResult:
        why = trace.doubt("tools") or not_understood(trace)
        if why:
            return self.unknown(why)
        names = [c.name for c in trace.tool_calls if c.called]
        listed_alone = {c.name for c in trace.tool_calls} <= set(self.tools)
        holds = {
            "exact": lambda: listed_alone and Counter(names) == Counter(self.tools),
            "ordered": lambda: listed_alone and names == list(self.tools),
            "set": lambda: listed_alone and set(names) == set(self.tools),
            "subset": lambda: listed_alone,
            "superset": lambda: Counter(self.tools) <= Counter(names),
        }[self.match]()
        return self.passed(called(trace)) if holds else self.failed(called(trace))


class Evidence(NamedTuple):
    """Whether a call that counts succeeded; None if nobody saw it, with a reason where that leaves a doubt."""

    done: bool | None
    doubt: str = ""


class AllocationValid(Check, Struct, frozen=True):
    """The answer tells of success (true) or of failure (false) and of nothing to the contrary, and so do the tools."""

    name: ClassVar = "allocation_valid"
    group: ClassVar = Group.DECISION
    looks_at: ClassVar = ANSWER | CALLS
    fields: ClassVar = (
        Field(
            "allocation_valid",
            bool,
            "Whether it was done: true needs a word of success, none of failure and a call that succeeded (of "
            "`tools_used` if given); false needs no word of success, and a word of failure unless no call succeeded.",
        ),
        Field("success_indicators", Phrases, "Words of success, in place of the built-in ones."),
        Field("failure_indicators", Phrases, "Words of failure, in place of the built-in ones."),
    )
    companions: ClassVar = {"success_indicators": "allocation_valid", "failure_indicators": "allocation_valid"}
    examples: ClassVar = (
        Example({"valid": True}, says("Order 42 was allocated to Anna."), Status.PASSED),
        Example({"valid": True}, says("Order not found."), Status.FAILED),
        Example({"valid": True}, says("Order 42 has not been allocated."), Status.FAILED),
        Example({"valid": True}, says("No issues were found. Order 42 is allocated."), Status.PASSED),
        Example({"valid": True}, says("I looked at the list."), Status.FAILED),
        Example({"valid": True}, says("Allocated, but order 4 failed."), Status.FAILED),
        Example({"valid": True}, says("Shall I have it booked?"), Status.FAILED),
        Example({"valid": True}, calls("book:ok", text="Booked."), Status.PASSED),
        Example({"valid": True}, calls("book:failed", text="Booked."), Status.FAILED),
        Example({"valid": True}, calls("", text="All tables are booked."), Status.FAILED),
        Example({"valid": True}, calls("book:pending", text="Booked."), Status.UNKNOWN),
        Example({"valid": True, "tools": ["book"]}, calls("find:ok", text="Booked."), Status.FAILED),
        Example({"valid": False}, says("The room is unavailable."), Status.PASSED),
        Example({"valid": False}, says("Booked."), Status.FAILED),
        Example({"valid": False}, says("I looked at the list."), Status.FAILED),
        Example({"valid": True}, says("All tables are booked."), Status.FAILED),
        Example({"valid": False}, says("All tables are booked."), Status.PASSED),
        Example({"valid": False}, calls("book:failed", text="It is over the limit."), Status.PASSED),
        Example({"valid": False}, calls("book:ok", text="It is over the limit."), Status.FAILED),
        Example({"valid": True, "success_indicators": ["granted"]}, says("Booked."), Status.FAILED),
    )
    valid: bool
    success_indicators: tuple[str, ...] = ()
    failure_indicators: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()

    @classmethod
    def read(cls, expected: Expected) -> Iterator[CheckRequest]:
        if "allocation_valid" in expected:
            lists = ("success_indicators", "failure_indicators")
            args = {"valid": expected["allocation_valid"], **{k: expected[k] for k in lists if k in expected}}
            if expected.get("tools_used"):
                args["tools"] = list(dict.fromkeys(expected["tools_used"]))
            yield CheckRequest(args, ("allocation_valid",))

    @property
    def wanted(self) -> str:
        if self.valid:
            return "a word of success, none of failure, and a call that succeeded"
        return "a word of failure or no call that succeeded, and no word of success"

    def flaws(self) -> Iterator[CheckProblem]:
        for phrase in (*blank(self.success_indicators), *blank(self.failure_indicators)):
            yield phrase._replace(path=())

    def judge(self, trace: Trace) -> CheckResult:
        evidence = self._evidence(trace)
        told = self._told(trace.final_message, evidence.done is True)
        bad = told.get("failure" if self.valid else "success")
        if bad:
            return self.failed(trace.final_message[slice(*bad)], EvidenceLocation("final_message", *bad))
        why = unreadable(trace)
        if why:
            return self.unknown(why)
        good = told.get("success" if self.valid else "failure")
        if self.valid:
            return self._allocated(trace, good, evidence)
        return self._words(trace, good) if good else self._refused(trace, evidence)

    def _allocated(self, trace: Trace, good: Span | None, evidence: Evidence) -> CheckResult:
        if good is None:
            return self.failed("no word of success")
        if evidence.done is False:
            return self.failed(f"no call that succeeded: {called(trace)}")
        return self.unknown(evidence.doubt) if evidence.doubt else self._words(trace, good)

    def _refused(self, trace: Trace, evidence: Evidence) -> CheckResult:
        if evidence.done is False:
            return self.passed(f"no call that succeeded: {called(trace)}")
        return self.unknown(evidence.doubt) if evidence.doubt else self.failed("no word of failure")

    def _words(self, trace: Trace, span: Span) -> CheckResult:
        return self.passed(trace.final_message[slice(*span)], EvidenceLocation("final_message", *span))

    def _evidence(self, trace: Trace) -> Evidence:
        if trace.doubt("tools"):
            return Evidence(None)
        counted = [call for call in trace.tool_calls if not self.tools or call.name in self.tools]
        if any(call.success is True for call in counted):
            return Evidence(True)
        untold = next((call for call in counted if call.open), None)
        if untold is None:
            return Evidence(False)
        names_alone = trace.unseen("tool_results")
        return Evidence(None, "" if names_alone else f"nothing says whether {untold.name} succeeded")

    def _told(self, text: str, done: bool) -> Mapping[Any, Span]:
        # Its patterns take longer to load than all other checks together, and few suites ask for them.
        from karat.checks.indicators import FAILURE, SUCCESS, indicators

        # Words of failure that a suite gives are the only ones that it wants to see, but "not allocated" never helps.
        told = indicators(
            text,
            self.success_indicators or SUCCESS,
            self.failure_indicators or FAILURE,
            "failure" if self.valid or not self.failure_indicators else "neutral",
        )
        # "It will be booked" is no success, unless a call says that it is.
        if done and "open" in told and self.valid:
            told.setdefault("success", told["open"])
        if "used up" in told:
            told.setdefault("success" if done else "failure", told["used up"])
        return told


class _Contains(Check):
    """A phrase that must stand in the final message."""

    __slots__ = ()

    phrase: str

    @classmethod
    def read(cls, expected: Expected) -> Iterator[CheckRequest]:
        return each(cls.name, "phrase", expected)

    @property
    def wanted(self) -> str:
        return repr(self.phrase)

    def flaws(self) -> Iterator[CheckProblem]:
        return unfailable(self.phrase)

    def judge(self, trace: Trace) -> CheckResult:
        return self.present(trace, phrases.find(trace.final_message, self.phrase))


class ReasonContains(_Contains, Struct, frozen=True):
    """The phrase stands in the final message."""

    name: ClassVar = "reason_contains"
    group: ClassVar = Group.DECISION
    looks_at: ClassVar = ANSWER
    fields: ClassVar = (Field("reason_contains", Phrases, "Each phrase stands in the final message."),)
    examples: ClassVar = (
        Example({"phrase": "requested window"}, says("Allocated in Requested  Window."), Status.PASSED),
        Example({"phrase": "requested window"}, says("Allocated with backup shift."), Status.FAILED),
    )
    phrase: str


class ExpectedContains(_Contains, Struct, frozen=True):
    """The phrase stands in the final message."""

    name: ClassVar = "expected_contains"
    group: ClassVar = Group.QA
    looks_at: ClassVar = ANSWER
    fields: ClassVar = (Field("expected_contains", Phrases, "Each phrase stands in the final message.", in_case=True),)
    examples: ClassVar = (
        Example({"phrase": "supported_drives"}, says("It depends on SUPPORTED_DRIVES."), Status.PASSED),
        Example({"phrase": "supported_drives"}, says("It depends."), Status.FAILED),
    )
    phrase: str


class MustNotContain(MustNotSay, frozen=True):
    """The phrase does not stand in the final message."""

    name: ClassVar = "must_not_contain"
    forbids: ClassVar = True
    group: ClassVar = Group.QA
    looks_at: ClassVar = ALL_WORDS
    fields: ClassVar = (
        Field("must_not_contain", Phrases, "None of these phrases stands in the final message.", in_case=True),
    )
    examples: ClassVar = (
        Example({"phrase": "guess"}, says("It depends on the drives."), Status.PASSED),
        Example({"phrase": "guess"}, says("My guess is dyno 3."), Status.FAILED),
        Example({"phrase": "guess"}, CUT_SHORT, Status.UNKNOWN),
    )
