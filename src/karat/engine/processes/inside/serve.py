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
import traceback
from contextlib import suppress
from typing import TypeAlias

from karat.checks.catalog import CheckCatalog
from karat.engine.processes.frames import LENGTH, Frames
from karat.engine.processes.in_flight import InFlight
from karat.engine.processes.inside.lanes import Lanes
from karat.engine.processes.inside.loop_times import LoopTimes, Running
from karat.engine.processes.inside.watchdog import Watchdog
from karat.engine.processes.messages import Assignment, Finished, Ready, Start, encode, for_worker, refusal
from karat.errors import KaratError
from karat.targets.catalog import build
from karat.traces.redact import Redactor

Inbox: TypeAlias = "asyncio.Queue[bytes | None]"


def serve(channel: int, words: int, in_flight_file: int) -> None:
    """Work for the runner at the other end of the channel until it hangs up. `words` is a pipe for last words."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for fd in (channel, words):
        os.set_inheritable(fd, False)
    sock = socket.socket(fileno=channel)
    os.register_at_fork(after_in_child=lambda: _let_go(sock, words))
    inbox: Inbox = asyncio.Queue()
    frames = Frames(inbox.put_nowait, lambda: inbox.put_nowait(None))
    in_flight = InFlight(in_flight_file)
    with asyncio.Runner() as runner:
        try:
            runner.run(_serve(sock, inbox, frames, words, in_flight))
        except BaseException as error:  # noqa: BLE001 - cleaning up would cancel innocent cases and wait for deaf ones
            if not isinstance(error, SystemExit | KeyboardInterrupt):
                in_flight.clear()
            _die(frames, error)


async def _serve(sock: socket.socket, inbox: Inbox, frames: Frames, words: int, in_flight: InFlight) -> None:
    await asyncio.get_running_loop().create_connection(lambda: frames, sock=sock)
    first = await inbox.get()
    if first is None:
        return
    start = for_worker(first)
    assert isinstance(start, Start)
    sys.path[:] = [*start.path, *(entry for entry in sys.path if entry not in start.path)]
    if start.folder:
        with suppress(OSError):  # on another machine it may not be there
            os.chdir(start.folder)
    catalog = CheckCatalog(start.project)
    try:
        if start.project.checks:
            catalog.load()
        target = build(start.target)
        await target.open()
    except KaratError as error:
        frames.send(encode(refusal(error)))
        await inbox.get()
        return
    frames.send(encode(Ready()))
    times = LoopTimes()
    redactor = Redactor(start.secrets)
    lanes = Lanes(start, target, redactor, catalog, lambda message: frames.send(encode(message)), in_flight, times)

    def stuck(running: Running) -> None:
        done = lanes.overrun(running, " and did not let go of the event loop")
        _speak_and_die(words, Finished(running.assignment.token, done, last=True))

    loop = asyncio.get_running_loop()
    watchdog = Watchdog(loop, lanes.running, times, start.settings, stuck, lanes.give_up)
    lanes.open()
    watchdog.start()
    await _take_all(inbox, lanes)
    watchdog.stop()
    await lanes.close()
    await target.close()


async def _take_all(inbox: Inbox, lanes: Lanes) -> None:
    """Hand every case on until the runner hangs up."""
    while (message := await inbox.get()) is not None:
        assignment = for_worker(message)
        assert isinstance(assignment, Assignment)
        lanes.take(assignment)


def _let_go(sock: socket.socket, words: int) -> None:
    """What an agent forks must not hear what is meant for us, nor answer for us."""
    with suppress(OSError):
        sock.close()
    with suppress(OSError):
        os.close(words)


def _die(frames: Frames, error: BaseException) -> None:
    """End at once, with what is known said and no case concluded: the runner has to run them again."""
    with suppress(Exception):
        frames.flush()
        traceback.print_exception(error)
        sys.stdout.flush()
        sys.stderr.flush()
    code = error.code if isinstance(error, SystemExit) else 1
    os._exit(code if isinstance(code, int) else 1)


def _speak_and_die(words: int, last: Finished) -> None:
    payload = memoryview(LENGTH.pack(len(line := encode(last))) + line)
    while payload:
        payload = payload[os.write(words, payload) :]
    signal.raise_signal(signal.SIGKILL)
