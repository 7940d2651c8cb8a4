"""Where prompts are written and how they are sent: elements, and places that find them again."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypedDict

from karat.setup.inspect.page.scripts import with_names
from karat.targets.browser.navigation import locate
from karat.targets.browser.options import Place

if TYPE_CHECKING:
    from playwright.async_api import ElementHandle, Frame

    from karat.targets.browser.navigation import View

BOXES = with_names("boxes.js")
NAMES = with_names("frame.js")
MARK = "data-karat-look"
_HEAD = re.compile(r"""-\s+['"]?(?P<role>[a-z]+)(?:\s+"(?P<name>(?:[^"\\]|\\.)*)")?""")


class PageControl(TypedDict):
    """A box or a button: what it says of itself, and the selectors that find it first."""

    tag: str
    words: str
    names: list[str]


class PageControls(TypedDict):
    """The boxes on a page that prompts may go into, and the buttons near the likeliest."""

    boxes: list[PageControl]
    buttons: list[PageControl]


async def controls(page: View) -> PageControls:
    """What of the page takes prompts and sends them, the likeliest first."""
    seen: PageControls = await page.evaluate(BOXES, None)
    return seen


async def element(page: View, kind: str, index: int = 0) -> ElementHandle:
    """One of the controls that were found."""
    handle = await page.evaluate_handle(f"(index) => window.karat{kind}[index]", index)
    found = handle.as_element()
    assert found is not None, "it was found a moment ago"
    return found


async def places(page: View, found: ElementHandle, names: list[str], tag: str) -> list[Place]:
    """Places that find this element first, the plainest for a reader of karat.toml before others."""
    role, name = await _role_and_name(page, found)
    offered = [Place(role=role, name=name)] if role and name else []
    offered += [Place(selector=each) for each in sorted(names, key=lambda each: each.startswith("[placeholder"))]
    offered += [*([Place(role=role)] if role else []), Place(selector=tag)]
    return [place for place in offered if await finds(page, place, found)]


async def finds(page: View, place: Place, found: ElementHandle) -> bool:
    """Whether the first match of a place is this element."""
    matches = locate(page, place)
    return bool(await matches.count()) and bool(
        await matches.first.evaluate("(one, other) => one === other", await found.evaluate_handle("(e) => e"))
    )


async def frame_name(page: View, frame: Frame) -> str:
    """A selector that finds this frame first."""
    held = await frame.frame_element()
    names: list[str] = await held.evaluate(NAMES)
    offered = [Place(selector=each) for each in (*names, *(f"iframe{each}" for each in names), "iframe")]
    for place in offered:
        if await finds(page, place, held):
            return place.selector
    return "iframe"


async def _role_and_name(page: View, found: ElementHandle) -> tuple[str, str]:
    """How assistive technology calls it."""
    await found.evaluate("(element, mark) => element.setAttribute(mark, '')", MARK)
    try:
        snapshot = await page.locator(f"[{MARK}]").first.aria_snapshot()
    finally:
        await found.evaluate("(element, mark) => element.removeAttribute(mark)", MARK)
    head = _HEAD.match(snapshot.strip())
    return (head["role"], (head["name"] or "").replace('\\"', '"')) if head else ("", "")
