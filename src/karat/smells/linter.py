"""Smells of a suite: what is allowed to stand in it and is most likely not meant. Static, no agent."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

from msgspec import Struct

from karat.checks.catalog import CATALOG
from karat.errors import Problem, UsageError
from karat.model.suite import Suite
from karat.smells import bounds as lint_bounds
from karat.smells import contradictions as lint_contradictions
from karat.smells import conversations as lint_conversations
from karat.smells import effects as lint_effects
from karat.smells import groups as lint_groups
from karat.smells import idle as lint_idle
from karat.smells import phrases as lint_phrases
from karat.smells import prompts as lint_prompts
from karat.smells import regexes as lint_regexes
from karat.smells import telemetry as lint_telemetry
from karat.smells import tools as lint_tools
from karat.smells import ui as lint_ui
from karat.smells import vacuous as lint_vacuous
from karat.smells import values as lint_values
from karat.smells.base import LintCase, Rule, Surroundings
from karat.suites.documents.source import read_bytes
from karat.suites.findings import Finding, problems
from karat.suites.reading import Located, located
from karat.text.wording import did_you_mean

RULES: tuple[Rule, ...] = (
    *lint_prompts.RULES,
    *lint_conversations.RULES,
    *lint_groups.RULES,
    *lint_telemetry.RULES,
    *lint_ui.RULES,
    *lint_regexes.RULES,
    *lint_phrases.RULES,
    *lint_contradictions.RULES,
    *lint_tools.RULES,
    *lint_vacuous.RULES,
    *lint_bounds.RULES,
    *lint_values.RULES,
)
OF_TURNS = tuple(rule for rule in RULES if rule.slug not in ("echo-passes", *(rule.slug for rule in lint_groups.RULES)))
"""What is also looked for in each turn of a conversation."""
READING = ("newer-field", "missing-version", "asks-nothing", "no-effect", "no-effects", "near-variable")
"""Smells that reading a suite tells of already."""
SUGGESTED = (lint_effects.EFFECTS, lint_effects.CLAIMS)
"""Suggestions, which are no smells: nothing is wrong without them."""
SLUGS: tuple[str, ...] = tuple(
    dict.fromkeys((*(rule.slug for rule in RULES), lint_prompts.DUPLICATE, lint_idle.IDLE, *READING, *SUGGESTED))
)


class LintReport(Struct, frozen=True):
    """A suite and its smells, each at its place in the file."""

    suite: Suite
    smells: tuple[Problem, ...]
    suggestions: tuple[Problem, ...] = ()


def refuse_unknown(slugs: Collection[str]) -> None:
    """Raise UsageError if no smell is called so."""
    for slug in slugs:
        if slug not in SLUGS:
            fix = did_you_mean(slug, SLUGS).strip() or f"Known are {', '.join(SLUGS)}."
            raise UsageError(f"no smell is called {slug!r}.", fix=fix, slug="unknown-slug")


def lint_source(data: bytes, file: str, around: Surroundings, ignore: Collection[str] = ()) -> LintReport:
    """Read a suite and look for smells. Raises SuiteError with every problem that it holds."""
    suite = located(data, file, CATALOG)
    return LintReport(suite.suite, tuple(lint(suite, around, ignore)), tuple(suggest(suite, around, ignore)))


def open_suite(path: str | Path) -> Located:
    """Read a suite file. Raises SuiteError with every problem that it holds."""
    return located(read_bytes(path), str(path), CATALOG)


def lint(suite: Located, around: Surroundings, ignore: Collection[str] = ()) -> list[Problem]:
    """Every smell of a suite at its line and column, in the order of the file."""
    found = [finding for finding in _findings(suite, around) if finding.slug not in ignore]
    return problems(suite.suite.file, found, suite.document)


def suggest(suite: Located, around: Surroundings, ignore: Collection[str] = ()) -> list[Problem]:
    """What the suite could declare besides. No exit code depends on it."""
    found = [one for one in lint_effects.suggestions(_cases(suite), around) if one.slug not in ignore]
    return problems(suite.suite.file, found, suite.document)


def _cases(suite: Located) -> list[LintCase]:
    pairs = zip(suite.suite.cases, suite.askings, strict=True)
    return [LintCase(case, asking, suite.document) for case, asking in pairs]


def _findings(suite: Located, around: Surroundings) -> Iterator[Finding]:
    yield from suite.warnings
    cases = _cases(suite)
    yield from lint_prompts.duplicates(cases)
    yield from lint_idle.idle(cases)
    for case in cases:
        for rule in RULES:
            yield from rule.look(case, around)
        for turn in case.turns:
            for rule in OF_TURNS:
                yield from rule.look(turn, around)
