"""An app that the target starts itself: on a free port, until it is healthy, and stopped with its children."""

from __future__ import annotations

import asyncio
import http.client
import os
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from functools import partial
from pathlib import Path

from karat import process_tree
from karat.errors import ConfigError

STOP_GRACE = 5.0
TAIL = 300
TRIES = 3
TAKEN = "address already in use"


class AppProcess:
    """An app that can be started, and started again.

    In its command, environment and addresses `{port}` is a free port, `{log}` the telemetry log (a fresh one unless it
    is given), `{data}` a folder that nobody else uses, `{python}` this interpreter.
    """

    def __init__(self, command: str, root: Path, env: dict[str, str], log: Path | None = None) -> None:
        self._command = command
        self._env = env
        self._root = root
        self._folder = tempfile.TemporaryDirectory(prefix="karat-app-")
        self._printed = Path(self._folder.name) / "output.txt"
        self._process: subprocess.Popen[bytes] | None = None
        self.port = _free_port()
        self.log = log or self._fresh_log()
        self.data = Path(self._folder.name) / "data"
        self.data.mkdir()

    def _fresh_log(self) -> Path:
        """Never empty, so that a log that is truncated is known by it."""
        log = Path(self._folder.name) / "telemetry.jsonl"
        log.write_text('{"source": "karat", "event": "begin"}\n')
        return log

    def filled(self, text: str) -> str:
        known = {"{port}": str(self.port), "{log}": str(self.log), "{data}": str(self.data), "{python}": sys.executable}
        for name, value in known.items():
            text = text.replace(name, value)
        return text

    async def start(self, health: str, seconds: float) -> None:
        """Start it and wait until `health` answers. Raises ConfigError if that does not come about."""
        await self.end()  # what an earlier one left behind
        for left in reversed(range(TRIES)):
            if await asyncio.to_thread(answers, self.filled(health)):
                if not left or "{port}" not in health:
                    raise ConfigError(
                        f"something else answers at {self.filled(health)} already.",
                        fix="End it, or start the app on {port}.",
                        slug="app-not-started",
                    )
                self.port = _free_port()
                continue
            self._spawn()
            if await self._healthy(health, seconds):
                return
            if left and TAKEN in self.printed().lower():
                self.port = _free_port()  # somebody else was faster
                continue
            raise ConfigError(f"{self.ended()}.", fix="See that `start` works by hand.", slug="app-not-started")

    def _spawn(self) -> None:
        """In this thread, because it ends with the thread that starts it."""
        words = [self.filled(word) for word in shlex.split(self._command)]
        printed = os.open(self._printed, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            self._process = subprocess.Popen(
                words,
                cwd=self._root,
                env={**os.environ, **{name: self.filled(value) for name, value in self._env.items()}},
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=printed,
                start_new_session=True,
                preexec_fn=partial(process_tree.end_with, os.getpid(), signal.SIGTERM),
            )
        except OSError as error:
            raise ConfigError(
                f"the app cannot be started: {error}.", fix="Mend `start`.", slug="app-not-started"
            ) from error
        finally:
            os.close(printed)

    async def _healthy(self, health: str, seconds: float) -> bool:
        """Whether the app answers; False if it ended."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        while not await asyncio.to_thread(answers, self.filled(health)):
            if not self.alive:
                return False
            if loop.time() > deadline:
                await self.end()
                raise ConfigError(
                    f"the app did not answer at {self.filled(health)} within {seconds:g} s.",
                    fix="Mend `start` or `health`, or raise `start_timeout`.",
                    slug="app-not-started",
                )
            await asyncio.sleep(0.05)
        return self.alive

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def ended(self) -> str:
        """In one line: that it ended, how, and the last that it printed."""
        code = self._process.poll() if self._process is not None else None
        how = f"by signal {-code}" if code is not None and code < 0 else f"with exit code {code}"
        return f"the app ended {how}. It printed: {self.printed() or 'nothing'}"

    def printed(self) -> str:
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
