"""What Carob knows of one pytest session: its options, its event loops, its folders. Imports nothing of the plugin."""

from __future__ import annotations

import asyncio
import tempfile
import threading
from collections.abc import Coroutine
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import pytest

from carob.engine.case_runner import settle
from carob.engine.request import ResolvedTarget, RunOptions, RunRequest
from carob.errors import UsageError
from carob.options import HOW_TO_RUN
from carob.targets.config import Config

Result = TypeVar("Result")
Settled: TypeAlias = tuple[ResolvedTarget, RunOptions, RunRequest]
NO = "no"
GRACE = 5.0
"""How long what was interrupted may take to stop, in seconds."""
NO_TARGET = (
    "Give --carob-target python:module:function, set `carob_target` in the configuration of pytest or `target` in "
    "carob.toml, or define the fixture carob_target in conftest.py."
)
_NUMBERS = {"timeout": float, "retries": int, "repeat": int}


def settle_target(target: object, options: RunOptions, request: RunRequest, config: Config) -> Settled:
    """Settle which target it is; where there is none, say how to give one to pytest."""
    try:
        return settle(target, options, request, config)  # type: ignore[arg-type]  # it refuses what is not a target
    except UsageError as error:
        error.fix = NO_TARGET if error.slug == "no-target" else error.fix
        raise


class ForegroundLoop:
    """An event loop on this thread, which goes on while a case is run and rests between cases."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()

    def wait(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Return the result of a coroutine. It is cancelled if interrupted, as by Ctrl-C or pytest-timeout."""
        task = self._loop.create_task(work)
        try:
            return self._loop.run_until_complete(task)
        except BaseException:
            if not task.done():
                task.cancel()
                self._loop.run_until_complete(asyncio.wait({task}, timeout=GRACE))
            raise

    def stop(self) -> None:
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()


class BackgroundLoop:
    """An event loop on a thread of its own, for tests that run one themselves."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="carob-pytest", daemon=True)
        self._thread.start()

    def wait(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Return the result of a coroutine. It is cancelled if this thread is interrupted."""
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        finally:
            future.cancel()

    async def start(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Return the result of a coroutine that runs there, awaited on the event loop of an asynchronous test."""
        if not _is_in_loop():
            from anyio import to_thread  # trio runs the test; anyio, which Carob does not need, is what runs it there

            return await to_thread.run_sync(self.wait, work)
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return await asyncio.wrap_future(future)
        finally:
            future.cancel()

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class SessionState:
    """The options of this session, read once, and what its tests share. `runs_all`: each xdist worker runs all."""

    def __init__(self, config: pytest.Config, run_id: str, *, runs_all: bool) -> None:
        self.config = config
        self.run_id = run_id
        self.is_worker = hasattr(config, "workerinput")
        worker: dict[str, Any] = getattr(config, "workerinput", {})
        self.workers: int = worker.get("workercount", 1)
        self.copies = self.workers if runs_all else 1
        """How many workers run the same tests: what each of them does is a repeat."""
        self.copy = int(worker["workerid"].removeprefix("gw")) if runs_all else 0
        numbers = {name: _number(name, text) for name in _NUMBERS if (text := self.option(name))}
        self.options = RunOptions.of(numbers)  # type: ignore[arg-type]  # each is read by its type, and RunOptions checks them again
        self.target = self.option("target")
        self.gate_base = self.option("gate") or "@baseline"
        self.open_targets = ExitStack()
        """Closes every target that is still open when the session ends."""
        self._loop: BackgroundLoop | None = None
        self._suite_loop: BackgroundLoop | ForegroundLoop | None = None
        self._temporary: tempfile.TemporaryDirectory[str] | None = None

    def option(self, name: str) -> str | None:
        """An option of the command line, else of the configuration of pytest; None: what carob.toml says."""
        value = self.config.getoption(f"carob_{name}")
        value = self.config.getini(f"carob_{name}") if value is None else value
        return str(value) if value else None

    @property
    def chosen_target(self) -> str | None:
        """The target of the command line, which a fixture does not override."""
        target: str | None = self.config.getoption("carob_target")
        return target

    @property
    def loop(self) -> BackgroundLoop:
        if self._loop is None:
            self._loop = BackgroundLoop()
        return self._loop

    @property
    def suite_loop(self) -> BackgroundLoop | ForegroundLoop:
        """Where the targets of suites are open; a thread of its own only where pytest itself runs in an event loop."""
        if self._suite_loop is None:
            self._suite_loop = self.loop if _is_in_loop() else ForegroundLoop()
        return self._suite_loop

    @property
    def asks_judge(self) -> bool:
        """Whether the judge is asked when all tests are done, in the process that writes the journals."""
        return bool(self.config.option.carob_judge) and not self.is_worker

    @property
    def keeps_journals(self) -> bool:
        return self.option("record") != NO

    @cached_property
    def record_folder(self) -> Path | None:
        """Where journals go if not where carob.toml says; those that are not kept are removed with the session."""
        folder = self.option("record")
        if folder == NO:
            self._temporary = tempfile.TemporaryDirectory(prefix="carob-")
            return Path(self._temporary.name)
        return None if folder is None else self.folder / folder

    @property
    def folder(self) -> Path:
        """Where pytest was started."""
        return self.config.invocation_params.dir

    def close(self) -> None:
        """Close every target, and end the event loops."""
        self.open_targets.close()
        for loop in {self._loop, self._suite_loop} - {None}:
            loop.stop()  # type: ignore[union-attr]  # None is not in the set
        self._loop = self._suite_loop = None

    def remove_temporary(self) -> None:
        """Remove the journals that were not to be kept."""
        if self._temporary is not None:
            self._temporary.cleanup()


def _is_in_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _number(name: str, text: str) -> object:
    if name == "repeat" and text == "auto":
        return text
    try:
        return _NUMBERS[name](text)
    except ValueError:
        meaning = HOW_TO_RUN[name].help.rstrip(".").lower()
        raise UsageError(f"--carob-{name}: {text!r} is not a number ({meaning}).", slug="bad-option") from None
