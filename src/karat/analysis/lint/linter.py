"""Lint rules: expectations that are valid but probably prove less than they appear to. Static, no agent."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from msgspec import Struct

from karat.analysis.lint import contradictions as lint_contradictions
from karat.analysis.lint import conversations as lint_conversations
from karat.analysis.lint import effects as lint_effects
from karat.analysis.lint import idle as lint_idle
from karat.analysis.lint import phrases as lint_phrases
from karat.analysis.lint import prompts as lint_prompts
from karat.analysis.lint import regexes as lint_regexes
from karat.analysis.lint import surroundings as lint_surroundings
from karat.analysis.lint import telemetry as lint_telemetry
from karat.analysis.lint import tools as lint_tools
from karat.analysis.lint import ui as lint_ui
from karat.analysis.lint import vacuous as lint_vacuous
from karat.analysis.lint import values as lint_values
from karat.analysis.lint.base import LintCase, Rule, TargetInfo
from karat.checks.catalog import CheckCatalog
from karat.errors import Diagnostic, UsageError
from karat.model.suite import Suite
from karat.suites.diagnostics import PathDiagnostic, problems
from karat.suites.reading import LocatedSuite, locate_suite
from karat.text.wording import did_you_mean

RULES: tuple[Rule, ...] = (
    *lint_prompts.RULES,
    *lint_conversations.RULES,
    *lint_telemetry.RULES,
    *lint_ui.RULES,
    *lint_regexes.RULES,
    *lint_phrases.RULES,
    *lint_contradictions.RULES,
    *lint_surroundings.RULES,
    *lint_tools.RULES,
    *lint_vacuous.RULES,
    *lint_values.RULES,
)
OF_TURNS = tuple(rule for rule in RULES if rule.slug not in ("echo-passes", lint_vacuous.UNCHECKED.slug))
"""What is also looked for in each turn of a conversation."""
READING = ("newer-field", "missing-version", "asks-nothing", "no-effect", "no-effects", "near-variable")
"""Warnings that reading a suite gives already."""
SUGGESTED = (lint_effects.EFFECTS, lint_effects.CLAIMS)
"""Suggestions: nothing is wrong without them."""
SLUGS: tuple[str, ...] = tuple(
    dict.fromkeys((*(rule.slug for rule in RULES), lint_prompts.DUPLICATE, lint_idle.IDLE, *READING, *SUGGESTED))
)


class LintReport(Struct, frozen=True):
    """A suite and its smells, each at its place in the file."""

    suite: Suite
    smells: tuple[Diagnostic, ...]
    suggestions: tuple[Diagnostic, ...] = ()


def check_slugs(slugs: Collection[str]) -> None:
    """Raise UsageError if no smell is called so."""
    for slug in slugs:
        if slug not in SLUGS:
            fix = did_you_mean(slug, SLUGS).strip() or f"Known: {', '.join(SLUGS)}."
            raise UsageError(f"no smell is called {slug!r}.", fix=fix, slug="unknown-slug")


def lint_source(
    data: bytes, file: str, catalog: CheckCatalog, around: TargetInfo, ignore: Collection[str] = ()
) -> LintReport:
    """Read a suite and look for smells. Raises SuiteError with every problem that it holds."""
    suite = locate_suite(data, file, catalog)
    return LintReport(
        suite.suite, tuple(lint(suite, catalog, around, ignore)), tuple(suggest(suite, catalog, around, ignore))
    )


def lint(
    suite: LocatedSuite, catalog: CheckCatalog, around: TargetInfo, ignore: Collection[str] = ()
) -> list[Diagnostic]:
    """Every smell of a suite at its line and column, in the order of the file."""
    found = [diagnostic for diagnostic in _diagnostics(suite, catalog, around) if diagnostic.slug not in ignore]
    return problems(suite.suite.file, found, suite.document)


def suggest(
    suite: LocatedSuite, catalog: CheckCatalog, around: TargetInfo, ignore: Collection[str] = ()
) -> list[Diagnostic]:
    """What the suite could declare besides. No exit code depends on it."""
    found = [one for one in lint_effects.suggestions(_cases(suite, catalog), around) if one.slug not in ignore]
    return problems(suite.suite.file, found, suite.document)


def _cases(suite: LocatedSuite, catalog: CheckCatalog) -> list[LintCase]:
    pairs = zip(suite.suite.cases, suite.expectations, strict=True)
    return [LintCase(case, expectation, suite.document, catalog) for case, expectation in pairs]


def _diagnostics(suite: LocatedSuite, catalog: CheckCatalog, around: TargetInfo) -> Iterator[PathDiagnostic]:
    yield from suite.warnings
    cases = _cases(suite, catalog)
    yield from lint_prompts.duplicates(cases)
    yield from lint_idle.find_unused(cases)
    for case in cases:
        for rule in RULES:
            yield from rule.look(case, around)
        for turn in case.turns:
            for rule in OF_TURNS:
                yield from rule.look(turn, around)
