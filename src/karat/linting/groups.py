"""Groups that count in the scoring of a case which has no check of theirs."""

from __future__ import annotations

from collections.abc import Iterator

from karat.linting.base import LintCase, Rule, Surroundings
from karat.suites.diagnostics import PathDiagnostic


def unchecked(case: LintCase, around: Surroundings) -> Iterator[PathDiagnostic]:
    """Groups in `hard_fail` or `weights` that nothing can fail."""
    judged = {placed.check.group for part in (case, *case.turns) for placed in part.checks}
    for index, group in enumerate(case.hard_fail):
        if group not in judged:
            message = f"no check of this case is in the group {group}, so it can never fail. Add one, or leave it out."
            yield PathDiagnostic((*case.scoring_path, "hard_fail", index), message, "group-without-checks")
    for group, weight in (case.case.scoring.weights or {}).items():
        if weight and group not in judged:
            message = f"no check of this case is in the group {group}, so its weight counts for nothing."
            path = (*case.scoring_path, "soft_score", "weights", group)
            yield PathDiagnostic(path, message, "group-without-checks", key=True)


RULES = (Rule("group-without-checks", unchecked),)
