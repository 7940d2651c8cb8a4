"""Expectations that nothing can fail, by their shape alone: any page, any log, any age, any number, no check."""

from __future__ import annotations

from collections.abc import Iterator

import regex

from karat.analysis.lint.base import LintCase, Rule, TargetInfo
from karat.checks.answer.brief import EvidenceFreshness
from karat.checks.page.ui import Ui
from karat.checks.telemetry import Telemetry, shorthand
from karat.suites.diagnostics import PathDiagnostic
from karat.text.folding import fold
from karat.text.wording import quoted

SHORT_NAME = 2
SHORT_TEXT = 3
EVERYWHERE = frozenset(
    ("document", "generic", "main", "text", "paragraph", "banner", "navigation", "contentinfo", "rootwebarea")
)
"""Roles that any page has, whatever is on it."""
KEYS = frozenset(
    ("ts", "time", "timestamp", "level", "source", "event", "data", "message", "msg", "info", "true", "false", "tool")
)
"""Words that nearly every line of a log holds."""
PLAIN = regex.compile(r"[\W_]+")
YEAR_MINUTES = 365 * 24 * 60


def pages(case: LintCase, around: TargetInfo) -> Iterator[PathDiagnostic]:
    """Elements that every page has."""
    for placed in case.of(Ui):
        for element in placed.check.elements if isinstance(placed.check, Ui) else ():
            low, high = element.bounds
            if not low or high is not None:
                continue
            part = element.name_contains
            if part and not element.name and len(fold(part).strip()) <= SHORT_NAME:
                message = f"nearly every page has a name with {quoted(part)} in it. Write the name, or more of it."
                yield PathDiagnostic(placed.path, message, "vacuous-ui")
            elif not element.name and not part and low == 1 and element.role in EVERYWHERE:
                message = f"every page has a {element.role}. Name what must be on it."
                yield PathDiagnostic(placed.path, message, "vacuous-ui")


def logs(case: LintCase, around: TargetInfo) -> Iterator[PathDiagnostic]:
    """Texts that nearly every line of a log holds."""
    for placed in case.of(Telemetry):
        entry = placed.args["entry"]
        words = PLAIN.sub(" ", fold(entry)).split()
        if shorthand(entry) is None and (len("".join(words)) < SHORT_TEXT or KEYS.issuperset(words)):
            message = f"nearly every line of a log holds {quoted(entry)}. Look for a tool, a value or an event."
            yield PathDiagnostic(placed.path, message, "vacuous-telemetry")


def ages(case: LintCase, around: TargetInfo) -> Iterator[PathDiagnostic]:
    """Evidence that may be years old."""
    for placed in case.of(EvidenceFreshness):
        bound = placed.args["minutes"]
        if bound >= YEAR_MINUTES:
            message = (
                f"evidence from {bound // YEAR_MINUTES:g} years ago would count as fresh. The limit is in minutes."
            )
            yield PathDiagnostic(placed.path, message, "vacuous-freshness")


def find_far_bounds(case: LintCase, around: TargetInfo) -> Iterator[PathDiagnostic]:
    """Bounds that are far beyond what a turn takes, and a length that every answer has."""
    for placed in case.checks:
        if why := placed.check.why_always_passes:
            yield PathDiagnostic(placed.path, why, "vacuous-bound")


def find_unchecked_groups(case: LintCase, around: TargetInfo) -> Iterator[PathDiagnostic]:
    """Groups in `hard_fail` or `weights` that nothing can fail."""
    judged = {placed.check.group for part in (case, *case.turns) for placed in part.checks}
    for index, group in enumerate(case.hard_fail):
        if group not in judged:
            message = f"no check of this case is in the group {group}, so it can never fail. Add one, or remove it."
            yield PathDiagnostic((*case.scoring_path, "hard_fail", index), message, "group-without-checks")
    for group, weight in (case.case.scoring.weights or {}).items():
        if weight and group not in judged:
            message = f"no check of this case is in the group {group}, so its weight has no effect."
            path = (*case.scoring_path, "soft_score", "weights", group)
            yield PathDiagnostic(path, message, "group-without-checks", key=True)


UNCHECKED = Rule("group-without-checks", find_unchecked_groups)
"""Looked for in a case as a whole, never in one of its turns."""
RULES = (
    UNCHECKED,
    Rule("vacuous-ui", pages),
    Rule("vacuous-telemetry", logs),
    Rule("vacuous-freshness", ages),
    Rule("vacuous-bound", find_far_bounds),
)
