"""Tool calls as the page shows them: each with its number, its place in time, and its texts, folded where long."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, TypeAlias

import msgspec
from msgspec import Struct

from carob.model.trace import SpanNode, ToolCall, Trace
from carob.reports.escaping import clip, encode
from carob.reports.html.markup import escape_body

LONGEST: Final = 6_000
"""Of a text where there is no more room."""
LONGEST_WHOLE: Final = 256_000
MOST_ROOM: Final = 6_000_000
"""Of texts over `LONGEST` on one page."""
SHORT: Final = 600
SHORT_LINES: Final = 12
ONE_LINE: Final = 90
PEEK: Final = 240
PEEK_LINES: Final = 3
DEEPEST: Final = 8
WIDTH: Final = 1_000
"""Of the bars, in units of their drawing."""
_leaf = re.compile(r"([\[{])\n {1,400}([^{}\[\]]{1,400}?)\n {0,400}([\]}])")
"""An object or list of nothing but plain values."""


class TextRoom:
    """How much of long texts may still be shown in whole. All of them would make a report too large to open."""

    def __init__(self, budget: int) -> None:
        self._left = budget

    def fit(self, text: str) -> str:
        """The text, or its beginning where there is no more room for all of it."""
        size = len(text)
        if size <= LONGEST:
            return text
        if size > min(LONGEST_WHOLE, self._left):
            return clip(text, LONGEST)
        self._left -= size
        return text


class FoldedText(Struct, frozen=True):
    """A text of a call. `peek`: its beginning, shown while it is folded; a short text is not folded and has none."""

    html: str
    peek: str = ""
    size: str = ""
    cut: bool = False
    """Whether the rest of it is only in the raw record."""


class TimeBar(Struct, frozen=True):
    """From when to when, in parts of the whole time."""

    x: int
    width: int


class CallView(Struct, frozen=True):
    """One tool call. `number` counts the calls of the whole case from 1, as the evidence of its checks does.

    `of_turn` says which call of its turn it is, as checks of that turn do, where that is another number.
    """

    call: ToolCall
    number: int
    of_turn: str
    depth: int
    after: str
    bar: TimeBar | None
    arguments: FoldedText | None
    result: FoldedText | None
    error: FoldedText | None
    checks: str = ""
    status: str = ""
    anchors: str = ""


Timed: TypeAlias = ToolCall | SpanNode


def call_views(trace: Trace, calls: Sequence[ToolCall], first: int, room: TextRoom, turn: int = 0) -> list[CallView]:
    """The calls of a turn in order, of which the first has the number `first` in the case."""
    bars, begin = timeline(calls), _begin(trace, calls)
    depths: dict[str, int] = {}
    views = []
    for index, (call, bar) in enumerate(zip(calls, bars, strict=True)):
        depth = min(depths.get(call.parent, 0) + 1, DEEPEST) if call.parent else 0
        depths[call.name] = depth
        if call.id:
            depths[call.id] = depth
        views.append(
            CallView(
                call=call,
                number=first + index,
                of_turn=f"call {index + 1} of turn {turn}" if turn and first > 1 else "",
                depth=depth,
                after="" if call.started_at is None else f"+{duration(max(call.started_at - begin, 0) * 1000)}",
                bar=bar,
                arguments=text_view(call.arguments, room),
                result=text_view(call.result, room),
                error=text_view(call.error, room),
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


def _begin(trace: Trace, calls: Sequence[ToolCall]) -> float:
    """When the turn began, by the clock of its calls: that of the run may be another one."""
    first = min((call.started_at for call in calls if call.started_at is not None), default=0.0)
    started, took = trace.started_at, (trace.duration_ms or 0.0) / 1000
    return started if started is not None and 0 <= first - started <= took else first


def timeline(timed: Sequence[Timed]) -> list[TimeBar | None]:
    """A bar for each call with a start time; none at all where they would show nothing."""
    starts = [step.started_at for step in timed if step.started_at is not None]
    ends = [step.ended_at for step in timed if step.ended_at is not None]
    begin, end = min(starts, default=0.0), max([*ends, *starts], default=0.0)
    if not starts or end <= begin:
        return [None] * len(timed)
    scale = WIDTH / (end - begin)
    return [_bar(step, begin, scale) for step in timed]


def _bar(step: Timed, begin: float, scale: float) -> TimeBar | None:
    if step.started_at is None:
        return None
    x = min(int((step.started_at - begin) * scale), WIDTH - 6)
    until = step.started_at if step.ended_at is None else step.ended_at
    return TimeBar(x, max(min(int((until - step.started_at) * scale), WIDTH - x), 6))


def span_of_time(step: Timed) -> str:
    if step.started_at is None or step.ended_at is None or step.ended_at < step.started_at:
        return ""
    return duration((step.ended_at - step.started_at) * 1000)


def duration(ms: float) -> str:
    """`12 ms`, `3.4 s`, `2 min 5 s`."""
    if ms < 1000:
        return f"{ms:.0f} ms"
    if ms < 60_000:
        return f"{ms / 1000:.1f} s"
    minutes, seconds = divmod(round(ms / 1000), 60)
    return f"{minutes} min {seconds} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def text_view(value: object, room: TextRoom) -> FoldedText | None:
    """A value as people read it, folded where it is long; None for nothing."""
    words = json_words(value)
    if not words:
        return None
    fitting = room.fit(words)
    html = escape_body(fitting)
    if len(words) <= SHORT and words.count("\n") < SHORT_LINES:
        return FoldedText(html)
    cut = len(fitting) < len(words)
    size = f"{len(fitting):,} of {len(words):,} characters" if cut else f"{len(words):,} characters"
    return FoldedText(html, escape_body(_peek(words)), size, cut)


def _peek(text: str) -> str:
    """The beginning of a long text, in few lines."""
    lines = text[: PEEK * 4].split("\n")
    beginning = " ".join(line.strip() for line in lines) if text[:1] in "{[" else "\n".join(lines[:PEEK_LINES])
    return clip(beginning, PEEK).rstrip("…") + "…"


def json_words(value: object) -> str:
    """A value as people read JSON, in one line if that is short; a text as it is; nothing for nothing."""
    if value is None or value == {} or value == "":
        return ""
    if isinstance(value, str):
        return value
    line = encode(value)
    if len(line) <= ONE_LINE:
        return msgspec.json.format(line, indent=0).decode()
    return _leaf.sub(_in_one_line, msgspec.json.format(line, indent=2).decode())


def _in_one_line(match: re.Match[str]) -> str:
    """A row of a table in one line: no string of JSON holds a line end, so that each is one between values."""
    line = match[1] + " ".join(map(str.strip, match[2].split("\n"))) + match[3]
    return line if len(line) <= ONE_LINE else match[0]


def render_json(value: object) -> str:
    """A value as HTML, bounded."""
    return escape_body(clip(json_words(value), LONGEST))
