"""Carob's own recordings: lines of journals, whole traces, and traces in the short form.

A whole trace says in `unobserved` or `cuts` what was not seen, or is under `trace`: what it leaves out was observed to
be empty. Any other line is in the short form.
"""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_args

import msgspec
from msgspec import Raw, Struct, UnsetType, structs

from carob.evidence.exports.base import ExportFormat, ExportRow, KeySign, Table
from carob.evidence.exports.facts import ABOUT, find_text, list_tags
from carob.evidence.exports.record import RecordedConversation
from carob.evidence.short_form import Short, read, read_trace
from carob.model.trace import Channel, Message, SpanNode, Tokens, ToolCall, Trace, TraceError
from carob.text.clean import loads
from carob.text.key_names import suggest_keys

HEADS = ("header", "footer")
SAID = ("final_message", "tool_calls", "turns", "error")
WHOLE_ONLY = frozenset(("unobserved", "cuts"))
_PARTS: dict[str, type[Struct]] = {
    "tool_calls": ToolCall,
    "messages": Message,
    "error": TraceError,
    "tokens": Tokens,
    "spans": SpanNode,
}


class Recorded(Struct, frozen=True):
    """What a line holds of a case: a whole trace, or one in the short form."""

    case_id: str
    repeat: int
    form: Trace | Short

    @property
    def turns(self) -> Sequence[Trace | Short]:
        return self.form.turns or ()

    @property
    def trace(self) -> Trace:
        return self.form if isinstance(self.form, Trace) else read_trace(self.form, self.case_id)


class _Line(Struct):
    """What distinguishes the lines of a journal from those of the short form."""

    kind: str | None = None
    trace: Raw | UnsetType = msgspec.UNSET
    repeat: int = 0


_line = msgspec.json.Decoder(_Line)
_trace = msgspec.json.Decoder(Trace)


def parse(data: bytes) -> Recorded | None:
    """One line of a recording; None if it is blank, or a header or footer. Raises ValueError with the reason."""
    data = data.removeprefix(BOM_UTF8).strip()
    if not data:
        return None
    if not data.startswith((b"{", b"[")):
        raise ValueError("not a recording, which has one JSON object on each line")
    try:
        line = _line.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        line = _Line()
    if line.kind is not None and isinstance(line.trace, Raw):  # of a journal: read as fast as can be
        trace = _decode(_trace.decode, bytes(line.trace))
        return Recorded(trace.case_id, line.repeat, trace)
    _refuse_twice(data)
    value = loads(data)
    if not isinstance(value, dict):
        raise ValueError("not a JSON object; a recording contains one object per line")
    recorded = read_line(value)
    if recorded is not None and not recorded.case_id:
        raise ValueError("it has no `case_id`")
    return recorded


def read_line(value: Table) -> Recorded | None:
    """One line of a recording; None for a header or footer. Raises ValueError with the reason."""
    if value.get("kind") in HEADS:
        return None
    repeat = value.get("repeat", 0)
    if type(repeat) is not int or repeat < 0:
        raise ValueError("`repeat` is a whole number: 0, 1, 2, ...")
    form = {key: item for key, item in value.items() if key != "repeat"}
    whole = value["trace"] if isinstance(value.get("trace"), Mapping) else form
    if whole is form and WHOLE_ONLY.isdisjoint(value):
        short = read(form)
        return Recorded(short.case_id or "", repeat, short)
    if value.get("kind") is None:  # not of a journal, so perhaps written by hand
        _check_keys(whole)
    trace = _decode(lambda given: msgspec.convert(given, Trace), whole)
    return Recorded(trace.case_id, repeat, trace)


def _decode(decode: Callable[[Any], Trace], given: Any) -> Trace:
    try:
        return decode(given)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"its trace cannot be read: {error}") from error


def _refuse_twice(data: bytes) -> None:
    """Raise ValueError for a duplicate key: which of the two was meant is unknown."""
    import jiter

    try:
        jiter.from_json(data, catch_duplicate_keys=True)
    except ValueError as error:
        if "duplicate key" in str(error).lower():
            raise ValueError(f"{str(error).partition(' at line')[0].strip()}: keep one of the two") from error


def _check_keys(value: object) -> None:
    """Refuse what no trace has: a whole trace says by leaving something out that it was observed to be empty."""
    if not isinstance(value, Mapping):
        return
    _only(value, Trace.__struct_fields__, "")
    turns = value.get("turns")
    for turn in turns if isinstance(turns, list) else ():
        _check_keys(turn)
    for name, form in _PARTS.items():
        part = value.get(name)
        for entry in part if isinstance(part, list) else [part]:
            _only(entry, form.__struct_fields__, f" in `{name}`")
    for name in ("unobserved", "cuts"):
        _only(value.get(name), get_args(Channel), f" in `{name}`")


def _only(value: object, keys: Sequence[str], where: str) -> None:
    if isinstance(value, Mapping):
        for key in value.keys() - set(keys):
            raise ValueError(f"unknown key {key!r}{where}. {suggest_keys(key, keys)}".rstrip())


def _read(row: ExportRow) -> RecordedConversation | None:
    case = row.value.get("case")
    about = case if isinstance(case, Mapping) else {}
    recorded = None if about.get("skip") else read_line(row.value)
    if recorded is None:
        return None
    trace = recorded.trace
    about = {**about, **trace.metadata}
    name = f"{trace.case_id} ({recorded.repeat})" if recorded.repeat else trace.case_id
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


def _is_short(row: Table) -> bool:
    """Whether a row is a trace in the short form."""
    return {"kind", "trace", *WHOLE_ONLY}.isdisjoint(row)


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
        KeySign(("case_id", "cuts")),
        KeySign(("trace",), _is_bare),
        *(KeySign(("case_id", key), _is_short) for key in SAID),
        *(KeySign(("final_message", key), _is_short) for key in ("input", "tool_calls")),
    ),
    read_conversation=_read,
)
