"""Where the evidence of each check is: its words, its call, its line, its node of the page; one turn at a time."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING, Final, NamedTuple

from karat.checks.base import Check
from karat.checks.catalog import CheckCatalog
from karat.model.trace import SpanNode, Trace
from karat.model.verdict import CheckResult
from karat.reports.escaping import clip
from karat.reports.html.calls import CallView, TextRoom, call_views, duration, span_of_time, timeline
from karat.reports.html.marks import Mark, Marker, escape_text, worst_status
from karat.reports.html.story import MOST_CALLS, MOST_SPANS, USERS, TurnStory, tell_turn
from karat.reports.html.views import LineView, MessageView, SpanView, TranscriptPart, TurnView
from karat.text.wording import count, dollars

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

LONGEST_MARKDOWN: Final = 16_000
"""What is longer is shown as it is written: some texts take long to read as Markdown."""
_marked_up = re.compile(r"[*_`\[\]#>|~\\&=]|^\s*(?:[-+]|\d+[.)])\s|^(?: {4}|\t|\s*-{3})", re.MULTILINE)
_TAGS: Final = {
    "paragraph": "p", "bullet_list": "ul", "ordered_list": "ol", "list_item": "li", "blockquote": "blockquote",
    "strong": "strong", "em": "em", "s": "s", "table": "table", "thead": "thead", "tbody": "tbody", "tr": "tr",
    "th": "th", "td": "td",
}  # fmt: skip
LONGEST: Final = 40_000
"""Of a text on the page; the journal has all of it."""
MOST_LINES: Final = 400
LISTS: Final = ("tool_calls", "telemetry", "messages")

# Only in the words of the check itself: after them come names and arguments that the agent chose.
_mention = re.compile(r"[^,:;\"'{(\[]*?\bcall (\d{1,6})\b")

Spot = tuple[int, str]
"""A turn, counted from 0, and a channel of it."""


class CallMention(NamedTuple):
    """`call 5` in the evidence of a check: where in its text, and the number of the call in the case."""

    start: int
    end: int
    number: int


def render(text: str, marker: Marker) -> str:
    """The text as HTML, its evidence marked."""
    if len(text) > LONGEST_MARKDOWN or not _marked_up.search(text):
        return as_written(text, marker)
    return "".join(_Reading(text, marker).html())


def as_written(text: str, marker: Marker) -> str:
    """The text with its lines and spaces."""
    return f'<div class="plain">{marker.html(text)}</div>'


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    # Definitions of links would vanish from the text; joined texts would lose their places.
    return parser.disable(["reference", "text_join"])


class _Reading:
    """One text on its way to HTML. `_cursor` is how far of it has been shown."""

    def __init__(self, text: str, marker: Marker) -> None:
        # The parser draws line ends together: as many characters as before keep every offset.
        self._text = text.replace("\r\n", " \n").replace("\r", "\n")
        self._marker = marker
        self._lines = [0, *(match.end() for match in re.finditer("\n", self._text))]
        self._cursor = 0
        self._limit = len(self._text)

    def html(self) -> Iterator[str]:
        for token in _parser().parse(self._text):
            if token.map is not None:
                self._cursor = max(self._cursor, self._at_line(token.map[0]))
                self._limit = self._at_line(token.map[1])
            yield from self._block(token)

    def _at_line(self, line: int) -> int:
        return self._lines[line] if line < len(self._lines) else len(self._text)

    def _block(self, token: Token) -> Iterator[str]:
        if token.type == "inline":
            yield from self._inline(token.children or [])
        elif token.type in ("fence", "code_block"):
            about = f'<span class="language">{escape_text(token.info)}</span>' if token.info.strip() else ""
            code = "".join(self._leaf(line) for line in token.content.splitlines(keepends=True))
            yield f'<pre tabindex="0">{about}<code>{code}</code></pre>'
        elif token.type == "hr":
            yield "<hr>"
        elif not token.hidden:
            yield self._tag(token)

    def _tag(self, token: Token) -> str:
        name, _, end = token.type.rpartition("_")
        if name == "heading":
            return f'<p class="h {token.tag}">' if end == "open" else "</p>"
        tag = _TAGS.get(name)
        if tag is None:
            return escape_text(token.content)
        start = token.attrs.get("start") if name == "ordered_list" else None
        number = f' start="{start}"' if isinstance(start, int) else ""
        return f"<{tag}{number}>" if end == "open" else f"</{tag}>"

    def _inline(self, children: Sequence[Token]) -> Iterator[str]:
        address = ""
        for token in children:
            if token.type in ("softbreak", "hardbreak"):
                yield "<br>"
            elif token.type == "text_special":
                yield self._leaf(token.content, token.markup)
            elif token.type == "code_inline":
                yield f"<code>{self._leaf(token.content)}</code>"
            elif token.type == "link_open":
                address = str(token.attrs.get("href", ""))
                yield '<span class="link">'
            elif token.type == "link_close":
                yield f'</span> <span class="address">({self._leaf(address)})</span>'
            elif token.type == "image":
                address = str(token.attrs.get("src", ""))
                yield f'<span class="link">[image: {self._leaf(token.content)}]</span>'
                yield f' <span class="address">({self._leaf(address)})</span>'
            elif token.type.endswith(("_open", "_close")):
                yield self._tag(token)
            else:
                yield self._leaf(token.content)

    def _leaf(self, shown: str, written: str = "") -> str:
        """Some of the text; `written`: how it is written there, where that differs."""
        found = self._text.find(written or shown, self._cursor, self._limit)
        if found < 0 or not shown:
            return escape_text(shown)
        self._cursor = found + len(written or shown)
        if written:
            return self._marker.html(shown, found) if len(shown) == 1 else escape_text(shown)
        return self._marker.html(shown, found)


class EvidencePlaces:
    """The evidence of the checks of one record, by the turn that it is in."""

    def __init__(
        self, trace: Trace, checks: Sequence[CheckResult], anchor: str, catalog: CheckCatalog, room: TextRoom
    ) -> None:
        self._catalog = catalog
        self._room = room
        self._turns = trace.turns or (trace,)
        self._before = [0, *accumulate(len(turn.tool_calls) for turn in self._turns)]
        """How many calls there were before each turn, and in all."""
        self._checks = checks
        self._anchor = anchor
        self._marks: dict[Spot, list[Mark]] = defaultdict(list)
        self._entries: dict[tuple[int, str, int], list[int]] = defaultdict(list)
        self._whole: dict[Spot, list[int]] = defaultdict(list)
        self._placed: set[int] = set()
        for number, check in enumerate(checks):
            self._place(number, check)

    def _place(self, number: int, check: CheckResult) -> None:
        at = check.at
        turn = self._turn_of(check)
        if at is None:
            if mention := self.mention(check):
                turn, index = self._entry(turn, "tool_calls", mention.number - 1, of_turn=False)
                self._entries[turn, "tool_calls", index].append(number)
            return
        if at.channel in LISTS and at.index is not None:
            turn, index = self._entry(turn, at.channel, at.index, of_turn=check.turn is not None)
            self._entries[turn, at.channel, index].append(number)
        elif at.start is not None:
            end = at.start if at.end is None else at.end
            self._marks[turn, at.channel].append(Mark(at.start, end, number, check.status))
        else:
            self._whole[turn, at.channel].append(number)

    def _turn_of(self, check: CheckResult) -> int:
        last = len(self._turns) - 1
        return last if check.turn is None else min(max(check.turn - 1, 0), last)

    def _entry(self, turn: int, channel: str, index: int, *, of_turn: bool) -> tuple[int, int]:
        """The lists of a conversation are those of its turns, one after the other."""
        if of_turn:
            return turn, index
        for number, trace in enumerate(self._turns):
            size = len(getattr(trace, channel))
            if index < size:
                return number, index
            index -= size
        return turn, index

    def mention(self, check: CheckResult) -> CallMention | None:
        """The call that a check names by its number: of all calls, or of those of the turn that it judges."""
        found = _mention.match(check.found) if _looks_at_calls(self._catalog.find(check.name)) else None
        if found is None:
            return None
        turn = None if check.turn is None else self._turn_of(check)
        first, last = (0, self._before[-1]) if turn is None else (self._before[turn], self._before[turn + 1])
        number = first + int(found[1])
        return CallMention(found.start(1) - len("call "), found.end(1), number) if first < number <= last else None

    def anchor_for(self, number: int) -> str:
        """Where to look for a check: its evidence, else the answer that it judged."""
        if number in self._placed:
            return f"{self._anchor}-e{number}"
        check = self._checks[number]
        if check.at is not None and check.at.channel != "final_message":
            return ""
        turn = self._turn_of(check)
        answer = f"{self._anchor}-answer{turn}"
        kind = self._catalog.find(check.name)
        judges_calls = check.at is None and _looks_at_calls(kind) and self._turns[turn].tool_calls
        return f"{answer}-calls" if judges_calls else answer

    def turn(self, number: int, trace: Trace) -> TurnView:
        """One turn as the page shows it; `number` counts from 0."""
        story = tell_turn(trace)
        return TurnView(
            number=number + 1 if len(self._turns) > 1 else None,
            answer=f"{self._anchor}-answer{number}",
            parts=list(self._parts(number, trace, story)),
            loose=story.loose,
            calls=len(trace.tool_calls),
            calls_left_out=max(len(trace.tool_calls) - MOST_CALLS, 0),
            telemetry=[self._line(number, index, line) for index, line in enumerate(trace.telemetry[:MOST_LINES])],
            lines_left_out=max(len(trace.telemetry) - MOST_LINES, 0),
            spans=span_views(trace.spans[:MOST_SPANS]),
            page=self._page(number, "page", trace.page),
            page_before=self._page(number, "page_before", trace.page_before),
            took="" if trace.duration_ms is None else duration(trace.duration_ms),
        )

    def _parts(self, turn: int, trace: Trace, story: TurnStory) -> Iterator[TranscriptPart]:
        first = self._before[turn] + 1
        calls = call_views(trace, trace.tool_calls[:MOST_CALLS], first, self._room, turn + 1)
        spans = span_views(trace.spans[:MOST_SPANS])
        if not any(message.role in USERS for message in trace.messages):
            asked = render(clip(trace.input, LONGEST), Marker((), ""))
            yield TranscriptPart(message=MessageView("user", "", asked))
        for kind, index in story.items:
            if kind == "call":
                yield TranscriptPart(call=self._call_view(turn, index, calls[index]))
            elif kind == "step":
                yield TranscriptPart(step=spans[index])
            elif said := self._message(turn, trace, index, is_answer=index == story.answer):
                yield TranscriptPart(message=said)
        if story.answer is None and trace.error is None:
            yield TranscriptPart(message=self._answer(turn, trace, "", []))

    def _message(self, turn: int, trace: Trace, index: int, *, is_answer: bool) -> MessageView | None:
        message = trace.messages[index]
        checks = self._entries.get((turn, "messages", index), [])
        self._placed.update(checks)
        if is_answer:
            return self._answer(turn, trace, message.name or "", checks)
        if not message.content and not checks:
            return None
        html = self._anchors(checks) + render(clip(message.content, LONGEST), Marker((), ""))
        return MessageView(message.role, message.name or "", html, checks=_numbers(checks))

    def _answer(self, turn: int, trace: Trace, name: str, checks: Sequence[int]) -> MessageView:
        text = clip(trace.final_message, LONGEST)
        marker = Marker(self._marks.get((turn, "final_message"), ()), self._anchor)
        html = render(text, marker)
        hidden = marker.wanted - marker.placed
        written = as_written(text, marker) if hidden and not html.startswith('<div class="plain">') else ""
        self._placed |= marker.placed
        return MessageView("assistant", name, self._anchors(checks) + html, True, written, _numbers(checks))

    def _call_view(self, turn: int, index: int, view: CallView) -> CallView:
        checks = self._entries.get((turn, "tool_calls", index), [])
        self._placed.update(checks)
        return replace(view, checks=_numbers(checks), status=self._worst_status(checks), anchors=self._anchors(checks))

    def _line(self, turn: int, index: int, text: str) -> LineView:
        checks = self._entries.get((turn, "telemetry", index), [])
        self._placed.update(checks)
        return LineView(
            index, escape_text(clip(text, 4_000)), _numbers(checks), self._worst_status(checks), self._anchors(checks)
        )

    def _page(self, turn: int, channel: str, text: str | None) -> str:
        if not text:
            return ""
        whole = self._whole.get((turn, channel), [])
        marker = Marker(self._marks.get((turn, channel), ()), self._anchor)
        html = self._anchors(whole) + marker.html(clip(text, LONGEST))
        self._placed |= marker.placed | set(whole)
        return html

    def _anchors(self, checks: Sequence[int]) -> str:
        return "".join(f'<a id="{self._anchor}-e{check}"></a>' for check in checks)

    def _worst_status(self, checks: Sequence[int]) -> str:
        return worst_status([self._checks[check].status for check in checks])


def _looks_at_calls(kind: type[Check] | None) -> bool:
    return kind is not None and "tools" in kind.channels and "final_message" not in kind.channels


def _numbers(checks: Sequence[int]) -> str:
    return " ".join(map(str, checks))


def span_views(spans: Sequence[SpanNode]) -> list[SpanView]:
    depths: dict[str, int] = {}
    views = []
    for span, bar in zip(spans, timeline(spans), strict=True):
        depth = depths[span.id] = depths.get(span.parent, -1) + 1 if span.parent else 0
        tokens = span.tokens
        used = f"{count(tokens.input or 0)} in, {count(tokens.output or 0)} out" if tokens else ""
        cost = "" if span.cost_usd is None else dollars(span.cost_usd)
        about = " · ".join(filter(None, (span.model, used, cost)))
        took = span_of_time(span)
        views.append(SpanView(span.name, span.kind, min(depth, 8), took, bar, about, span.error or ""))
    return views
