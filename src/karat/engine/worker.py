"""A worker process: it opens the target once and carries out the cases that it is sent, several at once.

What agents print goes to the standard streams of this process, never into the channel to the runner. The worker ends
when the runner does, however that ends.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from typing import TYPE_CHECKING

from karat.engine.bench import Bench
from karat.engine.frames import LENGTH, Frames
from karat.engine.messages import Finished, Ready, Start, Work, encode, for_worker, refusal
from karat.engine.watchdog import Watchdog
from karat.errors import KaratError
from karat.targets.catalog import build
from karat.targets.redact import Redactor

if TYPE_CHECKING:
    from karat.targets.base import Target


def serve(channel: int, words: int) -> None:
    """Work for the runner at the other end of the channel until it hangs up. `words` is a pipe for last words."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for fd in (channel, words):
        os.set_inheritable(fd, False)
    asyncio.run(_serve(socket.socket(fileno=channel), words))


async def _serve(sock: socket.socket, words: int) -> None:
    inbox: asyncio.Queue[bytes | None] = asyncio.Queue()
    loop = asyncio.get_running_loop()
    _, frames = await loop.create_connection(
        lambda: Frames(inbox.put_nowait, lambda: inbox.put_nowait(None)), sock=sock
    )
    first = await inbox.get()
    if first is None:
        return
    start = for_worker(first)
    assert isinstance(start, Start)
    sys.path[:] = [*start.path, *(entry for entry in sys.path if entry not in start.path)]
    try:
        target = build(start.target)
        await target.open()
    except KaratError as error:
        frames.send(encode(refusal(error)))
        await inbox.get()
        return
    frames.send(encode(Ready()))
    await _work(start, target, inbox, frames, words)
    await target.close()


async def _work(start: Start, target: Target, inbox: asyncio.Queue[bytes | None], frames: Frames, words: int) -> None:
    bench = Bench(start, target, Redactor(start.secrets), lambda message: frames.send(encode(message)))
    watchdog = Watchdog(asyncio.get_running_loop(), bench, lambda last: _speak_and_die(words, last))
    bench.open()
    watchdog.start()
    while (message := await inbox.get()) is not None:
        work = for_worker(message)
        assert isinstance(work, Work)
        bench.take(work)
    watchdog.stop()
    await bench.close()


def _speak_and_die(words: int, last: Finished) -> None:
    payload = memoryview(LENGTH.pack(len(line := encode(last))) + line)
    while payload:
        payload = payload[os.write(words, payload) :]
    os.kill(os.getpid(), signal.SIGKILL)
