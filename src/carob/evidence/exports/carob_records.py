"""Carob's own journals and recordings of whole traces."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

import msgspec
from msgspec import structs

from carob.evidence.exports.base import ExportFormat, ExportRow, KeySign, Table
from carob.evidence.exports.facts import ABOUT, find_text, list_tags
from carob.evidence.exports.record import RecordedConversation
from carob.model.trace import Trace

HEADS = ("header", "footer")
SAID = frozenset(("final_message", "tool_calls", "turns", "messages", "error"))
RECORDINGS = "carob.targets.recordings.replay"
"""What reads the short form, which targets share."""


def _read(row: ExportRow) -> RecordedConversation | None:
    value = row.value
    case = value.get("case")
    if value.get("kind") in HEADS or (isinstance(case, Mapping) and case.get("skip")):
        return None
    whole = value.get("trace")
    if isinstance(whole, Mapping) or "unobserved" in value:
        trace = msgspec.convert(whole if isinstance(whole, Mapping) else _without_repeat(value), Trace)
    else:
        trace = import_module(RECORDINGS).read_short(_without_repeat(value))
    about = {**(case if isinstance(case, Mapping) else {}), **trace.metadata}
    repeat = value.get("repeat")
    name = f"{trace.case_id} ({repeat})" if repeat else trace.case_id
    return RecordedConversation(
        id=name or row.place,
        trace=structs.replace(trace, case_id=name or row.place),
        format=CAROB.name,
        source=row.place,
        started_at=trace.started_at,
        user=find_text(about, ABOUT["user"]),
        tags=list_tags(about),
        metadata=trace.metadata,
    )


def _without_repeat(value: Table) -> dict[str, object]:
    return {key: item for key, item in value.items() if key != "repeat"}


def _is_short(row: Table) -> bool:
    """Whether a row is a trace in the short form."""
    return not {"kind", "trace", "unobserved"} & row.keys() and not SAID.isdisjoint(row)


def _is_bare(row: Table) -> bool:
    return isinstance(row["trace"], Mapping) and "case_id" in row["trace"] and "kind" not in row


def _is_journal(row: Table) -> bool:
    return row["kind"] in HEADS


CAROB = ExportFormat(
    name="carob",
    signs=(
        KeySign(("kind",), _is_journal),
        KeySign(("kind", "trace")),
        KeySign(("case_id", "unobserved")),
        KeySign(("trace",), _is_bare),
        KeySign(("case_id",), _is_short),
    ),
    read_conversation=_read,
)
