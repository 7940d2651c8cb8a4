"""The way to the chat: open the app, go its steps, and bring about what a case takes for granted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import urlencode, urljoin, urlsplit

from carob.features.browser.options import BrowserOptions, Place, Step, fill
from carob.targets.base import TargetError

if TYPE_CHECKING:
    from playwright.async_api import Frame, FrameLocator, Locator, Page

    View: TypeAlias = Page | Frame
    """What holds the chat: the page, or a frame in it."""

WHEN_MS = 1000
"""How long to wait for a place that may never come up."""


def locate(view: View | FrameLocator, element: Place) -> Locator:
    """All that is at a place."""
    if element.selector:
        return view.locator(element.selector)
    if element.role:
        role: Any = element.role
        return view.get_by_role(role, name=element.name) if element.name else view.get_by_role(role)
    return view.get_by_text(element.text)


class ChatNavigation:
    """The way of one conversation."""

    def __init__(self, page: Page, options: BrowserOptions, base: str, session: str) -> None:
        self._page = page
        self._options = options
        self._base = base
        self._session = session

    async def go(self, preconditions: Sequence[str]) -> View:
        """Up to the chat box, with all preconditions brought about; what holds the chat."""
        await self.arrive(preconditions)
        view = await self.view()
        await self._step(Step(wait_for=self._options.chat_box, frame=self._options.frame), "the chat box")
        return view

    async def view(self) -> View:
        """What holds the chat, once it is there."""
        selector = self._options.frame
        if not selector:
            return self._page
        await self._step(Step(wait_for=Place(selector=selector)), "the frame")
        frame = await (await self._page.locator(selector).first.element_handle()).content_frame()
        if frame is None:
            raise TargetError("config", f"`frame` ({selector}) is not a frame: name an iframe")
        return frame

    async def arrive(self, preconditions: Sequence[str] = ()) -> None:
        """Open the app and go its steps."""
        configured = self._options.preconditions
        missing = next((sentence for sentence in preconditions if configured and sentence not in configured), None)
        if missing is not None:
            raise TargetError("setup", f"precondition {missing!r} is not defined: add it to `preconditions`")
        for element in self._options.dismiss:
            await self._page.add_locator_handler(locate(self._page, element).first, _click, no_wait_after=True)
        await self._step(Step(), "the app", self._url(self._options.space_url))
        for number, step in enumerate(self._options.steps, 1):
            await self._step(step, f"step {number}")
        for sentence in preconditions:
            for number, step in enumerate(configured.get(sentence, ()), 1):
                await self._step(step, f"step {number} of the precondition {sentence!r}")

    async def clear(self) -> None:
        """Dismiss what shows now: nothing else may come that would meet it."""
        for element in self._options.dismiss:
            if await (locator := locate(self._page, element).first).is_visible():
                await locator.click()

    async def _step(self, step: Step, step_name: str, url: str = "") -> None:
        from playwright.async_api import TimeoutError as TooLongError

        if step.when is not None and not await self._shows(self._at(step.when, step.frame)):
            return
        try:
            await self._do(step, url or (self._url(step.open) if step.open else ""))
        except TooLongError as error:
            element = step.hover or step.click or step.fill or step.wait_for or step.open or url
            raise TargetError(
                "agent",
                f"{step_name}: {element} could not be reached within {self._options.wait_ms} ms at {self._page.url}",
            ) from error

    async def _do(self, step: Step, url: str) -> None:
        if url:
            await self._page.goto(url)
        if step.hover:
            await self._at(step.hover, step.frame).hover()
        if step.click:
            await self._at(step.click, step.frame).click()
        if step.fill:
            await self._at(step.fill, step.frame).fill(fill(step.value, self._session))
        if step.press:
            await self._page.keyboard.press(step.press)
        if step.wait_for:
            await self._at(step.wait_for, step.frame).wait_for(state="visible")

    async def _shows(self, locator: Locator) -> bool:
        from playwright.async_api import TimeoutError as TooLongError

        try:
            await locator.wait_for(state="visible", timeout=WHEN_MS)
        except TooLongError:
            return False
        return True

    def _at(self, element: Place, frame: str) -> Locator:
        return locate(self._page.frame_locator(frame) if frame else self._page, element).first

    def _url(self, target: str) -> str:
        url = urlsplit(urljoin(self._base, fill(target, self._session)) if target else self._base)
        if self._options.session_query:
            query = urlencode({self._options.session_query: self._session})
            url = url._replace(query=f"{url.query}&{query}" if url.query else query)
        return url.geturl()


async def _click(locator: Locator) -> None:
    await locator.click()
