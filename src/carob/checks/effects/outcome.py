"""How the turn came out as a whole."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Literal, NamedTuple

import regex
from msgspec import Struct, structs

from carob.checks import base
from carob.checks.answer.phrases import AsksFor, MustSayAny
from carob.checks.page.snapshot import find_pickers
from carob.checks.sample_traces import UNSEEN_TOOLS, calls, says, shows
from carob.checks.tools.names import describe_calls, not_understood
from carob.model.check import Example, Expected
from carob.model.trace import BY_ITSELF, ToolCall, Trace
from carob.model.verdict import CheckResult, EvidenceLocation, Group, Status
from carob.providers.base import ending_of
from carob.text.phrases import find_required
from carob.text.prose.asking import find_request
from carob.text.prose.sentences import find_listed, is_word_conditional
from carob.text.regexes import lazy
from carob.text.tool_names import effect_tools, is_any_named, is_same_tool
from carob.text.views import rendered_view
from carob.text.words import WordLists

Name = Literal[
    "tool_success", "tool_started", "needs_input", "graceful_block", "graceful_error", "response_only", "completed"
]

SHOWN = frozenset({"tool_success", "tool_started"})
"""Outcomes that a call shows, whatever else was called and not seen."""
NOT_DONE = frozenset({"needs_input", "graceful_block", "graceful_error"})
IN_WORDS = frozenset({"graceful_block", "graceful_error", "response_only"})
CONFIRMED = {"graceful_block": "refusal", "graceful_error": "failure"}
"""Outcomes that words confirm, and the list of those words."""
WAITS = "interrupts"
"""Where the metadata of a turn says why the model stopped, and what waits for the user."""

_IN_WORDS = lazy.regex(r"[\p{L}\p{N}\p{Extended_Pictographic}--[\u115f\u1160\u3164\uffa0]]", regex.V1)


class Judgement(NamedTuple):
    """Whether the outcome holds (None: unknown), what was found, and where."""

    holds: bool | None
    detail: str
    at: EvidenceLocation | None = None


class Outcome(base.Check, Struct, frozen=True, dict=True):
    """The turn ended as expected: calls decide, and literal words confirm, those of the author or of a word list."""

    name: ClassVar = "outcome"
    group: ClassVar = Group.TOOL_HYGIENE
    channels: ClassVar = base.ANSWER | base.CALLS | base.PAGE | {"input", "metadata", "ended_by"}
    always: ClassVar = True
    field: ClassVar = base.own_field(Name, "How the turn must end; `response_only` if not given.", since="0.1")
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
        Example({"outcome": "tool_success", "tools": ["book_*"]}, calls("book_slot:ok"), Status.PASSED),
        Example({"outcome": "tool_success"}, calls("book:ok book:failed"), Status.FAILED),
        Example({"outcome": "completed"}, calls("book:failed", text=""), Status.PASSED),
        Example({"outcome": "completed"}, says("Monday:", ended_by="max_turns"), Status.FAILED),
        Example({"outcome": "completed"}, says("Monday:", metadata={"finish_reason": "length"}), Status.FAILED),
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
        Example({"outcome": "needs_input"}, calls("", text="Please confirm if you would like to."), Status.PASSED),
        Example({"outcome": "needs_input", "tools": ["book"]}, calls("find:ok", text="Which day?"), Status.PASSED),
        Example({"outcome": "needs_input"}, calls("book:ok", text="Which day?"), Status.FAILED),
        Example({"outcome": "needs_input"}, calls("book:pending", text="Which day?"), Status.UNKNOWN),
        Example({"outcome": "needs_input"}, calls("book:waiting", text="Shall I?"), Status.PASSED),
        Example({"outcome": "graceful_block"}, calls("book:failed", text="I may not do that."), Status.PASSED),
        Example({"outcome": "graceful_block"}, calls("book:crashed", text="I may not do that."), Status.PASSED),
        Example({"outcome": "graceful_block"}, calls("find:ok", text="I may not do that."), Status.FAILED),
        Example({"outcome": "graceful_block"}, calls("find:pending", text="I may not do that."), Status.UNKNOWN),
        Example({"outcome": "graceful_block"}, calls("", text="Deleted, as you wished."), Status.FAILED),
        Example(
            {"outcome": "graceful_block", "says": {"must_say_any": ["18 and over"]}},
            calls("", text="Wine is for guests of 18 and over."),
            Status.PASSED,
        ),
        Example(
            {"outcome": "graceful_block", "tools": ["book"]},
            calls("book:ok book:failed", text="I may not."),
            Status.FAILED,
        ),
        Example(
            {"outcome": "needs_input", "tools": ["book"]}, calls("functions.Book:ok", text="Which day?"), Status.FAILED
        ),
        Example({"outcome": "graceful_error"}, calls("book:crashed", text="The booking failed."), Status.PASSED),
        Example({"outcome": "graceful_error"}, calls("book:failed book:ok", text="Booked."), Status.FAILED),
        Example({"outcome": "graceful_error"}, calls("book:crashed", text="Booked, all fine!"), Status.FAILED),
        Example(
            {"outcome": "graceful_error", "tools": ["book"]},
            calls("find:failed", text="I cannot find it."),
            Status.PASSED,
        ),
        Example(
            {"outcome": "graceful_error", "tools": ["find", "book"], "failing": ["find"]},
            calls("find:ok log:failed", text="It failed."),
            Status.FAILED,
        ),
        Example({"outcome": "graceful_error"}, calls("", text="The booking failed."), Status.FAILED),
        Example({"outcome": "graceful_error"}, calls("book:failed book:pending", text="It failed."), Status.UNKNOWN),
    )
    outcome: Name
    tools: tuple[str, ...] = ()
    """The listed tools: those of `tool_calls_any`, and for outcomes in which nothing is done those of `effects` too."""
    failing: tuple[str, ...] = ()
    """The tools one of which failed, where the author names some: `tool_calls_any` with `graceful_error`."""
    says: dict[str, Any] = {}
    """The fields of the same turn by which the author says what the answer holds."""
    words: dict[str, tuple[str, ...]] = {}
    deeds: tuple[str, ...] = ()
    """The words that claim an effect: to deny one of them admits that it failed."""

    @classmethod
    def read(cls, expected: Expected) -> Iterator[base.CheckRequest]:
        outcome = expected.get("outcome", "response_only")
        effects = expected.get("effects", {})
        args: dict[str, Any] = {"outcome": outcome}
        if outcome in SHOWN | NOT_DONE:
            named = expected.get("tool_calls_any") or []
            # Naming one tool never excuses another, so that the effects stay listed.
            args["tools"] = [*dict.fromkeys((*named, *(effect_tools(effects) if outcome in NOT_DONE else ())))]
            args["failing"] = named if outcome == "graceful_error" else []
        if outcome in NOT_DONE:
            from carob.checks.combined import AUTHORS_WORDS  # few outcomes are in words

            kinds = AUTHORS_WORDS if outcome in CONFIRMED else (AsksFor,)
            fields = [field.name for kind in kinds for field in kind.fields]
            args["says"] = base.keep_given(expected, *fields)
            args["words"] = expected.get("words", {})
            args["deeds"] = _single_words(effects) if outcome == "graceful_error" else []
        yield base.CheckRequest({key: value for key, value in args.items() if value}, ("outcome",))

    @property
    def description(self) -> str:
        return f"{self.outcome} of {base.quoted(self.tools)}" if self.tools else self.outcome

    @cached_property
    def authors_words(self) -> tuple[base.Check, ...]:
        from carob.checks.combined import AUTHORS_WORDS, checks_of

        return checks_of({**self.says, "words": self.words} if self.words else self.says, AUTHORS_WORDS)

    def is_failure(self, call: ToolCall) -> bool:
        """Whether a call failed that may: any one, unless the author names some."""
        return call.success is False and (not self.failing or is_any_named(self.failing, call.full_name))

    def judge(self, trace: Trace) -> CheckResult:
        if self.outcome in IN_WORDS and not _is_answer(trace.final_message):
            return self.failed_unless(base.unreadable(trace), "no visible text")
        if self.outcome == "response_only":
            return self.passed()
        if self.outcome == "completed":
            cut_off = not_ended(trace)
            return self.failed(cut_off) if cut_off else self.passed()
        judgement = _find_call(self, trace) if self.outcome in SHOWN else _find_not_done(self, trace)
        why = trace.why_incomplete("tools")
        if why and not (judgement.holds and self.outcome in SHOWN):
            return self.unknown(why)
        if judgement.holds is not (self.outcome in SHOWN) and (why := not_understood(trace, self.tools)):
            return self.unknown(why)
        if judgement.holds is None:
            return self.unknown(judgement.detail)
        return (
            self.passed(judgement.detail, judgement.at)
            if judgement.holds
            else self.failed(judgement.detail, judgement.at)
        )


def _single_words(effects: Mapping[str, Sequence[str]]) -> list[str]:
    return [*dict.fromkeys(word for wordings in effects.values() for word in wordings if " " not in word.strip())]


def not_ended(trace: Trace) -> str:
    """Why the turn did not come to an end by itself; nothing where it did."""
    if (ending := ending_of(trace)) not in ("", BY_ITSELF):
        return f"it was cut off: {ending}"
    waiting = next((call for call in trace.tool_calls if call.called and call.unfinished), None)
    if trace.metadata.get(WAITS) or waiting:
        return f"it waits for the user{f': {waiting.name}' if waiting else ''}"
    return ""


def _is_answer(text: str) -> bool:
    first = text[:1]
    return (first.isascii() and first.isalnum()) or _IN_WORDS.search(rendered_view(text).text) is not None


def _last_calls(trace: Trace, tools: Sequence[str]) -> list[ToolCall]:
    """The last call of each listed tool, by start order: that is the tool's success."""
    called = [c for c in trace.tool_calls if c.called and (not tools or is_any_named(tools, c.full_name))]
    if len(called) > 1:
        if all(call.started_at is not None for call in called):
            called.sort(key=lambda call: call.started_at or 0.0)
        from carob.evidence.commands import command_of  # few turns call several tools

        # Each line that a shell runs is a deed of its own.
        called = [*{(call.name, command_of(call)): call for call in called}.values()]
    return called


