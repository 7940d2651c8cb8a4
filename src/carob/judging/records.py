"""A recorded conversation as the record of a run, judged as it is kept: masked, and within its caps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from msgspec import structs

from carob.evidence.exports.record import RecordedConversation
from carob.journal.limits import cap_trace
from carob.model.run import CaseRecord
from carob.model.suite import Case
from carob.model.trace import Trace
from carob.model.verdict import Verdict
from carob.redaction.personal_data import Discretion


class KeepingJudge(Protocol):
    """What says how a conversation is kept: as which case, and with which verdict."""

    def case_of(self, conversation: RecordedConversation) -> Case: ...

    def report(
        self, trace: Trace, tags: tuple[str, ...] = (), metadata: Mapping[str, Any] | None = None
    ) -> Verdict: ...


def mask_conversation(discretion: Discretion, conversation: RecordedConversation) -> RecordedConversation:
    """The whole conversation without secrets and personal data; numbers stay, because amounts decide rules."""
    return structs.replace(
        conversation,
        id=discretion.text(conversation.id),
        user=discretion.text(conversation.user),
        trace=discretion.trace(conversation.trace),
        metadata=discretion.redact(dict(conversation.metadata)),
    )


def record_conversation(judge: KeepingJudge, conversation: RecordedConversation, index: int) -> CaseRecord:
    """The line of a journal for a conversation, judged as it is kept: masked and within its caps."""
    case = judge.case_of(conversation)
    trace = cap_trace(structs.replace(conversation.trace, case_id=case.id))
    verdict = judge.report(trace, conversation.tags, conversation.metadata)
    return CaseRecord(index=index, case=case, trace=trace, verdict=verdict, duration_ms=trace.duration_ms or 0.0)
