"""What the cases of a run add up to, beside its summary: scores, what broke, what there is to filter by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from karat.journal.broken import OF_RUN, Broken, broken
from karat.journal.index import Choices
from karat.model.run import CaseRecord
from karat.reports.html.case_view import anchor_of
from karat.reports.html.run_view import GroupView

MOST_GROUPS: Final = 30
EXAMPLES: Final = 5

Kind = tuple[str, str, str]
"""Name and status of a check, and the kind of its evidence."""


class RunTally:
    """Takes all runs of a case together."""

    def __init__(self) -> None:
        self._examples: dict[Kind, dict[int, tuple[str, int, int, str]]] = {}
        self._sizes: Counter[Kind] = Counter()
        self._scores: dict[str, list[int]] = {}
        self._statuses: Counter[str] = Counter()
        self._categories: Counter[str] = Counter()
        self._tags: Counter[str] = Counter()
        self._checks: Counter[str] = Counter()

    def add(self, runs: Sequence[CaseRecord], status: str) -> None:
        case = runs[0].case
        found = [(record, one) for record in runs for one in broken(record)]
        self._statuses[status] += 1
        self._categories.update([case.category] if case.category else [])
        self._tags.update(case.tags)
        self._checks.update({one.name for _, one in found if one.number != OF_RUN})
        self._sizes.update({_kind(one) for _, one in found})
        for record, one in found:
            self._keep(record, one)
        for record in runs:
            for name, score in record.verdict.groups.items():
                held = self._scores.setdefault(name, [0, 0])
                held[0] += score.passed
                held[1] += score.judged

    def _keep(self, record: CaseRecord, one: Broken) -> None:
        examples = self._examples.setdefault(_kind(one), {})
        if len(examples) < EXAMPLES:
            anchor = evidence_anchor(record.index, record.repeat, one.number)
            examples.setdefault(record.index, (record.case.id, record.index, record.repeat, anchor))

    @property
    def scores(self) -> dict[str, tuple[int, int]]:
        """Passed and judged checks of each group."""
        return {name: (passed, judged) for name, (passed, judged) in self._scores.items()}

    def groups(self) -> list[GroupView]:
        """What broke, the most frequent first."""
        most = self._sizes.most_common(MOST_GROUPS)
        return [GroupView(*kind, count, list(self._examples[kind].values())) for kind, count in most]

    def choices(self) -> Choices:
        """What the table can be filtered by."""
        counted = (self._statuses, self._categories, self._tags, self._checks)
        return Choices(*(dict(sorted(counter.items())) for counter in counted))


def evidence_anchor(index: int, repeat: int, number: int) -> str:
    """Where a check of a case stands on its page; what belongs to no check leads to the case."""
    anchor = anchor_of(index, repeat)
    return anchor if number == OF_RUN else f"{anchor}-k{number}"


def _kind(one: Broken) -> Kind:
    return one.name, one.status, one.kind
