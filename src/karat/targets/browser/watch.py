"""Signs of work that a page shows: whether they have been seen since the prompt, and whether they show now."""

from __future__ import annotations

import asyncio
import json
import math
from typing import TYPE_CHECKING, Any, NamedTuple

from karat.targets.browser.options import Complete

if TYPE_CHECKING:
    from karat.targets.browser.navigation import View

POLL = 0.05

# Each sign is a question to the document and its open shadow roots. A text must stand at the end of a text of its own:
# an answer that speaks of thinking is not at work.
_WATCH = """
const install = (signs, fresh) => {
  const roots = new Set(), seen = new Set();
  let last = performance.now();
  const shown = (element) => Boolean(element) && element.checkVisibility({ visibilityProperty: true });
  const places = () => [...roots].filter((root) => root.isConnected);
  const found = (selector) => places().flatMap((root) => [...root.querySelectorAll(selector)]);
  const plain = (text) => text.trim().replace(/[.…\\s]+$/, "").toLowerCase();
  const says = (data, text) => data.trim().length <= text.length + 40 && plain(data).endsWith(plain(text));
  const isIn = (root, text) => {
    const walker = document.createTreeWalker(root.body || root, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const node = walker.currentNode;
      if (says(node.data, text) && shown(node.parentElement || root.host)) return true;
    }
    return false;
  };
  const questions = {
    busy: (selector) => found(selector).some((element) => element.getAttribute("aria-busy") === "true"),
    spinner: (selector) => found(selector).some(shown),
    gone: (text) => places().some((root) => isIn(root, text)),
  };
  const below = (node, selector) => node.nodeType === Node.ELEMENT_NODE
    ? [...(node.matches(selector) ? [node] : []), ...node.querySelectorAll(selector)] : [];
  const flashes = {
    busy: (node, selector) => below(node, selector).some((element) => element.getAttribute("aria-busy") === "true"),
    spinner: (node, selector) => below(node, selector).length > 0,
    gone: (node, text) => says(node.textContent, text),
  };
  const mark = (sign) => { seen.add(sign); last = performance.now(); };
  const working = () => {
    const now = Object.keys(signs).filter((sign) => questions[sign](signs[sign]));
    now.forEach(mark);
    return now;
  };
  const adopt = (root) => {
    if (roots.has(root)) return;
    roots.add(root);
    observer.observe(root, {
      subtree: true, childList: true, characterData: true, attributes: true, attributeOldValue: true,
    });
    look(root);
  };
  const look = (node) => {
    if (node.shadowRoot) adopt(node.shadowRoot);
    if (node.querySelectorAll) for (const element of node.querySelectorAll("*"))
      if (element.shadowRoot) adopt(element.shadowRoot);
  };
  const observer = new MutationObserver((records) => {
    const added = new Set();
    for (const record of records) {
      if (signs.busy && record.attributeName === "aria-busy" && record.oldValue === "true"
          && record.target.matches(signs.busy)) mark("busy");
      for (const node of record.addedNodes) { added.add(node); look(node); }
      for (const node of record.removedNodes) if (added.has(node))
        for (const sign of Object.keys(signs)) if (flashes[sign](node, signs[sign])) mark(sign);
    }
    working();
  });
  const state = () => {
    look(document);
    const now = working();
    const unseen = Object.keys(signs).filter((sign) => !seen.has(sign));
    const matches = (sign) => sign === "gone" ? 0 : found(signs[sign]).length;
    return {
      now, fresh, calm: (performance.now() - last) / 1000,
      unseen: Object.fromEntries(unseen.map((sign) => [sign, matches(sign)])),
    };
  };
  if (window.karatWatch) window.karatWatch.stop();
  adopt(document);
  window.karatWatch = { state, stop: () => observer.disconnect() };
  return state();
};
"""

BEGIN = f"(signs) => {{ {_WATCH} return install(signs, false); }}"
STATE = (
    f"(signs) => {{ if (window.karatWatch) return window.karatWatch.state(); {_WATCH} return install(signs, true); }}"
)


class Activity(NamedTuple):
    """What the signs say: whether none shows now, for how many seconds, and which were not seen since the prompt."""

    over: bool
    calm: float
    unseen: dict[str, int]
    """For each sign, how much on the page could show it."""
    fresh: bool = False
    """A new page was loaded since the prompt, which is a sign of work, too."""


class Watch:
    """The signs of one configuration on one page."""

    def __init__(self, page: View, complete: Complete) -> None:
        self._page = page
        self._signs = {name: sign for name, sign in complete.signs.items() if sign}
        self.trouble = ""
        """What keeps a turn from its end, as far as the signs tell."""

    def __bool__(self) -> bool:
        return bool(self._signs)

    async def begin(self) -> None:
        """Watch from now on, also for what is over before anybody looks. A sign that shows must go first."""
        while self._signs:
            state: dict[str, object] = await self._page.evaluate(BEGIN, self._signs)
            if not state["now"]:
                self.trouble = ""
                return
            self.trouble = f"the prompt was not sent, because {self._list_signs(state['now'])} is already visible"
            await asyncio.sleep(POLL)

    async def state(self) -> Activity:
        if not self._signs:
            return Activity(over=True, calm=math.inf, unseen={})
        state: dict[str, Any] = await self._page.evaluate(STATE, self._signs)
        work = Activity(not state["now"], state["calm"], state["unseen"], state["fresh"])
        shows = f"{self._list_signs(state['now'])} still shows" if state["now"] else ""
        self.trouble = f"{self._list_signs(work.unseen)} was never seen" if work.unseen else shows
        return work

    def describe_unseen(self, work: Activity) -> str:
        """Why signs were not seen, and what to do about it."""
        nowhere = [name for name, matches in work.unseen.items() if name != "gone" and not matches]
        why = f" (nothing on the page is {' or '.join(self._signs[name] for name in nowhere)})" if nowhere else ""
        signs = self._list_signs(work.unseen)
        return f"the answer arrived, but {signs} was never seen{why}: fix `complete`, or use `quiet_ms`"

    def _list_signs(self, names: Any) -> str:
        return " and ".join(f"the sign of work {name} = {json.dumps(self._signs[name])}" for name in names)
