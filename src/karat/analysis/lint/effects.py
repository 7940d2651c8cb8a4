"""What a suite could declare of its tools. Suggestions for people: no run and no exit code depends on them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import regex

from karat.analysis.lint.base import LintCase, TargetInfo
from karat.analysis.lint.contradictions import expected_calls
from karat.checks.effects.claims import NoFalseSuccess
from karat.suites.diagnostics import PathDiagnostic
from karat.text.wording import pluralize
from karat.text.words import PUBLISHED

EFFECTS = "propose-effects"
CLAIMS = "propose-no-false-success"
MOST_NAMED = 8

_FIRST = regex.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


def suggestions(cases: Sequence[LintCase], around: TargetInfo) -> Iterator[PathDiagnostic]:
    """Effects for tools that look like writes; `no_false_success` where effects are declared."""
    parts = [part for case in cases for part in (case, *case.turns)]
    if not any(part.expected.get("effects") for part in parts):
        tools = {tool for part in parts for _, tool, _ in expected_calls(part)} | (around.tools or frozenset())
        writes = sorted(tool for tool in tools if looks_like_write(tool))
        if writes:
            named = ", ".join(f"{tool}: [...]" for tool in writes[:MOST_NAMED])
            message = f"these tools look as if they change something. If they do, declare it: effects: {{{named}}}."
            yield PathDiagnostic(cases[0].path[:-1], message, EFFECTS)
        return
    without = [case for case in cases if not any(any(part.of(NoFalseSuccess)) for part in (case, *case.turns))]
    if without:
        message = f"effects are declared, but any claim passes in {pluralize(len(without), 'case')}. "
        yield PathDiagnostic(without[0].path, f"{message}Add no_false_success: true.", CLAIMS)


def looks_like_write(tool: str) -> bool:
    """Whether the first word of a name is none of those that only read."""
    first = _FIRST.search(tool.rpartition(".")[2])
    return first is not None and first[0].lower() not in PUBLISHED.entries("reading_tools")