def _find_call(check: Outcome, trace: Trace) -> Judgement:
    """A listed call that started, or that succeeded."""
    if check.outcome == "tool_started":
        listed = (
            c for c in trace.tool_calls if c.started and (not check.tools or is_any_named(check.tools, c.full_name))
        )
        started = next(listed, None)
        return _judge_call(trace, started) if started else Judgement(False, describe_calls(trace))
    last = _last_calls(trace, check.tools)
    for call in last:
        if call.success is True:
            return _judge_call(trace, call)
    return _find_unknown_success(last) or Judgement(False, describe_calls(trace))


def _find_not_done(check: Outcome, trace: Trace) -> Judgement:
    """Whether nothing listed succeeded, and the answer asks, refuses, or admits a failure that there was."""
    from carob.evidence.commands import only_reads

    called = [call for call in trace.tool_calls if call.called and not only_reads(call)]
    listed = [c for c in called if not check.tools or any(is_same_tool(tool, c.full_name) for tool in check.tools)]
    success = next((call for call in listed if call.success is True), None)
    if success:
        return _judge_call(trace, success)._replace(holds=False)
    unknown = _find_unknown_success(listed)
    if check.outcome == "needs_input":
        request = _find_request(check, trace)
        return (unknown or request) if request.holds else request
    if check.outcome == "graceful_error" and not any(map(check.is_failure, called)):
        return unknown or Judgement(
            False, f"no {'listed ' if check.failing else ''}tool failed: {describe_calls(trace)}"
        )
    return unknown or _find_confirmation(check, trace)


