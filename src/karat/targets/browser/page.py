"""One conversation in one browser context: reach the chat, send a prompt as a person would, see what came of it."""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlencode, urljoin, urlsplit

from karat.targets.base import TargetError
from karat.targets.browser.echo import Echo
from karat.targets.browser.options import Options, Place, Step, filled
from karat.targets.browser.snapshot import SentPrompt, without_prompts
from karat.targets.browser.watch import Activity, Watch
from karat.targets.browser.words import LOADING, UNTOLD, Words

if TYPE_CHECKING:
    from playwright.async_api import Locator, Page

PATIENCE = 5.0
"""Seconds that a look at the page may take."""
POLL = 0.05
SLOWEST_POLL = 0.25
UNSEEN_MS = 1500
"""Where nothing shows work, an answer that has not changed for so long is taken for complete."""
SETTLE_MS = 300
"""How long the page may lag behind the line that ends the turn."""
PAUSE_MS = 800
"""Without such a line: how long the signs of work may be off between two steps of one turn."""
LAST_WORDS = 3.0
"""How long an app that is no longer at work may owe its answer to the page, or a sign of work to its answer."""

REST_MS = 500
"""So long the page must not have changed before the first prompt is sent."""
RESTLESS_MS = 3000
"""A page that never rests is not waited for any longer."""

LONGEST_COMPLAINT = 300

AT_REST = """([rest, most]) => new Promise((done) => {
  let timer = setTimeout(done, rest);
  const observer = new MutationObserver(() => { clearTimeout(timer); timer = setTimeout(done, rest); });
  observer.observe(document, { subtree: true, childList: true, characterData: true });
  setTimeout(done, most);
})"""
TEXTS = "(elements) => elements.map((element) => element.innerText)"
CLEARED = """(elements) => {
  window.karatCleared = [];
  for (const element of elements) {
    let text = element.innerText.trim();
    new MutationObserver(() => {
      if (text && element.isConnected && !element.innerText.trim()) { window.karatCleared.push(text); text = ""; }
    }).observe(element, { subtree: true, childList: true, characterData: true, attributes: true });
  }
}"""
SIZE = """(elements) => elements.reduce((sum, element) => {
  const text = element.innerText;
  for (let i = 0; i < text.length; i++) sum = (sum * 31 + text.charCodeAt(i)) | 0;
  return sum;
}, 7)"""


class Glance(NamedTuple):
    """What the page shows at one moment: signs of work, and a number that changes with the answer."""

    work: Activity
    size: int


