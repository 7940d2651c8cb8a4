"""Since when, or in which group, a rule is broken more or less often than chance explains; and gates on its share."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from carob.features.check.model import IN_TIME, NOT_SAID, GroupKey, RuleChange, ShareGate
from carob.features.check.tally import OTHERS, RuleCounts, join_counts
from carob.features.compare.stats import independent_difference
from carob.scoring.intervals import CONFIDENCE, pass_rate

MOST_CHANGES = 3
"""So many groups that differ from the others are shown of a rule."""


def find_changes(
    groups: Sequence[tuple[str, RuleCounts]], by: GroupKey, rules: int, show: Callable[[str], str] = str
) -> tuple[RuleChange, ...]:
    """Where the share of a rule changed. With so many rules, chance finds a change in 1 of 20 checks.

    Over time, the place at which the shares before and after differ most; else the groups that differ from all others.
    """
    judged = [(name, cell) for name, cell in groups if cell.held + cell.broken and name not in (NOT_SAID, OTHERS)]
    if len(judged) < 2:
        return ()
    splits = _split_in_time(judged) if by in IN_TIME else _split_by_group(judged)
    looks = (len(judged) - 1 if by in IN_TIME else len(judged)) * max(rules, 1)
    changes = []
    for name, before, after in splits:
        difference = independent_difference(before.clusters(), after.clusters(), 1 - (1 - CONFIDENCE) / looks)
        if difference.low > 0 or difference.high < 0:
            changes.append(RuleChange(show(name), before.figures(), after.figures(), difference, looks))
    changes.sort(key=lambda change: -abs(change.difference.value))
    return tuple(changes[:MOST_CHANGES])


def _split_in_time(groups: Sequence[tuple[str, RuleCounts]]) -> Iterator[tuple[str, RuleCounts, RuleCounts]]:
    """All before and all since the day at which the two differ most, measured in standard errors."""
    ordered = sorted(groups, key=lambda group: group[0])
    broken, judged = sum(cell.broken for _, cell in ordered), sum(cell.held + cell.broken for _, cell in ordered)
    best, at = -1.0, 1
    old_broken = old_judged = 0
    for place, (_, cell) in enumerate(ordered[:-1], 1):
        old_broken += cell.broken
        old_judged += cell.held + cell.broken
        distance = _distance(old_broken, old_judged, broken - old_broken, judged - old_judged)
        if distance > best:
            best, at = distance, place
    yield (
        ordered[at][0],
        join_counts([cell for _, cell in ordered[:at]]),
        join_counts([cell for _, cell in ordered[at:]]),
    )


def _distance(broken: int, judged: int, other_broken: int, other_judged: int) -> float:
    share = (broken + other_broken) / (judged + other_judged)
    spread = math.sqrt(share * (1 - share) * (1 / judged + 1 / other_judged))
    return abs(broken / judged - other_broken / other_judged) / spread if spread else 0.0


def _split_by_group(groups: Sequence[tuple[str, RuleCounts]]) -> Iterator[tuple[str, RuleCounts, RuleCounts]]:
    """Each group against all others together; of many, those that differ most."""
    whole = join_counts([cell for _, cell in groups])
    judged = whole.held + whole.broken

    def difference(entry: tuple[str, RuleCounts]) -> float:
        cell = entry[1]
        n = cell.held + cell.broken
        return _distance(cell.broken, n, whole.broken - cell.broken, judged - n) if judged > n else 0.0

    for name, cell in sorted(groups, key=difference, reverse=True)[:MOST_CHANGES]:
        yield name, join_counts([other for other_name, other in groups if other_name != name]), cell


def judge_gate(rule: str, cell: RuleCounts, most: float, rules: int) -> ShareGate | None:
    """Whether at most this share of conversations breaks a rule, at 95 % for all rules together.

    What is unknown counts against the gate: it is met only if they could all be broken, and broken only if they could
    all have held. None for a rule that nothing triggered.
    """
    if not (cell.held or cell.broken or cell.unknown):
        return None
    confidence = 1 - (1 - CONFIDENCE) / max(rules, 1)
    high = pass_rate(cell.clusters(unknown_is=(1, 1)), confidence).high
    low = pass_rate(cell.clusters(unknown_is=(0, 1)), confidence).low
    side = "met" if high <= most else "broken" if low > most else "undecided"
    return ShareGate(rule, side, low, high)  # type: ignore[arg-type]
