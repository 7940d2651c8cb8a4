"""How many words an answer shares with a reference: ROUGE-1, as other tools count it, by the library that they use."""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from typing import Annotated, Any, ClassVar, TypedDict

from msgspec import Meta, Struct

from karat.checks.base import ALL_WORDS, Check, Phrase, unreadable
from karat.checks.reading import read_whole
from karat.checks.sample_traces import says
from karat.model.check import Example, Field
from karat.model.trace import TextLoss, Trace
from karat.model.verdict import CheckResult, Group, Status
from karat.text.regexes import lazy

DIGITS = 9
NO_LIBRARY = "ROUGE needs a library that is not installed: pip install 'karat[rouge]'"
_ALONE = r"\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af"
_TOKEN = lazy.pattern(rf"[{_ALONE}]|[^\W_{_ALONE}]+")


class MatchRule(TypedDict):
    """References, and how alike the answers are to them."""

    texts: Annotated[list[Phrase], Meta(min_length=1, description="A reference for each turn.")]
    threshold: Annotated[float, Meta(gt=0, le=1, description="The lowest mean of the ROUGE-1 F-measures.")]


class ResponseMatch(Check, Struct, frozen=True):
    """The answers share enough words with their references: the mean of the ROUGE-1 F-measures."""

    name: ClassVar = "response_match"
    group: ClassVar = Group.QA
    channels: ClassVar = ALL_WORDS
    shows: ClassVar = frozenset({Status.UNKNOWN})  # without the library it cannot show more
    fields: ClassVar = (
        Field(
            "response_match",
            MatchRule,
            "How many words the answer shares with a reference (ROUGE-1, `karat[rouge]`): {texts, threshold}.",
            since="1",
        ),
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

    read = read_whole()

    @property
    def description(self) -> str:
        return f"a ROUGE-1 of {self.threshold:g} to {' | '.join(self.texts)[:300]!r}"

    def judge(self, trace: Trace) -> CheckResult:
        turns = trace.turns or (trace,)
        if len(turns) != len(self.texts):
            return self.unknown(f"the trace has {len(turns)} turns, and there are {len(self.texts)} references")
        why = next((why for turn in turns if (why := unreadable(turn))), None)
        if why:
            return self.unknown(why)
        try:
            scores = [rouge_1(turn.final_message, text) for turn, text in zip(turns, self.texts, strict=True)]
        except ImportError:
            return self.unknown(NO_LIBRARY)
        mean = round(sum(scores) / len(scores), DIGITS)
        found = f"{mean:.3f}{f' of {scores}' if len(scores) > 1 else ''}"
        return self.passed(found) if mean >= round(self.threshold, DIGITS) else self.failed(found)


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