def _find_request(check: Outcome, trace: Trace) -> Judgement:
    lacking = next((c for c in trace.tool_calls if c.called and c.success is False and c.missing_fields), None)
    if lacking:
        return _judge_call(trace, lacking, f"{lacking.name} lacks {', '.join(lacking.missing_fields)}")
    if trace.metadata.get(WAITS):
        return Judgement(True, "it waits for the user")
    question = find_request(trace.final_message, WordLists.of(check.words))
    if question:
        doubt = base.unsure(trace, [question])
        return (
            Judgement(None, doubt)
            if doubt
            else Judgement(True, "it asks", EvidenceLocation("final_message", *question))
        )
    picker = find_pickers(trace)
    if picker:
        return Judgement(True, picker, EvidenceLocation("page"))
    if why := base.unreadable(trace) or trace.why_incomplete("page"):
        return Judgement(None, why)
    line = "If it asks in other words, add them to the suite: words: {request: {add: [...]}}"
    return Judgement(False, f"no question and no listed request: {base.quote_answer(trace)} {line}.")


def _find_confirmation(check: Outcome, trace: Trace) -> Judgement:
    """Whether words confirm a refusal or an admission: listed ones, or the author's."""
    listed = CONFIRMED[check.outcome]
    words = WordLists.of(check.words)
    if check.deeds:
        denied = (
            *words.entries(listed),
            *(f"{denial} {word}" for denial in words.entries("deed_denials") for word in check.deeds),
        )
        words = WordLists.of({**check.words, listed: denied})
    span = find_listed(trace.final_message, listed, words, is_word_conditional)
    if span is None and check.outcome == "graceful_block":
        span = find_request(trace.final_message, words)
    if span:
        doubt = base.unsure(trace, [span])
        return Judgement(None, doubt) if doubt else Judgement(True, "", EvidenceLocation("final_message", *span))
    if _says_own_words(check, trace):
        return Judgement(True, "the words that the suite expects")
    if why := base.unreadable(trace):
        return Judgement(None, why)
    line = f"Say which words are right, in must_say_any, or add them to the suite: words: {{{listed}: {{add: [...]}}}}"
    return Judgement(False, f"no listed word of {listed}: {base.quote_answer(trace)} {line}.")


