"""The answer as a whole: letter by letter, by its length, or next to a reference."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import Annotated, Any, ClassVar, Literal, TypedDict

import regex
from msgspec import Meta, Struct

from carob.checks import base
from carob.checks.answer.json import path_problems, values_at
from carob.checks.sample_traces import says
from carob.matchers.values import format_value
from carob.model.check import CheckProblem, Example, Expected
from carob.model.trace import TextLoss, Trace
from carob.model.verdict import CheckResult, EvidenceLocation, Group, Status
from carob.system.installing import install_extra
from carob.text.folding import fold
from carob.text.json_answers import json_answer
from carob.text.numbers.spelling import spell_numbers
from carob.text.phrases import distance_within
from carob.text.regexes import lazy
from carob.text.regexes.safe_regex import RegexTimeout, find_javascript, why_bad_javascript
from carob.text.views import rendered_view
from carob.text.words import alternatives

TESTS = ("contains", "contains_any", "contains_all", "starts_with", "equals", "regex", "near", "min_words", "max_words")
CUT = says("Total", cuts={"final_message": TextLoss("only a part was kept")})


class TextRule(TypedDict, total=False):
    """One thing that holds for the text of the answer, letter by letter."""

    contains: Annotated[base.Phrase, Meta(description="The answer contains this text.")]
    contains_any: Annotated[base.Phrases, Meta(description="The answer contains at least one of these.")]
    contains_all: Annotated[base.Phrases, Meta(description="The answer contains all of these.")]
    starts_with: Annotated[base.Phrase, Meta(description="The answer begins with this text.")]
    equals: Annotated[str, Meta(description="The answer is this text.")]
    regex: Annotated[base.Phrase, Meta(description="A JavaScript regex without flags that is found in the answer.")]
    near: Annotated[str, Meta(description="The answer is at most `distance` edits away from this text.")]
    distance: Annotated[int, Meta(ge=0, le=10_000, description="Letters added, removed or changed; 5 if not given.")]
    min_words: Annotated[int, Meta(ge=0, description="The minimum number of words, separated by white space.")]
    max_words: Annotated[int, Meta(ge=0, description="The maximum number of words, separated by white space.")]
    at: Annotated[
        base.Phrase, Meta(description="A JSONPath: check this value of the answer's JSON, not the whole answer.")
    ]
    ignore_case: Annotated[Literal[True], Meta(description="Ignore letter case.")]
    negated: Annotated[Literal[True], Meta(description="Invert the check: it must fail.")]


class AnswerText(base.AnswerCheck, Struct, frozen=True):
    """The text of the answer holds something, or is something, letter by letter."""

    name: ClassVar = "answer_text"
    group: ClassVar = Group.FORMATTING
    field: ClassVar = base.own_field(
        Annotated[list[TextRule], Meta(min_length=1)],
        "Text in the answer, one check per entry; letter case, white space and punctuation must match.",
    )
    examples: ClassVar = (
        Example({"contains": "Paris"}, says("It is Paris."), Status.PASSED),
        Example({"contains": "Paris"}, says("It is paris."), Status.FAILED),
        Example({"contains": "PARIS", "ignore_case": True}, says("It is paris."), Status.PASSED),
        Example({"contains": "Paris", "negated": True}, says("It is Paris."), Status.FAILED),
        Example({"contains_any": ["Rome", "Paris"]}, says("Paris"), Status.PASSED),
        Example({"contains_all": ["Rome", "Paris"]}, says("Paris"), Status.FAILED),
        Example({"starts_with": "Dear"}, says("Dear Ann"), Status.PASSED),
        Example({"equals": "4"}, says("4 "), Status.FAILED),
        Example({"regex": r"^\d+$"}, says("42"), Status.PASSED),
        Example({"regex": r"^\d+$"}, says("42\n"), Status.FAILED),
        Example({"near": "kitten", "distance": 3}, says("sitting"), Status.PASSED),
        Example({"near": "kitten", "distance": 2}, says("sitting"), Status.FAILED),
        Example({"min_words": 2, "max_words": 3}, says("It is - so"), Status.FAILED),
        Example({"contains": "Rome", "at": "$.city"}, says('{"city": "Rome"}'), Status.PASSED),
        Example({"contains": "Rome", "at": "$.town"}, says('{"city": "Rome"}'), Status.FAILED),
        Example({"contains": "Rome"}, CUT, Status.UNKNOWN),
    )
    contains: str | None = None
    contains_any: tuple[str, ...] = ()
    contains_all: tuple[str, ...] = ()
    starts_with: str | None = None
    equals: str | None = None
    regex: str | None = None
    near: str | None = None
    distance: int = 5
    min_words: int | None = None
    max_words: int | None = None
    at: str = ""
    ignore_case: bool = False
    negated: bool = False

    read = base.read_each()

    @property
    def description(self) -> str:
        tests = ", ".join(
            f"{test} {format_value(value)}" for test in self._given if (value := getattr(self, test)) is not None
        )
        near = f" within {self.distance} edits" if self.near is not None else ""
        case = ", whatever the letter case" if self.ignore_case else ""
        return f"{'not: ' if self.negated else ''}{tests}{near}{case}{f' at {self.at}' if self.at else ''}"

    @property
    def _given(self) -> tuple[str, ...]:
        return tuple(test for test in TESTS if getattr(self, test) not in (None, ()))

    def validate(self) -> Iterator[CheckProblem]:
        if len(self._given) != 1 and set(self._given) != {"min_words", "max_words"}:
            yield CheckProblem("invalid-value", f"expected one of {', '.join(TESTS)}, found {len(self._given)}.")
        if self.regex is not None and (why := why_bad_javascript(self.regex)):
            yield CheckProblem("bad-regex", f"{why}.", ("regex",))
        if self.at:
            yield from path_problems(self.at)

    def judge(self, trace: Trace) -> CheckResult:
        text, lacks = self._text(trace)
        if text is None:
            why = base.unreadable(trace)
            return self.unknown(why) if why else self._result(False, trace, lacks)
        try:
            holds, span = self._holds(text)
        except RegexTimeout as error:
            return self.unknown(str(error))
        if why := base.unreadable(trace):
            # What is there stays there, whatever is missing; all else may be in the part that is not known.
            uncertain = span is None or not holds or bool(trace.why_uncertain("final_message", *span))
            if uncertain:
                return self.unknown(why)
        return self._result(holds, trace, span=None if self.at else span)

    def _result(self, holds: bool, trace: Trace, lacks: str = "", span: tuple[int, int] | None = None) -> CheckResult:
        detail = base.excerpt(trace.final_message[slice(*span)]) if span else lacks or base.quote_answer(trace)
        at = EvidenceLocation("final_message", *span) if span else None
        return self.passed(detail, at) if holds is not self.negated else self.failed(detail, at)

    def _text(self, trace: Trace) -> tuple[str | None, str]:
        """The text that is judged, or what the answer lacks."""
        if not self.at:
            return trace.final_message, ""
        answer = json_answer(trace.final_message)
        if answer.why_not:
            return None, answer.why_not
        nodes = values_at(self.at, answer.value)
        return (as_text(nodes[0][1]), "") if nodes else (None, f"nothing at {self.at}")

    def _holds(self, text: str) -> tuple[bool, tuple[int, int] | None]:
        """Whether the answer is so, and where that shows."""
        fold = str.lower if self.ignore_case else str
        if self.regex is not None:
            span = find_javascript(self.regex, text, ignore_case=self.ignore_case)
            return span is not None, span
        folded = fold(text)
        if self.equals is not None:
            return folded == fold(self.equals), None
        if self.near is not None:
            return distance_within(folded, fold(self.near), self.distance), None
        if self.starts_with is not None:
            return folded.startswith(fold(self.starts_with)), (0, len(self.starts_with))
        if self.min_words is not None or self.max_words is not None:
            count = len(text.split())
            return (self.min_words or 0) <= count and (self.max_words is None or count <= self.max_words), None
        phrases = (self.contains,) if self.contains is not None else self.contains_any or self.contains_all
        matches = [(folded.find(fold(phrase)), len(phrase)) for phrase in phrases]
        present = [match for match in matches if match[0] >= 0]
        enough = len(present) == len(matches) if self.contains_all else bool(present)
        # Lower case may be longer than what it is of, and then the place is not known.
        span = (present[0][0], sum(present[0])) if present and len(folded) == len(text) else None
        return enough, span


def as_text(value: object) -> str:
    """A value as its tool would print it: a text as it is, all else as JSON."""
    return value if isinstance(value, str) else format_value(value)


DIGITS = 9
NO_LIBRARY = "ROUGE needs a library that is not installed: "
_ALONE = r"\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af"
_TOKEN = lazy.pattern(rf"[{_ALONE}]|[^\W_{_ALONE}]+")


class MatchRule(TypedDict):
    """References, and how alike the answers are to them."""

    texts: Annotated[list[base.Phrase], Meta(min_length=1, description="A reference for each turn.")]
    threshold: Annotated[float, Meta(gt=0, le=1, description="The lowest mean of the ROUGE-1 F-measures.")]


class ResponseMatch(base.Check, Struct, frozen=True):
    """The answers share enough words with their references: the mean of the ROUGE-1 F-measures."""

    name: ClassVar = "response_match"
    group: ClassVar = Group.QA
    channels: ClassVar = base.ALL_WORDS
    shows: ClassVar = frozenset({Status.UNKNOWN})  # without the library it cannot show more
    field: ClassVar = base.own_field(
        MatchRule, "How many words the answer shares with a reference (ROUGE-1, the extra `rouge`): {texts, threshold}."
    )
    examples: ClassVar = (
        Example(
            {"texts": ["It is paid"], "threshold": 0.5},
            says("It is", cuts={"final_message": TextLoss("only a part was kept")}),
            Status.UNKNOWN,
        ),
    )
    texts: tuple[str, ...]
    threshold: float

    read = base.read_object()

    @property
    def description(self) -> str:
        return f"a ROUGE-1 of {self.threshold:g} to {' | '.join(self.texts)[:300]!r}"

    def judge(self, trace: Trace) -> CheckResult:
        turns = trace.turns or (trace,)
        if len(turns) != len(self.texts):
            return self.unknown(f"the trace has {len(turns)} turns, and there are {len(self.texts)} references")
        if why := next((why for turn in turns if (why := base.unreadable(turn))), None):
            return self.unknown(why)
        try:
            scores = [rouge_1(turn.final_message, text) for turn, text in zip(turns, self.texts, strict=True)]
        except ImportError:
            return self.unknown(NO_LIBRARY + install_extra("rouge"))
        mean = round(sum(scores) / len(scores), DIGITS)
        detail = f"{mean:.3f}{f' of {scores}' if len(scores) > 1 else ''}"
        return self.passed(detail) if mean >= round(self.threshold, DIGITS) else self.failed(detail)


def rouge_1(answer: str, reference: str) -> float:
    """The F-measure of single words, with word stems. Raises ImportError without the library."""
    return float(_scorer().score(target=reference, prediction=answer)["rouge1"].fmeasure)


@lru_cache(maxsize=1)
def _scorer() -> Any:
    # Late: an optional library, which loads much. It has no types.
    from rouge_score import rouge_scorer, tokenizers  # type: ignore[import-untyped]

    class Tokenizer(tokenizers.Tokenizer):  # type: ignore[misc]  # the library has no types
        """Words of every script; those of English by their stems, signs without spaces between them each alone."""

        def __init__(self) -> None:
            self._english = tokenizers.DefaultTokenizer(use_stemmer=True)

        def tokenize(self, text: str) -> list[str]:
            words = _TOKEN.findall(unicodedata.normalize("NFKC", text).lower())
            return [stem for word in words for stem in (self._english.tokenize(word) if word.isascii() else [word])]

    return rouge_scorer.RougeScorer(["rouge1"], tokenizer=Tokenizer())


_WORD = lazy.regex(
    r"[\p{Han}\p{Hiragana}\p{Katakana}]|[\p{L}\p{N}][^\s\p{Han}\p{Hiragana}\p{Katakana}]*", regex.VERSION1
)
"""What is between white space and holds a letter or digit; where no spaces are written, each sign."""


_IS_NUMBER = lazy.pattern(r"-?\d+(?:\.\d+)?")
_MONEY = rf"(?:[$€£¥₹₩₽]|\b(?i:{alternatives('currency_codes')})\b)"
_CURRENCY = lazy.pattern(rf"{_MONEY} ?(?=\d)|(?<=\d) ?{_MONEY}")


class AnswerEquals(base.AnswerCheck, Struct, frozen=True):
    """The final message is this and nothing else, but for letter case, white space and typographic signs."""

    name: ClassVar = "answer_equals"
    description_format: ClassVar = "{self.text!r}"
    failure: ClassVar = ("", "the answer is not ")
    group: ClassVar = Group.QA
    field: ClassVar = base.own_field(base.Phrase | int | float, "The final message is this, and nothing else.")
    examples: ClassVar = (
        Example({"text": "Yes."}, says(" yes.\n"), Status.PASSED),
        Example({"text": "Yes."}, says("Yes. Gladly."), Status.FAILED),
        Example({"text": "1,200 rides"}, says("1200.00 rides"), Status.PASSED),
        Example({"text": "1080"}, says("$1,080.00"), Status.PASSED),
        Example({"text": "Total"}, CUT, Status.UNKNOWN),
    )
    text: str

    @classmethod
    def read(cls, expected: Expected) -> Iterator[base.CheckRequest]:
        if "answer_equals" in expected:
            value = expected["answer_equals"]
            yield base.CheckRequest(
                {"text": value if isinstance(value, str) else format_value(value)}, ("answer_equals",)
            )

    def validate(self) -> Iterator[CheckProblem]:
        return base.unfailable(self.text)

    def judge(self, trace: Trace) -> CheckResult:
        if why := base.unreadable(trace):
            return self.unknown(why)
        text = trace.final_message
        is_equal = any(self._is_equal(seen) for seen in dict.fromkeys((text, rendered_view(text).text)))
        return self.passed(base.quote_answer(trace)) if is_equal else self.failed(base.quote_answer(trace))

    def _is_equal(self, text: str) -> bool:
        wanted, found = _normalize(self.text), _normalize(text)
        return wanted == found or (_IS_NUMBER.fullmatch(wanted) is not None and wanted == _CURRENCY.sub("", found))

    def compared_values(self, trace: Trace) -> tuple[object, object]:
        return trace.final_message, self.text


def _normalize(text: str) -> str:
    """A text without what does not matter: 1,200.00 is 1200."""
    return fold(spell_numbers(text).text).strip()


class MinWords(base.AnswerCheck, Struct, frozen=True):
    """The final message has at least so many words that a reader sees."""

    name: ClassVar = "min_words"
    description_format: ClassVar = "at least {self.least} words"
    failure: ClassVar = ("at least ", "fewer than ")
    group: ClassVar = Group.FORMATTING
    field: ClassVar = base.own_field(Annotated[int, Meta(ge=1)], "The minimum number of words.")
    examples: ClassVar = (
        Example({"least": 3}, says("It is paid."), Status.PASSED),
        Example({"least": 3}, says("Paid - yes!"), Status.FAILED),
        Example({"least": 3}, says("Yes. <!-- it is paid -->"), Status.FAILED),
        Example({"least": 3}, CUT, Status.UNKNOWN),
    )
    least: int

    read = base.read_with("least")

    @property
    def why_always_passes(self) -> str:
        return "every answer has at least one word. Require more, or remove this key." if self.least == 1 else ""

    def judge(self, trace: Trace) -> CheckResult:
        count = words_in(trace.final_message)
        if count >= self.least:
            return self.passed(f"{count} words")
        return self.failed_unless(base.unreadable(trace), f"{count} words: {base.quote_answer(trace)}")


class MaxWords(base.AnswerCheck, Struct, frozen=True):
    """The final message has at most so many words that a reader sees."""

    name: ClassVar = "max_words"
    description_format: ClassVar = "at most {self.most} words"
    group: ClassVar = Group.FORMATTING
    field: ClassVar = base.own_field(Annotated[int, Meta(ge=1)], "The maximum number of words.", in_defaults="smaller")
    examples: ClassVar = (
        Example({"most": 3}, says("It is paid."), Status.PASSED),
        Example({"most": 3}, says("It is paid now."), Status.FAILED),
        Example({"most": 3}, CUT, Status.UNKNOWN),
    )
    most: int

    read = base.read_with("most")

    @property
    def why_always_passes(self) -> str:
        return base.out_of_reach(self.most, 100_000, "a hundred thousand words")

    def judge(self, trace: Trace) -> CheckResult:
        count = words_in(trace.final_message)
        if count > self.most:
            return self.failed(f"{count} words: {base.quote_answer(trace)}")
        return self.passed_unless(base.unreadable(trace), f"{count} words")


@lru_cache(maxsize=8)
def words_in(text: str) -> int:
    return len(_WORD.findall(rendered_view(text).text))
