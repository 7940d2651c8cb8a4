from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import playwright.async_api
import pytest
import pytest_asyncio

from karat.model.suite import Case
from karat.model.trace import Trace
from karat.targets.base import RunContext
from karat.targets.browser.target import BrowserTarget
from karat.targets.config import TargetConfig

from .stub import Stub, serving

BOX = {"selector": "#in"}
SEND = {"selector": "#go"}
QUICK = {"quiet_ms": 250}


class OneDriver:
    """Playwright's driver takes most of a second to start: the tests of a module share one."""

    def __init__(self, started: playwright.async_api.Playwright) -> None:
        self.chromium = started.chromium

    async def start(self) -> OneDriver:
        return self

    async def stop(self) -> None:
        """It is stopped with the module."""


@pytest_asyncio.fixture(scope="module", loop_scope="module", autouse=True)
async def driver() -> AsyncIterator[playwright.async_api.Playwright]:
    async with playwright.async_api.async_playwright() as started:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(playwright.async_api, "async_playwright", lambda: OneDriver(started))
            yield started


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
    given = {"space_url": path, "wait_ms": 20_000, "chat_box": BOX, "send": SEND, "complete": QUICK, **options}
    return TargetConfig(kind="browser", spec=url, root=root or Path(), options=given)


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
