"""Bounds that no agent comes near."""

from __future__ import annotations

from collections.abc import Iterator

from karat.linting.base import LintCase, Rule, Surroundings
from karat.suites.diagnostics import PathDiagnostic


def far(case: LintCase, around: Surroundings) -> Iterator[PathDiagnostic]:
    """Bounds that are far beyond what a turn takes, and a length that every answer has."""
    for placed in case.checks:
        if why := placed.check.why_always_passes:
            yield PathDiagnostic(placed.path, why, "vacuous-bound")


RULES = (Rule("vacuous-bound", far),)
