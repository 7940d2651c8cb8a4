"""A part of the sources, read and judged in one place: here, or on a node of a cluster."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple, TypeAlias

from msgspec import structs

from carob.evidence.exports.files import Source
from carob.evidence.exports.reading import read_apart, read_conversations, split_files
from carob.evidence.exports.record import RecordedConversation
from carob.features.check.judging import judge_in_steps
from carob.features.check.model import Outcomes, Selected
from carob.features.check.selection import ConversationSelector, read_where
from carob.judging.judges import ConversationJudge
from carob.model.trace import Trace
from carob.rules.events import RuleOutcome

BATCH: Final = 512
"""So many conversations are handed over at once."""
_NO_TRACE: Final = Trace(case_id="", tool_calls=())
Judged: TypeAlias = tuple[RecordedConversation, Outcomes]


class ShardWork(NamedTuple):
    """What is done with each shard; it can be sent to another process."""

    judge: ConversationJudge
    format: str = ""
    since: float | None = None
    where: str = ""
    sample: int | None = None
    keep: int = 0
    """So many conversations that broke a rule or left one unknown are wanted whole."""

    def selector(self) -> ConversationSelector:
        return ConversationSelector(self.since, read_where(self.where) if self.where else None, self.sample)


class Shard(NamedTuple):
    """Files that are read together; one whose rows are whole conversations is a shard of its own."""

    files: tuple[Source, ...]
    is_apart: bool


class ShardPart(NamedTuple):
    """Some conversations of a shard; the last part says how many were selected."""

    judged: Sequence[Judged] = ()
    selected: Selected | None = None


def split_sources(sources: Sequence[Source], format: str) -> list[Shard]:
    """The shards, in the order in which one process reads what is in them."""
    apart, together = split_files(sources, format)
    return [*(Shard((file,), True) for file in apart), *([Shard(tuple(together), False)] if together else ())]


def judge_shard(work: ShardWork, shard: Shard) -> Iterator[ShardPart]:
    """Judge the conversations of a shard. What is not needed of them stays here."""
    selector = work.selector()
    kept = 0
    batch: list[Judged] = []
    for conversation, outcomes in judge_in_steps(work.judge, selector.select(_read(work, shard))):
        is_kept = kept < work.keep and any(_is_notable(verdict.outcome) for _, verdict in outcomes)
        kept += is_kept
        batch.append(
            (conversation if is_kept else structs.replace(conversation, trace=_NO_TRACE, metadata={}), outcomes)
        )
        if len(batch) == BATCH:
            yield ShardPart(batch)
            batch = []
    yield ShardPart(batch, selector.counts)


def _read(work: ShardWork, shard: Shard) -> Iterator[RecordedConversation]:
    if shard.is_apart:
        return read_apart(shard.files[0], format=work.format)
    return read_conversations(shard.files, format=work.format)


def _is_notable(outcome: RuleOutcome) -> bool:
    return outcome in (RuleOutcome.BROKEN, RuleOutcome.UNKNOWN)


def add_selected(counts: Iterable[Selected]) -> Selected:
    """What was selected of several shards."""
    total = Selected()
    for each in counts:
        sums = {
            name: getattr(total, name) + getattr(each, name)
            for name in each.__struct_fields__
            if name != "why_undecided"
        }
        total = Selected(**sums, why_undecided=total.why_undecided or each.why_undecided)
    return total
