"""A browser context of its own for each conversation: nothing of another one is in it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from karat.targets.browser.options import BrowserOptions, fill
from karat.targets.conversation import timeout

if TYPE_CHECKING:
    from playwright.async_api import Browser, BrowserContext, StorageState

HURRY = 0.8
"""Seconds for a look at a page that is stuck, or at one whose case was cancelled: who cancelled is waiting."""


@asynccontextmanager
async def open_context(
    browser: Browser, options: BrowserOptions, base: str, session: str, script: str
) -> AsyncIterator[BrowserContext]:
    """A fresh context with the headers, cookies and storage that the app is to find."""
    from playwright.async_api import Error

    width, height = options.viewport
    window = await browser.new_context(
        viewport={"width": width, "height": height},
        extra_http_headers={name: fill(value, session) for name, value in options.headers.items()},
        reduced_motion="reduce",
        storage_state=_storage(options, base, session),
    )
    try:
        window.set_default_timeout(options.wait_ms)
        for name, value in options.cookies.items():
            await window.add_cookies([{"name": name, "value": fill(value, session), "url": base}])
        if script:
            await window.add_init_script(script)
        yield window
    finally:
        with suppress(Error, TimeoutError):  # it closes when it can, or with its browser
            async with timeout(HURRY):
                await window.close()


def _storage(options: BrowserOptions, base: str, session: str) -> StorageState | None:
    """The local storage that the app finds. To fill it costs a page of its own: none where there is nothing to fill."""
    if not options.local_storage:
        return None
    items: Any = [{"name": name, "value": fill(v, session)} for name, v in options.local_storage.items()]
    parts = urlsplit(base)
    return {"cookies": [], "origins": [{"origin": f"{parts.scheme}://{parts.netloc}", "localStorage": items}]}
