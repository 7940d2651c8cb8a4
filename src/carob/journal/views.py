"""Views of a journal: as reports read it, and the few fields of a record that one task needs, decoded without the rest.

`tests/journal/test_views.py` holds every field against `CaseRecord`: its name, its type and what it is where a line
does not have it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Protocol

from msgspec import Raw, Struct, msgpack

from carob.checks.catalog import CheckCatalog
from carob.model.cost import Spent, TokenPrices, count_spent
from carob.model.run import FORMAT, CaseRecord, Header, Summary
from carob.model.suite import Case
from carob.model.trace import TextLoss, Tokens, ToolCall, TraceError
from carob.model.verdict import CaseStatus, GroupScore, Reading, Status, Verdict

_PASSED: Final = Status.PASSED  # looked up once: members of an enum are slow to reach


class RunView(Protocol):
    """A journal as reports read it: streamed, in suite order, any number of times."""

    @property
    def path(self) -> str:
        """The journal as the user knows it."""
        ...

    @property
    def file(self) -> str:
        """Where it is, whatever the current folder is by now."""
        ...

    @property
    def header(self) -> Header: ...

    @property
    def summary(self) -> Summary: ...

    @property
    def catalog(self) -> CheckCatalog:
        """The checks of the project in which it is read."""
        ...

    @property
    def prices(self) -> TokenPrices | None:
        """What tokens cost in that project."""
        ...

    @property
    def finished_at(self) -> str:
        """When the run ended, or the empty string if it did not."""
        ...

    def __len__(self) -> int: ...

    def records(self, first: int = 0, count: int | None = None) -> Iterator[CaseRecord]: ...


class LineKind(Struct):
    """What a line is, and the format of the journal where it is a header."""

    kind: str
    format: int = FORMAT


class RecordPlace(Struct):
    """Where a record belongs."""

    index: int
    repeat: int = 0


class _CaseSummary(Struct):
    id: str
    category: str = ""


class _VerdictSummary(Struct):
    status: CaseStatus
    reason: str = ""


class _Attempt(Struct):
    pass


class RecordSummary(Struct, omit_defaults=True):
    """How a case came out, for a third of what reading all of its record costs."""

    index: int
    case: _CaseSummary
    verdict: _VerdictSummary
    repeat: int = 0
    duration_ms: float = 0.0
    attempts: tuple[_Attempt, ...] = ()

    @classmethod
    def of(cls, record: CaseRecord) -> RecordSummary:
        """The same of a record that was read."""
        case, verdict = record.case, record.verdict
        return cls(
            record.index,
            _CaseSummary(case.id, case.category),
            _VerdictSummary(verdict.status, verdict.reason),
            record.repeat,
            record.duration_ms,
            (_Attempt(),) * len(record.attempts),
        )


pack_summaries = msgpack.Encoder().encode
unpack_summaries = msgpack.Decoder(list[RecordSummary]).decode


class CostMetadata(Struct, frozen=True):
    """What the metadata of a trace says of its cost."""

    cost_usd: object = None


class TraceToVerify(Struct, frozen=True):
    """What of a trace decides how much of its verdict can be derived, and what it took."""

    error: TraceError | None = None
    cuts: dict[str, TextLoss] = {}
    tokens: Tokens | None = None
    metadata: CostMetadata = CostMetadata()

    @property
    def spent(self) -> Spent:
        return count_spent(self.tokens, self.metadata.cost_usd)


class RecordToVerify(Struct, frozen=True):
    """As much of a record as its verdict can be held against."""

    index: int
    case: Case
    verdict: Verdict
    trace: TraceToVerify
    repeat: int = 0
    key: str = ""


class TraceToIndex(TraceToVerify, frozen=True):
    """What of a trace is searched and counted."""

    final_message: str = ""


class RecordToIndex(RecordToVerify, frozen=True, kw_only=True):
    """As much of a record as the index keeps."""

    trace: TraceToIndex
    duration_ms: float = 0.0


class TraceToCompare(TraceToVerify, frozen=True):
    """What a comparison needs of a trace in addition to what its verdict is held against."""

    duration_ms: float | None = None


class CheckToCompare(Struct, frozen=True, gc=False):
    """What a check counts for."""

    group: str
    status: Status
    reading: Reading | None = None


class VerdictToCompare(Struct, frozen=True):
    """A verdict without its evidence."""

    status: CaseStatus
    checks: tuple[CheckToCompare, ...] = ()
    groups: dict[str, GroupScore] = {}

    @property
    def all_passed(self) -> bool:
        for check in self.checks:
            if check.status is not _PASSED:
                return False
        return bool(self.checks)


class RecordToCompare(Struct, frozen=True):
    """A record with its quantities; its case is not decoded, since most lines hold one that was decoded before."""

    index: int
    case: Raw
    verdict: VerdictToCompare
    trace: TraceToCompare
    repeat: int = 0
    key: str = ""
    duration_ms: float = 0.0


class RecordVerdict(Struct, frozen=True):
    """The verdict of a record with its evidence."""

    verdict: Verdict


class _TraceExcerpt(Struct, frozen=True):
    """What the agent said and called."""

    final_message: str = ""
    tool_calls: tuple[ToolCall, ...] = ()


class RecordExcerpt(Struct, frozen=True):
    """What is shown of a record side by side with another."""

    case: Case
    verdict: Verdict
    trace: _TraceExcerpt
