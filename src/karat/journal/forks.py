"""The same work on several processors: pieces in order, each made by a process that began as a copy of this one."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import BinaryIO, TypeVar

import msgspec
from msgspec import Struct

from karat.errors import Exit, KaratError

_SIZE = 8
Part = TypeVar("Part")


class WorkerGoneError(KaratError):
    """A process that shared the work ended before its piece was done."""

    exit_code = Exit.INTERNAL
    slug = "worker-gone"


class Broke(Struct, frozen=True, tag=True):
    """What a user can mend, as it was raised in another process."""

    message: str
    where: str
    fix: str
    slug: str
    code: int


class Made(Struct, frozen=True, tag=True):
    """A piece."""

    piece: bytes


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Broke | Made).decode


def pieces(
    work: Callable[[int], Part],
    count: int,
    workers: int,
    pack: Callable[[Part], bytes],
    unpack: Callable[[bytes], Part],
) -> Iterator[Part]:
    """`work(0)`, `work(1)`, ... in order. Who works ahead waits for its reader, so that little is held at once.

    What another process made comes through `pack` and `unpack`.
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


def _packed(work: Callable[[int], Part], pack: Callable[[Part], bytes]) -> Callable[[int], bytes]:
    return lambda number: pack(work(number))


def _forked(work: Callable[[int], bytes], numbers: range, others: Sequence[BinaryIO]) -> tuple[int, BinaryIO]:
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
                _send(pipe, _carried_out(work, number))
        code = 0
    except (BrokenPipeError, KeyboardInterrupt):
        code = 2  # nobody wants the rest
    finally:
        os._exit(code)  # nothing of the process that this is a copy of is to be closed or flushed twice


def _carried_out(work: Callable[[int], bytes], number: int) -> Made | Broke:
    try:
        return Made(work(number))
    except KaratError as error:
        return Broke(error.message, error.where, error.fix, error.slug, error.exit_code)


def _send(pipe: BinaryIO, told: Made | Broke) -> None:
    data = _encode(told)
    pipe.write(len(data).to_bytes(_SIZE, "little"))
    pipe.write(data)
    pipe.flush()


def _received(pipe: BinaryIO) -> bytes:
    size = pipe.read(_SIZE)
    data = pipe.read(int.from_bytes(size, "little")) if len(size) == _SIZE else b""
    if not data:
        raise WorkerGoneError("a process that judged with us is gone.", fix="Try again, or with --workers 1.")
    told: Broke | Made = _decode(data)
    if isinstance(told, Broke):
        error = KaratError(told.message, where=told.where, fix=told.fix, slug=told.slug)
        error.exit_code = Exit(told.code)
        raise error
    return told.piece
