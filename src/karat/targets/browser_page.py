"""One conversation in one browser context: reach the chat, send a prompt as a person would, see what came of it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urljoin, urlsplit

from karat.targets.base import TargetError
from karat.targets.browser_options import Options, Place, Step, from_environment

if TYPE_CHECKING:
    from playwright.async_api import Locator, Page

POLL = 0.05
BUSY_LIMIT = 3.0
"""How long a sign of work may take to show after the prompt was sent; a fast app may never show it."""


class ChatPage:
    """The page of one conversation."""

    def __init__(self, page: Page, options: Options, base: str, session: str) -> None:
        self._page = page
        self._options = options
        self._base = base
        self._session = session
        self._said = 0
        self._before: list[str] = []

    async def reach(self) -> None:
        """Open the app and go the way to its chat box."""
        await self._page.goto(self._url(self._options.space_url or self._base))
        for step in self._options.steps:
            await self._go(step)
        await self._box().wait_for(state="visible", timeout=self._options.wait_ms)

    async def ask(self, prompt: str) -> str:
        """Send a prompt and wait for the answer; the assistant's own words of this turn."""
        await self._remember()
        box = self._box()
        await box.fill(prompt)
        if isinstance(self._options.send, Place):
            await self._at(self._options.send).click()
        else:
            await box.press("Enter")
        try:
            async with asyncio.timeout(self._options.wait_ms / 1000):
                return await self._answer(prompt)
        except TimeoutError as error:
            raise TargetError("timeout", f"no complete answer within {self._options.wait_ms} ms") from error

    async def snapshot(self) -> str:
        """The page as assistive technology sees it."""
        return await self._page.locator("body").aria_snapshot()

    async def screenshot(self, path: str) -> None:
        await self._page.screenshot(path=path, full_page=True)

    async def _go(self, step: Step) -> None:
        if step.open:
            await self._page.goto(self._url(step.open))
        if step.click:
            await self._at(step.click).click(timeout=self._options.wait_ms)
        if step.fill:
            await self._at(step.fill).fill(from_environment(step.value), timeout=self._options.wait_ms)
        if step.press:
            await self._page.keyboard.press(step.press)
        if step.wait_for:
            await self._at(step.wait_for).wait_for(state="visible", timeout=self._options.wait_ms)

    async def _remember(self) -> None:
        if self._options.answer is not None:
            self._said = await self._all(self._options.answer).count()
        else:
            self._before = await self._lines()

    async def _answer(self, prompt: str) -> str:
        complete = self._options.complete
        if complete.busy:
            await self._idle(complete.busy)
        if complete.gone:
            await self._gone(complete.gone)
        if complete.quiet_ms is not None or not (complete.busy or complete.gone):
            return await self._quiet(prompt, (complete.quiet_ms or 1500) / 1000)
        return await self._until_said(prompt)

    async def _until_said(self, prompt: str) -> str:
        """An app that is no longer busy may still owe its last words to the page for a moment."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + BUSY_LIMIT
        while not (text := await self._text(prompt)) and loop.time() < deadline:
            await asyncio.sleep(POLL)
        return text

    async def _idle(self, selector: str) -> None:
        busy = self._page.locator(f'{selector}[aria-busy="true"]')
        await _shown_then_gone(busy)

    async def _gone(self, text: str) -> None:
        await _shown_then_gone(self._page.get_by_text(text))

    async def _quiet(self, prompt: str, seconds: float) -> str:
        loop = asyncio.get_running_loop()
        last, since = "", loop.time()
        while True:
            text = await self._text(prompt)
            if text != last:
                last, since = text, loop.time()
            if text and loop.time() - since >= seconds:
                return text
            await asyncio.sleep(POLL)

    async def _text(self, prompt: str) -> str:
        """The assistant's words: the messages that are new, or, without a place for them, what is new on the page."""
        if self._options.answer is not None:
            found = self._all(self._options.answer)
            texts = await found.all_inner_texts()
            return "\n".join(text.strip() for text in texts[self._said :]).strip()
        return "\n".join(_new(self._before, await self._lines(), prompt))

    async def _lines(self) -> list[str]:
        text = await self._page.locator("body").inner_text()
        return [line.strip() for line in text.split("\n") if line.strip()]

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
        url = urljoin(self._base, target)
        if not self._options.session_query:
            return url
        joint = "&" if urlsplit(url).query else "?"
        return f"{url}{joint}{urlencode({self._options.session_query: self._session})}"


async def _shown_then_gone(sign: Locator) -> None:
    from playwright.async_api import TimeoutError as NotShown

    try:
        await sign.first.wait_for(state="attached", timeout=BUSY_LIMIT * 1000)
    except NotShown:
        return
    while await sign.count():
        await asyncio.sleep(POLL)


def _new(before: list[str], after: list[str], prompt: str) -> list[str]:
    """The lines that were not there before, less the prompt itself."""
    left = list(before)
    asked = {" ".join(prompt.split()), *(line.strip() for line in prompt.split("\n"))}
    new = []
    for line in after:
        if line in left:
            left.remove(line)
        elif " ".join(line.split()) not in asked:
            new.append(line)
    return new
