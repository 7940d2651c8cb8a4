"""What a run needs up: the app, if the target starts it, and a browser. What falls is brought up again, once asked."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from karat.errors import ConfigError, KaratError
from karat.targets.app_process import AppProcess
from karat.targets.base import TargetError
from karat.targets.browser import chromium
from karat.targets.browser.options import LOG, SESSION, BrowserOptions, filled
from karat.targets.config import TargetConfig

if TYPE_CHECKING:
    from playwright.async_api import Browser, Playwright

MISSING = "pip install 'karat[browser]'"
PROBE = 2.0
PORTS = {"http": 80, "https": 443}


class Stage:
    """The app and the browser of one target."""

    def __init__(self, config: TargetConfig, options: BrowserOptions) -> None:
        self.base = ""
        self.log: Path | None = None
        self.starts = 0
        self._config = config
        self._options = options
        self._closing = AsyncExitStack()
        self._lock = asyncio.Lock()
        self._app: AppProcess | None = None
        self._lost = ""
        self._playwright: Playwright | None = None
        self._executable = ""
        self._browser: Browser | None = None

    async def open(self) -> None:
        """Bring everything up, or raise a ConfigError."""
        try:
            from playwright.async_api import async_playwright
        except ModuleNotFoundError as error:
            raise ConfigError("playwright is not installed.", fix=MISSING, slug="no-playwright") from error
        self._playwright = await async_playwright().start()
        self._closing.push_async_callback(self._playwright.stop)
        self._executable = chromium.find(self._options.executable, self._playwright.chromium.executable_path)
        await self._open_app()
        self._browser = await self._launch(self._playwright)

    async def close(self) -> None:
        if self._browser is not None and self._browser.is_connected():
            await self._browser.close()
        await self._closing.aclose()

    async def ready(self) -> Browser:
        """The browser, with the app up; either is started again if it ended."""
        async with self._lock:
            if self._app is not None and not self._app.alive:
                await self._restart(self._app)
            if self._browser is None or not self._browser.is_connected():
                assert self._playwright is not None, "the target is not open"
                self._browser = await self._launch(self._playwright)
            return self._browser

    async def gone(self) -> str:
        """Why the app is not there any more, or the empty string while it is."""
        if self._app is not None and not self._app.alive:
            return self._app.ended()
        parts = urlsplit(self.base)
        try:
            async with asyncio.timeout(PROBE):
                _, writer = await asyncio.open_connection(parts.hostname, parts.port or PORTS.get(parts.scheme, 80))
        except (OSError, TimeoutError):
            return f"the app at {self.base} cannot be reached"
        writer.close()
        return ""

    async def left(self, starts: int) -> str:
        """Why the app that was started here as the so-maniest is not there any more, or the empty string."""
        if self.starts != starts:
            return "the app ended, and was started again for another case"
        return await self.gone() if self._app is not None else ""

    async def _open_app(self) -> None:
        options, config = self._options, self._config
        given = options.app_url or (config.spec if "://" in config.spec else "")
        named = options.telemetry_log or options.telemetry.log
        log = config.root / named if named and named != LOG else None
        if options.starts_app:
            self._app = AppProcess(options.start, config.root, {**config.env, **options.start_env}, log)
            self._closing.push_async_callback(self._app.stop)
            await self._start(self._app)
            self.log = self._app.log if options.has_log else None
        elif not given:
            raise ConfigError(
                "the browser target does not know the app.", fix="Give `app_url`, or `start` to start it."
            )
        else:
            self.base, self.log = filled(given, SESSION), log

    async def _start(self, app: AppProcess) -> None:
        base = self._config.spec if "://" in self._config.spec else "http://127.0.0.1:{port}"
        base = filled(base, SESSION)
        await app.start(base.rstrip("/") + self._options.health, self._options.start_timeout)
        self.base = app.filled(base)
        self.starts += 1

    async def _restart(self, app: AppProcess) -> None:
        """An app that cannot be started again is not tried for every case that is left."""
        if not self._lost:
            ended = app.ended()
            try:
                await self._start(app)
            except KaratError as error:
                self._lost = f"{ended}; it could not be started again: {error.message}"
        if self._lost:
            raise TargetError("gone", self._lost)

    async def _launch(self, playwright: Playwright) -> Browser:
        from playwright.async_api import Error

        try:
            return await playwright.chromium.launch(executable_path=self._executable, args=chromium.arguments())
        except Error as error:
            what = f"the browser {self._executable} cannot be started: {chromium.refusal(error.message)}."
            raise ConfigError(what, fix=chromium.HOW, slug="no-browser") from error
