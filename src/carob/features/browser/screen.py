"""Where the lines of a page's snapshot and of the answer stand on a screenshot of the page."""

from __future__ import annotations

import asyncio
import re
import struct
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, TypedDict

from carob.features.browser.prompt_echo import Likeness, PromptMatcher
from carob.model.trace import LIKE_PROMPT, NOT_SEEN, THE_PROMPT, ElementBox, ScreenMap

if TYPE_CHECKING:
    from playwright.async_api import Locator, Page

    from carob.features.browser.navigation import View


_HERE = files(__package__)


def read_script(name: str) -> str:
    """A function of JavaScript that runs in the page."""
    return _HERE.joinpath(name).read_text(encoding="utf-8")


def with_sight(name: str) -> str:
    """A function of JavaScript that can ask what a reader sees."""
    return (
        f"(...given) => {{\n{read_script('seen.js')}\nreturn touchable(() => (\n{read_script(name)}\n)(...given));\n}}"
    )


MASK = "[the prompt]"
UNSURE = frozenset({Likeness.NAMED, Likeness.START})
TITLES = frozenset({"link", "option", "tab", "treeitem", "menuitem", "row", "cell", "listitem"})
"""Where apps list conversations by their first prompt. Other elements may well be named as a short prompt is."""

_NODE = re.compile(
    r"""(?P<head>\s*-\s+(?P<quote>['"]?)(?P<role>[a-z]+)(?:\s+"(?P<name>(?:[^"\\]|\\.)*)")?(?:\s+\[[^\]]*\])*)"""
    r"""(?P<tail>(?P=quote):?\s*)(?P<text>.*)"""
)


def role_of(line: str) -> str:
    """The role of the node on this line; none where there is no node."""
    node = _NODE.fullmatch(line)
    return node["role"] if node else ""


class SentPrompt(NamedTuple):
    """A prompt, and the page right before it was sent: what was there repeats nothing."""

    echo: PromptMatcher
    before: str


def with_unseen(full_snapshot: str, visible_snapshot: str) -> str:
    """The snapshot of what a reader sees, and at their places, marked, the nodes that only the whole one has."""
    a, b = full_snapshot.split("\n"), visible_snapshot.split("\n")
    merged: list[str] = []
    for tag, a1, a2, b1, b2 in SequenceMatcher(None, a, b).get_opcodes():
        merged += a[a1:a2] if tag == "equal" else _merge_lines(a[a1:a2], b[b1:b2])
    return "\n".join(merged)


def _merge_lines(full_lines: list[str], visible_lines: Sequence[str]) -> Iterator[str]:
    for line in visible_lines:
        twin = next((index for index, other in enumerate(full_lines) if _place(other) == _place(line)), None)
        if twin is None:
            yield line
            continue
        yield from map(_not_seen, full_lines[:twin])
        yield line
        node = _NODE.fullmatch(full_lines[twin])
        if node is not None:  # the same node, of which only a part is seen
            indent = len(line) - len(line.lstrip())
            yield f"{' ' * indent}  - text {NOT_SEEN}: {node['text'] or node['name'] or ''}"
        del full_lines[: twin + 1]
    yield from map(_not_seen, full_lines)


def _place(line: str) -> tuple[int, str]:
    node = _NODE.fullmatch(line)
    return len(line) - len(line.lstrip()), node["role"] if node else line


def _not_seen(line: str) -> str:
    node = _NODE.fullmatch(line)
    return f"{node['head']} {NOT_SEEN}{node['tail']}{node['text']}" if node else line


def without_prompts(snapshot: str, prompts: Sequence[SentPrompt]) -> str:
    """The snapshot with a mask for every text that is a prompt, and a mark on every node that may be one."""
    lines = snapshot.split("\n")
    for echo, before in prompts:
        old = Counter(before.split("\n"))
        for index, line in enumerate(snapshot.split("\n")):
            if old[line] > 0:
                old[line] -= 1
            else:
                lines[index] = _without(echo, lines[index])
    return "\n".join(lines)