def _says_own_words(check: Outcome, trace: Trace) -> bool:
    """Whether every word check of the author passed, one of them by more than what the prompt says itself."""
    word_checks = check.authors_words
    if not word_checks or any(words.judge(trace).status is not Status.PASSED for words in word_checks):
        return False
    echo = structs.replace(trace, final_message=trace.input)
    return any(_by_more_than(words, trace, echo) for words in word_checks)


def _by_more_than(check: base.Check, trace: Trace, echo: Trace) -> bool:
    if isinstance(check, MustSayAny):
        new = [phrase for phrase in check.phrases if not find_required(trace.input, phrase)]
        return any(find_required(trace.final_message, phrase) for phrase in new)
    return check.judge(echo).status is not Status.PASSED


PLAIN_TEXT = (
    "its result is plain text, and only messages were seen, so it may be the words of an exception. Add a `success` "
    'rule for the tool, vouch with plain_text = "success", or send spans of the calls'
)


def _find_unknown_success(calls: Sequence[ToolCall]) -> Judgement | None:
    """What is found where it is unknown whether one of these calls succeeded."""
    call = next((c for c in calls if c.has_unknown_outcome), None)
    if call is None:
        return None
    why = f": {PLAIN_TEXT}" if isinstance(call.result, str) else ""
    return Judgement(None, f"it is unknown whether {call.name} succeeded{why}")


def _judge_call(trace: Trace, call: ToolCall, detail: str = "") -> Judgement:
    index = [*map(id, trace.tool_calls)].index(id(call))  # calls may be equal
    return Judgement(True, detail or str(call), EvidenceLocation("tool_calls", index=index))
