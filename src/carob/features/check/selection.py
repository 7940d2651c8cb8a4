"""Which conversations are judged: those since a moment, those for which a condition holds, a random sample."""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any, Final, TypeVar

from msgspec import structs

from carob.errors import UsageError
from carob.evidence.exports.record import RecordedConversation
from carob.features.check.model import Selected
from carob.features.check.tally import name_moment
from carob.rules.conditions import ConditionError, ValueCondition

NAMES: Final = ("id", "user", "model", "version", "tags", "metadata", "format", "source", "started_at")
"""What a condition of `where` can read."""
Item = TypeVar("Item")
_SPAN: Final = re.compile(r"(\d{1,6})([hdw])")
_SECONDS: Final = {"h": 3_600, "d": 86_400, "w": 604_800}


def parse_since(text: str, now: datetime) -> float:
    """A moment: `7d`, `24h`, `2w` before now, or a date or time of ISO 8601, in UTC where it says no zone."""
    if span := _SPAN.fullmatch(text.strip()):
        return now.timestamp() - int(span[1]) * _SECONDS[span[2]]
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        fix = "Write 24h, 7d, 2w, 2026-11-01 or 2026-11-01T08:00:00Z."
        raise UsageError(f"--since: {text!r} is not a time.", fix=fix, slug="bad-option") from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def read_where(text: str) -> ValueCondition:
    """A condition on what is known of a conversation. Raises UsageError for one that makes no sense."""
    try:
        return ValueCondition(text, NAMES)
    except ConditionError as error:
        fix = "" if "This rule knows" in str(error) else f"A condition reads {', '.join(NAMES)}."
        raise UsageError(f"--where: {str(error).replace('This rule', 'It')}", fix=fix, slug=error.slug) from None


class ConversationSelector:
    """Passes on the conversations that are to be judged, and counts the others."""

    def __init__(self, since: float | None, where: ValueCondition | None, sample: int | None) -> None:
        self._since = since
        self._where = where
        self._sample = sample
        self.counts = Selected()

    def select(self, conversations: Iterable[RecordedConversation]) -> Iterator[RecordedConversation]:
        """Those that are to be judged, in the order in which they were read."""
        fitting = self._find_fitting(conversations)
        if self._sample is None:
            yield from fitting
            return
        drawn = [*draw_sample(((each.id, each) for each in fitting), self._sample)]
        number = self.counts.fitting
        self.counts = structs.replace(self.counts, not_drawn=number - len(drawn))
        yield from drawn

    def _find_fitting(self, conversations: Iterable[RecordedConversation]) -> Iterator[RecordedConversation]:
        read = too_old = no_time = other = undecided = 0
        why = ""
        try:
            for conversation in conversations:
                read += 1
                moment = conversation.started_at
                if conversation.unread:  # it may be one of those
                    yield conversation
                    continue
                if self._since is not None and (moment is None or moment < self._since):
                    no_time += moment is None
                    too_old += moment is not None
                    continue
                holds = True if self._where is None else self._where.holds(_values(conversation))
                if holds is not True:
                    undecided += isinstance(holds, str)
                    other += holds is False
                    why = why or (holds if isinstance(holds, str) else "")
                    continue
                yield conversation
        finally:
            self.counts = Selected(
                read=read, too_old=too_old, no_time=no_time, other=other, undecided=undecided, why_undecided=why
            )


def draw_sample(items: Iterable[tuple[str, Item]], most: int) -> Iterator[Item]:
    """So many items by chance, in their order; each has the id that its chance is made of.

    Of the same items, in whatever order, it draws the same, and of samples that large of their parts too.
    """
    drawn: list[tuple[int, int, Item]] = []
    for number, (name, item) in enumerate(items):
        entry = (-_chance(name), -number, item)
        if len(drawn) < most:
            heapq.heappush(drawn, entry)
        elif entry[:2] > drawn[0][:2]:
            heapq.heapreplace(drawn, entry)
    yield from (entry[2] for entry in sorted(drawn, key=lambda entry: -entry[1]))


def _chance(conversation_id: str) -> int:
    return int.from_bytes(blake2b(conversation_id.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")


def _values(conversation: RecordedConversation) -> dict[str, Any]:
    """What a condition can read. The metadata of the trace is that of the conversation too."""
    values = {name: getattr(conversation, name) for name in NAMES}
    return {
        **values,
        "tags": list(conversation.tags),
        "metadata": {**conversation.metadata, **conversation.trace.metadata},
        "started_at": name_moment(conversation.started_at),
    }
