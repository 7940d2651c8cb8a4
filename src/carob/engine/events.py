"""What a run reports to its listeners while it goes on."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import msgspec
from msgspec import Struct

from carob.engine.work import CaseResult
from carob.model.run import CaseRecord, Header, Item, Summary

_record = msgspec.json.Decoder(CaseRecord).decode


class RunStarted(Struct, frozen=True):
    """The journal is open; `to_run` of the header's total are still to be run."""

    header: Header
    journal: str
    to_run: int


class CaseStarted(Struct, frozen=True):
    item: Item


class CaseFinished(Struct, frozen=True, dict=True):
    """A case that is in the journal."""

    item: Item
    done: CaseResult

    @cached_property
    def record(self) -> CaseRecord:
        """The whole record; read from its line when first asked for, because most listeners need only the status."""
        return _record(self.done.line)


class CaseRetried(Struct, frozen=True):
    """An attempt that ended in an error; another one follows after `delay` seconds."""

    item: Item
    reason: str
    delay: float


class Notice(Struct, frozen=True):
    """Something that the one who waits for the run should know."""

    message: str


class RunFinished(Struct, frozen=True):
    summary: Summary


Event = RunStarted | CaseStarted | CaseFinished | CaseRetried | Notice | RunFinished
Listener = Callable[[Event], None]
