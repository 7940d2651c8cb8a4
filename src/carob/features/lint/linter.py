"""Lint rules: expectations that are valid but probably prove less than they appear to. Static, no agent."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import chain
from typing import Any

from msgspec import Struct

from carob.checks.catalog import CheckCatalog
from carob.errors import Diagnostic, UsageError
from carob.features.lint import (
    commands,
    contract_rules,
    contradictions,
    criteria,
    effects,
    literals,
    phrases,
    target,
    tools,
    unseen,
    vacuous,
)
from carob.features.lint.base import LintCase, Rule, Smell, TargetInfo
from carob.model.suite import Suite
from carob.suites.diagnostics import Document, Path, PathDiagnostic, problems
from carob.suites.reading import LocatedSuite, locate_suite
from carob.text.wording import did_you_mean

RULES: tuple[Rule, ...] = (
    *phrases.RULES,
    *target.RULES,
    *contradictions.RULES,
    *tools.RULES,
    *vacuous.RULES,
    *literals.RULES,
    *effects.RULES,
    *commands.RULES,
    *criteria.RULES,
)
SUITE_RULES: dict[str, Callable[[Sequence[LintCase]], Iterator[Smell]]] = {
    "duplicate-prompt": phrases.find_duplicates,
    "idle-expectation": tools.find_unused,
    "unclaimable-effect": effects.find_unclaimable,
}
"""Smells that only all cases together show."""
READING = ("newer-field", "missing-version", "asks-nothing", "no-effect", "no-effects", "no-claims", "near-variable")
"""Warnings that reading a suite gives already."""
SUGGESTED = (tools.EFFECTS, tools.CLAIMS, tools.OVERRIDES, unseen.REPEATED, unseen.UNGROUNDED)
"""Suggestions: nothing is wrong without them."""
SLUGS: tuple[str, ...] = tuple(
    dict.fromkeys((*(rule.slug for rule in RULES), *SUITE_RULES, *contract_rules.SLUGS, *READING, *SUGGESTED))
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
    data: bytes, file: str, catalog: CheckCatalog, info: TargetInfo, ignore: Collection[str] = ()
) -> LintReport:
    """Read a suite and look for smells. Raises SuiteError with every problem that it holds."""
    suite = locate_suite(data, file, catalog)
    cases = _cases(suite, catalog)
    proposed = chain(tools.suggestions(cases, info), unseen.suggestions(cases))
    suggestions = _locate(suite, proposed, ignore)
    return LintReport(suite.suite, tuple(lint(suite, catalog, info, ignore)), tuple(suggestions))


def lint(
    suite: LocatedSuite, catalog: CheckCatalog, info: TargetInfo, ignore: Collection[str] = ()
) -> list[Diagnostic]:
    """Every smell of a suite at its line and column, in the order of the file."""
    return _locate(suite, _diagnostics(suite, catalog, info), ignore)


def _locate(suite: LocatedSuite, diagnostics: Iterator[PathDiagnostic], ignore: Collection[str]) -> list[Diagnostic]:
    listed = [
        diagnostic._replace(path=_place_in_file(diagnostic.path, suite.document))
        for diagnostic in diagnostics
        if diagnostic.slug not in ignore
    ]
    return list(dict.fromkeys(problems(suite.suite.file, listed, suite.document)))


def _place_in_file(path: Path, document: Document) -> Path:
    """Where the file says what a case expects: in the case, or, for what it does not say, above all cases.

    A smell of `defaults` is one smell, however many cases have it.
    """
    tree = document.tree
    if not isinstance(tree, dict) or "expected" not in path:
        return path
    start = path.index("expected") + 1
    if start >= len(path):
        return path
    found: Any = tree
    for step in path[:start]:
        try:
            found = found[step]
        except (LookupError, TypeError):
            found = {}
    key = path[start]
    if isinstance(found, dict) and key in found:
        return path
    defaults = tree.get("defaults")
    expected = defaults.get("expected") if isinstance(defaults, dict) else None
    if isinstance(expected, dict) and key in expected:
        return ("defaults", "expected", *path[start:])
    return path[start:] if key in tree else path


def _cases(suite: LocatedSuite, catalog: CheckCatalog) -> list[LintCase]:
    pairs = zip(suite.suite.cases, suite.expectations, strict=True)
    return [LintCase(case, expectation, suite.document, catalog) for case, expectation in pairs]


def _diagnostics(suite: LocatedSuite, catalog: CheckCatalog, info: TargetInfo) -> Iterator[PathDiagnostic]:
    yield from suite.warnings
    yield from contract_rules.find_rule_smells(suite.document.tree, info)
    cases = _cases(suite, catalog)
    for slug, find in SUITE_RULES.items():
        yield from (PathDiagnostic(*smell, slug) for smell in find(cases))
    for case in cases:
        turns = list(case.turns)
        for rule in RULES:
            for part in (case, *turns) if rule.in_turns else (case,):
                yield from (PathDiagnostic(*smell, rule.slug, rule.key) for smell in rule.find(part, info))
