"""What an answer must say: phrases and regexes that prove nothing, and what the prompt says already."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import regex
from msgspec import structs

from carob.checks.answer.brief import ClaimEvidenceAlignment, EvidenceFreshness, MustAllowOverrideAction, RequiredLevers
from carob.checks.answer.nodes import is_for_snapshots
from carob.checks.answer.phrases import (
    ExpectedContains,
    MustLabelAssumptions,
    MustMatchRegex,
    MustSayAny,
    ReasonContains,
    RequiredSource,
)
from carob.checks.answer.text import AnswerEquals
from carob.checks.base import excerpt
from carob.checks.effects.allocation import AllocationValid
from carob.checks.effects.outcome import Outcome
from carob.checks.numbers.required import MustGroundNumber
from carob.features.lint.base import LintCase, PlacedCheck, Rule, Smell, TargetInfo
from carob.model.trace import Trace
from carob.model.verdict import CaseStatus, Status
from carob.scoring import verdicts
from carob.suites.diagnostics import Path
from carob.text import phrases
from carob.text.folding import fold
from carob.text.regexes import safe_regex
from carob.text.regexes.examples import UnreadableError, example
from carob.text.wording import quoted

WORDS = """
a about after all also am an and any are as at be because been before but by can could data did do does done for from
get got had has have he help her here his how i if in information into is issue it its just kindly know let like made
make may me more my need new no not now of off ok okay on one only or other our out over please result results said
see she so some sure thank thanks that the their them then there these they thing this those to up us use very was we
well were what when where which who whose why will with would yes you your
"""
COMMON_WORDS = frozenset(WORDS.split())
FEW = 2
"""More common words in a row are no longer common."""
WORD = regex.compile(r"[\w']+")
PHRASES = (
    *("must_say_any", "expected_contains", "reason_contains", "assumption_markers_any", "required_sources", "asks_for"),
    "must_allow_override_actions",
)

LISTS = ("must_match_regex", "must_not_match_regex")
SINGLE = (
    "lever_regex",
    "claim_marker_regex",
    "evidence_marker_regex",
    "alignment_marker_regex",
    "evidence_freshness_regex",
)
NEARLY_ALL = 0.8
DIGIT_CLASS = regex.compile(r"\\d|\[(?:0-9|1-9|\\d)[,.]*\]|\[\[:digit:\]\]")
QUANTITY = regex.compile(r"\{\d*,?\d*\}|\\[1-9]")
NUMBERED = regex.compile(r"\^(?:\\s[*+]?)?\\d(?:\+|\{[\d,]*\})?\\?[.)]")
"""The number of an item at the start of a line, which may be any."""
DIGIT = regex.compile(r"\d")
ANSWERS = (
    "Yes.",
    "No, that is not possible today.",
    "I'm sorry, but I can't help with that.",
    "The kettle is in the kitchen, near the blue cups.",
    "Here you go:\n- bread\n- butter\n- jam",
    "1. Open the door.\n2. Go in.",
    '{"colour": "green", "legs": 4}',
    "Which of the two do you mean?",
    "Das Wetter bleibt morgen freundlich.",
    "def add(a, b):\n    return a + b",
    "Done! 🎉",
    "東京は日本の首都です。",
)
FIGURES = (
    "There are 7 apples left.",
    "Chapter 3 begins on page 112.",
    "It was founded in 1897.",
    "Roughly 45% of the seats are taken.",
    "Set the oven to 180 degrees and wait for 25 minutes.",
)


SPOKEN = (
    AnswerEquals, MustSayAny, MustMatchRegex, MustLabelAssumptions, RequiredLevers, ClaimEvidenceAlignment,
    EvidenceFreshness, MustAllowOverrideAction, ExpectedContains, ReasonContains, AllocationValid,
)  # fmt: skip
QUOTABLE = (RequiredSource, MustGroundNumber)
"""An answer may well take up names and numbers of the prompt: a smell only where nothing else is asked of it."""


def find_common_phrases(case: LintCase, _: TargetInfo) -> Iterator[Smell]:
    """Phrases that nearly every answer holds, whatever it is about."""
    for path, phrase in _phrases(case):
        words = WORD.findall(fold(phrase))
        if not words and not any(map(_is_rare, phrase)):
            yield path, f"{quoted(phrase)} has no word, so that it is in nearly every answer. Use a phrase."
        elif 0 < len(words) <= FEW and COMMON_WORDS.issuperset(words):
            yield path, f"{quoted(phrase)} is in nearly every answer. Use a more specific phrase."


def _is_rare(character: str) -> bool:
    """Whether it is a sign of its own, such as an emoji or the sign of a currency, and no punctuation."""
    return not character.isascii() or character in "$%"


def _phrases(case: LintCase) -> Iterator[tuple[Path, str]]:
    expected = case.expected
    lists = [(case.where(field), expected.get(field, ())) for field in PHRASES]
    for field, listed in expected.get("in_any_turn", {}).items():
        if field in PHRASES:
            lists.append(((*case.where("in_any_turn"), field), listed))
    for source, patterns in expected.get("source_patterns", {}).items():
        lists.append(((*case.where("source_patterns"), source), patterns))
    for path, entry in _number_entries(case):
        lists.append(((*path, "context_any"), entry.get("context_any", ())))
    for path, listed in lists:
        yield from (((*path, index), phrase) for index, phrase in enumerate(listed))


def _number_entries(case: LintCase) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    for index, entry in enumerate(case.expected.get("must_ground_numbers", ())):
        if isinstance(entry, dict):
            yield (*case.where("must_ground_numbers"), index), entry


def find_loose_regexes(case: LintCase, _: TargetInfo) -> Iterator[Smell]:
    """Regexes that ordinary answers to other questions match."""
    for path, pattern in _regexes(case):
        share = _share(pattern, ANSWERS)
        if share >= NEARLY_ALL:
            message = f"this regex matches nearly every answer: {share:.0%} of ordinary ones to other questions."
            yield path, f"{message} Ask for more."
        elif _takes_any_number(path, pattern):
            yield path, "any number satisfies this regex. Write the number, or the words next to it."


def _takes_any_number(path: Path, pattern: str) -> bool:
    """Whether a regex asks for a number, and takes every one: its digits are all classes, none is spelled out."""
    if "must_ground_numbers" in path and _share(pattern, FIGURES) >= NEARLY_ALL:
        return True
    is_required = "must_ground_numbers" in path or "must_match_regex" in path
    bare = QUANTITY.sub("", NUMBERED.sub("", pattern))
    return is_required and DIGIT_CLASS.search(bare) is not None and DIGIT.search(DIGIT_CLASS.sub("", bare)) is None


def find_unmatchable_regexes(case: LintCase, _: TargetInfo) -> Iterator[Smell]:
    """Regexes for which no text could be made that they match."""
    for path, pattern in _regexes(case):
        try:
            matched = example(pattern)
        except UnreadableError:
            continue
        if matched is None:
            yield path, "this regex seems to match no text at all. Check its anchors."


def find_snapshot_regexes(case: LintCase, _: TargetInfo) -> Iterator[Smell]:
    """Regexes that are written for an accessibility snapshot, of which answers consist nowhere."""
    for path, pattern in _regexes(case):
        if is_for_snapshots(pattern):
            tried = "It is tried on the answer's own snapshot, or on its Markdown written as one, and on nothing else."
            reach = tried if {*SINGLE[:-1], LISTS[0]} & set(path) else "Nothing else is looked at here: use `ui`."
            yield path, f"this regex is for an accessibility snapshot: it finds nothing in an answer. {reach}"


def _regexes(case: LintCase) -> Iterator[tuple[Path, str]]:
    """Every regex that the file spells out, with its place."""
    expected = case.expected
    for field in LISTS:
        for index, pattern in enumerate(expected.get(field, ())):
            yield (*case.where(field), index), pattern
    for field in SINGLE:
        if field in expected:
            yield case.where(field), expected[field]
    for path, entry in _number_entries(case):
        if "regex" in entry:
            yield (*path, "regex"), entry["regex"]


def _share(pattern: str, texts: Sequence[str]) -> float:
    return sum(is_match(pattern, text) for text in texts) / len(texts)


def is_match(pattern: str, text: str) -> bool:
    """Whether a regex is found in a text in time."""
    try:
        return safe_regex.search(pattern, text) is not None
    except safe_regex.RegexTimeout:
        return False


def find_prompt_satisfied(case: LintCase, _: TargetInfo) -> Iterator[Smell]:
    """Checks that an agent satisfies by repeating the prompt."""
    echo = _echo(case)
    # A question that is expected is a thing to say as well.
    asks_back = (Outcome,) if case.case.outcome == "needs_input" else ()
    spoken = [placed for placed in case.checks if isinstance(placed.check, (*SPOKEN, *QUOTABLE, *asks_back))]
    # A refusal that needs no words because no tool was called does not depend on the prompt.
    by_words = structs.replace(echo, unobserved={"tools": "only the words of the prompt count"})
    results = [
        (placed, verdicts.run_check(placed.check, by_words if isinstance(placed.check, AllocationValid) else echo))
        for placed in spoken
    ]
    satisfied = [(placed, result) for placed, result in results if result.status is Status.PASSED]
    for placed, result in satisfied:
        if isinstance(placed.check, SPOKEN) or placed.args.get("regex") or len(satisfied) == len(results):
            path, words = _locate_words(placed, case.case.prompt, result.found)
            cause = f"the prompt itself holds {quoted(words)}" if words else "the prompt itself satisfies this"
            yield path, f"{cause}, so an agent that repeats it passes. Expect something that only a right answer has."


def find_echo_passes(case: LintCase, _: TargetInfo) -> Iterator[Smell]:
    """Cases that pass with the prompt for an answer."""
    checks = [placed.check for placed in case.checks]
    if verdicts.judge(checks, case.case.scoring, _echo(case)).status is CaseStatus.PASS:
        message = "an agent that repeats the prompt and calls no tool passes."
        yield (*case.path, "id"), f"{message} Expect something that only a right answer has."


def find_duplicates(cases: Sequence[LintCase]) -> Iterator[Smell]:
    """Prompts that an earlier case asks in the same words."""
    first: dict[tuple[str, ...], str] = {}
    for case in cases:
        words = tuple(map(fold, (*case.case.user_texts, *(reply.say for reply in case.case.replies))))
        earlier = first.setdefault(words, case.case.id)
        if earlier != case.case.id:
            message = f"case {quoted(earlier)} asks the same. Ask something else, or expect all of it in one case."
            yield (*case.path, "prompt" if case.path[0] == "cases" else "input"), message


def _echo(case: LintCase) -> Trace:
    return Trace(case_id=case.case.id, input=case.case.prompt, final_message=case.case.prompt, tool_calls=())


def _locate_words(placed: PlacedCheck, prompt: str, evidence: str) -> Smell:
    """The path of the satisfied expectation, and the words of the prompt that satisfy it."""
    if isinstance(placed.check, MustSayAny):
        for index, phrase in enumerate(placed.args["phrases"]):
            if phrases.find(prompt, phrase):
                return (*placed.path, index), phrase
    return placed.path, "" if isinstance(placed.check, RequiredLevers | AllocationValid) else excerpt(evidence, 60)


RULES = (
    Rule("prompt-satisfies", find_prompt_satisfied),
    Rule("echo-passes", find_echo_passes, in_turns=False),
    Rule("loose-regex", find_loose_regexes),
    Rule("dead-regex", find_unmatchable_regexes),
    Rule("snapshot-regex", find_snapshot_regexes),
    Rule("loose-phrase", find_common_phrases),
)