class ChatPage:
    """The page of one conversation."""

    def __init__(self, page: Page, options: Options, base: str, session: str) -> None:
        self._page = page
        self._options = options
        self._base = base
        self._session = session
        self._watch = Watch(page, options.complete)
        self._words = Words(page, self._all(options.answer) if options.answer is not None else None)
        self._doubt = ""
        self.found = ""
        """Where the answer was found, if nobody told where to look."""
        self._seen = ""
        self._sent: list[SentPrompt] = []
        self._complained: Counter[str] = Counter()
        self.patience = PATIENCE

    async def reach(self, preconditions: Sequence[str]) -> None:
        """Open the app, go the way to its chat box, and bring about what the case takes for granted."""
        known = self._options.preconditions
        missing = next((sentence for sentence in preconditions if known and sentence not in known), None)
        if missing is not None:
            raise TargetError("setup", f"nobody said how to bring about {missing!r}: add it to `preconditions`")
        await self._go(Step(), "the app", self._url(self._options.space_url))
        for number, step in enumerate(self._options.steps, 1):
            await self._go(step, f"step {number}")
        for sentence in preconditions:
            for number, step in enumerate(known.get(sentence, ()), 1):
                await self._go(step, f"step {number} of the precondition {sentence!r}")
        await self._go(Step(wait_for=self._options.chat_box), "the chat box")
        await self._come_to_rest()

    async def ask(self, prompt: str, ended: Callable[[], bool] | None) -> str:
        """Send a prompt and wait for the answer; the assistant's own words of this turn.

        `ended` knows whether the telemetry shows the end of the turn; None: nobody does.
        """
        from playwright.async_api import TimeoutError as TooLongError

        try:
            async with asyncio.timeout(self._options.wait_ms / 1000):
                await self._remember()
                self._doubt = ""
                self._sent.append(SentPrompt(Echo(prompt), self._seen))
                await self._send(prompt)
                answer = await self._complete(prompt, ended)
        except (TimeoutError, TooLongError) as error:
            why = self._watch.trouble or (UNTOLD.format(why=self._doubt) if self._doubt else "")
            said = f": {why}" if why else ""
            raise TargetError("timeout", f"no complete answer within {self._options.wait_ms} ms{said}") from error
        if self._doubt:
            raise TargetError("bad-answer", UNTOLD.format(why=self._doubt))
        return answer

    async def _send(self, prompt: str) -> None:
        box = self._box()
        await box.fill(prompt)
        if isinstance(self._options.send, Place):
            await self._at(self._options.send).click()
        else:
            await box.press("Enter")

    async def answer(self, prompt: str) -> str:
        """The assistant's words of this turn so far; nothing of the prompt is among them."""
        said = await self._words.since([sent.echo for sent in self._sent])
        self._doubt, self.found = said.doubt, said.found
        return said.text

    async def snapshot(self) -> str:
        """The page as assistive technology sees it, less the prompts that it repeats."""
        self._seen = await self._page.locator("body").aria_snapshot()
        return without_prompts(self._seen, self._sent)

    async def screenshot(self, path: str) -> None:
        await self._page.screenshot(path=path, full_page=True)

    async def _go(self, step: Step, what: str, url: str = "") -> None:
        from playwright.async_api import TimeoutError as TooLongError

        try:
            if url or step.open:
                await self._page.goto(url or self._url(step.open))
            if step.click:
                await self._at(step.click).click()
            if step.fill:
                await self._at(step.fill).fill(filled(step.value, self._session))
            if step.press:
                await self._page.keyboard.press(step.press)
            if step.wait_for:
                await self._at(step.wait_for).wait_for(state="visible")
        except TooLongError as error:
            place = step.click or step.fill or step.wait_for or step.open or url
            raise TargetError(
                "agent", f"{what}: {place} could not be reached within {self._options.wait_ms} ms at {self._page.url}"
            ) from error

    async def _come_to_rest(self) -> None:
        """What the page brings by itself a little after its chat box is not the work of a prompt."""
        from playwright.async_api import Error

        try:
            await self._page.evaluate(AT_REST, [REST_MS, RESTLESS_MS])
        except Error as error:
            if not any(sign in error.message for sign in LOADING):
                raise

    async def _remember(self) -> None:
        """What is there before the prompt, so that what comes after it can be told from it."""
        await self._words.mark()
        self._complained = await self._complaints()
        if self._complained and self._options.failure is not None:
            await self._all(self._options.failure).evaluate_all(CLEARED)
        await self._watch.begin()

    async def _complete(self, prompt: str, ended: Callable[[], bool] | None) -> str:
        """The answer, once it is complete."""
        loop = asyncio.get_running_loop()
        began = changed = over_since = loop.time()
        last = None
        while True:
            seen = await self._glance()
            now = loop.time()
            if seen is None or seen.size != last:
                last, changed = seen and seen.size, now
            if seen is None or not seen.work.over or (self._options.complete.event and ended and not ended()):
                over_since = now
            elif seen.work.unseen and not seen.work.fresh:
                if now - changed >= LAST_WORDS and await self.answer(prompt):
                    raise TargetError("agent", self._watch.unseen(seen.work))
            elif self._rested(seen.work, now - changed, now - over_since, ended):
                said = await self.answer(prompt)
                proved = self._watch or self._options.complete.event
                if (said or (proved and now - over_since >= LAST_WORDS)) and await self._stands(seen):
                    return said
            await asyncio.sleep(min(SLOWEST_POLL, POLL + (now - began) / 20))

    def _rested(self, work: Activity, unchanged: float, over: float, ended: Callable[[], bool] | None) -> bool:
        """Whether the answer has not changed, and the signs have been off, for as long as is asked."""
        complete = self._options.complete
        if complete.quiet_ms is not None and unchanged * 1000 < complete.quiet_ms:
            return False
        if self._watch and not work.unseen:
            pause = SETTLE_MS if ended is not None and ended() else PAUSE_MS
            return min(work.calm, over if complete.event else math.inf) * 1000 >= pause
        if complete.quiet_ms is not None:
            return True
        return unchanged * 1000 >= (SETTLE_MS if complete.event and not self._watch else UNSEEN_MS)

    async def _stands(self, before: Glance) -> bool:
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
            place = self._options.answer
            watched = self._all(place) if place is not None else self._page.locator("body")
            size = await watched.evaluate_all(SIZE)
            await self._stop_if_broken()  # last: an app complains before it says that it is done
        except Error as error:
            if any(sign in error.message for sign in LOADING):
                return None
            raise
        return Glance(work, size)

    async def _stop_if_broken(self) -> None:
        """Raise TargetError if the app complains anew, be it in the words of an earlier complaint that was cleared."""
        now = await self._complaints()
        if self._complained:
            self._complained -= Counter(await self._page.evaluate("() => (window.karatCleared || []).splice(0)"))
        new = now - self._complained
        if new:
            said = " ".join(" ".join(new).split())
            raise TargetError("agent", f"the app says: {said[:LONGEST_COMPLAINT]}")
        self._complained &= now

    async def _complaints(self) -> Counter[str]:
        if self._options.failure is None:
            return Counter()
        return Counter(text for text in map(str.strip, await self._texts(self._options.failure)) if text)

    async def _texts(self, place: Place) -> list[str]:
        texts: list[str] = await self._all(place).evaluate_all(TEXTS)
        return texts

    def _box(self) -> Locator:
        return self._at(self._options.chat_box)

    def _at(self, place: Place) -> Locator:
        return self._all(place).first

    def _all(self, place: Place) -> Locator:
        if place.selector:
            return self._page.locator(place.selector)
        if place.role:
            role: Any = place.role
            return self._page.get_by_role(role, name=place.name) if place.name else self._page.get_by_role(role)
        return self._page.get_by_text(place.text)

    def _url(self, target: str) -> str:
        url = urlsplit(urljoin(self._base, filled(target, self._session)) if target else self._base)
        if self._options.session_query:
            told = urlencode({self._options.session_query: self._session})
            url = url._replace(query=f"{url.query}&{told}" if url.query else told)
        return url.geturl()
