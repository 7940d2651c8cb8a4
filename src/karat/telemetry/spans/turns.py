"""The spans of a case → those of each of its turns."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from karat.telemetry.spans.marks import TurnMark
from karat.telemetry.spans.record import SpanRecord


def by_turn(records: Sequence[SpanRecord], turns: Sequence[TurnMark]) -> list[list[SpanRecord]]:
    """The spans of each turn, root by root: by the trace that was sent with it, by number, else by when it began.

    By number where nothing could be sent with a turn: an agent in a process of its own may have begun the next turn
    before its answer to the last one was read.
    """
    if not turns:
        return []
    found: list[list[SpanRecord]] = [[] for _ in turns]
    marked = [turn.trace_id for turn in turns]
    loose: list[list[SpanRecord]] = []
    for unit in units(records, {turn.span_id for turn in turns}):
        if marked.count(unit[0].trace_id) == 1:
            found[marked.index(unit[0].trace_id)] += unit
        else:
            loose.append(unit)
    shared = [place for place, trace_id in enumerate(marked) if marked.count(trace_id) > 1]
    numbered = len(loose) == len(shared) > 0
    for number, unit in enumerate(sorted(loose, key=lambda unit: unit[0].started)):
        began = [place for place, turn in enumerate(turns) if turn.began <= unit[0].started]
        found[shared[number] if numbered else max(began, default=0)] += unit
    return found


def units(records: Sequence[SpanRecord], sent: Collection[str] = ()) -> list[list[SpanRecord]]:
    """Each root, or span whose parent is not there, with all that stands below it, in the order of time."""
    known = {record.span_id: record for record in records}
    below: dict[str, list[SpanRecord]] = {}
    for record in sorted(records, key=lambda record: record.started):
        top = record
        for _ in records:
            if top.parent_id in sent or (above := known.get(top.parent_id)) is None:
                break
            top = above
        below.setdefault(top.span_id, []).append(record)
    return [sorted(unit, key=lambda record: record.span_id != top) for top, unit in below.items()]
