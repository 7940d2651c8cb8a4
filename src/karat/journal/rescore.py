"""Judging recorded traces again, without an agent."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import msgspec
from msgspec import structs

from karat import scoring
from karat.checks.base import lost
from karat.errors import JournalError
from karat.journal.integrity import Identity
from karat.journal.reader import Journal
from karat.model.keys import Keys, same_target
from karat.model.run import CaseRecord
from karat.model.suite import Case
from karat.model.trace import OF_CASE, REMOVED, Trace, TraceError
from karat.model.verdict import CheckResult, Status
from karat.traces.redact import Redactor

NOT_RECORDED = TraceError("not-recorded", "the journal holds no trace of this case")
OTHER_PROMPT = TraceError("not-recorded", "the trace was recorded with another prompt: run the case again")
SECRET_PROMPT = TraceError(
    "not-recorded",
    "the recorded prompt lost a secret and cannot be told to be this one: set the secret as it was, or run it again",
)
LOST = "what was expected held a secret, which is not in the journal: judge by the suite, with --suite"


def rescored(journal: Journal, identity: Identity) -> Iterator[CaseRecord]:
    """Every record, judged by its own case. `identity` tells afterwards which of them are not the run's own."""
    for record in journal.records():
        identity.hold(record)
        if OF_CASE in record.trace.cuts and record.trace.error is None:
            yield _judged_in_part(journal, record)
        else:
            yield _judged(journal, record, record.case)


def rescored_by(
    journal: Journal, cases: Mapping[str, Case], dropped: Callable[[str], None], redactor: Redactor, identity: Identity
) -> Iterator[CaseRecord]:
    """Every record, judged by the case of the same id; a case without a record is an ERROR, never left out.

    An answer to another prompt says nothing of this one, so that is an ERROR too; prompts are compared as the journal
    holds them, without their secrets. `dropped` hears of recorded cases that are no longer there.
    """
    places = {case_id: index for index, case_id in enumerate(cases)}
    keys = Keys(same_target(journal.header.options.get("target", {})))
    missing = dict.fromkeys((case_id, repeat) for case_id in cases for repeat in range(journal.header.repeat))
    for record in journal.records():
        identity.hold(record)
        case = cases.get(record.case.id)
        if case is None:
            dropped(record.case.id)
            continue
        missing.pop((case.id, record.repeat), None)
        other = _other_prompt(case, record, redactor)
        if other is not None:
            yield _broken(case, places[case.id], record.repeat, other)
        else:
            key = record.key if case == record.case else keys.of(case)
            yield structs.replace(_judged(journal, record, case), index=places[case.id], key=key)
    for case_id, repeat in missing:
        yield _broken(cases[case_id], places[case_id], repeat, NOT_RECORDED)


def _other_prompt(case: Case, record: CaseRecord, redactor: Redactor) -> TraceError | None:
    now, then = _asked(case), _asked(record.case)
    if now == then or [*map(redactor.text, now)] == [*map(redactor.text, then)]:
        return None
    return SECRET_PROMPT if OF_CASE in record.trace.cuts and REMOVED in "".join(then) else OTHER_PROMPT


def _asked(case: Case) -> tuple[str, ...]:
    """What decides what the user says: his words, and what he answers to what."""
    answers = [text for reply in case.replies for text in (*reply.asks_for, reply.say)]
    return (*case.said, *answers, str(case.max_turns or "") if answers else "")


def _judged_in_part(journal: Journal, record: CaseRecord) -> CaseRecord:
    """Judged by a case that lost secrets: a check that did is unknown."""
    results = [
        structs.replace(result, status=Status.UNKNOWN, found=LOST, at=None) if lost(spec, record.trace) else result
        for (_, spec), result in zip(record.case.asked, _results(journal, record), strict=True)
    ]
    return structs.replace(record, verdict=scoring.case_verdict(record.case, tuple(results)))


def _judged(journal: Journal, record: CaseRecord, case: Case) -> CaseRecord:
    results = _results(journal, structs.replace(record, case=case))
    return structs.replace(record, case=case, verdict=scoring.case_verdict(case, results, record.trace.error))


def _results(journal: Journal, record: CaseRecord) -> tuple[CheckResult, ...]:
    case = record.case
    try:
        return scoring.case_results(case, record.trace)
    except msgspec.DecodeError as error:
        message = f"a check of case {case.id!r} cannot be read: {error}."
        raise JournalError(message, where=journal.path, fix="The file was changed.") from error


def _broken(case: Case, index: int, repeat: int, error: TraceError) -> CaseRecord:
    trace = Trace(case_id=case.id, input=case.prompt, error=error)
    return CaseRecord(index=index, repeat=repeat, case=case, trace=trace, verdict=scoring.judge_case(case, trace))
