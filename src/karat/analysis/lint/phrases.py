"""Phrases so common that they prove nothing."""

from __future__ import annotations

from collections.abc import Iterator

import regex

from karat.analysis.lint.base import LintCase, Rule, TargetInfo
from karat.suites.diagnostics import Path, PathDiagnostic
from karat.text.folding import fold
from karat.text.wording import quoted

WORDS = """
a about after all also am an and any are as at be because been before but by can could data did do does done for from
get got had has have he help her here his how i if in information into is issue it its just kindly know let like made
make may me more my need new no not now of off ok okay on one only or other our out over please result results said
see she so some sure thank thanks that the their them then there these they thing this those to up us use very was we
well were what when where which who whose why will with would yes you your
"""
COMMON = frozenset(WORDS.split())
FEW = 2
"""More common words in a row are no longer common."""
WORD = regex.compile(r"[\w']+")


def common(case: LintCase, around: TargetInfo) -> Iterator[PathDiagnostic]:
    """Phrases that nearly every answer holds, whatever it is about."""
    for path, phrase in _phrases(case):
        words = WORD.findall(fold(phrase))
        if 0 < len(words) <= FEW and COMMON.issuperset(words):
            message = f"{quoted(phrase)} is in nearly every answer. Use a more specific phrase."
            yield PathDiagnostic(path, message, "loose-phrase")


def _phrases(case: LintCase) -> Iterator[tuple[Path, str]]:
    expected = case.expected
    for field in ("must_say_any", "expected_contains", "reason_contains", "assumption_markers_any", "required_sources"):
        yield from (((*case.where(field), i), phrase) for i, phrase in enumerate(expected.get(field, ())))
    for source, phrases in expected.get("source_patterns", {}).items():
        yield from (((*case.where("source_patterns"), source, i), phrase) for i, phrase in enumerate(phrases))
    for index, entry in enumerate(expected.get("must_ground_numbers", ())):
        if isinstance(entry, dict):
            near = entry.get("context_any", ())
            path = (*case.where("must_ground_numbers"), index, "context_any")
            yield from (((*path, i), phrase) for i, phrase in enumerate(near))


RULES = (Rule("loose-phrase", common),)
