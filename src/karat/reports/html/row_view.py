"""A case as a row of the table of its run: its status, what was said, and what broke."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from karat.journal.broken import OF_RUN, Broken, broken
from karat.model.run import CaseRecord
from karat.reports.html.calls import duration
from karat.reports.html.case_view import anchor_of
from karat.reports.inert import clip

EXCERPT: Final = 130
MOST_BREAKS: Final = 4


@dataclass(frozen=True, slots=True)
class BreakView:
    """A check that did not pass, as a link to its evidence."""

    label: str
    status: str
    anchor: str


@dataclass(frozen=True, slots=True)
class RowView:
    """One case. `strip` holds the status and anchor of each of its runs, where there are several."""

    anchor: str
    index: int
    repeat: int
    id: str
    status: str
    category: str
    tags: tuple[str, ...]
    prompt: str
    answer: str
    broken: list[BreakView]
    more: int
    names: tuple[str, ...]
    took: str
    strip: list[tuple[str, int]]


def row_view(record: CaseRecord, status: str, strip: Sequence[tuple[str, int]] = ()) -> RowView:
    """The row of a case that came out with this status; `record` is the run of it that is shown."""
    found = broken(record)
    anchor = anchor_of(record.index, record.repeat)
    return RowView(
        anchor=anchor,
        index=record.index,
        repeat=record.repeat,
        id=record.case.id,
        status=status,
        category=record.case.category,
        tags=record.case.tags,
        prompt=excerpt(record.case.prompt),
        answer=excerpt(record.trace.final_message),
        broken=[_break(one, anchor) for one in found[:MOST_BREAKS]],
        more=max(len(found) - MOST_BREAKS, 0),
        names=tuple(dict.fromkeys(one.name for one in found if one.number != OF_RUN)),
        took=duration(record.duration_ms),
        strip=list(strip) if len(strip) > 1 else [],
    )


def excerpt(text: str) -> str:
    """One short line."""
    return clip(" ".join(text[: 8 * EXCERPT].split()), EXCERPT)


def _break(one: Broken, anchor: str) -> BreakView:
    at = anchor if one.number == OF_RUN else f"{anchor}-k{one.number}"
    return BreakView(one.label, one.status, at)
