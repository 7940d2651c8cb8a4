"""Agents for the engine's tests. The first word of the prompt says what they do, the second how: sync or async.

The environment names files in which they leave traces: CALLS gets a line per call, PIDS the processes they started.
"""

from __future__ import annotations

import asyncio
import ctypes
import mmap
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


def noted(name: str, line: str) -> None:
    """Append a line to the file that an environment variable names, in one write."""
    if path := os.environ.get(name):
        fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        os.write(fd, f"{line}\n".encode())
        os.close(fd)


def spin() -> None:
    while True:
        pass


def keep_the_lock() -> None:
    """Wait without giving Python's lock away, as code in C may: like a bad regex, but it costs the machine nothing."""
    ctypes.PyDLL(None).sleep(3600)


def pause() -> str:
    time.sleep(0.2)
    return "fine"


def stall() -> None:
    """Hold the thread, or the event loop: like a spin, but it costs the machine nothing."""
    time.sleep(3600)


def block() -> None:
    time.sleep(0.5)


def allocate() -> str:
    """A gigabyte, of which a part is used: to fill all of it takes too long on a busy machine."""
    memory = mmap.mmap(-1, 1 << 30)
    for place in range(0, 1 << 28, 1 << 16):
        memory[place] = 1
    return "fine"


def print_garbage() -> str:
    os.write(1, os.urandom(300_000))
    os.write(2, b'\x00\xff\x1b[2J{"type":"finished","token":1}\n' * 2000)
    print("x" * 100_000, flush=True)
    return "fine"


def fork() -> str:
    """Leave a child behind that holds every file of this process open, and one in a session of its own."""
    child = os.fork()
    if child == 0:
        time.sleep(3600)
    apart = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"], start_new_session=True)
    noted("PIDS", f"{child}\n{apart.pid}")
    os._exit(4)


FORKED: list[int] = []


def fork_and_return() -> str:
    if child := os.fork():
        FORKED.append(child)
    return "fine"


def await_forked() -> str:
    """Whether what came back in a second process has ended there by itself."""
    until = time.monotonic() + 15
    while FORKED and time.monotonic() < until:
        pid, status = os.waitpid(FORKED[-1], os.WNOHANG)
        if pid:
            FORKED.remove(pid)
            assert status == 0
        time.sleep(0.01)
    return f"{len(FORKED)} go on" if FORKED else "fine"


def close_everything() -> str:
    os.closerange(3, 256)
    return "fine"


def die_later() -> str:
    threading.Timer(0.2, os._exit, (5,)).start()
    time.sleep(3600)
    return "never"


class Stop(BaseException):
    """What libraries raise that want to get past `except Exception`."""


RAISED: dict[str, Callable[[], BaseException]] = {
    "raise": lambda: ValueError("the agent broke"),
    "stop": lambda: Stop("enough"),
    "generator": lambda: GeneratorExit("closed"),
    "cancel": lambda: asyncio.CancelledError("not asked for"),
    "leave": lambda: SystemExit(0),
    "several": lambda: BaseExceptionGroup("two", [Stop("enough"), ValueError("broke")]),
}

BEHAVIOURS: dict[str, Any] = {
    "answer": lambda: "fine",
    "wrong": lambda: "something else",
    "none": lambda: None,
    "number": lambda: 42,
    "spin": spin,
    "stall": stall,
    "exit": lambda: os._exit(3),
    "segfault": lambda: os.kill(os.getpid(), 11),
    "group": lambda: os.killpg(0, 9),
    "allocate": allocate,
    "garbage": print_garbage,
    "pause": pause,
    "lock": keep_the_lock,
    "regex": lambda: re.match(r"(a+)+$", "a" * 64 + "b"),
    "fork": fork,
    "twice": fork_and_return,
    "once": await_forked,
    "away": lambda: os.chdir("/") or "fine",
    "close": close_everything,
    "later": die_later,
    "huge": lambda: "fine " + "x" * 20_000_000,
}


def behave(what: str) -> Any:
    if what in RAISED:
        raise RAISED[what]()
    return BEHAVIOURS[what]()


def sync_agent(what: str) -> Any:
    if what == "sleep":
        time.sleep(3600)
    if what == "wait":
        time.sleep(0.02)
        return "fine"
    return behave(what)


async def leave() -> None:
    sys.exit(0)


async def async_agent(what: str, conversation: Any) -> Any:
    if what == "sleep":
        await asyncio.sleep(3600)
    if what == "wait":
        await asyncio.sleep(0.02)
        return "fine"
    if what == "rest":
        await asyncio.sleep(0.3)
        return "fine"
    if what == "blocks":
        block()
        await asyncio.sleep(0)
        block()
        return "fine"
    if what == "deaf":
        while True:
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                continue
    if what == "beside":
        task = asyncio.create_task(leave())
        await asyncio.wait({task})
    if what == "late":
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            return "fine"
    return behave(what)


def agent(prompt: str, case: Any, conversation: Any) -> Any:
    """Sync in a thread, async on the event loop."""
    what, how, *_ = prompt.split()
    noted("CALLS", case.id)
    conversation.tool_call("lookup", arguments={"for": case.id}, result={"success": True})
    return async_agent(what, conversation) if how == "async" else sync_agent(what)


def unreliable(prompt: str) -> str:
    """Raises until it was called as often as the prompt says; it asks to wait first."""
    counter = Path(os.environ["COUNT"])
    with counter.open("a") as file:
        file.write(f"{time.monotonic()}\n")
    if len(counter.read_text().splitlines()) <= int(prompt.split()[1]):
        error = RuntimeError("429: slow down")
        error.retry_after = float(prompt.split()[2])  # type: ignore[attr-defined]
        raise error
    return "fine"


def measured(prompt: str) -> str:
    """Notes when it begins and ends, or all the time if it has no end."""
    while prompt == "measure forever":
        noted("CALLS", f"still {time.monotonic()}")
        time.sleep(0.0005)
    noted("CALLS", f"begin {time.monotonic()}")
    if prompt == "measure exit":
        time.sleep(1.2)
        os._exit(3)
    time.sleep(float(prompt.split()[1]))
    noted("CALLS", f"end {time.monotonic()}")
    return "fine"
