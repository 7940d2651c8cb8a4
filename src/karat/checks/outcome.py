"""How the turn came out as a whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import ClassVar, Literal, NamedTuple

import regex
from msgspec import Struct

from karat.checks.base import ANSWER, CALLS, PAGE, Check, CheckRequest, excerpt, quoted, said, unreadable, unsure
from karat.checks.page import added_pickers
from karat.checks.sample_traces import UNSEEN_TOOLS, calls, says, shows
from karat.checks.tools import called, not_understood
from karat.model.check import Example, Field
from karat.model.trace import ToolCall, Trace
from karat.model.verdict import CheckResult, EvidenceLocation, Group, Status
from karat.text.forms.views import seen
from karat.text.regexes import lazy
from karat.text.tool_names import is_any_named

Name = Literal["tool_success", "tool_started", "needs_input", "graceful_block", "graceful_error", "response_only"]

SHOWN = frozenset({"tool_success", "tool_started"})
"""Outcomes that a call shows, whatever else was called and not seen."""
NOT_DONE = frozenset({"needs_input", "graceful_block", "graceful_error"})
IN_WORDS = NOT_DONE | {"response_only"}
_IN_WORDS = lazy.regex(r"[\p{L}\p{N}--[\u115f\u1160\u3164\uffa0]]", regex.V1)


class Found(NamedTuple):
    """Whether the outcome holds (None: nobody can tell), what was found, and where."""

    holds: bool | None
    found: str
    at: EvidenceLocation | None = None


class Outcome(Check, Struct, frozen=True):
    """The turn ended as expected; those outcomes that are told in words need words that a reader sees."""

    name: ClassVar = "outcome"
    group: ClassVar = Group.TOOL_HYGIENE
    looks_at: ClassVar = ANSWER | CALLS | PAGE
    always: ClassVar = True
    fields: ClassVar = (Field("outcome", Name, "How the turn must end; `response_only` if not given."),)
    examples: ClassVar = (
        Example({"outcome": "response_only"}, says("Hello."), Status.PASSED),
        Example({"outcome": "response_only"}, says(" \n"), Status.FAILED),
        Example({"outcome": "response_only"}, says("\u200b\u2800"), Status.FAILED),
        Example({"outcome": "response_only"}, says("<!-- Hello. -->"), Status.FAILED),
        Example({"outcome": "tool_success", "tools": ["book"]}, calls("find:failed book:ok"), Status.PASSED),
        Example({"outcome": "tool_success", "tools": ["book"]}, calls("find:ok book:failed"), Status.FAILED),
        Example({"outcome": "tool_success"}, calls("book:ok", text=""), Status.PASSED),
        Example({"outcome": "tool_success"}, UNSEEN_TOOLS, Status.UNKNOWN),
        Example({"outcome": "tool_started", "tools": ["book"]}, calls("book:pending", text=""), Status.PASSED),
        Example({"outcome": "tool_started", "tools": ["book"]}, calls("find:ok"), Status.FAILED),
        Example({"outcome": "tool_started", "tools": ["book"]}, calls("book:refused"), Status.FAILED),
        Example({"outcome": "tool_success", "tools": ["book"]}, calls("book:pending"), Status.UNKNOWN),
        Example({"outcome": "needs_input"}, calls("book:missing=date", text="I need a date."), Status.PASSED),
        Example({"outcome": "needs_input"}, calls("", text="Which day?"), Status.PASSED),
        Example(
            {"outcome": "needs_input"}, shows('- radiogroup "Pick a repository"', text="One moment."), Status.PASSED
        ),
        Example({"outcome": "tool_success"}, calls("book:ok", unobserved={"tools": "some"}), Status.PASSED),
        Example({"outcome": "tool_success"}, calls("book:failed", unobserved={"tools": "some"}), Status.UNKNOWN),
        Example({"outcome": "graceful_block"}, calls("book:failed", unobserved={"tools": "some"}), Status.UNKNOWN),
        Example({"outcome": "needs_input"}, calls("", text="Done."), Status.FAILED),
        Example({"outcome": "needs_input"}, calls("", text="I see. Anything else?"), Status.FAILED),
        Example({"outcome": "needs_input"}, calls("", text="Booked! Which day is next?"), Status.FAILED),
        Example({"outcome": "needs_input"}, calls("book:ok", text="Which day?"), Status.FAILED),
        Example({"outcome": "needs_input"}, calls("book:pending", text="Which day?"), Status.UNKNOWN),
        Example({"outcome": "needs_input"}, calls("book:waiting", text="Shall I?"), Status.PASSED),
        Example({"outcome": "graceful_block"}, calls("book:failed", text="I may not do that."), Status.PASSED),
        Example({"outcome": "graceful_block"}, calls("book:crashed", text="I may not do that."), Status.FAILED),
        Example({"outcome": "graceful_block"}, calls("find:ok", text="I may not do that."), Status.FAILED),
        Example({"outcome": "graceful_block"}, calls("find:pending", text="I may not do that."), Status.UNKNOWN),
        Example({"outcome": "graceful_block"}, calls("", text="Deleted, as you wished."), Status.FAILED),
        Example({"outcome": "graceful_error"}, calls("book:crashed", text="The booking failed."), Status.PASSED),
        Example({"outcome": "graceful_error"}, calls("book:failed book:ok", text="Booked."), Status.FAILED),
        Example({"outcome": "graceful_error"}, calls("book:crashed", text="Booked, all fine!"), Status.FAILED),
        Example({"outcome": "graceful_error"}, calls("", text="The booking failed."), Status.FAILED),
        Example({"outcome": "graceful_error"}, calls("book:failed book:pending", text="Sorry."), Status.UNKNOWN),
    )
    outcome: Name
    tools: tuple[str, ...] = ()

    @classmethod
    def read(cls, expected: Mapping[str, object]) -> Iterator[CheckRequest]:
        outcome = expected.get("outcome", "response_only")
        tools = expected.get("tool_calls_any", []) if outcome not in ("response_only", "graceful_block") else []
        yield CheckRequest({"outcome": outcome, "tools": tools} if tools else {"outcome": outcome}, ("outcome",))

    @property
    def wanted(self) -> str:
        return f"{self.outcome} of {quoted(self.tools)}" if self.tools else self.outcome

    def judge(self, trace: Trace) -> CheckResult:
        if self.outcome in IN_WORDS and not _answered(trace.final_message):
            why = unreadable(trace)
            return self.unknown(why) if why else self.failed("no words that a reader sees")
        if self.outcome == "response_only":
            return self.passed()
        listed = [c for c in trace.tool_calls if c.called and (not self.tools or is_any_named(self.tools, c.name))]
        found = OUTCOMES[self.outcome](trace, listed)
        why = trace.doubt("tools")
        if why and not (found.holds and self.outcome in SHOWN):
            return self.unknown(why)
        if found.holds is not False and self.outcome in NOT_DONE:
            found = _claimed(trace, self.tools) or found
        if found.holds is not (self.outcome in SHOWN):
            why = not_understood(trace, self.tools)
            if why:
                return self.unknown(why)
        if found.holds is None:
            return self.unknown(found.found)
        return self.passed(found.found, found.at) if found.holds else self.failed(found.found, found.at)


def _claimed(trace: Trace, tools: Sequence[str]) -> Found | None:
    """A claim of success that no tool bears out: of anything if nothing succeeded, else of what the tools are for."""
    from karat.text.prose.claims import claim, claim_of

    succeeded = {call.name for call in trace.tool_calls if call.success is True}
    names = set(tools or (call.name for call in trace.tool_calls)) - succeeded
    span = (claim_of if succeeded else claim)(trace.final_message, names)
    if span is None:
        return None
    return Found(
        False, f"it claims {excerpt(trace.final_message[slice(*span)])!r}", EvidenceLocation("final_message", *span)
    )


def _answered(text: str) -> bool:
    first = text[:1]
    return (first.isascii() and first.isalnum()) or _IN_WORDS.search(seen(text).text) is not None


def tool_success(trace: Trace, listed: Sequence[ToolCall]) -> Found:
    call = next((c for c in listed if c.success is True), None)
    return _call_found(trace, call) if call else _untold(listed) or Found(False, called(trace))


def tool_started(trace: Trace, listed: Sequence[ToolCall]) -> Found:
    call = next((c for c in listed if c.started), None)
    return _call_found(trace, call) if call else Found(False, called(trace))


def needs_input(trace: Trace, listed: Sequence[ToolCall]) -> Found:
    success = tool_success(trace, listed)
    if success.holds:
        return success._replace(holds=False)
    asked = _asked(trace)
    if not asked.holds:
        return asked
    return _untold(listed) or asked


def _asked(trace: Trace) -> Found:
    from karat.text.prose.questions import asked

    lacking = next((c for c in trace.tool_calls if c.called and c.success is False and c.missing_fields), None)
    if lacking:
        return _call_found(trace, lacking, f"{lacking.name} lacks {', '.join(lacking.missing_fields)}")
    question = asked(trace.final_message)
    if question:
        doubt = unsure(trace, [question])
        return Found(None, doubt) if doubt else Found(True, "a question", EvidenceLocation("final_message", *question))
    picker = added_pickers(trace)
    if picker:
        return Found(True, picker, EvidenceLocation("page"))
    why = trace.cut("final_message") or trace.doubt("page")
    return Found(None, why) if why else Found(False, f"no question: {said(trace)}")


def graceful_block(trace: Trace, listed: Sequence[ToolCall]) -> Found:
    bad = next((c for c in trace.tool_calls if c.called and (c.success is True or c.error is not None)), None)
    if bad:
        return _call_found(trace, bad)._replace(holds=False)
    return _untold(trace.tool_calls) or Found(True, called(trace))


def graceful_error(trace: Trace, listed: Sequence[ToolCall]) -> Found:
    last = {c.name: c for c in listed}
    failed = [c for c in listed if c.success is False or c.error is not None]
    unmended = [c for c in failed if last[c.name].success is not True]
    if not unmended:
        return Found(False, called(trace))
    sure = next((c for c in unmended if not last[c.name].open), None)
    return _call_found(trace, sure) if sure else _untold([last[c.name] for c in unmended]) or Found(False, "")


def _untold(calls: Sequence[ToolCall]) -> Found | None:
    """What is to be said of calls of which nobody can tell whether they succeeded."""
    call = next((c for c in calls if c.open), None)
    return Found(None, f"nothing says whether {call.name} succeeded") if call else None


def _call_found(trace: Trace, call: ToolCall, found: str = "") -> Found:
    index = next(i for i, c in enumerate(trace.tool_calls) if c is call)
    return Found(True, found or str(call), EvidenceLocation("tool_calls", index=index))


OUTCOMES: dict[str, Callable[[Trace, Sequence[ToolCall]], Found]] = {
    "tool_success": tool_success,
    "tool_started": tool_started,
    "needs_input": needs_input,
    "graceful_block": graceful_block,
    "graceful_error": graceful_error,
    "response_only": lambda trace, listed: Found(True, ""),
}
