"""What a run needs up: the app, if the target starts it, and a browser. What falls is brought up again, once asked."""

from __future__ import annotations

import asyncio
import re
import shutil
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from carob.errors import ConfigError
from carob.features.browser.options import LOG, SESSION, BrowserOptions, fill
from carob.system.installing import install_extra
from carob.system.portable import own_user
from carob.targets.app_process import AppProcess
from carob.targets.config import TargetConfig
from carob.targets.conversation import timeout
from carob.text.wording import shorten, visible

if TYPE_CHECKING:
    from playwright.async_api import Browser, BrowserContext, Playwright, StorageState


PROBE = 2.0
PORTS = {"http": 80, "https": 443}


class BrowserEnvironment:
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
        self._playwright: Playwright | None = None
        self._executable = ""
        self._browser: Browser | None = None

    async def open(self) -> None:
        """Bring everything up, or raise a ConfigError."""
        try:
            from playwright.async_api import async_playwright
        except ModuleNotFoundError as error:
            raise ConfigError(
                "playwright is not installed.", fix=install_extra("browser"), slug="no-playwright"
            ) from error
        self._playwright = await async_playwright().start()
        self._closing.push_async_callback(self._playwright.stop)
        self._executable = find_browser(self._options.executable, self._playwright.chromium.executable_path)
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
                await self._app.restart()
                self._note_start(self._app)
            if self._browser is None or not self._browser.is_connected():
                assert self._playwright is not None, "the target is not open"
                self._browser = await self._launch(self._playwright)
            return self._browser

    async def why_gone(self) -> str:
        """Why the app is not there any more, or the empty string while it is."""
        if self._app is not None and not self._app.alive:
            return self._app.describe_end()
        parts = urlsplit(self.base)
        try:
            async with asyncio.timeout(PROBE):
                _, writer = await asyncio.open_connection(parts.hostname, parts.port or PORTS.get(parts.scheme, 80))
        except (OSError, TimeoutError):
            return f"the app at {self.base} cannot be reached"
        writer.close()
        return ""

    async def why_left(self, starts: int) -> str:
        """Why the app that was started here as the so-maniest is not there any more, or the empty string."""
        if self.starts != starts:
            return "the app ended, and was started again for another case"
        return await self.why_gone() if self._app is not None else ""

    async def _open_app(self) -> None:
        options, config = self._options, self._config
        address = options.app_url or (config.spec if "://" in config.spec else "")
        log_name = options.telemetry_log or options.telemetry.log
        log = config.root / log_name if log_name and log_name != LOG else None
        if options.starts_app:
            self._app = AppProcess(options.start, config.root, {**config.env, **options.start_env}, log)
            self._closing.push_async_callback(self._app.stop)
            await self._start(self._app)
            self.log = self._app.log if options.has_log else None
        elif not address:
            raise ConfigError("the browser target has no app.", fix="Give `app_url`, or `start` to start it.")
        else:
            self.base, self.log = fill(address, SESSION), log

    async def _start(self, app: AppProcess) -> None:
        await app.start(self._own_address.rstrip("/") + self._options.health, self._options.start_timeout)
        self._note_start(app)

    def _note_start(self, app: AppProcess) -> None:
        self.base = app.fill(self._own_address)
        self.starts += 1

    @property
    def _own_address(self) -> str:
        """That of the app that is started."""
        return fill(self._config.spec if "://" in self._config.spec else "http://127.0.0.1:{port}", SESSION)

    async def _launch(self, playwright: Playwright) -> Browser:
        from playwright.async_api import Error

        try:
            return await playwright.chromium.launch(executable_path=self._executable, args=launch_arguments())
        except Error as error:
            problem = f"the browser {self._executable} cannot be started: {launch_error(error.message)}."
            raise ConfigError(problem, fix=INSTALL_BROWSER, slug="no-browser") from error


NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
INSTALL_BROWSER = (
    "On Debian: apt-get install chromium-headless-shell. Elsewhere: playwright install chromium-headless-shell."
)
# Without a network of its own the browser must not phone home, and in containers it has little shared memory.
ARGUMENTS = (
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
)


_PRINTED = re.compile(r"^.*?\[pid=\d+\]\[err\] (.*)$", re.M)
LONGEST = 300


def find_browser(configured: str, bundled: str) -> str:
    """The browser to start: the configured one, else Debian's, else Playwright's own."""
    if configured:
        executable = shutil.which(configured)
        if executable is None:
            raise ConfigError(f"there is no browser at {configured}.", fix=INSTALL_BROWSER, slug="no-browser")
        return executable
    on_path = next((path for name in NAMES if (path := shutil.which(name))), None)
    if on_path:
        return on_path
    if Path(bundled).exists():
        return bundled
    raise ConfigError("no browser was found.", fix=INSTALL_BROWSER, slug="no-browser")


def launch_error(message: str) -> str:
    """Why a browser did not start, in one line: what it printed, else the first that its driver says."""
    printed = " ".join(" ".join(dict.fromkeys(_PRINTED.findall(message))).split())  # it is printed twice
    return visible(shorten(printed or message.strip().split("\n", 1)[0], LONGEST)).rstrip(".")


def launch_arguments() -> list[str]:
    """Root may not use Chromium's sandbox."""
    return [*ARGUMENTS, *(["--no-sandbox"] if own_user() == 0 else [])]


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
