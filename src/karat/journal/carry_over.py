"""What an earlier run has already done: the records whose case and target are unchanged."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

import msgspec
from msgspec import structs

from karat.checks.catalog import CheckCatalog
from karat.journal.integrity import derive_verdict
from karat.journal.reader import Journal
from karat.model.attachments import move_attachments, way
from karat.model.keys import target_identity
from karat.model.run import CaseRecord, Item
from karat.model.suite import Case
from karat.model.verdict import CaseStatus
from karat.scoring import verdicts
from karat.scoring.tally import Tally, case_status
from karat.text.wording import pluralize

NAMED = 10


@dataclass(eq=False)
class CarryOver:
    """Decides which records of a journal are kept for planned items, and counts them.

    Whether a case is run again for its status is decided over all its repeats, and then all of them are: who ran only
    those again that failed would make a flaky case a good one.
    """

    journal: Journal
    planned: Iterable[Item]
    redo: Container[CaseStatus]
    tally: Tally
    catalog: CheckCatalog
    kept: set[tuple[str, int]] = field(default_factory=set)
    _changed: dict[tuple[str, int], None] = field(default_factory=dict)
    _redone: dict[tuple[str, int], None] = field(default_factory=dict)
    _gone: dict[tuple[str, int], None] = field(default_factory=dict)
    _judged_anew: dict[tuple[str, int], None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._planned = {(item.case.id, item.repeat): item for item in self.planned}

    def lines(self, into: str) -> Iterator[bytes]:
        """The lines to keep, for the journal `into`. What each record became is known once this is exhausted."""
        along = way(self.journal.path, into)
        for _, runs in groupby(self.journal.records(), key=lambda record: record.case.id):
            current = [judged for record in runs if (judged := self._rejudge(record)) is not None]
            statuses = Counter(record.status for record in current)
            again = bool(current) and self._is_redone(statuses, current[0])
            for record in current:
                key = record.case.id, record.repeat
                if again:
                    self._redone[key] = None
                elif key not in self.kept:
                    placed = structs.replace(
                        record, index=self._planned[key].index, trace=move_attachments(record.trace, along)
                    )
                    self.kept.add(key)
                    self.tally.add_record(placed)
                    yield msgspec.json.encode(placed)

    def _is_redone(self, statuses: Mapping[CaseStatus, int], first: CaseRecord) -> bool:
        return case_status(statuses, first.case.min_pass_rate, first.until) in self.redo

    def _rejudge(self, record: CaseRecord) -> CaseRecord | None:
        """The record with the verdict that its trace gives today, if it is of what is planned now."""
        key = record.case.id, record.repeat
        item = self._planned.get(key)
        if item is None:
            self._gone[key] = None
            return None
        judged = None
        if item.key == record.key and not self.journal.is_doubled(record.index, record.repeat):
            judged = rejudge(record, item.case, self.catalog)
        if judged is None:
            self._changed[key] = None
        elif judged.status is not record.status:
            self._judged_anew[key] = None
        return judged

    def messages(self, target: dict[str, object]) -> Iterator[str]:
        """What is kept, what is run again and why, for the one who resumes."""
        if self.journal.torn:
            yield "the last line of the journal is incomplete and was dropped"
        noun = "finished run" if self.journal.header.repeat > 1 else "finished case"
        yield f"kept {pluralize(len(self.kept), noun)}"
        changed = "changed since"
        if target_identity(self.journal.header.options.get("target", target)) != target_identity(target):
            changed = "the target's options changed since"
        new = [key for key in self._planned if key not in self.kept | self._changed.keys() | self._redone.keys()]
        for outcome, keys in (
            (f"{changed}, run again", self._changed),
            ("different from its record, judged again", self._judged_anew),
            ("run again for their status", self._redone),
            ("new or not finished, run now", new),
            ("no longer in the suite or not selected, left out", self._gone),
        ):
            if keys:
                yield f"{outcome}: {list_some([case_id for case_id, _ in keys])}"


def rejudge(record: CaseRecord, case: Case, catalog: CheckCatalog) -> CaseRecord | None:
    """The record as it is judged today; None if its words are not those that were run, or its verdict not its own.

    What was cut or lost a secret was judged when it was whole: there the verdict must follow from its checks.
    """
    if record.trace.is_altered:
        return record if derive_verdict(record).status is record.status else None
    if record.case != case:
        return None
    return structs.replace(record, verdict=verdicts.judge_case(case, record.trace, catalog))


def list_some(ids: Sequence[str]) -> str:
    """Some of the ids, each once; those of a journal may hold anything."""
    each = list(dict.fromkeys(ids))
    more = f" and {len(each) - NAMED} more" if len(each) > NAMED else ""
    return ", ".join(json.dumps(name)[1:-1] for name in each[:NAMED]) + more
