"""Replies of a scripted user that are never said, whatever the agent asks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from karat.analysis.lint.base import LintCase, Rule, TargetInfo
from karat.suites.diagnostics import PathDiagnostic
from karat.targets.scripted_user import MOST_TURNS
from karat.text.wording import pluralize


def unreachable(case: LintCase, around: TargetInfo) -> Iterator[PathDiagnostic]:
    """Replies to one thing are sent one after another: after `max_turns` no turn is left for them."""
    most = case.case.max_turns or MOST_TURNS
    before: Counter[tuple[str, ...]] = Counter()
    for index, reply in enumerate(case.case.replies):
        before[reply.asks_for] += 1
        if before[reply.asks_for] >= most:
            message = (
                f"it can never be used: the conversation has only {pluralize(most, 'turn')}. Increase 'max_turns'."
            )
            yield PathDiagnostic((*case.path, "replies", index), message, "unreachable-reply")


RULES = (Rule("unreachable-reply", unreachable),)
