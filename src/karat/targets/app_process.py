"""An app that the target starts itself: on a free port, until it is healthy, and stopped with its children."""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
import socket
import sys
import tempfile
import urllib.error
import urllib.request
from pathlib import Path

from karat.errors import ConfigError

STOP_GRACE = 5.0
TAIL = 600


class AppProcess:
    """A started app.

    In its command and environment `{port}` is a free port, `{log}` a fresh telemetry log, `{python}` this interpreter.
    """

    def __init__(self, command: str, root: Path, env: dict[str, str]) -> None:
        self.port = _free_port()
        self._folder = tempfile.TemporaryDirectory(prefix="karat-app-")
        self.log = Path(self._folder.name) / "telemetry.jsonl"
        self._printed = Path(self._folder.name) / "output.txt"
        self._command = [self.filled(word) for word in shlex.split(command)]
        self._env = {name: self.filled(value) for name, value in env.items()}
        self._root = root
        self._process: asyncio.subprocess.Process | None = None

    def filled(self, text: str) -> str:
        known = {"{port}": str(self.port), "{log}": str(self.log), "{python}": sys.executable}
        for name, value in known.items():
            text = text.replace(name, value)
        return text

    async def start(self, health: str, seconds: float) -> None:
        printed = os.open(self._printed, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            self._process = await asyncio.create_subprocess_exec(
                *self._command,
                cwd=self._root,
                env={**os.environ, **self._env},
                stdin=asyncio.subprocess.DEVNULL,
                stdout=printed,
                stderr=printed,
                start_new_session=True,
            )
        except OSError as error:
            raise ConfigError(f"the app cannot be started: {error}.", fix="Mend `start`.") from error
        finally:
            os.close(printed)
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        while not await asyncio.to_thread(_answers, health):
            if self._process.returncode is not None:
                raise ConfigError(f"the app ended at once (exit {self._process.returncode}): {self.printed()}")
            if loop.time() > deadline:
                await self.stop()
                raise ConfigError(f"the app did not answer at {health} within {seconds:g} s.")
            await asyncio.sleep(0.05)

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.returncode is None

    def printed(self) -> str:
        """The end of what the app printed."""
        return self._printed.read_text("utf-8", "replace").strip()[-TAIL:]

    async def stop(self) -> None:
        if self._process is not None and self._process.returncode is None:
            for number in (signal.SIGTERM, signal.SIGKILL):
                os.killpg(self._process.pid, number)
                try:
                    async with asyncio.timeout(STOP_GRACE):
                        await self._process.wait()
                    break
                except TimeoutError:
                    continue
        self._folder.cleanup()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2) as response:
            return bool(response.status < 500)
    except (urllib.error.URLError, OSError):
        return False
