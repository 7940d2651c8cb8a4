"""What must hold where something around the agent broke: no deed twice, few retries, and an answer that says so."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Annotated, Any, ClassVar, Literal, TypedDict

import msgspec
from msgspec import Meta, Struct

from carob.checks import base
from carob.checks.effects.claims import calls_so_far, lines_to_add
from carob.checks.sample_traces import UNSEEN_TOOLS, calls, performs
from carob.checks.tools.names import describe_calls, why_unseen
from carob.matchers.values import normalize_value
from carob.model.check import Example, Expected
from carob.model.trace import ToolCall, Trace
from carob.model.verdict import CheckResult, EvidenceLocation, Group, Status
from carob.text import forbidden
from carob.text.folding import Span, fold
from carob.text.phrases import find
from carob.text.prose.asking import find_request
from carob.text.prose.claims import is_open
from carob.text.prose.sentences import (
    Prose,
    Sentence,
    find_listed,
    first_free,
    is_word_denied,
    prose,
    sentences,
)
from carob.text.tool_names import effect_tools, is_any_named, is_same_tool, plain_name
from carob.text.tool_results import parse_result
from carob.text.words import PUBLISHED, WordLists

ADMISSIONS = ("failure", "refusal", "no_data", "assumption")
"""The word lists by one of which an answer admits that something is missing."""
OF_AGE = "data_age"
LOST = ToolCall("pay", {"order": 1}, error="timed out after 5 s", success=False)
PAID = ToolCall("pay", {"order": 1}, success=True)
DOWN = ToolCall("find", {"order": 1}, error="503", success=False)


def turns_trace(*turns: Trace) -> Trace:
    calls = tuple(call for turn in turns for call in turn.tool_calls)
    return msgspec.structs.replace(turns[-1], tool_calls=calls, turns=turns)


def with_key(call: ToolCall, key: str) -> ToolCall:
    return msgspec.structs.replace(call, arguments={"order": 1, "idempotency_key": key})


class NoEffectTwice(base.ToolCheck, Struct, frozen=True):
    """No effect was asked for again, with the same arguments, after it took place or may have."""

    name: ClassVar = "no_effect_twice"
    description: ClassVar = "no effect twice"
    prohibits: ClassVar = True
    field: ClassVar = base.own_field(
        Literal[True],
        "No tool of `effects` started again with equal arguments after a call that succeeded, or whose answer was "
        "lost (`lost_answer` in `carob help words`). Without `effects` any tool counts, and the result is unknown.",
    )
    examples: ClassVar = (
        Example({"effects": ["pay"]}, performs(PAID), Status.PASSED),
        Example({"effects": ["pay"]}, performs(PAID, PAID), Status.FAILED),
        Example({"effects": ["pay"]}, performs(LOST, PAID), Status.FAILED),
        Example({"effects": ["pay"]}, performs(ToolCall("pay", {"order": 1}, error="503"), PAID), Status.PASSED),
        Example({"effects": ["pay"]}, performs(PAID, ToolCall("pay", {"order": 2}, success=True)), Status.PASSED),
        Example({"effects": ["pay"]}, performs(with_key(LOST, "a"), with_key(PAID, "b")), Status.FAILED),
        Example({"effects": ["pay"]}, performs(with_key(LOST, "a"), with_key(PAID, "a")), Status.UNKNOWN),
        Example({"effects": ["send"]}, performs(PAID, PAID), Status.PASSED),
        Example({}, performs(PAID, PAID), Status.UNKNOWN),
        Example({"effects": ["pay"]}, UNSEEN_TOOLS, Status.UNKNOWN),
    )
    effects: tuple[str, ...] = ()

    @classmethod
    def read(cls, expected: Expected) -> Iterator[base.CheckRequest]:
        if "no_effect_twice" in expected:
            tools = effect_tools(expected.get("effects", {}))
            yield base.CheckRequest({"effects": tools} if tools else {}, ("no_effect_twice",))

    def judge(self, trace: Trace) -> CheckResult:
        effective: dict[bytes, ToolCall] = {}
        doubt = ""
        for index, call in enumerate(trace.tool_calls):
            if not call.started or call.kind != "tool" or not _is_of(self.effects, call):
                continue
            request, key = _request_key(call)
            earlier = effective.get(request)
            if earlier is not None:
                detail = f"{call.name} was called again with the same arguments after {why_effective(earlier)}"
                if not self.effects:
                    doubt = doubt or f"{detail}. {lines_to_add([call.name])}"
                elif key and key == _request_key(earlier)[1]:
                    doubt = doubt or f"{detail} and {', '.join(key)}: the service may recognize it as the same request"
                else:
                    return self.failed(detail, EvidenceLocation("tool_calls", index=index))
            elif why_effective(call):
                effective[request] = call
        return self.passed_unless(doubt or why_unseen(trace, self.effects), describe_calls(trace))


def _is_of(tools: Sequence[str], call: ToolCall) -> bool:
    """Whether a call is one of these tools under whatever spelling of its name; without tools, any is."""
    return not tools or any(is_same_tool(tool, call.full_name) for tool in tools)


def _request_key(call: ToolCall) -> tuple[bytes, tuple[str, ...]]:
    """What a call asks for, and apart from that what marks it as one request: an idempotency key."""
    arguments, name = parse_result(call.arguments), plain_name(call.name)
    if not isinstance(arguments, Mapping):
        return _canonical([name, arguments]), ()
    marks = {str(name).replace("_", "").replace("-", "").lower(): name for name in arguments}
    marks = {flat: name for flat, name in marks.items() if flat in PUBLISHED.entries("request_keys")}
    unmarked = {str(name): value for name, value in arguments.items() if name not in marks.values()}
    return _canonical([name, unmarked]), tuple(f"{name}={arguments[name]}" for name in marks.values())


def has_request_key(call: ToolCall) -> bool:
    """Whether a service may know by an argument that a call which is made again is the same request."""
    return bool(_request_key(call)[1])


def _canonical(value: object) -> bytes:
    return msgspec.json.encode(normalize_value(value), order="deterministic", enc_hook=str)


def why_effective(call: ToolCall) -> str:
    """How it is known that a call may have had its effect; nothing where it provably changed nothing: it failed."""
    if call.success is True:
        return "it succeeded"
    if call.success is None:
        return "" if call.unfinished else "a call whose end was not seen"
    text = call.error or (call.result if isinstance(call.result, str) else str(call.result or ""))
    return "its answer was lost" if PUBLISHED.pattern("lost_answer").search(text.lower()) else ""


class MaxRetries(base.ToolCheck, Struct, frozen=True):
    """A call that failed was not made again with the same arguments, in the same turn, more often than that."""

    name: ClassVar = "max_retries"
    description_format: ClassVar = "at most {self.most} retries of a call that failed"
    prohibits: ClassVar = True
    field: ClassVar = base.own_field(
        Annotated[int, Meta(ge=0)],
        "The maximum number of times that a failed call is repeated with the same arguments, within a turn: in the "
        "next one the user may have asked for it again.",
        in_defaults="smaller",
    )
    examples: ClassVar = (
        Example({"most": 1}, performs(DOWN, DOWN), Status.PASSED),
        Example({"most": 1}, performs(DOWN, DOWN, DOWN), Status.FAILED),
        Example({"most": 0}, performs(DOWN, ToolCall("find", {"order": 2}, error="503")), Status.PASSED),
        Example({"most": 0}, performs(PAID, PAID), Status.PASSED),
        Example({"most": 0}, turns_trace(performs(DOWN), performs(DOWN)), Status.PASSED),
        Example({"most": 0}, turns_trace(performs(DOWN, DOWN), performs(DOWN)), Status.FAILED),
        Example({"most": 0}, UNSEEN_TOOLS, Status.UNKNOWN),
    )
    most: int

    read = base.read_with("most")

    @property
    def why_always_passes(self) -> str:
        return base.out_of_reach(self.most, 1000, "a thousand retries")

    def judge(self, trace: Trace) -> CheckResult:
        failed: set[bytes] = set()
        unknown: set[bytes] = set()
        doubt = ""
        again: dict[bytes, int] = {}
        turn_starts = {*accumulate(len(turn.tool_calls) for turn in trace.turns)}
        for index, call in enumerate(trace.tool_calls):
            if index in turn_starts:
                failed, unknown, again = set(), set(), {}
            request, _ = _request_key(call)
            if request in failed:
                again[request] = again.get(request, 0) + 1
                if again[request] > self.most:
                    detail = f"{call.name} was called again after it failed: {describe_calls(trace)}"
                    return self.failed(detail, EvidenceLocation("tool_calls", index=index))
            elif request in unknown:
                doubt = f"it is unknown whether {call.name} failed before it was called again"
            if call.success is False:
                failed.add(request)
            elif call.has_unknown_outcome:
                unknown.add(request)
        return self.passed_unless(doubt or why_unseen(trace), describe_calls(trace))


class LostData(TypedDict, total=False):
    """What the answer lacks where tools gave nothing that can be used."""

    tools: Annotated[list[base.Phrase], Meta(description="The tools whose results cannot be used.")]
    lost: Annotated[list[base.Phrase], Meta(description="Values that only these tools know.")]
    usual: Annotated[base.Phrase, Meta(description="The answer of a run in which nothing failed.")]
    old: Annotated[Literal[True], Meta(description="Their data is old; the answer may also say how old.")]


class AdmitsFailure(base.Check, Struct, frozen=True):
    """Where a tool failed to the end, or gave nothing that can be used, the answer says so."""

    name: ClassVar = "admits_failure"
    group: ClassVar = Group.TOOL_HYGIENE
    channels: ClassVar = base.ANSWER | base.CALLS | {"input"}
    prohibits: ClassVar = True
    field: ClassVar = base.own_field(
        Literal[True] | LostData,
        "If the last call of a tool failed, the answer admits it in listed words; other words are unknown. What the "
        "keys mean: `carob help stress`.",
    )
    examples: ClassVar = (
        Example({}, calls("find:ok", text="It is there."), Status.PASSED),
        Example({}, calls("find:failed find:ok", text="It is there."), Status.PASSED),
        Example({}, calls("find:failed", text="I could not look it up."), Status.PASSED),
        Example({}, calls("find:failed", text=""), Status.FAILED),
        Example({}, calls("find:failed", text="Have a nice day."), Status.UNKNOWN),
        Example({"lost": ["shipped"]}, calls("find:failed", text="It was shipped."), Status.FAILED),
        Example({"lost": ["shipped"]}, calls("find:failed", text="I cannot see whether it shipped."), Status.PASSED),
        Example({"usual": "Paid. A mail follows."}, calls("pay:ok mail:failed", text="Paid."), Status.FAILED),
        Example({"tools": ["find"]}, calls("find:ok", text="There is no such order."), Status.PASSED),
        Example({"tools": ["find"]}, calls("find:ok", text="It is on its way."), Status.UNKNOWN),
        Example({"tools": ["find"], "old": True}, calls("find:ok", text="As of May, it is there."), Status.PASSED),
        Example({}, UNSEEN_TOOLS, Status.UNKNOWN),
    )
    tools: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    usual: str = ""
    old: bool = False
    words: dict[str, tuple[str, ...]] = {}

    @classmethod
    def read(cls, expected: Expected) -> Iterator[base.CheckRequest]:
        if "admits_failure" in expected:
            value = expected["admits_failure"]
            words = {"words": expected["words"]} if "words" in expected else {}
            yield base.CheckRequest({**({} if value is True else value), **words}, ("admits_failure",))

    @property
    def description(self) -> str:
        return f"an answer that admits what failed{f': {chr(44).join(self.tools)}' if self.tools else ''}"

    def judge(self, trace: Trace) -> CheckResult:
        failed = self._find_failure(trace)
        if not failed:
            return self.passed_unless(self._why_unseen(trace), "every failure was recovered from")
        if why := base.unreadable(trace):
            return self.unknown(why)
        answer = trace.final_message
        if not answer.strip():
            return self.failed(f"an empty answer, although {failed}")
        words = WordLists.of(self.words)
        for value in self.lost:
            if (stated := _find_stated(answer, value, words)) and not _is_known(value, trace):
                return self.failed(
                    f"it states {value!r}, which no call gave, although {failed}",
                    EvidenceLocation("final_message", *stated),
                )
        lists = (*ADMISSIONS, OF_AGE) if self.old else ADMISSIONS
        if span := next(filter(None, (find_listed(answer, name, words) for name in lists)), None):
            return self.passed(base.excerpt(answer[slice(*span)]), EvidenceLocation("final_message", *span))
        if find_request(answer, words):
            return self.passed("it asks")
        if self.usual and _lines(answer) <= _lines(self.usual):
            return self.failed(f"the same answer as without the failure, although {failed}: {base.quote_answer(trace)}")
        line = "If these words admit it, add them to the suite: words: {failure: {add: [...]}}"
        return self.unknown(f"{failed}, and no listed word admits it: {base.quote_answer(trace)} {line}.")

    def _why_unseen(self, trace: Trace) -> str | None:
        """Why a failure may have gone unnoticed."""
        if why := why_unseen(trace, self.tools):
            return why
        open_call = next((call for call in trace.tool_calls if call.has_unknown_outcome), None)
        return f"it is unknown whether {open_call.name} failed" if open_call and not self.tools else None

    def _find_failure(self, trace: Trace) -> str:
        """What failed and was not recovered from."""
        last = {call.name: call for call in trace.tool_calls if call.called}
        if self.tools:
            unreliable = [name for name in last if is_any_named(self.tools, name)]
            gave = "gave old data" if self.old else "returned nothing reliable"
            return f"{', '.join(unreliable)} {gave}" if unreliable else ""
        failed = [call.name for call in last.values() if call.success is False]
        return f"{', '.join(failed)} failed" if failed else ""


def _find_stated(answer: str, value: str, words: WordLists) -> Span | None:
    """Where the answer states a value, in whatever dress, and neither denies it nor leaves it open."""
    text = prose(answer)
    found = forbidden.find_phrase(answer, value)
    if found and (places := text.places(answer[slice(*found)], as_word=False)):
        return first_free(text, places, _is_open_or_denied, words)
    return found


def _is_open_or_denied(text: Prose, sentence: Sentence, start: int, end: int, words: WordLists) -> bool:
    return is_word_denied(text, sentence, start, end, words) or is_open(text, sentence, start, words)


def _is_known(value: str, trace: Trace) -> bool:
    """Whether a call of the conversation, or the user, gave this value."""
    texts = [trace.input, *(turn.input for turn in trace.earlier)]
    results: Sequence[Any] = [call.result for call in calls_so_far(trace)]
    return any(find(text, value) for text in (*texts, *(_text(result) for result in results)))


def _text(result: object) -> str:
    return result if isinstance(result, str) else msgspec.json.encode(result, enc_hook=str).decode()


def _lines(answer: str) -> set[str]:
    return {fold(sentence.text).strip() for sentence in sentences(prose(answer))}
