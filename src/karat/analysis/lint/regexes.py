"""Regexes that nearly every answer matches, and regexes that none can."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import regex

from karat.analysis.lint.base import LintCase, Rule, TargetInfo
from karat.checks.answer.nodes import is_for_snapshots
from karat.suites.diagnostics import Path, PathDiagnostic
from karat.text.regexes import safe_regex
from karat.text.regexes.examples import UnreadableError, example

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
WRITTEN = regex.compile(r"\d")
IN_SNAPSHOT = "this regex is for an accessibility snapshot: it finds nothing in an answer."

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


def find_loose_regexes(case: LintCase, around: TargetInfo) -> Iterator[PathDiagnostic]:
    """Regexes that ordinary answers to other questions match."""
    for path, pattern in _regexes(case):
        share = _share(pattern, ANSWERS)
        if share >= NEARLY_ALL:
            message = f"this regex matches nearly every answer: {share:.0%} of ordinary ones to other questions."
            yield PathDiagnostic(path, f"{message} Ask for more.", "loose-regex")
        elif _any_number(path, pattern):
            message = "any number satisfies this regex. Write the number, or the words next to it."
            yield PathDiagnostic(path, message, "loose-regex")


def _any_number(path: Path, pattern: str) -> bool:
    """Whether a regex asks for a number, and takes every one: its digits are all classes, none is written."""
    if "must_ground_numbers" in path and _share(pattern, FIGURES) >= NEARLY_ALL:
        return True
    wanted = "must_ground_numbers" in path or "must_match_regex" in path
    bare = QUANTITY.sub("", NUMBERED.sub("", pattern))
    return wanted and DIGIT_CLASS.search(bare) is not None and WRITTEN.search(DIGIT_CLASS.sub("", bare)) is None


def find_unmatchable_regexes(case: LintCase, around: TargetInfo) -> Iterator[PathDiagnostic]:
    """Regexes for which no text could be made that they match."""
    for path, pattern in _regexes(case):
        try:
            matched = example(pattern)
        except UnreadableError:
            continue
        if matched is None:
            message = "this regex seems to match no text at all. Check its anchors."
            yield PathDiagnostic(path, message, "dead-regex")


def snapshot(case: LintCase, around: TargetInfo) -> Iterator[PathDiagnostic]:
    """Regexes that are written for an accessibility snapshot, of which answers consist nowhere."""
    for path, pattern in _regexes(case):
        if is_for_snapshots(pattern):
            tried = "It is tried on the answer's own snapshot, or on its Markdown written as one, and on nothing else."
            what = tried if {*SINGLE[:-1], LISTS[0]} & set(path) else "Nothing else is looked at here: use `ui`."
            yield PathDiagnostic(path, f"{IN_SNAPSHOT} {what}", "snapshot-regex")


def _regexes(case: LintCase) -> Iterator[tuple[Path, str]]:
    """Every regex that the file spells out, with its place."""
    expected = case.expected
    for field in LISTS:
        for index, pattern in enumerate(expected.get(field, ())):
            yield (*case.where(field), index), pattern
    for field in SINGLE:
        if field in expected:
            yield case.where(field), expected[field]
    for index, entry in enumerate(expected.get("must_ground_numbers", ())):
        if isinstance(entry, dict) and "regex" in entry:
            yield (*case.where("must_ground_numbers"), index, "regex"), entry["regex"]


def _share(pattern: str, texts: Sequence[str]) -> float:
    return sum(_is_found(pattern, text) for text in texts) / len(texts)


def _is_found(pattern: str, text: str) -> bool:
    try:
        return safe_regex.search(pattern, text) is not None
    except safe_regex.RegexTimeout:
        return False


RULES = (
    Rule("loose-regex", find_loose_regexes),
    Rule("dead-regex", find_unmatchable_regexes),
    Rule("snapshot-regex", snapshot),
)
