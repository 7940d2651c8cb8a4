"""One conversation in one browser context: reach the chat, send a prompt as a person would, see what came of it."""

from __future__ import annotations

import asyncio
import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from carob.features.browser import screen
from carob.features.browser.answer_text import LOADING, UNSEPARATED, AnswerTracker, AnswerWords
from carob.features.browser.environment import HURRY
from carob.features.browser.log import TurnLog
from carob.features.browser.navigation import ChatNavigation, locate
from carob.features.browser.options import BrowserOptions, Complete, Place
from carob.features.browser.prompt_echo import PromptMatcher
from carob.model.trace import ScreenMap
from carob.targets.base import TargetError
from carob.text.wording import join_words, likeness, shorten

if TYPE_CHECKING:
    from playwright.async_api import Page, Response

    from carob.features.browser.navigation import View


_WATCH = screen.read_script("watch.js")

BEGIN = f"(signs) => {{\n{_WATCH} return install(signs, false); }}"
STATE = (
    f"(signs) => {{ if (window.carobWatch) return window.carobWatch.state();\n{_WATCH} return install(signs, true); }}"
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


PATIENCE = 20.0
"""Seconds that a look at the page may take."""
POLL = 0.05
SLOWEST_POLL = 0.25
UNSEEN_MS = 1500
"""Where nothing shows work, an answer that has not changed for so long is taken for complete."""
SETTLE_MS = 300
"""How long the page may come after the line that ends the turn."""
PAUSE_MS = 800
"""Without such a line: how long the signs of work may be off between two steps of one turn."""
LAST_WORDS = 3.0
"""How long an app that is no longer at work may owe its answer to the page, or a sign of work to its answer."""
STUCK_AFTER = 2.0
"""A page that cannot be read for so long is stuck."""

REST_MS = 500
"""So long the page must not have changed before the first prompt is sent."""
RESTLESS_MS = 3000
"""A page that never rests is not waited for any longer."""

LONGEST_COMPLAINT = 300

AT_REST = screen.read_script("rest.js")
TEXTS = "(elements) => elements.map((element) => element.innerText)"
CLEARED = screen.read_script("cleared.js")
SIZE = screen.read_script("size.js")
HIDE = screen.with_sight("hide.js")
NEAREST = 3
UNSENT = "the prompt was not sent, because {}; if something is in the way, name it in `dismiss` or `steps`"
STILL_CHANGED = "the answer was still changing: increase `wait_ms`"
STUCK = "the page does not respond: one of its scripts may be in an endless loop"
NOTHING_NEW = "nothing new appeared on the page: check that `send` sends the prompt, or increase `wait_ms`"
MATCHED_NOTHING = "`answer` ({place}) matched nothing on the page"


class Glance(NamedTuple):
    """What the page shows at one moment: signs of work, and a number that changes with the answer."""

    work: Activity
    size: int


@dataclass(slots=True)
class AnswerStability:
    """Since when the answer has not changed, and since when nothing shows work."""

    changed: float
    over_since: float
    size: int | None = None

    def note(self, now: float, size: int | None, *, over: bool) -> None:
        if size is None or size != self.size:
            self.size, self.changed = size, now
        if not over:
            self.over_since = now


class ChatPage:
    """The page of one conversation."""

    def __init__(self, page: Page, options: BrowserOptions, base: str, session: str) -> None:
        self._page = page
        self._options = options
        self._way = ChatNavigation(page, options, base, session)
        self._look_at(page)
        self._said = AnswerWords("")
        self._log: TurnLog | None = None
        self._refused: list[str] = []
        self._unsent = ""
        """Why the prompt is not sent yet."""
        page.on("response", self._note_refusal)
        self._seen = ""
        self._sent: list[screen.SentPrompt] = []
        self._complained: Counter[str] = Counter()
        self.patience = PATIENCE
        self.answer_page: str | None = None
        """The answer itself as the last snapshot saw it."""

    async def reach(self, preconditions: Sequence[str]) -> None:
        """Go the way to the chat box, and wait until the page rests."""
        self._look_at(await self._way.go(preconditions))
        await come_to_rest(self._view)
        await self._way.clear()

    def _look_at(self, view: View) -> None:
        """The chat is in this page, or in this frame of it."""
        answer = self._options.answer
        self._view = view
        self._watch = Watch(view, self._options.complete)
        self._words = AnswerTracker(view, locate(view, answer) if answer is not None else None)

    async def ask(self, prompt: str, log: TurnLog | None) -> AnswerWords:
        """Send a prompt and wait for the answer; the assistant's own words of this turn."""
        from playwright.async_api import TimeoutError as TooLongError

        self._log, self._said, self._refused, self._unsent = log, AnswerWords(""), [], ""
        try:
            async with asyncio.timeout(self._options.wait_ms / 1000):
                await self._remember()
                self._sent.append(screen.SentPrompt(PromptMatcher(prompt), self._seen))
                await self._send(prompt)
                await self._complete()
        except (TimeoutError, TooLongError) as error:
            why = f"no complete answer within {self._options.wait_ms} ms: {await self._why_stuck() or self._trouble()}"
            raise TargetError("timeout", why) from error
        if self._said.doubt:
            raise TargetError("bad-answer", UNSEPARATED.format(why=self._said.doubt))
        return self._said if self._said.text or not self._said.elsewhere else self._wordless()

    def _trouble(self) -> str:
        """What may have kept an answer from being complete."""
        answer = self._said
        troubles = (
            self._unsent,
            self._watch.trouble if not self._unsent else "",
            UNSEPARATED.format(why=answer.doubt) if answer.doubt else "",
            self._describe_elsewhere() if answer.elsewhere and not answer.text else "",
            answer.unseen if not answer.text else "",
            f"the app answered {join_words(self._refused[:NEAREST], 'and')}" if self._refused else "",
        )
        return "; ".join(filter(None, troubles)) or (STILL_CHANGED if answer.text else NOTHING_NEW)

    async def _why_stuck(self) -> str:
        """That the page answers nothing at all, if so; then it is unknown whether the prompt was sent."""
        from playwright.async_api import Error

        try:
            async with asyncio.timeout(STUCK_AFTER):
                await self._view.evaluate("0")
        except TimeoutError:
            self.patience = HURRY
            return STUCK
        except Error:  # it moves on or is gone
            return ""
        return ""

    def _wordless(self) -> AnswerWords:
        """A turn in which nothing was at the place of the answer: the card of a tool may be all there is."""
        if self._log is None or not self._log.calls:
            raise TargetError("config", f"{self._describe_elsewhere()}: correct `answer`")
        return self._said._replace(unseen=MATCHED_NOTHING.format(place=self._options.answer))

    def _describe_elsewhere(self) -> str:
        near = sorted(self._said.elsewhere, key=lambda path: -likeness(path, str(self._options.answer)))[:NEAREST]
        nothing = MATCHED_NOTHING.format(place=self._options.answer)
        return f"{nothing}, and words appeared in {join_words(map(shorten, near))}"

    async def _send(self, prompt: str) -> None:
        chat_box, send = self._options.chat_box, self._options.send
        box = locate(self._view, chat_box).first
        self._unsent = UNSENT.format(f"{chat_box} could not be written into")
        await box.fill(prompt)
        if isinstance(send, Place):
            self._unsent = UNSENT.format(f"{send} could not be clicked")
            await locate(self._view, send).first.click()
        else:
            await box.press("Enter")
        self._unsent = ""

    async def answer(self) -> str:
        """The assistant's words of this turn so far; nothing of the prompt is among them."""
        self._said = await self._words.since([prompt.echo for prompt in self._sent])
        return self._said.text

    async def snapshot(self) -> str:
        """The page as assistive technology sees it, what no reader sees marked, less the prompts that it repeats."""
        body = self._view.locator("body")
        self._seen = await body.aria_snapshot()
        hidden = await self._view.evaluate(HIDE, True)
        try:
            if hidden:
                self._seen = screen.with_unseen(self._seen, await body.aria_snapshot())
            answer = await self._words.snapshot() if self._said.text else None
        finally:
            if hidden:
                await self._view.evaluate(HIDE, False)
        self.answer_page = screen.without_prompts(answer, self._sent) if answer else None
        return screen.without_prompts(self._seen, self._sent)

    async def screenshot(self, file: Path) -> None:
        await self._page.screenshot(path=str(file), full_page=True)

    async def screen(self, screenshot: Path) -> ScreenMap:
        """What is where on a screenshot that was just taken; in a frame other coordinates hold."""
        if self._view is not self._page:
            return await screen.screen_map(self._page, screenshot, ())
        boxes = await screen.element_boxes(self._page, self._seen, self._sent[-1].before if self._sent else "")
        boxes += await self._words.boxes(self._said.text) if self._said.text else []
        return await screen.screen_map(self._page, screenshot, boxes)

    async def _remember(self) -> None:
        """What is there before the prompt, so that what comes after it can be distinguished from it."""
        await self._words.mark()
        self._complained = await self._complaints()
        if self._complained and self._options.failure is not None:
            await locate(self._view, self._options.failure).evaluate_all(CLEARED)
        await self._watch.begin()

    async def _complete(self) -> None:
        """Wait until the answer is complete."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        stillness = AnswerStability(began, began)
        while True:
            glance = await self._glance()
            now = loop.time()
            works = (
                glance is None or not glance.work.over or (self._options.complete.event and self._is_ended() is False)
            )
            stillness.note(now, glance and glance.size, over=not works)
            if glance is not None and not works and await self._is_complete(glance, now, stillness):
                return
            await asyncio.sleep(min(SLOWEST_POLL, POLL + (now - began) / 10))

    async def _is_complete(self, glance: Glance, now: float, stillness: AnswerStability) -> bool:
        unchanged, over = now - stillness.changed, now - stillness.over_since
        if glance.work.unseen and not glance.work.fresh:
            if unchanged >= LAST_WORDS and await self.answer():
                raise TargetError("agent", self._watch.describe_unseen(glance.work))
            return False
        if not self._is_at_rest(glance.work, unchanged, over):
            return False
        proved = bool(self._watch or self._options.complete.event) and over >= LAST_WORDS
        return (bool(await self.answer()) or proved) and await self._is_unchanged(glance)

    def _is_ended(self) -> bool | None:
        """Whether the telemetry shows the end of the turn; None: it never does."""
        return self._log.is_ended() if self._log is not None and self._options.telemetry.end_event else None

    def _is_at_rest(self, work: Activity, unchanged: float, over: float) -> bool:
        """Whether the answer has not changed, and the signs have been off, for as long as is asked."""
        complete = self._options.complete
        if complete.quiet_ms is not None and unchanged * 1000 < complete.quiet_ms:
            return False
        if self._watch and not work.unseen:
            pause = SETTLE_MS if self._is_ended() else PAUSE_MS
            ended = over if complete.event else math.inf
            still = unchanged if self._options.answer is not None else math.inf
            return min(work.calm, ended, still) * 1000 >= pause
        if complete.quiet_ms is not None:
            return True
        return unchanged * 1000 >= (SETTLE_MS if complete.event and not self._watch else UNSEEN_MS)

    async def _is_unchanged(self, before: Glance) -> bool:
        """Whether nothing happened on the page while the answer was read."""
        now = await self._glance()
        if now is None or not now.work.over or now.work.calm < before.work.calm:
            return False
        return bool(self._watch) or now.size == before.size

    async def _glance(self) -> Glance | None:
        """The page at this moment; None while a new one is being loaded. Raises TargetError if the turn broke."""
        from playwright.async_api import Error

        try:
            work = await self._watch.state()
            answer = self._options.answer
            watched = locate(self._view, answer) if answer is not None else self._view.locator("body")
            size = await watched.evaluate_all(SIZE)
            await self._stop_if_broken()  # last: an app complains before it says that it is done
        except Error as error:
            if any(sign in error.message for sign in LOADING):
                return None
            raise
        return Glance(work, size)

    async def _stop_if_broken(self) -> None:
        """Raise TargetError if the app complains anew, be it in the words of an earlier complaint that was cleared."""
        if self._log is not None:
            self._log.stop_if_broken()
        now = await self._complaints()
        if self._complained:
            self._complained -= Counter(await self._view.evaluate("() => (window.carobCleared || []).splice(0)"))
        new = now - self._complained
        if new:
            complaint = " ".join(" ".join(new).split())
            raise TargetError("agent", f"the app says: {shorten(complaint, LONGEST_COMPLAINT)}")
        self._complained &= now

    async def _complaints(self) -> Counter[str]:
        if self._options.failure is None:
            return Counter()
        return Counter(text for text in map(str.strip, await self._texts(self._options.failure)) if text)

    async def _texts(self, element: Place) -> list[str]:
        texts: list[str] = await locate(self._view, element).evaluate_all(TEXTS)
        return texts

    def _note_refusal(self, response: Response) -> None:
        if response.status >= HTTPStatus.BAD_REQUEST and response.request.resource_type in ("fetch", "xhr", "document"):
            request = response.request
            self._refused.append(f"{response.status} to {request.method} {urlsplit(request.url).path}")


async def come_to_rest(page: View) -> None:
    """What a page brings by itself a little after its chat box is not the work of a prompt."""
    from playwright.async_api import Error

    try:
        await page.evaluate(AT_REST, [REST_MS, RESTLESS_MS])
    except Error as error:
        if not any(sign in error.message for sign in LOADING):
            raise
