"""What the answer claims to have done, and what was done: by the `effects` that the suite declares."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal

import msgspec
import regex
from msgspec import Struct

from carob.checks import base
from carob.checks.sample_traces import UNSEEN_TOOLS, calls, performs
from carob.checks.tools.names import describe_calls, why_unseen
from carob.model.check import CheckProblem, Example, Expected
from carob.model.trace import ToolCall, Trace
from carob.model.verdict import CheckResult, EvidenceLocation, Group, Status
from carob.text.exit_codes import is_shell_tool
from carob.text.folding import Span, fold
from carob.text.prose.claims import Claim, claims
from carob.text.prose.sentences import find_listed
from carob.text.tool_names import is_any_named
from carob.text.tool_results import parse_result
from carob.text.words import WordLists

_ID = regex.compile(r"(?<![\w#-])#?(?=[\w/-]*\d)[A-Za-z0-9]+(?:[-_/][A-Za-z0-9]+)*(?![\w-])")
_SENTENCE_END = regex.compile(r"[.!?](?=\s|\Z)|[\n;]")
_OWN_VERB = r"[^\S\n]+«other_verbs»"
_DIGITS = regex.compile(r"\d+")
_MIXED = regex.compile(r"[A-Z0-9]{5,}")
"""An id without a form of its own, such as a booking code: those of one length are alike."""


def find_unproved_id(answer: str, claim: Span, succeeded: Sequence[ToolCall], words: WordLists) -> str:
    """An id of the claiming sentence that no call which did the deed holds; empty if there is none.

    Only ids of the form that the calls have are compared: an order that was refunded is `A-9`, and so `A-10` is one.
    """
    done = [str(msgspec.json.encode((call.arguments, call.result), enc_hook=str), "utf-8") for call in succeeded]
    asked = [str(msgspec.json.encode(call.arguments, enc_hook=str), "utf-8") for call in succeeded]
    forms = {_form(match[0]) for text in asked for match in _ID.finditer(text)} - {""}
    known = {match[0].removeprefix("#").casefold() for text in done for match in _ID.finditer(text)}
    for found in _ids_near(answer, claim, words) if forms else ():
        if _form(found) in forms and found.removeprefix("#").casefold() not in known:
            return found
    return ""


def _ids_near(answer: str, claim: Span, words: WordLists) -> Iterator[str]:
    """The ids of the sentence, as far as it speaks of what was done."""
    start = max((match.end() for match in _SENTENCE_END.finditer(answer, 0, claim[0])), default=0)
    after = _SENTENCE_END.search(answer, claim[1])
    end = after.start() if after else len(answer)
    small = answer.replace("’", "'").lower()
    if len(small) == len(answer):  # a few letters become two when they are small
        others = words.pattern("other_things")
        start = max((match.end() for match in others.finditer(small, start, claim[0])), default=start)
        other = others.search(small, claim[1], end)
        end = other.start() if other else end
    own_verb = words.regex(_OWN_VERB)
    for match in _ID.finditer(answer, start, end):
        if match.start() < claim[1] or not own_verb.match(small, match.end()):
            yield match[0]


def _form(text: str) -> str:
    """What ids of one kind have in common; empty for what is a plain number, a time or a measure."""
    bare = text.removeprefix("#")
    if bare[0].isalpha() and (parts := _DIGITS.sub("0", bare)).rstrip("0") != parts:
        return parts.casefold()
    return f"code of {len(bare)}" if _MIXED.fullmatch(bare) and not bare.isdigit() else ""


NO_EFFECTS = "no effects are declared. Add to the suite or carob.toml, for each tool that changes something: "
DESK = {
    "book_*": ["booked", "booking is confirmed"],
    "refund": ["refunded"],
    "@effects": ["all set"],
    "none": ["shipped"],
}
"""The effects of the examples."""
SHIPPED = ToolCall("get_order", {}, result={"status": "Shipped"}, success=True)
BIND_TO_COMMAND = (
    "{} runs any command, so that one of them succeeded supports no claim. Bind the words to a command: "
    "claims: {{tests: {{words: [tests pass], run: '^pytest'}}}} with `claims: true`"
)
LOOKED_UP = performs(SHIPPED, text="Your order has been shipped.")


def lines_to_add(tools: Sequence[str] = ()) -> str:
    """How effects are declared, by the tools that are known."""
    declarations = ", ".join(f"{tool}: [...]" for tool in tools) or "issue_refund: [refunded, issued]"
    return f"{NO_EFFECTS}effects: {{{declarations}}}"


class NoFalseSuccess(base.Check, Struct, frozen=True):
    """Every deed that the answer claims in the words of `effects` was done in this conversation, by its tools."""

    name: ClassVar = "no_false_success"
    failure: ClassVar = ("no ", "a ")
    group: ClassVar = Group.TOOL_HYGIENE
    channels: ClassVar = base.ANSWER | base.CALLS
    prohibits: ClassVar = True
    description: ClassVar = "only claims that a successful call supports"
    field: ClassVar = base.own_field(
        Literal[True],
        "What the answer claims to have done, in the words of `effects`, was done by a tool that succeeded.",
    )
    examples: ClassVar = (
        Example({"effects": DESK}, calls("book_slot:ok", text="I booked it for you."), Status.PASSED),
        Example({"effects": DESK}, calls("book_slot:failed", text="I booked it for you."), Status.FAILED),
        Example({"effects": DESK}, calls("book_slot:failed", text="It could not be booked."), Status.PASSED),
        Example({"effects": DESK}, calls("find_slot:ok", text="Your slot to May is booked!"), Status.FAILED),
        Example({"effects": DESK}, calls("refund:ok", text="You are all set."), Status.PASSED),
        Example({"effects": DESK}, calls("refund:ok", text="It has been shipped."), Status.FAILED),
        Example({"effects": DESK}, calls("book_slot:pending", text="I booked it for you."), Status.UNKNOWN),
        Example({"effects": DESK}, calls("book_slot:failed book_slot:ok", text="Booked at last."), Status.PASSED),
        Example({"effects": DESK}, LOOKED_UP, Status.UNKNOWN),
        Example({"effects": DESK}, UNSEEN_TOOLS, Status.PASSED),
        Example({"effects": {"book_slot": []}}, calls("", text="I booked it for you."), Status.UNKNOWN),
        Example({}, calls("book_slot:ok", text="I booked it for you."), Status.UNKNOWN),
    )
    effects: dict[str, tuple[str, ...]] = {}
    words: dict[str, tuple[str, ...]] = {}

    read = base.read_with("", "effects", "words")

    @classmethod
    def unused_fields(cls, expected: Expected) -> Iterator[CheckProblem]:
        if "no_false_success" in expected and not any(expected.get("effects", {}).values()):
            yield CheckProblem("no-effects", f"{lines_to_add()}.", ("no_false_success",))

    def judge(self, trace: Trace) -> CheckResult:
        if not any(self.effects.values()):
            return self.unknown(lines_to_add([*dict.fromkeys(call.name for call in trace.tool_calls)][:5]))
        all_calls = calls_so_far(trace)
        doubts = []
        proved: list[str] = []
        for claim in self.find_claims(trace):
            false, doubtful = self._contradiction(claim, trace, all_calls)
            if not false:
                proved.append(claim.wording)
            elif why := base.unsure(trace, [claim.span]) or doubtful:
                doubts.append(f"{claim.wording!r} is claimed: {why}")
            else:
                where = EvidenceLocation("final_message", *claim.span)
                return self.failed(f"it claims {false}: {describe_calls(trace)}", where)
        if why := doubts[0] if doubts else base.unreadable(trace):
            return self.unknown(why)
        return self.passed(f"claims {', '.join(proved)}: {describe_calls(trace)}" if proved else "no claim")

    def _contradiction(self, claim: Claim, trace: Trace, all_calls: Sequence[ToolCall]) -> tuple[str, str | None]:
        """What no call supports of a claim, empty if one does; and why it may be true all the same."""
        succeeded = [call for call in all_calls if call.success is True and is_any_named(claim.tools, call.full_name)]
        if succeeded and all(is_shell_tool(call.host_name) for call in succeeded):
            return repr(claim.wording), BIND_TO_COMMAND.format(succeeded[0].name)
        words = WordLists.of(self.words)
        admits = bool(find_listed(trace.final_message, "failure", words))
        quote = repr(base.excerpt(trace.final_message[slice(*claim.span)]))
        if succeeded and (admits or not _failed_now(claim, trace)):
            other = find_unproved_id(trace.final_message, claim.span, succeeded, words)
            whose = f"no successful call to {' or '.join(claim.tools)} is about {other}"
            return (f"{quote} of {other}: {whose}" if other else ""), _why_unknown(claim, trace, all_calls)
        whose = f"no call to {' or '.join(claim.tools)} succeeded" if claim.tools else "no tool can do that"
        return f"{quote}: {whose}{' in this turn' if succeeded else ''}", _doubt(claim, trace, all_calls)

    def find_claims(self, trace: Trace) -> list[Claim]:
        return claims(trace.final_message, self.effects, WordLists.of(self.words))


def calls_so_far(trace: Trace) -> list[ToolCall]:
    """The calls of the conversation up to the answer: of setup prompts, of earlier turns, of this one."""
    return [*trace.setup_calls, *(call for turn in trace.earlier for call in turn.tool_calls), *trace.tool_calls]


def _failed_now(claim: Claim, trace: Trace) -> bool:
    """Whether all calls of this turn failed, so that an earlier success is not what the answer claims."""
    now = [call for call in trace.tool_calls if call.called and is_any_named(claim.tools, call.full_name)]
    return bool(now) and all(call.success is False for call in now)


def _doubt(claim: Claim, trace: Trace, all_calls: Sequence[ToolCall]) -> str | None:
    """Why the deed may have been done although no call shows it."""
    if why := _why_unknown(claim, trace, all_calls):
        return why
    for call in all_calls:
        if call.success is True and _holds(parse_result(call.result), fold(claim.wording)):
            return f"{call.name} returned {claim.wording!r} as a value, and the answer may be repeating that"
    return None


def _why_unknown(claim: Claim, trace: Trace, all_calls: Sequence[ToolCall]) -> str | None:
    """Why a call that did it may not have been seen, or not how it ended."""
    for turn in (trace, *trace.earlier):
        if why := why_unseen(turn, claim.tools):
            return why
    for call in all_calls:
        if not is_any_named(claim.tools, call.full_name):
            continue
        if call.has_unknown_outcome:
            return f"it is unknown whether {call.name} succeeded"
        if call.success is True and call.unobserved:
            return f"{call.name}: {next(iter(call.unobserved.values()))}"
    return None


def _holds(value: Any, wording: str) -> bool:
    """Whether a result holds this very word as a value."""
    if isinstance(value, str):
        return fold(value).strip() == wording
    if isinstance(value, Mapping):
        return any(_holds(item, wording) for item in value.values())
    return isinstance(value, list | tuple) and any(_holds(item, wording) for item in value)
