from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import playwright.async_api
import pytest
import pytest_asyncio

from carob.features.browser import environment
from carob.features.browser.target import BrowserTarget
from carob.model.suite import Case
from carob.model.trace import Trace
from carob.targets.base import RunContext, TargetError
from carob.targets.config import TargetConfig

from .stub import Stub, serving

BOX = {"selector": "#in"}
SEND = {"selector": "#go"}
QUICK = {"quiet_ms": 250}
WAITS = (2_000, 8_000, 30_000)


class OneBrowser:
    """A browser that is not closed: every case has a context of its own in it, of which nothing is left."""

    def __init__(self, browser: playwright.async_api.Browser) -> None:
        self.new_context = browser.new_context
        self.is_connected = browser.is_connected

    async def close(self) -> None:
        """It is closed with the driver."""


class OneChromium:
    """Starts a browser once, and another only where it ended or another program is asked for."""

    def __init__(self, started: playwright.async_api.BrowserType) -> None:
        self.executable_path = started.executable_path
        self._started = started
        self._running: dict[str, OneBrowser] = {}

    async def launch(self, executable_path: str, args: list[str]) -> OneBrowser:
        running = self._running.get(executable_path)
        if running is None or not running.is_connected():
            running = OneBrowser(await self._started.launch(executable_path=executable_path, args=args))
        self._running[executable_path] = running
        return running


class OneDriver:
    """A driver that is not stopped, and what it drives."""

    def __init__(self, chromium: playwright.async_api.BrowserType | OneChromium) -> None:
        self.chromium = chromium

    async def start(self) -> OneDriver:
        return self

    async def stop(self) -> None:
        """It is stopped with the tests."""


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def driver() -> AsyncIterator[playwright.async_api.Playwright]:
    async with playwright.async_api.async_playwright() as started:
        yield started


@pytest.fixture(scope="session")
def shared(driver: playwright.async_api.Playwright) -> OneChromium:
    return OneChromium(driver.chromium)


@pytest.fixture
def one_browser(shared: OneChromium, monkeypatch: pytest.MonkeyPatch) -> None:
    """Playwright's driver and a browser take a second each to start: the tests share them."""
    monkeypatch.setattr(playwright.async_api, "async_playwright", lambda: OneDriver(shared))


@pytest.fixture
def own_browser(one_browser: None, driver: playwright.async_api.Playwright, monkeypatch: pytest.MonkeyPatch) -> None:
    """For what ends its browser, or what runs in it."""
    monkeypatch.setattr(playwright.async_api, "async_playwright", lambda: OneDriver(driver.chromium))


@pytest_asyncio.fixture(loop_scope="session")
async def page(shared: OneChromium) -> AsyncIterator[playwright.async_api.Page]:
    """A page that no target has opened."""
    browser = await shared.launch(environment.find_browser("", shared.executable_path), environment.launch_arguments())
    context = await browser.new_context(viewport={"width": 1280, "height": 900})
    yield await context.new_page()
    await context.close()


IN_A_BROWSER = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.usefixtures("one_browser")]


@pytest.fixture
def stub(tmp_path: Path) -> Iterator[Stub]:
    with serving() as running:
        yield running


@pytest.fixture
def logging_stub(tmp_path: Path) -> Iterator[Stub]:
    with serving(log=tmp_path / "telemetry.jsonl") as running:
        yield running


def config_for(url: str, path: str = "/chat", root: Path | None = None, **options: Any) -> TargetConfig:
    """A target for the stub; it waits no longer than a test may."""
    settings = {"space_url": path, "wait_ms": 20_000, "chat_box": BOX, "send": SEND, "complete": QUICK, **options}
    return TargetConfig(kind="browser", spec=url, root=root or Path(), options=settings)


def target_for(url: str, path: str = "/chat", root: Path | None = None, **options: Any) -> BrowserTarget:
    return BrowserTarget(config_for(url, path, root, **options))


@asynccontextmanager
async def opened(url: str, path: str = "/chat", **options: Any) -> AsyncIterator[BrowserTarget]:
    target = target_for(url, path, **options)
    try:
        await target.open()
        yield target
    finally:
        await target.close()


def case(prompt: str, case_id: str = "one", **rest: Any) -> Case:
    return Case(id=case_id, prompt=prompt, checks=(), **rest)


async def ask(target: BrowserTarget, prompt: str, context: RunContext | None = None, **rest: Any) -> Trace:
    return await target.run(case(prompt, **rest), context or RunContext())


async def waited_in_vain(
    url: str, path: str, prompt: str, said: str, context: Callable[[], RunContext] = RunContext, **options: Any
) -> RunContext:
    """Ask what is not answered, and hold the error against what it has to say, in which {} is the wait.

    How far a page comes in a short wait depends on what else the machine does: what it said then counts only if a
    longer one says the same.
    """
    for wait in WAITS:
        seen = context()
        async with opened(url, path, **options, wait_ms=wait) as target:
            with pytest.raises(TargetError) as caught:
                await ask(target, prompt, seen)
        if str(caught.value) == said.format(wait):
            break
    assert str(caught.value) == said.format(wait)
    return seen


async def few_at_a_time(asked: Iterable[Coroutine[Any, Any, Trace]]) -> list[Trace]:
    """All traces, in order; dozens of pages at once would time out on a machine that has other work."""
    free = asyncio.Semaphore(6)

    async def one(asking: Coroutine[Any, Any, Trace]) -> Trace:
        async with free:
            return await asking

    return await asyncio.gather(*map(one, asked))
