"""What Karat knows of one pytest session: its options, its event loop, its suites, its journals."""

from __future__ import annotations

import asyncio
import tempfile
import threading
from collections.abc import Coroutine
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, TypeVar

import pytest

from karat.engine.request import RunOptions
from karat.errors import KaratError, UsageError
from karat.options import HOW_TO_RUN
from karat_pytest import RUNS_ALL
from karat_pytest.agent import OpenAgent
from karat_pytest.journals import Journals
from karat_pytest.runs import SuiteRun
from karat_pytest.suites import SuiteHooks

Result = TypeVar("Result")
NO = "no"
GRACE = 5.0
"""How long what was interrupted may take to stop, in seconds."""
_NUMBERS = {"timeout": float, "retries": int, "repeat": int}


class Loop(Protocol):
    """Where targets are open between tests."""

    def wait(self, work: Coroutine[Any, Any, Result]) -> Result: ...

    def stop(self) -> None: ...


class ForegroundLoop:
    """An event loop on this thread, which goes on while a case is run and rests between cases."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()

    def wait(self, work: Coroutine[Any, Any, Result]) -> Result:
        """The result of a coroutine. It is cancelled if it is interrupted, as by Ctrl-C or pytest-timeout."""
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
        self._thread = threading.Thread(target=self._loop.run_forever, name="karat-pytest", daemon=True)
        self._thread.start()

    def wait(self, work: Coroutine[Any, Any, Result]) -> Result:
        """The result of a coroutine. It is cancelled if this thread is interrupted, as by Ctrl-C or pytest-timeout."""
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        finally:
            future.cancel()

    async def start(self, work: Coroutine[Any, Any, Result]) -> Result:
        """The result of a coroutine that runs there, awaited on the event loop of an asynchronous test."""
        if not _is_in_loop():
            from anyio import (
                to_thread,  # trio runs the test, and anyio, which Karat does not need, is what runs it there
            )

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
    """The options of this session, read once, and what is shared by its tests."""

    def __init__(self, config: pytest.Config, run_id: str) -> None:
        self.config = config
        self.run_id = run_id
        self.is_worker = hasattr(config, "workerinput")
        given: dict[str, Any] = getattr(config, "workerinput", {})
        self.workers: int = given.get("workercount", 1)
        self.copies = self.workers if given.get(RUNS_ALL) else 1
        """How many workers run the same tests: what each of them does is a repeat."""
        self.copy = int(given["workerid"].removeprefix("gw")) if given.get(RUNS_ALL) else 0
        given = {name: self.option(name) for name in _NUMBERS}
        self.options = RunOptions.of({name: _number(name, text) for name, text in given.items() if text})  # type: ignore[arg-type]  # each is read by its type, and RunOptions checks them again
        self.target = self.option("target")
        self.gate_base = self.option("gate") or "@baseline"
        self.suites: dict[str, SuiteRun] = {}
        self.agents: dict[tuple[int, str], OpenAgent] = {}
        """The targets that Python tests talk to, by the id of what the fixture gave and the configuration."""
        self.targets: list[object] = []
        self._loop: BackgroundLoop | None = None
        self._suite_loop: Loop | None = None
        self._temporary: tempfile.TemporaryDirectory[str] | None = None

    def option(self, name: str) -> str | None:
        """An option of the command line, else of the configuration of pytest; None: what karat.toml says."""
        given = self.config.getoption(f"karat_{name}")
        value = self.config.getini(f"karat_{name}") if given is None else given
        return str(value) if value else None

    @property
    def chosen_target(self) -> str | None:
        """The target of the command line, which a fixture does not override."""
        given: str | None = self.config.getoption("karat_target")
        return given

    @cached_property
    def journals(self) -> Journals:
        return Journals(self)

    @property
    def loop(self) -> BackgroundLoop:
        if self._loop is None:
            self._loop = BackgroundLoop()
        return self._loop

    @property
    def suite_loop(self) -> Loop:
        """Where the targets of suites are open; a thread of its own only where pytest itself runs in an event loop."""
        if self._suite_loop is None:
            self._suite_loop = self.loop if _is_in_loop() else ForegroundLoop()
        return self._suite_loop

    @property
    def keeps_journals(self) -> bool:
        return self.option("record") != NO

    @cached_property
    def record_folder(self) -> Path | None:
        """Where journals go if not where karat.toml says; those that are not kept are removed with the session."""
        given = self.option("record")
        if given == NO:
            self._temporary = tempfile.TemporaryDirectory(prefix="karat-")
            return Path(self._temporary.name)
        return None if given is None else self.folder / given

    @property
    def folder(self) -> Path:
        """Where pytest was started."""
        return self.config.invocation_params.dir

    def close(self) -> None:
        """Close every target, and end the event loop."""
        for run in self.suites.values():
            run.close()
        for agent in self.agents.values():
            self.loop.wait(agent.target.close())
        for loop in {self._loop, self._suite_loop}:
            if loop is not None:
                loop.stop()
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
        what = HOW_TO_RUN[name].help.rstrip(".").lower()
        raise UsageError(f"--karat-{name}: {text!r} is not a number ({what}).", slug="bad-option") from None


def open_state(config: pytest.Config, run_id: str) -> SessionState:
    """The state of a session, which hears what happens in it from now on."""
    try:
        state = SessionState(config, run_id)
    except KaratError as error:
        raise pytest.UsageError(str(error)) from None
    config.pluginmanager.register(SuiteHooks(state), "karat-suites")
    return state
