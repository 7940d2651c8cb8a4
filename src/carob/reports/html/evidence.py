"""Where the evidence of each check is: its words, its call, its line, its node of the page, its place in a picture."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Final, NamedTuple

from msgspec import Struct, structs

from carob.checks.base import Check
from carob.checks.catalog import CheckCatalog
from carob.model.trace import ElementBox, ScreenMap, SpanNode, Trace
from carob.model.verdict import CheckResult, EvidenceLocation
from carob.reports.escaping import clip
from carob.reports.html.calls import CallView, TextRoom, TimeBar, call_views, timeline
from carob.reports.html.markup import Mark, Marker, as_written, escape_text, render, worst_status
from carob.reports.html.story import MOST_CALLS, MOST_SPANS, USERS, TurnStory, tell_turn
from carob.text.wording import count, dollars

LONGEST: Final = 40_000
"""Of a text on the page; the journal has all of it."""
MOST_LINES: Final = 400
LISTS: Final = ("tool_calls", "telemetry", "messages")

# Only in the words of the check itself: after them come names and arguments that the agent chose.
_mention = re.compile(r"[^,:;\"'{(\[]*?\bcall (\d{1,6})\b")

Entry = tuple[int, str, int | None]
"""A turn, counted from 0, a channel of it, and an entry of the channel; None for all of a page."""


class MessageView(Struct, frozen=True):
    """One message; `answer`: it is the one that is judged."""

    role: str
    name: str
    html: str
    answer: bool = False
    written: str = ""
    """The text as written, where reading it as Markdown hides evidence."""
    checks: str = ""


class SpanView(Struct, frozen=True):
    """A span of the agent's own telemetry."""

    span: SpanNode
    depth: int
    bar: TimeBar | None
    about: str


class TranscriptPart(Struct, frozen=True):
    """One thing that happened: what was said, what was called, or a step of the model."""

    message: MessageView | None = None
    call: CallView | None = None
    step: SpanView | None = None


class LineView(Struct, frozen=True):
    """A line of telemetry, or of another list."""

    number: int
    html: str
    checks: str = ""
    status: str = ""
    anchors: str = ""


class TurnView(Struct, frozen=True):
    """One prompt and everything that followed, in order."""

    trace: Trace
    number: int | None
    answer: str
    parts: list[TranscriptPart]
    loose: bool
    """Whether it is not known between which calls the agent said what it said on the way."""
    telemetry: list[LineView]
    spans: list[SpanView]
    page: str
    page_before: str


class Citation(NamedTuple):
    """The checks whose evidence is one entry of the page: their numbers, their worst status, their anchors."""

    checks: str
    status: str
    anchors: str


NOT_CITED: Final = Citation("", "", "")


class CallMention(NamedTuple):
    """`call 5` in the evidence of a check: where in its text, and the number of the call in the case."""

    start: int
    end: int
    number: int


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
        self._marks: dict[tuple[int, str], list[Mark]] = defaultdict(list)
        self._entries: dict[Entry, list[int]] = defaultdict(list)
        self._placed: set[int] = set()
        for number, check in enumerate(checks):
            self._place(number, check)

    def forbids(self, check: CheckResult) -> bool:
        """Whether it says what must not be, so that its words and those that were found are not two of a kind."""
        known = self._catalog.find(check.name)
        return check.expected.startswith("not: ") or (known is not None and known.forbids)

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
            self._entries[turn, at.channel, None].append(number)

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
        match = _mention.match(check.found) if _looks_at_calls(self._catalog.find(check.name)) else None
        if match is None:
            return None
        turn = None if check.turn is None else self._turn_of(check)
        first, last = (0, self._before[-1]) if turn is None else (self._before[turn], self._before[turn + 1])
        number = first + int(match[1])
        return CallMention(match.start(1) - len("call "), match.end(1), number) if first < number <= last else None

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
            trace=trace,
            number=number + 1 if len(self._turns) > 1 else None,
            answer=f"{self._anchor}-answer{number}",
            parts=list(self._parts(number, trace, story)),
            loose=story.loose,
            telemetry=[self._line(number, index, line) for index, line in enumerate(trace.telemetry[:MOST_LINES])],
            spans=span_views(trace.spans[:MOST_SPANS]),
            page=self._page(number, "page", trace.page),
            page_before=self._page(number, "page_before", trace.page_before),
        )

    def _parts(self, turn: int, trace: Trace, story: TurnStory) -> Iterator[TranscriptPart]:
        first = self._before[turn] + 1
        calls = call_views(trace, trace.tool_calls[:MOST_CALLS], first, self._room, turn + 1)
        spans = span_views(trace.spans[:MOST_SPANS])
        if not any(message.role in USERS for message in trace.messages):
            prompt = render(clip(trace.input, LONGEST), Marker((), ""))
            yield TranscriptPart(message=MessageView("user", "", prompt))
        for kind, index in story.items:
            if kind == "call":
                citation = self._cite((turn, "tool_calls", index))
                yield TranscriptPart(call=structs.replace(calls[index], **citation._asdict()))
            elif kind == "step":
                yield TranscriptPart(step=spans[index])
            elif message := self._message(turn, trace, index, is_answer=index == story.answer):
                yield TranscriptPart(message=message)
        if story.answer is None and trace.error is None:
            yield TranscriptPart(message=self._answer(turn, trace, "", NOT_CITED))

    def _message(self, turn: int, trace: Trace, index: int, *, is_answer: bool) -> MessageView | None:
        message = trace.messages[index]
        citation = self._cite((turn, "messages", index))
        if is_answer:
            return self._answer(turn, trace, message.name or "", citation)
        if not message.content and not citation.checks:
            return None
        html = citation.anchors + render(clip(message.content, LONGEST), Marker((), ""))
        return MessageView(message.role, message.name or "", html, checks=citation.checks)

    def _answer(self, turn: int, trace: Trace, name: str, citation: Citation) -> MessageView:
        text = clip(trace.final_message, LONGEST)
        marker = Marker(self._marks.get((turn, "final_message"), ()), self._anchor)
        html = render(text, marker)
        source = as_written(text, marker) if marker.unplaced and not html.startswith('<div class="plain">') else ""
        self._placed |= marker.placed
        return MessageView("assistant", name, citation.anchors + html, True, source, citation.checks)

    def _line(self, turn: int, index: int, text: str) -> LineView:
        return LineView(index, escape_text(clip(text, 4_000)), *self._cite((turn, "telemetry", index)))

    def _page(self, turn: int, channel: str, text: str | None) -> str:
        if not text:
            return ""
        marker = Marker(self._marks.get((turn, channel), ()), self._anchor)
        html = self._cite((turn, channel, None)).anchors + marker.html(clip(text, LONGEST))
        self._placed |= marker.placed
        return html

    def _cite(self, entry: Entry) -> Citation:
        """The checks whose evidence is this entry, which the page shows from now on."""
        checks = self._entries.get(entry, [])
        self._placed.update(checks)
        status = worst_status([self._checks[check].status for check in checks])
        anchors = "".join(f'<a id="{self._anchor}-e{check}"></a>' for check in checks)
        return Citation(" ".join(map(str, checks)), status, anchors)


