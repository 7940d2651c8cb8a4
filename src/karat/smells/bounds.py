"""Bounds that no agent comes near."""

from __future__ import annotations

from collections.abc import Iterator

from karat.checks.answers import MaxWords, MinWords
from karat.checks.base import Check
from karat.checks.budgets import (
    MaxCalls,
    MaxCostUsd,
    MaxFirstTokenSeconds,
    MaxSeconds,
    MaxSteps,
    MaxTokens,
    MaxToolCalls,
)
from karat.smells.base import LintCase, Rule, Surroundings
from karat.suites.findings import Finding

FAR: dict[type[Check], tuple[str, float, str]] = {
    MaxSeconds: ("seconds", 3600, "an hour"),
    MaxFirstTokenSeconds: ("seconds", 600, "ten minutes"),
    MaxToolCalls: ("most", 1000, "a thousand calls"),
    MaxCalls: ("most", 1000, "a thousand calls"),
    MaxSteps: ("most", 1000, "a thousand steps"),
    MaxTokens: ("most", 100_000_000, "a hundred million tokens"),
    MaxCostUsd: ("usd", 1000, "a thousand dollars"),
    MaxWords: ("most", 100_000, "a hundred thousand words"),
}
"""Which argument of a check is its bound, and from where on nobody reaches it."""


def far(case: LintCase, around: Surroundings) -> Iterator[Finding]:
    """Bounds that are far beyond what a turn takes, and a length that every answer has."""
    for placed in case.of(*FAR):
        name, limit, words = FAR[type(placed.check)]
        if placed.args[name] >= limit:
            yield Finding(placed.path, f"no turn comes near {words}. Bound it by what it takes.", "vacuous-bound")
    for placed in case.of(MinWords):
        if placed.args["least"] == 1:
            yield Finding(placed.path, "every answer has a word. Ask for more, or leave it out.", "vacuous-bound")


RULES = (Rule("vacuous-bound", far),)
