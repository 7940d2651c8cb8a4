"""Signs of work that a page shows: whether they have been seen since the prompt, and whether they show now."""

from __future__ import annotations

import asyncio
import json
import math
from typing import TYPE_CHECKING, Any, NamedTuple

from karat.targets.browser.options import Complete
from karat.targets.browser.screen import read_script

if TYPE_CHECKING:
    from karat.targets.browser.navigation import View

POLL = 0.05

_WATCH = read_script("watch.js")

BEGIN = f"(signs) => {{\n{_WATCH} return install(signs, false); }}"
STATE = (
    f"(signs) => {{ if (window.karatWatch) return window.karatWatch.state();\n{_WATCH} return install(signs, true); }}"
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