def _looks_at_calls(kind: type[Check] | None) -> bool:
    return kind is not None and "tools" in kind.channels and "final_message" not in kind.channels


def span_views(spans: Sequence[SpanNode]) -> list[SpanView]:
    depths: dict[str, int] = {}
    views = []
    for span, bar in zip(spans, timeline(spans), strict=True):
        depth = depths[span.id] = depths.get(span.parent, -1) + 1 if span.parent else 0
        tokens = span.tokens
        used = f"{count(tokens.input or 0)} in, {count(tokens.output or 0)} out" if tokens else ""
        cost = "" if span.cost_usd is None else dollars(span.cost_usd)
        about = " · ".join(filter(None, (span.model, used, cost)))
        views.append(SpanView(span, min(depth, 8), bar, about))
    return views


SCREENSHOT: Final = "screenshot"
"""The name of the attachment that the map belongs to."""
Known = Mapping[tuple[str, int], ElementBox]
"""The boxes by channel and line."""
MOST_LIT: Final = 50
"""Of evidence that goes over several lines of the answer."""


class LightView(Struct, frozen=True):
    """A place on the screenshot, and the checks whose evidence is there."""

    x: int
    y: int
    width: int
    height: int
    checks: str
    status: str


class ScreenView(Struct, frozen=True):
    """The drawing that lies over a screenshot."""

    width: int
    height: int
    lights: list[LightView]


def screen_view(trace: Trace, checks: Sequence[CheckResult]) -> ScreenView | None:
    """What can be lit on the screenshot of a record; None where nothing can."""
    screen = trace.screen
    if screen is None or screen.width <= 0 or screen.height <= 0:
        return None
    checks_by_box: dict[ElementBox, list[int]] = {}
    by_line: Known = {(box.channel, box.line): box for box in screen.boxes if _is_within(box, screen)}
    last = len(trace.turns) or None
    for number, check in enumerate(checks):
        if check.at is not None and check.turn in (None, last):
            for box in dict.fromkeys(_boxes(trace, check.at, by_line)):
                checks_by_box.setdefault(box, []).append(number)
    lights = [_light(box, numbers, checks) for box, numbers in checks_by_box.items()]
    return ScreenView(screen.width, screen.height, lights) if lights else None


def _is_within(box: ElementBox, screen: ScreenMap) -> bool:
    return box.width > 0 and box.height > 0 and box.x < screen.width and box.y < screen.height


def _boxes(trace: Trace, at: EvidenceLocation, by_line: Known) -> Iterator[ElementBox]:
    text = trace.page if at.channel == "page" else trace.final_message if at.channel == "final_message" else None
    if not text or at.start is None:
        return
    first = text.count("\n", 0, at.start)
    if at.channel == "page":
        around = _nearest_box(text.split("\n"), first, by_line)
        yield from [around] if around else []
        return
    last = text.count("\n", 0, max(at.end or 0, at.start))
    for line in range(first, min(last, first + MOST_LIT) + 1):
        if box := by_line.get((at.channel, line)):
            yield box


def _nearest_box(lines: Sequence[str], number: int, by_line: Known) -> ElementBox | None:
    """The box of a node, or of its nearest parent that has one: a text has none of its own."""
    depth = _depth(lines[number]) + 1
    for above in range(number, -1, -1):
        if _depth(lines[above]) < depth:
            depth = _depth(lines[above])
            if box := by_line.get(("page", above)):
                return box
    return None


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())


def _light(box: ElementBox, numbers: Sequence[int], checks: Sequence[CheckResult]) -> LightView:
    status = worst_status([checks[number].status for number in numbers])
    return LightView(box.x, box.y, box.width, box.height, " ".join(map(str, numbers)), status)
