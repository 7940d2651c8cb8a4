"""What golden sets ask: which tools were used, whether the allocation was made, which phrases stand in the answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Literal, NamedTuple

import regex

from karat.checks.base import (
    GOLDEN_CASE,
    Check,
    Phrase,
    Phrases,
    Reading,
    blank,
    each,
    unreadable,
)
from karat.checks.says import CUT_SHORT, MustNotSay, unfailable
from karat.checks.tools import called
from karat.checks.traces import UNSEEN_TOOLS, calls, says
from karat.model.check import Example, Field, Flaw
from karat.model.trace import Trace
from karat.model.verdict import At, CheckResult, Group, Status
from karat.text import phrases
from karat.text.normalise import fold, fold_phrase, original_span

Match = Literal["exact", "ordered", "set", "subset", "superset"]

SUCCESS = (
    "allocated",
    "allocation confirmed",
    "assigned",
    "available",
    "booked",
    "confirmed",
    "found",
    "reserved",
    "scheduled",
    "success",
    "successful",
    "successfully",
)
FAILURE = (
    "already allocated",
    "already booked",
    "already reserved",
    "already scheduled",
    "cannot",
    "can't",
    "conflict",
    "conflicts",
    "could not",
    "couldn't",
    "denied",
    "error",
    "exceeds",
    "failed",
    "failure",
    "impossible",
    "incompatible",
    "invalid",
    "missing",
    "no available",
    "no compatible",
    "no dyno",
    "no dyno available",
    "no dyno is available",
    "no dynos",
    "no dynos are available",
    "no dynos available",
    "none available",
    "none is available",
    "not allocated",
    "not assigned",
    "not available",
    "not booked",
    "not compatible",
    "not confirmed",
    "not found",
    "not possible",
    "not reserved",
    "not scheduled",
    "not successful",
    "not supported",
    "refused",
    "rejected",
    "unable",
    "unavailable",
    "unsuccessful",
)
NEUTRAL = (
    "no conflict",
    "no conflicts",
    "no error",
    "no errors",
    "without a conflict",
    "without conflict",
    "without conflicts",
    "without error",
    "without errors",
)


@dataclass(frozen=True, slots=True)
class ToolsUsed(Check):
    """The names of the tools called are those listed: exactly, or as `match` says."""

    name: ClassVar = "tools_used"
    group: ClassVar = Group.DECISION
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
    def read(cls, expected: Mapping[str, Any]) -> Iterator[Reading]:
        if "tools_used" in expected:
            args = {"tools": expected["tools_used"], "match": expected.get("tools_match", "exact")}
            yield Reading(args, ("tools_used",))

    @property
    def wanted(self) -> str:
        how = {"exact": "", "ordered": " in this order", "set": " any number of times"}.get(self.match)
        prefix = {"subset": "nothing but ", "superset": "at least "}.get(self.match, "")
        return f"{prefix}{', '.join(self.tools) or 'no tool call'}{how or ''}"

    def flaws(self) -> Iterator[Flaw]:
        if self.match == "superset" and not self.tools:
            yield Flaw("empty-expectation", "every run calls at least no tool: name one, or drop tools_match.")

    def judge(self, trace: Trace) -> CheckResult:
        why = trace.doubt("tools")
        if why:
            return self.unknown(why)
        names = [c.name for c in trace.tool_calls]
        holds = {
            "exact": lambda: Counter(names) == Counter(self.tools),
            "ordered": lambda: names == list(self.tools),
            "set": lambda: set(names) == set(self.tools),
            "subset": lambda: set(names) <= set(self.tools),
            "superset": lambda: Counter(self.tools) <= Counter(names),
        }[self.match]()
        return self.passed(called(trace)) if holds else self.failed(called(trace))


@dataclass(frozen=True, slots=True)
class AllocationValid(Check):
    """The answer tells of an allocation made (true) or refused (false), and of nothing to the contrary."""

    name: ClassVar = "allocation_valid"
    group: ClassVar = Group.DECISION
    fields: ClassVar = (
        Field("allocation_valid", bool, "Whether the answer tells of success or of failure."),
        Field("success_indicators", Phrases, "Words of success, in place of the built-in ones."),
        Field("failure_indicators", Phrases, "Words of failure, in place of the built-in ones."),
    )
    companions: ClassVar = {"success_indicators": "allocation_valid", "failure_indicators": "allocation_valid"}
    examples: ClassVar = (
        Example({"valid": True}, says("Vehicle 42 was allocated to dyno 3."), Status.PASSED),
        Example({"valid": True}, says("Vehicle not found."), Status.FAILED),
        Example({"valid": True}, says("Vehicle 42 has not been allocated."), Status.FAILED),
        Example({"valid": True}, says("No issues were found. Vehicle 42 is allocated."), Status.PASSED),
        Example({"valid": True}, says("I looked at the list."), Status.FAILED),
        Example({"valid": True}, says("Allocated, but dyno 4 failed."), Status.FAILED),
        Example({"valid": False}, says("The dyno is unavailable."), Status.PASSED),
        Example({"valid": False}, says("Booked."), Status.FAILED),
        Example({"valid": True, "success_indicators": ["granted"]}, says("Booked."), Status.FAILED),
    )
    valid: bool
    success_indicators: tuple[str, ...] = ()
    failure_indicators: tuple[str, ...] = ()

    @classmethod
    def read(cls, expected: Mapping[str, Any]) -> Iterator[Reading]:
        if "allocation_valid" in expected:
            lists = ("success_indicators", "failure_indicators")
            args = {"valid": expected["allocation_valid"], **{k: expected[k] for k in lists if k in expected}}
            yield Reading(args, ("allocation_valid",))

    @property
    def wanted(self) -> str:
        return "a word of success and none of failure" if self.valid else "a word of failure and none of success"

    def flaws(self) -> Iterator[Flaw]:
        for phrase in (*blank(self.success_indicators), *blank(self.failure_indicators)):
            yield phrase._replace(path=())

    def judge(self, trace: Trace) -> CheckResult:
        # Words of failure that a suite gives are the only ones that it wants to see, but "not allocated" never helps.
        success, failure = indicators(
            trace.final_message,
            self.success_indicators or SUCCESS,
            self.failure_indicators or FAILURE,
            "failure" if self.valid or not self.failure_indicators else "neutral",
        )
        good, bad = (success, failure) if self.valid else (failure, success)
        if bad:
            return self.failed(trace.final_message[slice(*bad)], At("final_message", *bad))
        why = unreadable(trace)
        if why:
            return self.unknown(why)
        if not good:
            return self.failed("no word of success or failure")
        return self.passed(trace.final_message[slice(*good)], At("final_message", *good))


Span = tuple[int, int]

_FAR = 120
_NEW_CLAUSE = "although|and|as|because|but|hence|if|since|so|then|therefore|though|thus|unless|until|when|which|while"
_MARKS = r'[*_`"]*'
_WORD = rf"(?: (?!(?:{_NEW_CLAUSE})\b)(?:[*`\"]*\w+(?:['/-]\w+)*[*`\"]*|\(\w+\)))"
_ASIDE = "(?:, (?:however|in fact|regrettably|sadly|unfortunately),)?"
_NOT = (
    r"(?:(?<!whether or )not|\w*n't|(?:are|could|did|does|had|has|have|is|was|were)nt|never|cannot|unable"
    r"|fail(?:s|ed|ing)? to|impossible to)(?! (?:just|later|merely|only|simply|worry)\b)"
)
_ZERO = r"(?<![.,:/#-])(?<!\b(?:bay|dyno|id|number|slot|vehicle) )0(?!\w|[.,:/]\d| (?:has|is|was|will)\b)"
_IDIOMS = "doubt|later|matter|sooner"
_NO = rf"(?:no(?! (?:\d|(?:{_IDIOMS})\b))|nothing|none|neither|nor|nobody|zero|{_ZERO})"
_WITHOUT = rf"without(?:(?! (?:are|can|had|has|have|is|was|were|will)\b){_WORD}){{0,3}}"
_NEGATED = regex.compile(
    rf"(?<![^\W_])(?:{_NOT}{_MARKS}{_ASIDE}{_WORD}{{0,4}}|{_NO}{_MARKS}{_WORD}{{0,7}}|{_WITHOUT}|(?:de|mis|non|un)(?=-))"
    rf"(?:-| {_MARKS}(?:\w+-)?)\Z"
)
_ANSWERED_NO = regex.compile(
    rf"{_MARKS}(?: \w+){{0,2}}{_MARKS} ?(?:[:=|?]|->) ?{_MARKS}"
    r"(?:(?:false|nil|none|not yet|nothing|null)(?!\w)|(?P<short>no|zero|0)(?![\w'-]|[.,:%]\d|\.? \d))"
)
_NOTHING = regex.compile(
    rf"(?: (?:neither|nobody|none|nothing|no)(?!\w| (?:\d|{_IDIOMS}|else|extra|further|more)\b)"
    r"|(?<=found) (?:zero|0)(?!\w|[.,:]\d))(?: \w+){0,3}"
)
_GOOD_NEWS = regex.compile(
    r"\b(?:affect|clash|concern|conflict|duplicate|error|exceed|interfere|issue|objection|obstacle|overlap|problem"
    r"|restriction|violat|warning)\w*|\b(?:maintenance|other)\b(?!.* available)"
)
_WORDS_BEFORE = regex.compile(r"(?:[\w'-]+ ){0,2}\Z")
_LINE_END = regex.compile(r"[^\S\r\n]*\R")
# Prose that goes on in small letters is wrapped; a negation that is a value ("Errors: 0") ends with its line.
_CLAUSE_END = regex.compile(
    r"\u2014|\R\s*+(?!\p{Ll})|\R[^\S\r\n]*+\R"
    r"|(?<=[:=|][^\S\r\n]*(?i:no|none|not|nothing|zero|0)[^\S\r\n]*)\R"
)


class _Denial(NamedTuple):
    """A success that is negated, with the words that do so; good news where something bad was not found."""

    start: int
    end: int
    good_news: bool


def indicators(
    text: str, success: tuple[str, ...], failure: tuple[str, ...], denied: Literal["failure", "neutral"] = "failure"
) -> tuple[Span | None, Span | None]:
    """The first word of success and of failure; the longest at a place counts, and a negated success is `denied`."""
    pattern, kinds = _alternatives(success, failure)
    seen = fold(text)
    first: dict[str, Span] = {}
    last_success, negated_until = 0, -1
    for m in pattern.finditer(seen):
        kind, start, end = kinds[m[0]], m.start(), m.end()
        if kind == "success":
            denial = _denial(text, seen, m, last_success)
            if denial:
                kind, start, end = "neutral" if denial.good_news else denied, denial.start, denial.end
            elif negated_until >= 0 and seen[negated_until : m.start()] in (" ", " or ", " nor "):
                kind = "neutral"
            last_success = m.end()
        if kind != kinds[m[0]] or m[0].startswith("not "):
            negated_until = m.end()
        if kind not in first:
            first[kind] = original_span(text, start, end)
        if first.keys() >= {"success", "failure"}:
            break
    return first.get("success"), first.get("failure")


def _denial(text: str, seen: str, success: regex.Match[str], after: int) -> _Denial | None:
    """What negates a word of success in its clause, looked for behind `after` and behind the word."""
    start, end = success.span()
    for before in _NEGATED.finditer(seen, max(after, start - _FAR), start, overlapped=True):
        if not _CLAUSE_END.search(text, *original_span(text, before.start(), end)):
            good_news = _is_good_news(seen[before.start() : end])
            # "Without conflicts allocated" tells how, "no conflicts found" tells what.
            return None if good_news and before[0].startswith("without") else _Denial(before.start(), end, good_news)
    if nothing := _NOTHING.match(seen, end):
        good_news, found = _is_good_news(nothing[0]), success[0] == "found"
        ends = _CLAUSE_END if found else _LINE_END
        if (found or not good_news) and not ends.search(text, *original_span(text, end, nothing.end())):
            return _Denial(start, nothing.end(), good_news)
    answer = _ANSWERED_NO.match(seen, end)
    if answer and not _says_more(text, seen, answer):
        counted = _WORDS_BEFORE.search(seen, max(after, start - _FAR), start)
        return _Denial(start, answer.end(), _is_good_news(f"{counted[0] if counted else ''}{answer[0]}"))
    return None


def _says_more(text: str, seen: str, answer: regex.Match[str]) -> bool:
    """Whether "no" is of another line or goes on in its own: "Allocated: no further action" is no answer."""
    first, last = original_span(text, answer.start(), answer.end())
    if _LINE_END.search(text, first, last):
        return True
    goes_on = answer["short"] and seen[answer.end() : answer.end() + 2].strip().isalnum()
    return bool(goes_on) and not _LINE_END.match(text, last)


def _is_good_news(clause: str) -> bool:
    return _GOOD_NEWS.search(clause) is not None


@lru_cache(maxsize=256)
def _alternatives(success: tuple[str, ...], failure: tuple[str, ...]) -> tuple[regex.Pattern[str], dict[str, str]]:
    kinds = {fold_phrase(p): "neutral" for p in NEUTRAL}
    kinds |= {fold_phrase(p): "success" for p in success}
    kinds |= {fold_phrase(p): "failure" for p in failure}
    longest_first = sorted(kinds, key=len, reverse=True)
    return regex.compile(rf"(?<!\w)(?:{'|'.join(map(regex.escape, longest_first))})(?!\w)"), kinds


class _Contains(Check):
    """A phrase that must stand in the final message."""

    __slots__ = ()

    phrase: str

    @classmethod
    def read(cls, expected: Mapping[str, Any]) -> Iterator[Reading]:
        return each(cls.name, "phrase", expected)

    @property
    def wanted(self) -> str:
        return repr(self.phrase)

    def flaws(self) -> Iterator[Flaw]:
        return unfailable(self.phrase)

    def judge(self, trace: Trace) -> CheckResult:
        return self.present(trace, phrases.find(trace.final_message, self.phrase))


@dataclass(frozen=True, slots=True)
class ReasonContains(_Contains):
    """The phrase stands in the final message."""

    name: ClassVar = "reason_contains"
    group: ClassVar = Group.DECISION
    fields: ClassVar = (Field("reason_contains", Phrases, "Each phrase stands in the final message."),)
    examples: ClassVar = (
        Example({"phrase": "requested window"}, says("Allocated in Requested  Window."), Status.PASSED),
        Example({"phrase": "requested window"}, says("Allocated with backup shift."), Status.FAILED),
    )
    phrase: str


@dataclass(frozen=True, slots=True)
class ExpectedContains(_Contains):
    """The phrase stands in the final message."""

    name: ClassVar = "expected_contains"
    group: ClassVar = Group.QA
    fields: ClassVar = (
        Field("expected_contains", Phrases, "Each phrase stands in the final message.", formats=GOLDEN_CASE),
    )
    examples: ClassVar = (
        Example({"phrase": "supported_drives"}, says("It depends on SUPPORTED_DRIVES."), Status.PASSED),
        Example({"phrase": "supported_drives"}, says("It depends."), Status.FAILED),
    )
    phrase: str


@dataclass(frozen=True, slots=True)
class MustNotContain(MustNotSay):
    """The phrase does not stand in the final message."""

    name: ClassVar = "must_not_contain"
    group: ClassVar = Group.QA
    fields: ClassVar = (
        Field("must_not_contain", Phrases, "None of these phrases stands in the final message.", formats=GOLDEN_CASE),
    )
    examples: ClassVar = (
        Example({"phrase": "guess"}, says("It depends on the drives."), Status.PASSED),
        Example({"phrase": "guess"}, says("My guess is dyno 3."), Status.FAILED),
        Example({"phrase": "guess"}, CUT_SHORT, Status.UNKNOWN),
    )
