"""An app that a target starts: until it answers, with what it printed where it does not, and again if it ended."""

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

from carob.errors import CarobError, ConfigError
from carob.system import process_tree
from carob.targets.base import TargetError

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
        self._folder = tempfile.TemporaryDirectory(prefix="carob-app-")
        self._printed = Path(self._folder.name) / "output.txt"
        self._process: subprocess.Popen[bytes] | None = None
        self._health, self._seconds = "", 0.0
        self._lost = ""
        self.port = _free_port()
        self.log = log or self._create_log()
        self.data = Path(self._folder.name) / "data"
        self.data.mkdir()

    def _create_log(self) -> Path:
        """Never empty, so that a log that is truncated is known by it."""
        log = Path(self._folder.name) / "telemetry.jsonl"
        log.write_text('{"source": "carob", "event": "begin"}\n')
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
        self._health, self._seconds = health, seconds
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

    async def restart(self) -> None:
        """Start it again after it ended. Raises TargetError: then it is not tried for every case that is left."""
        if not self._lost:
            ended = self.describe_end()
            try:
                await self.start(self._health, self._seconds)
            except CarobError as error:
                self._lost = f"{ended}; it could not be started again: {error.message}"
        if self._lost:
            raise TargetError("gone", self._lost)

    def _spawn(self) -> None:
        """In this thread, because it ends with the thread that starts it."""
        words = [self.fill(word) for word in shlex.split(self._command)]
        printed = os.open(self._printed, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            self._process = process_tree.start(
                words,
                cwd=self._root,
                env={**os.environ, **{name: self.fill(value) for name, value in self._env.items()}},
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=printed,
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
                printed = f"It printed: {self.last_output() or 'nothing'}."
                raise _not_started(f"{cause} {printed}", "Fix `start` or this address, or increase `start_timeout`.")
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
