"""Starting an app, and ending it."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from carob.errors import ConfigError
from carob.targets import app_process
from carob.targets.app_process import AppProcess, answers

APP = Path(__file__).parent / "stub_process.py"
URL = "http://127.0.0.1:{port}/chat"


@asynccontextmanager
async def made(command: str, env: dict[str, str] | None = None, log: Path | None = None) -> AsyncIterator[AppProcess]:
    app = AppProcess(command, APP.parent, env or {}, log)
    try:
        yield app
    finally:
        await app.stop()


async def test_it_is_started_and_stopped() -> None:
    async with made(f"{{python}} {APP} {{port}}") as app:
        await app.start(URL, 30)
        assert app.alive
        assert await asyncio.to_thread(answers, app.fill(URL))
    assert not app.alive
    assert not await asyncio.to_thread(answers, app.fill(URL))


async def test_places_are_filled_in(tmp_path: Path) -> None:
    async with made("x", log=tmp_path / "mine.jsonl") as app:
        assert app.fill("{python} {port} {log}") == f"{sys.executable} {app.port} {tmp_path / 'mine.jsonl'}"
    async with made("x") as app:
        assert app.log.parent.is_dir()
    assert not app.log.parent.exists()


@pytest.mark.parametrize(
    ("command", "message"),
    [
        pytest.param(
            "/no/such/app",
            "the app cannot be started: [Errno 2] No such file or directory: '/no/such/app'. Fix `start`.",
            id="no-program",
        ),
        pytest.param(
            """sh -c 'printf "one\\n\\033[31mtwo\\n"; exit 4'""",
            "the app ended with exit code 4. It printed: one [31mtwo. Check that `start` works by hand.",
            id="ends-at-once",
        ),
        pytest.param(
            "true",
            "the app ended with exit code 0. It printed: nothing. Check that `start` works by hand.",
            id="prints-nothing",
        ),
        pytest.param(
            "sleep 60",
            "the app did not answer at http://127.0.0.1:{port}/chat within 0.3 s. It printed: nothing. "
            "Fix `start` or this address, or increase `start_timeout`.",
            id="never-answers",
        ),
    ],
)
async def test_an_app_that_does_not_start(command: str, message: str) -> None:
    async with made(command) as app:
        with pytest.raises(ConfigError) as caught:
            await app.start(URL, 0.3)
        assert str(caught.value) == f"{app.fill(message)} [app-not-started]"
        assert not app.alive


async def test_a_port_that_was_taken_in_the_meantime(monkeypatch: pytest.MonkeyPatch) -> None:
    free = app_process._free_port
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        ports = iter([taken.getsockname()[1], free(), free()])
        monkeypatch.setattr(app_process, "_free_port", lambda: next(ports))
        async with made(f"{{python}} {APP} {{port}}") as app:
            await app.start(URL, 30)
            assert app.port != taken.getsockname()[1]


async def test_an_app_that_is_running_already_is_not_taken_for_it() -> None:
    async with made(f"{{python}} {APP} {{port}}") as stale:
        await stale.start(URL, 30)
        async with made("sleep 60") as app:
            with pytest.raises(ConfigError) as caught:
                await app.start(stale.fill(URL), 5)
            assert str(caught.value) == (
                f"something else answers at {stale.fill(URL)} already. End it, or start the app on {{port}}. "
                "[app-not-started]"
            )
            assert not app.alive


async def test_children_are_ended_too(tmp_path: Path) -> None:
    note = tmp_path / "child"
    async with made(f"sh -c 'sleep 600 & echo $! > {note}; exec {{python}} {APP} {{port}}'") as app:
        await app.start(URL, 30)
        child = int(note.read_text())
        os.kill(child, 0)
    for _ in range(100):
        try:
            os.kill(child, 0)
        except ProcessLookupError:
            return
        if Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
            return
        await asyncio.sleep(0.05)
    pytest.fail("the child lives on")


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel of Linux tells children of their parent's end")
def test_it_ends_with_carob_however_that_ends() -> None:
    script = f"""
import asyncio, os
from pathlib import Path
from carob.features.browser.environment import AppProcess
async def main():
    app = AppProcess("{{python}} {APP} {{port}}", Path("{APP.parent}"), {{}})
    await app.start("{URL}", 30)
    print(app.port, flush=True)
    os.kill(os.getpid(), 9)
asyncio.run(main())
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == -9, done.stderr
    url = URL.replace("{port}", done.stdout.strip())
    for _ in range(100):
        if not answers(url):
            return
    pytest.fail("the app lives on")
