"""The evidence of checks on the screenshot: where the node or the words that a check points to are in the picture."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct

from karat.model.trace import ElementBox, ScreenMap, Trace
from karat.model.verdict import CheckResult, EvidenceLocation
from karat.reports.html.markup import worst_status

SCREENSHOT: Final = "screenshot"
"""The name of the attachment that the map belongs to."""
Known = Mapping[tuple[str, int], ElementBox]
"""The boxes by channel and line."""
MOST_LINES: Final = 50
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
    for line in range(first, min(last, first + MOST_LINES) + 1):
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
