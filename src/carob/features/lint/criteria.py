"""Criteria that a reader can hardly decide with one word, or that a key says exactly."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Final

from carob.checks.effects.outcome import Outcome
from carob.checks.meaning import ReadCriterion
from carob.features.lint.base import LintCase, Rule, Smell, TargetInfo
from carob.text.wording import join_words

LONG: Final = 500
VAGUE: Final = (
    "appropriate", "appropriately", "good", "nice", "nicely", "high-quality", "quality", "reasonable",
    "reasonably", "adequate", "adequately", "proper", "properly", "suitable", "suitably", "effective", "effectively",
    "helpful", "useful", "relevant", "engaging", "natural", "intuitive", "comprehensive", "thorough", "as needed",
    "if possible", "etc", "and so on", "best practices", "user-friendly",
)  # fmt: skip
"""Words on which two readers differ; docs/lint.md prints them."""
_VAGUE = re.compile(rf"\b(?:{'|'.join(map(re.escape, VAGUE))})\b", re.IGNORECASE)
_SCALE = re.compile(
    r"\b(?:score|rate|grade|scale)\b[^.]{0,60}\d|\b\d+\s*(?:-|–|to)\s*\d+\s+(?:scale|points?|stars?)|\bout of \d"
    r"|\d\s*/\s*(?:5|10|100)\b",
    re.IGNORECASE,
)
_OBJECT = r"(?:a|an|the|no|not|any|all|each|its|their|how|why|what|which|that|it|to|for|on|in|with|user|them)\b"
_SEVERAL = re.compile(
    rf"[.;]\s+\S|\bas well as\b|\band also\b|\s(?:and|but)\s+(?:then\s+)?(?:does|is|are|has|[a-z]{{2,}}s)\s+{_OBJECT}",
    re.IGNORECASE,
)
_ABSENT = re.compile(
    r"^(?:the (?:answer|response|reply|agent) )?(?:does not|doesn't|never|has no|without)\b", re.IGNORECASE
)
_SUBJECT = r"(?:the )?(?:answer|response|reply|output|agent|assistant|it)?\s*"
_TEXT, _NAME = r"""["'“”‘’`](?P<text>[^"'“”‘’`]+)["'“”‘’`]""", r"[`'\"]?(?P<text>\w+)[`'\"]?"
_SAYS = r"(?:mentions?|contains?|says?|includes?)"
_CALLS = r"(?:calls?|uses?|invokes?)"
KEYS: Final = tuple(
    (re.compile(rf"{_SUBJECT}{pattern}\.?", re.IGNORECASE), key)
    for pattern, key in (
        (rf"{_SAYS} {_TEXT}", "must_say_any: [{text}]"),
        (rf"(?:does not|doesn't|must not|never) {_SAYS} {_TEXT}", "must_not_say: [{text}]"),
        (rf"{_CALLS} the {_NAME} tool", "tool_calls_any: [{text}]"),
        (rf"(?:does not|doesn't|must not|never) {_CALLS} the {_NAME} tool", "tool_calls_none: [{text}]"),
        (r"is valid json", "answer_json: true"),
        (r"(?:has|is|uses?) (?:at most|no more than) (?P<text>\d+) words", "max_words: {text}"),
        (r"(?:has|is|uses?) at least (?P<text>\d+) words", "min_words: {text}"),
    )
)
"""Sentences that say exactly what a key does; nothing is guessed."""


_QUOTED: Final = re.compile(r'"([^"]{2,60})"|“([^”]{2,60})”|`([^`]{2,60})`')
_DENIED: Final = re.compile(r"\b(?:not|never|without|no|avoids?|instead of|rather than)\b|n't\b", re.IGNORECASE)


def find_long(case: LintCase, _: TargetInfo) -> Iterator[Smell]:
    for placed in case.of(ReadCriterion):
        if len(placed.args["says"]) > LONG:
            yield placed.path, f"the criterion has more than {LONG} characters. Split it."


def find_several(case: LintCase, _: TargetInfo) -> Iterator[Smell]:
    for placed in case.of(ReadCriterion):
        if _SEVERAL.search(placed.args["says"]):
            yield (
                placed.path,
                "the criterion holds several claims, so that one may hold and another not. Write one each.",
            )


def find_scale(case: LintCase, _: TargetInfo) -> Iterator[Smell]:
    for placed in case.of(ReadCriterion):
        if _SCALE.search(placed.args["says"]):
            yield placed.path, "the criterion asks for a score, and is met or not. Say what must hold."


def find_vague(case: LintCase, _: TargetInfo) -> Iterator[Smell]:
    for placed in case.of(ReadCriterion):
        if words := list(dict.fromkeys(word.lower() for word in _VAGUE.findall(placed.args["says"]))):
            yield placed.path, f"readers differ on {join_words(map(repr, words), 'and')}. Say what must be there."


def find_exact(case: LintCase, _: TargetInfo) -> Iterator[Smell]:
    for placed in case.of(ReadCriterion):
        for pattern, key in KEYS:
            if match := pattern.fullmatch(placed.args["says"].strip()):
                text = match.groupdict().get("text") or ""
                yield placed.path, f"a key says it exactly, without a reader: {key.format(text=text)}"


def find_quoted(case: LintCase, _: TargetInfo) -> Iterator[Smell]:
    for placed in case.of(ReadCriterion):
        says = placed.args["says"].strip()
        words = [next(filter(None, found)) for found in _QUOTED.findall(says)]
        if words and not any(pattern.fullmatch(says) for pattern, _ in KEYS):
            key = "must_not_say" if _DENIED.search(says) else "must_say_any"
            shown = ", ".join(json.dumps(word, ensure_ascii=False) for word in dict.fromkeys(words))
            yield (
                placed.path,
                f"words in quotes need no reader. Add {key}: [{shown}] if the answer has them as they are.",
            )


def find_absence(case: LintCase, _: TargetInfo) -> Iterator[Smell]:
    for placed in case.of(ReadCriterion):
        if _ABSENT.search(placed.args["says"]) and not placed.args.get("absence"):
            yield placed.path, "nothing can be quoted where something is missing. Add `absence: true` for a judge."


def find_alone(case: LintCase, _: TargetInfo) -> Iterator[Smell]:
    criteria = list(case.of(ReadCriterion))
    others = [placed for placed in case.checks if not isinstance(placed.check, Outcome)]
    if criteria and len(criteria) == len(others):
        yield criteria[0].path, "nothing else of the case is checked. Add what words or calls can decide."


RULES = (
    Rule("long-criterion", find_long),
    Rule("several-claims", find_several),
    Rule("score-scale", find_scale),
    Rule("vague-criterion", find_vague),
    Rule("exact-criterion", find_exact),
    Rule("quoted-words", find_quoted),
    Rule("absent-criterion", find_absence),
    Rule("only-criteria", find_alone),
)
