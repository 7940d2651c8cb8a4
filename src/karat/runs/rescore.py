"""Judging recorded traces again, without an agent."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import msgspec
from msgspec import structs

from karat import scoring
from karat.checks.catalog import CATALOG
from karat.model.run import CaseRecord
from karat.model.suite import Case
from karat.model.trace import Trace, TraceError
from karat.runs.journal import Journal

NOT_RECORDED = TraceError("not-recorded", "the journal holds no trace of this case")


def rescored(journal: Journal) -> Iterator[CaseRecord]:
    """Every record, judged by its own case."""
    for record in journal.records():
        yield _judged(record, record.case)


def rescored_by(journal: Journal, cases: Mapping[str, Case], dropped: Callable[[str], None]) -> Iterator[CaseRecord]:
    """Every record, judged by the case of the same id; a case without a record is an ERROR, never left out.

    `dropped` hears of recorded cases that are no longer there.
    """
    places = {case_id: index for index, case_id in enumerate(cases)}
    missing = dict(cases)
    for record in journal.records():
        case = cases.get(record.case.id)
        if case is None:
            dropped(record.case.id)
            continue
        missing.pop(case.id, None)
        yield structs.replace(_judged(record, case), index=places[case.id])
    for case in missing.values():
        trace = Trace(case_id=case.id, input=case.prompt, error=NOT_RECORDED)
        verdict = scoring.judge((), case.scoring, trace)
        yield CaseRecord(index=places[case.id], case=case, trace=trace, verdict=verdict)


def _judged(record: CaseRecord, case: Case) -> CaseRecord:
    verdict = scoring.judge(CATALOG.compile(case), case.scoring, record.trace)
    return structs.replace(record, case=case, verdict=verdict)


def encoded(record: CaseRecord) -> bytes:
    return msgspec.json.encode(record)
