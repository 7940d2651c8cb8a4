"""What golden sets ask: which tools were used, whether the allocation was made, which phrases are in the answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import ClassVar, Literal, NamedTuple

from msgspec import Struct

from karat.checks.base import (
    ALL_WORDS,
    ANSWER,
    CALLS,
    Check,
    CheckRequest,
    Phrase,
    Phrases,
    quote_answer,
    quote_without,
    unreadable,
)
from karat.checks.indicators import indicators
from karat.checks.reading import keep_given, read_each
from karat.checks.sample_traces import UNSEEN_TOOLS, calls, says
from karat.checks.says import CUT_SHORT, MustNotSay, unfailable
from karat.checks.tools import describe_calls, nameless, not_understood
from karat.model.check import CheckProblem, Example, Expected, Field
from karat.model.trace import ToolCall, Trace
from karat.model.verdict import CheckResult, EvidenceLocation, Group, Status
from karat.text import phrases
from karat.text.tool_names import effect_tools, is_any_named
from karat.text.words import WordLists

Match = Literal["exact", "ordered", "set", "subset", "superset"]


class ToolsUsed(Check, Struct, frozen=True):
    """The names of the tools called are those listed: exactly, or as `match` says."""

    name: ClassVar = "tools_used"
    group: ClassVar = Group.DECISION
    channels: ClassVar = CALLS
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
    def description(self) -> str:
        how = {"exact": "", "ordered": " in this order", "set": " any number of times"}.get(self.match)
        prefix = {"subset": "nothing but ", "superset": "at least "}.get(self.match, "")
        return f"{prefix}{', '.join(self.tools) or 'no tool call'}{how or ''}"

    def validate(self) -> Iterator[CheckProblem]:
        if self.match == "superset" and not self.tools:
            yield CheckProblem("empty-expectation", "this passes for every run: name a tool, or remove tools_match.")
        yield from nameless(*self.tools)
        for tool in self.tools:
            if "*" in tool:
                message = (
                    f"tools_used needs exact tool names, and {tool!r} names several. Use tool_calls_any or max_calls."
                )
                yield CheckProblem("wildcard", message)

    def judge(self, trace: Trace) -> CheckResult:
        why = trace.why_incomplete("tools") or not_understood(trace)
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
        return self.passed(describe_calls(trace)) if holds else self.failed(describe_calls(trace))

    def compared_values(self, trace: Trace) -> tuple[object, object] | None:
        names, tools = [call.name for call in trace.tool_calls], list(self.tools)
        if self.match == "exact":
            return sorted(names), sorted(tools)
        return (names, tools) if self.match == "ordered" else None


class Evidence(NamedTuple):
    """Whether a call that counts succeeded, and which; None if it is not known, with a reason where that matters."""

    done: bool | None
    why: str = ""


class AllocationValid(Check, Struct, frozen=True):
    """The answer reports success (true) or failure (false) and nothing to the contrary, and so do the tools."""

    name: ClassVar = "allocation_valid"
    group: ClassVar = Group.DECISION
    channels: ClassVar = ANSWER | CALLS
    fields: ClassVar = (
        Field(
            "allocation_valid",
            bool,
            "Whether it was done. true: a word of success, none of failure, a call that succeeded, and no tool of "
            "`tools_used` whose last call failed. false: a word of failure, none of success, and no successful call of "
            "such a tool (of `effects`, if declared).",
        ),
        Field("success_indicators", Phrases, "Words of success, instead of the built-in ones."),
        Field("failure_indicators", Phrases, "Words of failure, instead of the built-in ones."),
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
        Example({"valid": True, "tools": ["a", "b"]}, calls("a:ok b:failed", text="Booked."), Status.FAILED),
        Example({"valid": False}, calls("book:ok", text="It is unavailable."), Status.FAILED),
        Example({"valid": False, "effects": ["book"]}, calls("find:ok", text="It is unavailable."), Status.PASSED),
        Example({"valid": True}, calls("book:pending", text="Booked."), Status.UNKNOWN),
        Example({"valid": True, "tools": ["book"]}, calls("find:ok", text="Booked."), Status.FAILED),
        Example({"valid": False}, says("The room is unavailable."), Status.PASSED),
        Example({"valid": False}, says("Booked."), Status.FAILED),
        Example({"valid": False}, says("I looked at the list."), Status.FAILED),
        Example({"valid": True}, says("All tables are fully booked."), Status.FAILED),
        Example({"valid": False}, says("All tables are fully booked."), Status.PASSED),
        Example({"valid": False}, calls("book:failed", text="It is over the limit."), Status.UNKNOWN),
        Example({"valid": False}, calls("book:ok", text="It is over the limit."), Status.FAILED),
        Example({"valid": True, "success_indicators": ["granted"]}, says("Booked."), Status.FAILED),
    )
    valid: bool
    success_indicators: tuple[str, ...] = ()
    failure_indicators: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    effects: tuple[str, ...] = ()
    words: dict[str, tuple[str, ...]] = {}

    @classmethod
    def read(cls, expected: Expected) -> Iterator[CheckRequest]:
        if "allocation_valid" in expected:
            args = keep_given(expected, "success_indicators", "failure_indicators", "words")
            args = {"valid": expected["allocation_valid"], **args}
            if expected.get("tools_used"):
                args["tools"] = list(dict.fromkeys(expected["tools_used"]))
            if expected.get("effects"):
                args["effects"] = effect_tools(expected["effects"])
            yield CheckRequest(args, ("allocation_valid",))

    @property
    def description(self) -> str:
        if self.valid:
            return "a word of success, none of failure, and a call that succeeded"
        return "a word of failure, none of success, and no call that succeeded"

    def validate(self) -> Iterator[CheckProblem]:
        return unfailable(*self.success_indicators, *self.failure_indicators)

    def judge(self, trace: Trace) -> CheckResult:
        words, evidence = WordLists.of(self.words), self._evidence(trace)
        found = indicators(trace.final_message, self.success_indicators, self.failure_indicators, words, self.valid)
        # "It will be booked" is a word of success where a call says that it was.
        success = found.success or (found.open if self.valid and evidence.done else None)
        # Words of failure that a case gives are the only ones that it wants to see, but "not allocated" never helps.
        failure = found.failure or (found.denied if self.valid or not self.failure_indicators else None)
        good, bad = (success, failure) if self.valid else (failure, success)
        if bad:
            return self.failed(trace.final_message[slice(*bad)], EvidenceLocation("final_message", *bad))
        why = unreadable(trace)
        if why:
            return self.unknown(why)
        if evidence.done is not None and evidence.done is not self.valid:
            return self.failed(evidence.why)
        if good is None:
            absent = f"no word of {'success' if self.valid else 'failure'}"
            return (
                self.failed(absent)
                if self.valid or evidence.done is None
                else self.unknown(f"{absent}: {quote_answer(trace)}")
            )
        if evidence.done is None and evidence.why:
            return self.unknown(evidence.why)
        return self.passed(trace.final_message[slice(*good)], EvidenceLocation("final_message", *good))

    def _evidence(self, trace: Trace) -> Evidence:
        if trace.why_incomplete("tools"):
            return Evidence(None)
        counted = [call for call in trace.tool_calls if call.called and self._counts(call)]
        last = {call.name: call for call in counted}.values()
        unsettled = next((call for call in last if call.has_unknown_outcome), None)
        if unsettled is not None:
            names_alone = trace.why_unobserved("tool_results")
            return Evidence(None, "" if names_alone else f"it is unknown whether {unsettled.name} succeeded")
        failed = next((call for call in last if call.success is not True and call.name in self.tools), None)
        succeeded = any(call.success is True for call in (last if self.valid else counted))
        if self.valid and failed is not None:
            return Evidence(False, f"the last call to {failed.name} failed: {describe_calls(trace)}")
        how = "a call succeeded" if succeeded else "no call that succeeded"
        return Evidence(succeeded, f"{how}: {describe_calls(trace)}")

    def _counts(self, call: ToolCall) -> bool:
        """Whether a call is evidence: of `tools_used`, and for a refusal only of a tool that changes something."""
        if not self.valid and self.effects:
            return is_any_named(self.effects, call.name)
        return not self.tools or call.name in self.tools


class _Contains(Check):
    """A phrase that must be in the final message."""

    __slots__ = ()

    phrase: str

    read = read_each("phrase")

    @property
    def description(self) -> str:
        return repr(self.phrase)

    def validate(self) -> Iterator[CheckProblem]:
        return unfailable(self.phrase)

    def judge(self, trace: Trace) -> CheckResult:
        found = phrases.find(trace.final_message, self.phrase)
        return self.present(trace, found, quote_without(trace, (self.phrase,)) if found is None else "")


class ReasonContains(_Contains, Struct, frozen=True):
    """The phrase is in the final message."""

    name: ClassVar = "reason_contains"
    failure: ClassVar = ("", "did not say ")
    group: ClassVar = Group.DECISION
    channels: ClassVar = ANSWER
    fields: ClassVar = (Field("reason_contains", Phrases, "Each phrase is in the final message."),)
    examples: ClassVar = (
        Example({"phrase": "requested window"}, says("Allocated in Requested  Window."), Status.PASSED),
        Example({"phrase": "requested window"}, says("Allocated with backup shift."), Status.FAILED),
    )
    phrase: str


class ExpectedContains(_Contains, Struct, frozen=True):
    """The phrase is in the final message."""

    name: ClassVar = "expected_contains"
    failure: ClassVar = ("", "did not say ")
    group: ClassVar = Group.QA
    channels: ClassVar = ANSWER
    fields: ClassVar = (Field("expected_contains", Phrases, "Each phrase is in the final message.", in_case=True),)
    examples: ClassVar = (
        Example({"phrase": "supported_drives"}, says("It depends on SUPPORTED_DRIVES."), Status.PASSED),
        Example({"phrase": "supported_drives"}, says("It depends."), Status.FAILED),
    )
    phrase: str


class MustNotContain(MustNotSay, frozen=True):
    """The phrase is not in the final message."""

    name: ClassVar = "must_not_contain"
    forbids: ClassVar = True
    group: ClassVar = Group.QA
    channels: ClassVar = ALL_WORDS
    fields: ClassVar = (
        Field("must_not_contain", Phrases, "None of these phrases is in the final message.", in_case=True),
    )
    examples: ClassVar = (
        Example({"phrase": "guess"}, says("It depends on the drives."), Status.PASSED),
        Example({"phrase": "guess"}, says("My guess is dyno 3."), Status.FAILED),
        Example({"phrase": "guess"}, CUT_SHORT, Status.UNKNOWN),
    )
