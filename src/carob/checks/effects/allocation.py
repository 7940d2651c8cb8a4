"""Whether something was done, by the words of the answer and by the calls."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import ClassVar, NamedTuple

from msgspec import Struct

from carob.checks import base
from carob.checks.sample_traces import calls, says
from carob.checks.tools.names import describe_calls, not_understood
from carob.model.check import CheckProblem, Example, Expected, Field
from carob.model.trace import ToolCall, Trace
from carob.model.verdict import CheckResult, EvidenceLocation, Group, Status
from carob.text.folding import Span
from carob.text.prose.claims import is_open
from carob.text.prose.sentences import Prose, clause_before, denies, is_denied_after, prose
from carob.text.tool_names import effect_tools, is_any_named
from carob.text.words import WordLists, any_of, literal

Patterns = Mapping[str, re.Pattern[str]]
"""What finds an indicator of each kind, and of any."""


class Indicators(NamedTuple):
    """The first word of success and of failure, and the first success that is denied."""

    success: Span | None
    failure: Span | None
    denied: Span | None


def indicators(
    text: str, success: Sequence[str], failure: Sequence[str], words: WordLists, expect_success: bool
) -> Indicators:
    """What the answer says of success and failure, as far as it takes to see that it is not what is expected.

    Lists of a case, `success` and `failure`, are words as they are written; without them the word lists hold.
    """
    answer = prose(text, (*success, *failure))
    first: dict[str, Span] = {}
    for kind, span in _find_indicators(
        answer.text, _patterns(tuple(map(answer.spell, success)), tuple(map(answer.spell, failure)), words)
    ):
        verdict = _judge_success(answer, *span, words) if kind == "success" else kind
        first.setdefault(verdict, answer.written_span(*span))
        if verdict in (("failure", "denied") if expect_success else ("success",)):
            break
    return Indicators(first.get("success"), first.get("failure"), first.get("denied"))


def _judge_success(answer: Prose, start: int, end: int, words: WordLists) -> str:
    """Whether a word of success is one, or is denied or open."""
    sentence = answer.sentence_at(start, words)
    clause = clause_before(answer.text[sentence.start : start], words)
    if denies(words.pattern("neutral_indicator").sub(" ", clause), words) or is_denied_after(answer, end, words):
        return "denied"
    return "open" if is_open(answer, sentence, start, words) else "success"


def _find_indicators(text: str, patterns: Patterns) -> Iterator[tuple[str, Span]]:
    """Every indicator with its kind: of several at a place the longest."""
    match = patterns["any"].search(text)
    while match:
        start = match.start()
        here = {kind: longest for kind, pattern in patterns.items() if (longest := pattern.match(text, start))}
        kind = max((kind for kind in here if kind != "any"), key=lambda kind: here[kind].end())
        yield kind, here[kind].span()
        match = patterns["any"].search(text, here[kind].end())


@lru_cache(maxsize=256)
def _patterns(success: tuple[str, ...], failure: tuple[str, ...], words: WordLists) -> Patterns:
    kinds = {
        "neutral": any_of(words.entries("neutral_indicator")),
        "failure": literal(failure) if failure else any_of(words.entries("failure_indicator")),
        "success": literal(success) if success else any_of(words.entries("success_indicator")),
    }
    return {kind: re.compile(source) for kind, source in {**kinds, "any": "|".join(kinds.values())}.items()}


class Evidence(NamedTuple):
    """Whether a call that counts succeeded, and which; None if it is not known, with a reason where that matters."""

    succeeded: bool | None
    why: str = ""


class AllocationValid(base.Check, Struct, frozen=True):
    """The answer reports success (true) or failure (false) and nothing to the contrary, and so do the tools."""

    name: ClassVar = "allocation_valid"
    group: ClassVar = Group.DECISION
    channels: ClassVar = base.ANSWER | base.CALLS
    field: ClassVar = base.own_field(
        bool,
        "Whether it was done. true: a word of success, none of failure, a call that succeeded, and no tool of "
        "`tools_used` whose last call failed. false: a word of failure, none of success, and no successful call of "
        "such a tool (of `effects`, if declared).",
        since="0.1",
    )
    more_fields: ClassVar = (
        Field("success_indicators", base.Phrases, "Words of success, instead of the built-in ones."),
        Field("failure_indicators", base.Phrases, "Words of failure, instead of the built-in ones."),
    )
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
    def read(cls, expected: Expected) -> Iterator[base.CheckRequest]:
        if "allocation_valid" in expected:
            args = base.keep_given(expected, "success_indicators", "failure_indicators", "words")
            args = {"valid": expected["allocation_valid"], **args}
            if expected.get("tools_used"):
                args["tools"] = list(dict.fromkeys(expected["tools_used"]))
            if expected.get("effects"):
                args["effects"] = effect_tools(expected["effects"])
            yield base.CheckRequest(args, ("allocation_valid",))

    @property
    def description(self) -> str:
        if self.valid:
            return "a word of success, none of failure, and a call that succeeded"
        return "a word of failure, none of success, and no call that succeeded"

    def validate(self) -> Iterator[CheckProblem]:
        return base.unfailable(*self.success_indicators, *self.failure_indicators)

    def judge(self, trace: Trace) -> CheckResult:
        words, evidence = WordLists.of(self.words), self._evidence(trace)
        spans = indicators(trace.final_message, self.success_indicators, self.failure_indicators, words, self.valid)
        # Words of failure that a case gives are the only ones that it wants to see, but "not allocated" never helps.
        failure = spans.failure or (spans.denied if self.valid or not self.failure_indicators else None)
        good, bad = (spans.success, failure) if self.valid else (failure, spans.success)
        if bad:
            return self.failed(trace.final_message[slice(*bad)], EvidenceLocation("final_message", *bad))
        if why := base.unreadable(trace):
            return self.unknown(why)
        if evidence.succeeded is not None and evidence.succeeded is not self.valid:
            return self.failed(evidence.why)
        if good is None:
            absent = f"no word of {'success' if self.valid else 'failure'}"
            return (
                self.failed(absent)
                if self.valid or evidence.succeeded is None
                else self.unknown(f"{absent}: {base.quote_answer(trace)}")
            )
        if evidence.succeeded is None and evidence.why:
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
        failed = next(
            (call for call in last if call.success is not True and is_any_named(self.tools, call.full_name)), None
        )
        succeeded = any(call.success is True for call in (last if self.valid else counted))
        if self.valid and failed is not None:
            return Evidence(False, f"the last call to {failed.name} failed: {describe_calls(trace)}")
        if not succeeded and not self.valid and (why := not_understood(trace, self.effects or self.tools)):
            return Evidence(None, why)
        how = "a call succeeded" if succeeded else "no call that succeeded"
        return Evidence(succeeded, f"{how}: {describe_calls(trace)}")

    def _counts(self, call: ToolCall) -> bool:
        """Whether a call is evidence: of `tools_used`, and for a refusal only of a tool that changes something."""
        if not self.valid and self.effects:
            return is_any_named(self.effects, call.full_name)
        return not self.tools or is_any_named(self.tools, call.full_name)
