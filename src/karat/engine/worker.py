"""A worker process: it opens the target once and carries out the cases that it is sent, several at once.

Started as `python -m karat.engine.worker FD`; FD is a socket to the runner. What agents print goes to the standard
streams of this process, never into the socket. The worker ends when the runner does, however that ends.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
import socket
import sys
from collections.abc import Callable, Coroutine
from typing import Any

import msgspec
from msgspec import Struct

from karat.engine.frames import Frames
from karat.engine.plan import Item
from karat.engine.work import Done, Settings, carry_out
from karat.errors import KaratError, Problem, SuiteError
from karat.targets.catalog import build
from karat.targets.config import TargetConfig
from karat.targets.redact import Redactor

PR_SET_PDEATHSIG = 1


class Start(Struct, frozen=True, tag="start"):
    """The first message: what to open."""

    target: TargetConfig
    settings: Settings
    secrets: tuple[str, ...]
    path: list[str]


class Work(Struct, frozen=True, tag="work"):
    """One case to carry out."""

    token: int
    item: Item
    attempt: int


class Ready(Struct, frozen=True, tag="ready"):
    """The target is open."""


class Refused(Struct, frozen=True, tag="refused"):
    """The target cannot be opened; nothing was run."""

    message: str
    where: str
    fix: str
    slug: str
    problems: tuple[Problem, ...] = ()


class Finished(Struct, frozen=True, tag="finished"):
    """One case carried out."""

    token: int
    done: Done


_decode = msgspec.json.Decoder(Start | Work, dec_hook=lambda kind, value: kind(value)).decode
_encode = msgspec.json.Encoder().encode


def main() -> None:
    _die_with_the_runner()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    asyncio.run(_serve(socket.socket(fileno=int(sys.argv[1]))))
    # Threads that agents left behind must not keep a finished worker alive.
    os._exit(0)


async def _serve(sock: socket.socket) -> None:
    inbox: asyncio.Queue[bytes | None] = asyncio.Queue()
    loop = asyncio.get_running_loop()
    _, frames = await loop.create_connection(
        lambda: Frames(inbox.put_nowait, lambda: inbox.put_nowait(None)), sock=sock
    )
    first = await inbox.get()
    if first is None:
        return
    start = _decode(first)
    assert isinstance(start, Start)
    sys.path[:] = [*start.path, *(entry for entry in sys.path if entry not in start.path)]
    try:
        target = build(start.target)
        await target.open()
    except KaratError as error:
        problems = error.problems if isinstance(error, SuiteError) else ()
        frames.send(_encode(Refused(error.message, error.where, error.fix, error.slug, problems)))
        await inbox.get()
        return
    frames.send(_encode(Ready()))
    redactor = Redactor(values=start.secrets)
    await _work(inbox, lambda work: carry_out(work.item, target, start.settings, redactor, work.attempt), frames.send)
    await target.close()


async def _work(
    inbox: asyncio.Queue[bytes | None],
    carry: Callable[[Work], Coroutine[Any, Any, Done]],
    send: Callable[[bytes], None],
) -> None:
    tasks: set[asyncio.Task[None]] = set()

    async def one(work: Work) -> None:
        send(_encode(Finished(work.token, await carry(work))))

    while (message := await inbox.get()) is not None:
        work = _decode(message)
        assert isinstance(work, Work)
        task = asyncio.create_task(one(work))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _die_with_the_runner() -> None:
    if sys.platform == "linux":
        parent = os.getppid()
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(0)


if __name__ == "__main__":
    main()
