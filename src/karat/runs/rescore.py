"""Judging recorded traces again, without an agent."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import msgspec
from msgspec import structs

from karat import scoring
from karat.checks.catalog import CATALOG
from karat.errors import JournalError
from karat.model.check import Check
from karat.model.run import CaseRecord
from karat.model.suite import Case
from karat.model.trace import Trace, TraceError
from karat.runs.journal import Journal

NOT_RECORDED = TraceError("not-recorded", "the journal holds no trace of this case")
OTHER_PROMPT = TraceError("not-recorded", "the trace was recorded with another prompt: run the case again")


def rescored(journal: Journal) -> Iterator[CaseRecord]:
    """Every record, judged by its own case."""
    for record in journal.records():
        yield _judged(journal, record, record.case)


def rescored_by(journal: Journal, cases: Mapping[str, Case], dropped: Callable[[str], None]) -> Iterator[CaseRecord]:
    """Every record, judged by the case of the same id; a case without a record is an ERROR, never left out.

    An answer to another prompt says nothing of this one, so that is an ERROR too. `dropped` hears of recorded cases
    that are no longer there.
    """
    places = {case_id: index for index, case_id in enumerate(cases)}
    missing = dict.fromkeys((case_id, repeat) for case_id in cases for repeat in range(journal.header.repeat))
    for record in journal.records():
        case = cases.get(record.case.id)
        if case is None:
            dropped(record.case.id)
            continue
        missing.pop((case.id, record.repeat), None)
        if _asked(case) != _asked(record.case):
            yield _broken(case, places[case.id], record.repeat, OTHER_PROMPT)
        else:
            yield structs.replace(_judged(journal, record, case), index=places[case.id])
    for case_id, repeat in missing:
        yield _broken(cases[case_id], places[case_id], repeat, NOT_RECORDED)


def _asked(case: Case) -> tuple[str, ...]:
    return (*case.setup_prompts, case.prompt)


def _judged(journal: Journal, record: CaseRecord, case: Case) -> CaseRecord:
    verdict = scoring.judge(_compiled(journal, case), case.scoring, record.trace)
    return structs.replace(record, case=case, verdict=verdict)


def _compiled(journal: Journal, case: Case) -> tuple[Check, ...]:
    try:
        return CATALOG.compile(case)
    except msgspec.DecodeError as error:
        message = f"a check of case {case.id!r} cannot be read: {error}."
        raise JournalError(message, where=journal.path, fix="The file was changed.") from error


def _broken(case: Case, index: int, repeat: int, error: TraceError) -> CaseRecord:
    trace = Trace(case_id=case.id, input=case.prompt, error=error)
    return CaseRecord(
        index=index, repeat=repeat, case=case, trace=trace, verdict=scoring.judge((), case.scoring, trace)
    )
