"""The same work on several processors: pieces in order, each made by a process that began as a copy of this one."""

from __future__ import annotations

import os
import struct
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import BinaryIO, TypeVar

import msgspec
from msgspec import Struct

from karat.errors import ExitCode, KaratError

_HEAD = struct.Struct("<?I")
_SIZE = struct.Struct("<Q")
Part = TypeVar("Part")


class WorkerGoneError(KaratError):
    """A process that shared the work ended before its piece was done."""

    exit_code = ExitCode.INTERNAL
    slug = "worker-gone"


class Broke(Struct, frozen=True):
    """What a user can mend, as it was raised in another process."""

    message: str
    where: str
    fix: str
    slug: str
    code: int


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Broke).decode


def pieces(
    work: Callable[[int], Part],
    count: int,
    workers: int,
    pack: Callable[[Part], Sequence[bytes]],
    unpack: Callable[[Sequence[bytes]], Part],
) -> Iterator[Part]:
    """`work(0)`, `work(1)`, ... in order. Who works ahead waits for its reader, so that little is held at once.

    What another process made comes through `pack` and `unpack`, as byte strings that are sent as they are.
    """
    workers = min(workers, count)
    if workers < 2 or threading.active_count() > 1:  # a copy of this process would have none of its other threads
        yield from map(work, range(count))
        return
    started: list[tuple[int, BinaryIO]] = []
    try:
        for number in range(workers):
            packed = _packed(work, pack)
            started.append(_forked(packed, range(number, count, workers), [pipe for _, pipe in started]))
        for number in range(count):
            yield unpack(_received(started[number % workers][1]))
    finally:
        for process, pipe in started:
            pipe.close()  # who still writes hears of it, and ends
            os.waitpid(process, 0)


def _packed(work: Callable[[int], Part], pack: Callable[[Part], Sequence[bytes]]) -> Callable[[int], Sequence[bytes]]:
    return lambda number: pack(work(number))


def _forked(work: Callable[[int], Sequence[bytes]], numbers: range, others: Sequence[BinaryIO]) -> tuple[int, BinaryIO]:
    reading, writing = os.pipe()
    process = os.fork()
    if process:
        os.close(writing)
        return process, os.fdopen(reading, "rb", 1 << 20)
    code = 1
    try:
        for descriptor in (reading, *(pipe.fileno() for pipe in others)):
            os.close(descriptor)  # while a copy is open somewhere, who writes there does not hear that nobody reads
        with os.fdopen(writing, "wb", 1 << 20) as pipe:
            for number in numbers:
                if not _sent(pipe, work, number):
                    break
        code = 0
    except (BrokenPipeError, KeyboardInterrupt):
        code = 2  # nobody wants the rest
    finally:
        os._exit(code)  # nothing of the process that this is a copy of is to be closed or flushed twice


def _sent(pipe: BinaryIO, work: Callable[[int], Sequence[bytes]], number: int) -> bool:
    """Send a piece, or why there is none."""
    try:
        parts = work(number)
        made = True
    except KaratError as error:
        parts = [_encode(Broke(error.message, error.where, error.fix, error.slug, error.exit_code))]
        made = False
    pipe.write(_HEAD.pack(made, len(parts)))
    for part in parts:
        pipe.write(_SIZE.pack(len(part)))
        pipe.write(part)
    pipe.flush()
    return made


def _received(pipe: BinaryIO) -> Sequence[bytes]:
    made, count = _HEAD.unpack(_read(pipe, _HEAD.size))
    parts = [_read(pipe, *_SIZE.unpack(_read(pipe, _SIZE.size))) for _ in range(count)]
    if made:
        return parts
    told = _decode(parts[0])
    error = KaratError(told.message, where=told.where, fix=told.fix, slug=told.slug)
    error.exit_code = ExitCode(told.code)
    raise error


def _read(pipe: BinaryIO, size: int) -> bytes:
    data = pipe.read(size)
    if len(data) != size:
        raise WorkerGoneError("a process that judged with us is gone.", fix="Try again, or with --workers 1.")
    return data
