"""The same work on several processors: pieces in order, each made by a process that started as a copy of this one."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from carob.errors import CarobError, ExitCode

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

Part = TypeVar("Part")


class WorkerGoneError(CarobError):
    """A process that shared the work ended before its piece was done."""

    exit_code = ExitCode.INTERNAL
    slug = "worker-gone"


def map_in_processes(
    work: Callable[[int], Part],
    count: int,
    workers: int,
    pack: Callable[[Part], Sequence[bytes]],
    unpack: Callable[[Sequence[bytes]], Part],
) -> Iterator[Part]:
    """Yield `work(0)`, `work(1)`, ... in order. A process that is ahead waits for its reader, so little is in memory.

    What another process made comes through `pack` and `unpack`, as byte strings that are sent as they are.
    """
    workers = min(workers, count) if hasattr(os, "fork") else 1
    if workers < 2 or threading.active_count() > 1:  # a copy of this process would have none of its other threads
        yield from map(work, range(count))
        return
    import multiprocessing  # late: most commands work on one processor, and start sooner without it

    if multiprocessing.current_process().daemon:  # a worker of somebody's pool, which may start no process
        yield from map(work, range(count))
        return
    context: Any = multiprocessing.get_context("fork")  # what is worked on is inherited, not sent
    started = []
    pipes: list[Connection] = []
    try:
        for number in range(workers):
            reading, writing = context.Pipe(duplex=False)
            pipes.append(reading)
            numbers = range(number, count, workers)
            process = context.Process(target=_send_pieces, args=(lambda n: pack(work(n)), numbers, writing, pipes))
            process.start()
            started.append(process)
            writing.close()
        for number in range(count):
            yield unpack(_receive(pipes[number % workers]))
    finally:
        for pipe in pipes:
            pipe.close()  # a process that still writes gets an error, and ends
        for process in started:
            process.join()
            process.close()


def _send_pieces(
    work: Callable[[int], Sequence[bytes]], numbers: range, pipe: Connection, readers: Sequence[Connection]
) -> None:
    for reader in readers:
        reader.close()  # while a copy of it is open somewhere, a write does not fail when its reader is gone
    try:
        for number in numbers:
            try:
                pipe.send(list(work(number)))
            except CarobError as error:
                pipe.send((error.message, error.where, error.fix, error.slug, int(error.exit_code)))
                return
    except (BrokenPipeError, KeyboardInterrupt):
        return  # the reader is gone, or the user interrupted


def _receive(pipe: Connection) -> Sequence[bytes]:
    try:
        message = pipe.recv()
    except (EOFError, OSError):
        raise WorkerGoneError("a scoring process ended unexpectedly.", fix="Try again, or with --workers 1.") from None
    if isinstance(message, list):
        return message
    message, where, fix, slug, code = message
    error = CarobError(message, where=where, fix=fix, slug=slug)
    error.exit_code = ExitCode(code)
    raise error
