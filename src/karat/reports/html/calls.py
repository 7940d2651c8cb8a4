"""Tool calls and spans as a waterfall: each with its place in time, within what called it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from karat.model.trace import ToolCall
from karat.reports.escaping import clip
from karat.reports.html.marks import escape_text

LONGEST: Final = 6_000
DEEPEST: Final = 8
WIDTH: Final = 1_000
"""Of the bars, in units of their drawing."""


@dataclass(frozen=True, slots=True)
class TimeBar:
    """From when to when, in parts of the whole time."""

    x: int
    width: int


@dataclass(frozen=True, slots=True)
class CallView:
    """One tool call as the page shows it."""

    number: int
    name: str
    how: str
    word: str
    depth: int
    parent: str
    kind: str
    took: str
    bar: TimeBar | None
    arguments: str
    result: str
    error: str
    missing: str
    checks: str = ""
    status: str = ""
    anchors: str = ""


class Timed(Protocol):
    @property
    def started_at(self) -> float | None: ...

    @property
    def ended_at(self) -> float | None: ...


def call_views(calls: Sequence[ToolCall]) -> list[CallView]:
    """The calls in order."""
    bars = timeline(calls)
    depths: dict[str, int] = {}
    views = []
    for number, (call, bar) in enumerate(zip(calls, bars, strict=True)):
        depth = min(depths.get(call.parent, 0) + 1, DEEPEST) if call.parent else 0
        depths[call.name] = depth
        if call.id:
            depths[call.id] = depth
        how, word = outcome(call)
        views.append(
            CallView(
                number=number,
                name=call.name,
                how=how,
                word=word,
                depth=depth,
                parent=call.parent or "",
                kind="" if call.kind == "tool" else call.kind,
                took=span_of_time(call),
                bar=bar,
                arguments=shown_json(call.arguments),
                result=shown_json(call.result),
                error=escape_text(clip(call.error or "", LONGEST)),
                missing=", ".join(call.missing_fields),
            )
        )
    return views


def outcome(call: ToolCall) -> tuple[str, str]:
    """A status for its colour, and a word for it."""
    if not call.called:
        return "unknown", "never ran"
    if call.error:
        return "failed", "error"
    return {True: "passed", False: "failed", None: "unknown"}[call.success], call.outcome


def timeline(timed: Sequence[Timed]) -> list[TimeBar | None]:
    """A bar for each call with a start time; none at all where they would show nothing."""
    known = [one.started_at for one in timed if one.started_at is not None]
    ends = [one.ended_at for one in timed if one.ended_at is not None]
    begin, end = min(known, default=0.0), max([*ends, *known], default=0.0)
    if not known or end <= begin:
        return [None] * len(timed)
    scale = WIDTH / (end - begin)
    return [_bar(one, begin, scale) for one in timed]


def _bar(one: Timed, begin: float, scale: float) -> TimeBar | None:
    if one.started_at is None:
        return None
    x = min(int((one.started_at - begin) * scale), WIDTH - 6)
    until = one.started_at if one.ended_at is None else one.ended_at
    return TimeBar(x, max(min(int((until - one.started_at) * scale), WIDTH - x), 6))


def span_of_time(one: Timed) -> str:
    if one.started_at is None or one.ended_at is None or one.ended_at < one.started_at:
        return ""
    return duration((one.ended_at - one.started_at) * 1000)


def duration(ms: float) -> str:
    """`12 ms`, `3.4 s`, `2 min 5 s`."""
    if ms < 1000:
        return f"{ms:.0f} ms"
    if ms < 60_000:
        return f"{ms / 1000:.1f} s"
    minutes, seconds = divmod(round(ms / 1000), 60)
    return f"{minutes} min {seconds} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def shown_json(value: object) -> str:
    """A value as people read JSON; a text as it is; nothing for nothing."""
    if value is None or value == {} or value == "":
        return ""
    if isinstance(value, str):
        return escape_text(clip(value, LONGEST))
    return escape_text(clip(json.dumps(value, indent=2, ensure_ascii=False, default=str), LONGEST))
