"""Where the lines of a page's snapshot and of the answer stand on a screenshot of the page."""

from __future__ import annotations

import asyncio
import struct
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypedDict

from karat.model.trace import ElementBox, ScreenMap
from karat.targets.browser.scripts import with_sight
from karat.targets.browser.snapshot import role_of

if TYPE_CHECKING:
    from playwright.async_api import Locator, Page

    from karat.targets.browser.way import View

BOXES: Final = with_sight("boxes.js")
MOST: Final = 1_000
"""Boxes of one page; of more, those of what the turn brought come first."""
MOST_TEXTS: Final = 200
NO_ROLE: Final = ("text", "iframe")
"""What a snapshot calls so is no element that can be asked for by its role."""

Box = tuple[int, int, int, int]


class TextBlock(TypedDict):
    """Words that stand together on the page, and the boxes of their pieces."""

    text: str
    boxes: list[Box]


async def element_boxes(page: Page, snapshot: str, before: str) -> list[ElementBox]:
    """The boxes of a snapshot's nodes; none of a role of which the page has more or fewer by now."""
    by_role: dict[str, list[int]] = defaultdict(list)
    for number, line in enumerate(snapshot.split("\n")):
        if (role := role_of(line)) and role not in NO_ROLE:
            by_role[role].append(number)
    looks = [_of_role(page, role) for role in by_role]
    found = [
        ElementBox("page", number, *box)
        for numbers, boxes in zip(by_role.values(), await asyncio.gather(*looks), strict=True)
        if len(numbers) == len(boxes)
        for number, box in zip(numbers, boxes, strict=True)
        if box is not None
    ]
    return sorted(_newest(found, snapshot, before), key=lambda box: box.line)


async def _of_role(page: Page, role: str) -> list[Box | None]:
    boxes: list[Box | None] = await page.locator(f"role={role}").evaluate_all(BOXES, {"most": MOST})
    return boxes


def _newest(found: list[ElementBox], snapshot: str, before: str) -> list[ElementBox]:
    """As many as are kept: what was not there before the prompt matters most."""
    if len(found) <= MOST:
        return found
    lines, old = snapshot.split("\n"), Counter(before.split("\n"))
    return sorted(found, key=lambda box: old[lines[box.line]])[:MOST]


async def answer_boxes(page: View, messages: Locator | None, fresh: Sequence[int], answer: str) -> list[ElementBox]:
    """The boxes of the answer's lines, as far as its words are found in the new messages, or else on the page."""
    asked = {"most": MOST_TEXTS, "texts": True}
    if messages is None:
        blocks: list[TextBlock] = await page.locator("body").evaluate_all(BOXES, asked)
    else:
        blocks = await messages.evaluate_all(BOXES, asked | {"only": list(fresh)})
    return list(_placed(answer, blocks))


def _placed(answer: str, blocks: Sequence[TextBlock]) -> Iterator[ElementBox]:
    """From the last line up: what stands last on the page is the answer rather than what stood there before."""
    at = len(blocks) - 1
    squeezed = ["".join(block["text"].split()) for block in blocks]
    for number, line in reversed([*enumerate(answer.split("\n"))]):
        words = "".join(line.split())
        holding = next((n for n in range(at, -1, -1) if words and _meet(words, squeezed[n])), None)
        if holding is None:
            continue
        at = holding
        yield ElementBox("final_message", number, *_around(blocks[at]["boxes"]))


def _meet(line: str, block: str) -> bool:
    """Whether they are the same words: a block may hold several lines, and a line the cells of a row."""
    return line in block or (len(block) > 1 and block in line)


def _around(boxes: Sequence[Box]) -> Box:
    x, y = min(box[0] for box in boxes), min(box[1] for box in boxes)
    return x, y, max(box[0] + box[2] for box in boxes) - x, max(box[1] + box[3] for box in boxes) - y


async def screen_map(page: Page, picture: Path, boxes: Sequence[ElementBox]) -> ScreenMap:
    """The map of a PNG that was just taken of the page."""
    ratio = float(await page.evaluate("devicePixelRatio")) or 1.0
    with picture.open("rb") as file:
        width, height = struct.unpack(">II", file.read(24)[16:])
    return ScreenMap(round(width / ratio), round(height / ratio), tuple(boxes))
