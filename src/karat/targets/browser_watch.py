"""Signs of work that a page shows: whether they have been seen since the prompt, and whether they show now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from karat.targets.browser_options import Complete

if TYPE_CHECKING:
    from playwright.async_api import Page

# Each sign is a question to the document. A text must stand at the end of a text of its own: an answer that speaks of
# thinking is not at work.
_SIGNS = """
const shown = (element) => element.checkVisibility({ visibilityProperty: true });
const found = (selector) => [...document.querySelectorAll(selector)];
const plain = (text) => text.replace(/[.…\\s]+$/, "").trim().toLowerCase();
const questions = {
  busy: (selector) => found(selector).some((element) => element.getAttribute("aria-busy") === "true"),
  spinner: (selector) => found(selector).some(shown),
  gone: (text) => {
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const said = plain(walker.currentNode.data);
      if (said.endsWith(plain(text)) && said.length <= text.length + 40 && shown(walker.currentNode.parentElement))
        return true;
    }
    return false;
  },
};
const working = () => Object.keys(signs).filter((sign) => signs[sign] && questions[sign](signs[sign]));
"""

BEGIN = f"""(signs) => {{
{_SIGNS}
const seen = new Set();
const watch = (records) => {{
  for (const record of records)
    if (signs.busy && record.attributeName === "aria-busy" && record.oldValue === "true"
        && record.target.matches(signs.busy)) seen.add("busy");
  for (const sign of working()) seen.add(sign);
}};
if (window.karatWatch) window.karatWatch.observer.disconnect();
const observer = new MutationObserver(watch);
observer.observe(document, {{
  subtree: true, childList: true, characterData: true, attributes: true, attributeOldValue: true,
}});
window.karatWatch = {{ observer, seen }};
}}"""

STATE = f"""(signs) => {{
{_SIGNS}
const now = working();
const watch = window.karatWatch;
if (watch) for (const sign of now) watch.seen.add(sign);
return {{ now, seen: watch ? [...watch.seen] : Object.keys(signs) }};
}}"""


class Work(NamedTuple):
    """Whether every sign was seen since the prompt, and whether none shows now. A new page counts as a sign."""

    seen: bool
    over: bool


class Watch:
    """The signs of one configuration on one page."""

    def __init__(self, page: Page, complete: Complete) -> None:
        self._page = page
        self._signs = {name: sign for name, sign in complete.signs.items() if sign}

    def __bool__(self) -> bool:
        return bool(self._signs)

    async def begin(self) -> None:
        """Watch from now on, so that work that is over before anybody looks is seen all the same."""
        if self._signs:
            await self._page.evaluate(BEGIN, self._signs)

    async def state(self) -> Work:
        if not self._signs:
            return Work(seen=False, over=True)
        told: dict[str, Any] = await self._page.evaluate(STATE, self._signs)
        return Work(seen=set(self._signs) <= set(told["seen"]), over=not told["now"])