def _without(echo: PromptMatcher, line: str) -> str:
    node = _NODE.fullmatch(line)
    if node is None:
        return line
    head, text, name = node["head"], node["text"], node["name"] or ""
    likeness = echo.likeness(text)
    if _mark(echo, likeness) == THE_PROMPT:
        covered = echo.cover(text, MASK)
        text, likeness = covered if covered != text else MASK, Likeness.OTHER
    marks = {_mark(echo, likeness), _mark(echo, echo.likeness(name))}
    if not echo.distinct and echo.is_whole(name) and node["role"] not in TITLES:
        marks = {LIKE_PROMPT}
    mark = next((mark for mark in (THE_PROMPT, LIKE_PROMPT) if mark in marks and mark not in head), "")
    return f"{head}{f' {mark}' * bool(mark)}{node['tail']}{text}"


def _mark(echo: PromptMatcher, likeness: Likeness) -> str:
    if likeness is Likeness.WHOLE or (echo.distinct and likeness in (Likeness.NAMED, Likeness.QUOTED)):
        return THE_PROMPT
    return LIKE_PROMPT if likeness in UNSURE and not (likeness is Likeness.NAMED and echo.one_word) else ""


BOXES: Final = with_sight("boxes.js")
MOST: Final = 1_000
"""Boxes of one page; of more, those of what the turn brought come first."""
MOST_TEXTS: Final = 200
NO_ROLE: Final = ("text", "iframe")
"""What a snapshot calls so is not an element that can be asked for by its role."""

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
    all_boxes = [
        ElementBox("page", number, *box)
        for numbers, boxes in zip(by_role.values(), await asyncio.gather(*looks), strict=True)
        if len(numbers) == len(boxes)
        for number, box in zip(numbers, boxes, strict=True)
        if box is not None
    ]
    return sorted(_newest(all_boxes, snapshot, before), key=lambda box: box.line)


async def _of_role(page: Page, role: str) -> list[Box | None]:
    boxes: list[Box | None] = await page.locator(f"role={role}").evaluate_all(BOXES, {"most": MOST})
    return boxes


def _newest(boxes: list[ElementBox], snapshot: str, before: str) -> list[ElementBox]:
    """As many as are kept: what was not there before the prompt matters most."""
    if len(boxes) <= MOST:
        return boxes
    lines, old = snapshot.split("\n"), Counter(before.split("\n"))
    return sorted(boxes, key=lambda box: old[lines[box.line]])[:MOST]


async def answer_boxes(page: View, messages: Locator | None, fresh: Sequence[int], answer: str) -> list[ElementBox]:
    """The boxes of the answer's lines, as far as its words are found in the new messages, or else on the page."""
    options = {"most": MOST_TEXTS, "texts": True}
    if messages is None:
        blocks: list[TextBlock] = await page.locator("body").evaluate_all(BOXES, options)
    else:
        blocks = await messages.evaluate_all(BOXES, options | {"only": list(fresh)})
    return list(_find_boxes(answer, blocks))


def _find_boxes(answer: str, blocks: Sequence[TextBlock]) -> Iterator[ElementBox]:
    """From the last line up: what is last on the page is the answer rather than what was there before."""
    at = len(blocks) - 1
    squeezed = ["".join(block["text"].split()) for block in blocks]
    for number, line in reversed([*enumerate(answer.split("\n"))]):
        words = "".join(line.split())
        holding = next((n for n in range(at, -1, -1) if words and _meet(words, squeezed[n])), None)
        if holding is None:
            continue
        at = holding
        yield ElementBox("final_message", number, *_union(blocks[at]["boxes"]))


def _meet(line: str, block: str) -> bool:
    """Whether they are the same words: a block may hold several lines, and a line the cells of a row."""
    return line in block or (len(block) > 1 and block in line)


def _union(boxes: Sequence[Box]) -> Box:
    x, y = min(box[0] for box in boxes), min(box[1] for box in boxes)
    return x, y, max(box[0] + box[2] for box in boxes) - x, max(box[1] + box[3] for box in boxes) - y


async def screen_map(page: Page, picture: Path, boxes: Sequence[ElementBox]) -> ScreenMap:
    """The map of a PNG that was just taken of the page."""
    ratio = float(await page.evaluate("devicePixelRatio")) or 1.0
    with picture.open("rb") as file:
        width, height = struct.unpack(">II", file.read(24)[16:])
    return ScreenMap(round(width / ratio), round(height / ratio), tuple(boxes))
