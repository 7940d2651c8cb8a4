"""What a run needs up: the app, if the target starts it, and a browser. What falls is brought up again, once asked."""

from __future__ import annotations

import asyncio
import http.client
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from karat.errors import ConfigError, KaratError
from karat.system import process_tree
from karat.targets.base import TargetError
from karat.targets.browser.options import LOG, SESSION, BrowserOptions, fill
from karat.targets.config import TargetConfig
from karat.text.wording import shorten, visible

if TYPE_CHECKING:
    from playwright.async_api import Browser, Playwright


MISSING = "pip install 'karat[browser]'"
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
                await self._restart(self._app)
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
        base = self._config.spec if "://" in self._config.spec else "http://127.0.0.1:{port}"
        base = fill(base, SESSION)
        await app.start(base.rstrip("/") + self._options.health, self._options.start_timeout)
        self.base = app.fill(base)
        self.starts += 1

    async def _restart(self, app: AppProcess) -> None:
        """An app that cannot be started again is not tried for every case that is left."""
        if not self._lost:
            ended = app.describe_end()
            try:
                await self._start(app)
            except KaratError as error:
                self._lost = f"{ended}; it could not be started again: {error.message}"
        if self._lost:
            raise TargetError("gone", self._lost)

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
    return [*ARGUMENTS, *(["--no-sandbox"] if os.geteuid() == 0 else [])]


STOP_GRACE = 5.0
TAIL = 300
TRIES = 3
TAKEN = "address already in use"


class AppProcess:
    """An app that can be started, and started again.

    In its command, environment and addresses `{port}` is a free port, `{log}` the telemetry log (a fresh one unless it
    is given), `{data}` a folder of its own, `{python}` this interpreter.
    """

    def __init__(self, command: str, root: Path, env: dict[str, str], log: Path | None = None) -> None:
        self._command = command
        self._env = env
        self._root = root
        self._folder = tempfile.TemporaryDirectory(prefix="karat-app-")
        self._printed = Path(self._folder.name) / "output.txt"
        self._process: subprocess.Popen[bytes] | None = None
        self.port = _free_port()
        self.log = log or self._create_log()
        self.data = Path(self._folder.name) / "data"
        self.data.mkdir()

    def _create_log(self) -> Path:
        """Never empty, so that a log that is truncated is known by it."""
        log = Path(self._folder.name) / "telemetry.jsonl"
        log.write_text('{"source": "karat", "event": "begin"}\n')
        return log

    def fill(self, text: str) -> str:
        values = {
            "{port}": str(self.port),
            "{log}": str(self.log),
            "{data}": str(self.data),
            "{python}": sys.executable,
        }
        for name, value in values.items():
            text = text.replace(name, value)
        return text

    async def start(self, health: str, seconds: float) -> None:
        """Start it and wait until `health` answers. Raises ConfigError if that does not come about."""
        await self.end()  # what an earlier one left
        for tries_left in reversed(range(TRIES)):
            if await asyncio.to_thread(answers, self.fill(health)):
                if not tries_left or "{port}" not in health:
                    cause = f"something else answers at {self.fill(health)} already."
                    raise _not_started(cause, "End it, or start the app on {port}.")
                self.port = _free_port()
                continue
            self._spawn()
            if await self._healthy(health, seconds):
                return
            if tries_left and TAKEN in self.last_output().lower():
                self.port = _free_port()  # another process took the port
                continue
            raise _not_started(f"{self.describe_end()}.", "Check that `start` works by hand.")

    def _spawn(self) -> None:
        """In this thread, because it ends with the thread that starts it."""
        words = [self.fill(word) for word in shlex.split(self._command)]
        printed = os.open(self._printed, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            self._process = subprocess.Popen(
                words,
                cwd=self._root,
                env={**os.environ, **{name: self.fill(value) for name, value in self._env.items()}},
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=printed,
                start_new_session=True,
                preexec_fn=partial(process_tree.end_with, os.getpid(), signal.SIGTERM),
            )
        except OSError as error:
            raise _not_started(f"the app cannot be started: {error}.", "Fix `start`.") from error
        finally:
            os.close(printed)

    async def _healthy(self, health: str, seconds: float) -> bool:
        """Whether the app answers; False if it ended."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        while not await asyncio.to_thread(answers, self.fill(health)):
            if not self.alive:
                return False
            if loop.time() > deadline:
                await self.end()
                cause = f"the app did not answer at {self.fill(health)} within {seconds:g} s."
                raise _not_started(cause, "Fix `start` or `health`, or increase `start_timeout`.")
            await asyncio.sleep(0.05)
        return self.alive

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def describe_end(self) -> str:
        """In one line: that it ended, how, and the last that it printed."""
        code = self._process.poll() if self._process is not None else None
        how = f"by signal {-code}" if code is not None and code < 0 else f"with exit code {code}"
        return f"the app ended {how}. It printed: {self.last_output() or 'nothing'}"

    def last_output(self) -> str:
        """The end of what the app printed, in one line."""
        if not self._printed.exists():
            return ""
        with self._printed.open("rb") as file:
            file.seek(max(0, self._printed.stat().st_size - 4 * TAIL))
            text = file.read().decode("utf-8", "replace")
        line = "".join(char if char.isprintable() else " " for char in text)
        return " ".join(line.split())[-TAIL:]

    async def end(self) -> None:
        """End it and its children, gently at first."""
        if self._process is not None:
            await asyncio.to_thread(process_tree.end, self._process, STOP_GRACE)

    async def stop(self) -> None:
        """End it for good."""
        try:
            await self.end()
        finally:
            self._folder.cleanup()


def _not_started(cause: str, fix: str) -> ConfigError:
    return ConfigError(cause, fix=fix, slug="app-not-started")


def answers(url: str) -> bool:
    """Whether an app answers there, with anything but a fault of its own. It is here, so no proxy is asked."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url, timeout=2) as response:
            return bool(response.status < 500)
    except urllib.error.HTTPError as error:
        with error:
            return error.code < 500
    except (OSError, ValueError, http.client.HTTPException):
        return False


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
