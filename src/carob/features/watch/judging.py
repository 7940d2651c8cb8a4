"""One conversation as it is held → how its rules came out; what was not seen of it is a turn that is unknown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct, structs

from carob.evidence.conversations import missing_turn
from carob.evidence.exports.assembly import assemble
from carob.evidence.exports.otlp import OTLP
from carob.evidence.exports.reading import with_metadata
from carob.evidence.exports.record import RecordedConversation
from carob.evidence.merge import merge_turns
from carob.features.watch.tables import HeldConversation, Stop
from carob.judging.judges import ConversationJudge
from carob.model.trace import Trace
from carob.rules.events import RuleOutcome, RuleVerdict
from carob.text.wording import error_text

LONGEST_PAUSE: Final = 900.0
"""Seconds: the first turn that is seen of a session so soon after a stop may not be its first one."""
LET_GO: Final = "earlier spans of the conversation were let go after it was judged (--keep-hours, --room)"
NOT_RUNNING: Final = "Carob was not running for {:.0f} seconds: a turn of the session may be missing"
CANNOT_JUDGE: Final = "its spans cannot be judged: {}"
NO_ROOT: Final = ""


class JudgedConversation(Struct, frozen=True):
    """How a conversation came out, as far as it went, and the span that this is said of: the root of its last turn."""

    conversation: RecordedConversation
    verdicts: tuple[RuleVerdict, ...]
    trace: str
    span: str

    @property
    def needs_attention(self) -> bool:
        return any(verdict.outcome in (RuleOutcome.BROKEN, RuleOutcome.UNKNOWN) for verdict in self.verdicts)


def judge_held(judge: ConversationJudge, held: HeldConversation, stops: Sequence[Stop]) -> JudgedConversation | None:
    """Judge a conversation as a check of the same spans in a file does; None if it is none of an agent.

    Spans may be of any content: what cannot be judged is unknown, with the reason.
    """
    if held.row.dropped:
        return judge_unseen(judge, held, held.row.dropped)
    try:
        conversation = assemble(held.spooled, OTLP.name) if held.spooled.traces else None
        if conversation is None:
            return None
        whole = with_metadata(_add_missing_turns(conversation, held, stops))
        verdicts = judge.judge(whole.trace, whole.tags, whole.metadata)
    except Exception as error:  # noqa: BLE001 - one conversation must not end the judging of all others
        return judge_unseen(judge, held, CANNOT_JUDGE.format(error_text(error)))
    return JudgedConversation(whole, tuple(verdicts), *_find_operation(held))


def judge_unseen(judge: ConversationJudge, held: HeldConversation, why: str) -> JudgedConversation:
    """How a conversation comes out of which nothing can be used."""
    row = held.row
    trace = missing_turn(why, row.name)
    conversation = RecordedConversation(
        id=row.name, trace=trace, format=OTLP.name, source="", has_session=row.has_session, started_at=row.began
    )
    return JudgedConversation(conversation, tuple(judge.judge(trace)), *_find_operation(held))


def _find_operation(held: HeldConversation) -> tuple[str, str]:
    """The trace that spans came of last, and its root."""
    latest = held.row.latest
    records = [record for trace in held.spooled.traces if trace.id == latest for record in trace.records]
    roots = (record.span_id for record in records if not record.parent_id)
    return latest, next(roots, NO_ROOT)


def _add_missing_turns(
    conversation: RecordedConversation, held: HeldConversation, stops: Sequence[Stop]
) -> RecordedConversation:
    """The conversation with a turn of which nothing is known wherever one may be missing."""
    trace = conversation.trace
    turns = list(trace.turns or (trace,))
    places = sorted(_find_gaps(turns, held, stops), reverse=True)
    if not places:
        return conversation
    for place, why in places:
        turns.insert(place, missing_turn(why, trace.case_id))
    merged = structs.replace(
        merge_turns(turns), metadata=trace.metadata, setup_prompts=trace.setup_prompts, setup_calls=trace.setup_calls
    )
    return structs.replace(conversation, trace=merged)


def _find_gaps(turns: Sequence[Trace], held: HeldConversation, stops: Sequence[Stop]) -> Iterator[tuple[int, str]]:
    """Before which turns others may be missing, and why."""
    row = held.row
    if row.let_go:
        yield 0, LET_GO
    for stop in stops if row.has_session else ():
        why = NOT_RUNNING.format(stop.ended - stop.began)
        if stop.ended <= row.began < stop.ended + LONGEST_PAUSE:
            yield 0, why
        elif row.began < stop.ended:
            later = (n for n, turn in enumerate(turns) if turn.started_at is not None and turn.started_at > stop.began)
            if (place := next(later, None)) is not None:
                yield place, why
