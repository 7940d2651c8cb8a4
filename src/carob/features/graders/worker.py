"""The process in which a grader runs: `python -m carob.features.graders.worker`.

Frames come in on what was standard input, and go out on what was standard output, each with its length before it. What
the grader prints goes to a file. Whatever the grader does to its process, it does to this one alone.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import IO, Any, Final, NoReturn

import msgspec
from msgspec import Struct

from carob.errors import CarobError
from carob.features.graders.adapters.base import Judge, Loader
from carob.features.graders.base import TEXT_CAP, BadVerdictError, Grade, read_grade
from carob.features.graders.catalog import import_adapter
from carob.features.graders.forms import GraderInput
from carob.system.portable import read_at
from carob.system.process_tree import KILL, end_with
from carob.text.wording import error_text

SIZE: Final = 4
PRINTED: Final = 2000
STOPPING: Final = (KeyboardInterrupt, GeneratorExit)


class GraderStart(Struct):
    """The first frame: which grader, where its code is, and from which score on it accepts."""

    kind: str
    name: str
    root: str
    path: list[str]
    threshold: float | None
    parent: int


class Question(Struct, array_like=True):
    """Every further frame: a trace, and the recorded one unless it is that of the question before."""

    trace: bytes
    reference: bytes | None = None


class Refusal(Struct, omit_defaults=True):
    """The answer to the first frame: what is wrong with the grader, and how to fix it; nothing is fine."""

    message: str = ""
    fix: str = ""
    slug: str = ""


def write_frame(out: IO[bytes], data: bytes) -> None:
    out.write(len(data).to_bytes(SIZE, "big") + data)
    out.flush()


def read_frame(source: IO[bytes]) -> bytes | None:
    head = source.read(SIZE)
    return source.read(int.from_bytes(head, "big")) if len(head) == SIZE else None


class _Serving:
    """Answers questions until there are none."""

    def __init__(self, source: IO[bytes], out: IO[bytes], printed: IO[bytes], threshold: float | None) -> None:
        self._source = source
        self._out = out
        self._printed = printed
        self._threshold = threshold
        self._reference = b""
        self._decode = msgspec.msgpack.Decoder(Question).decode

    def serve(self, judge: Judge) -> NoReturn:
        write_frame(self._out, msgspec.msgpack.encode(Refusal()))
        while (frame := read_frame(self._source)) is not None:
            question = self._decode(frame)
            if question.reference is not None:
                self._reference = question.reference
            write_frame(self._out, msgspec.msgpack.encode(self._grade(judge, question.trace)))
        os._exit(0)  # threads and handlers of the grader have no say in it

    def _grade(self, judge: Judge, trace: bytes) -> Grade:
        began = perf_counter()
        try:
            value = judge(GraderInput(trace, self._reference))
            seconds = perf_counter() - began
            grade = read_grade(value, self._threshold)
        except BadVerdictError as error:
            grade, seconds = Grade(error=str(error)[:TEXT_CAP], kind="bad-verdict"), perf_counter() - began
        except STOPPING as error:
            grade, seconds = _describe_error(error), perf_counter() - began
        except BaseException as error:  # noqa: BLE001 - SystemExit of a grader is not the end of the audit
            grade, seconds = _describe_error(error), perf_counter() - began
        return msgspec.structs.replace(grade, printed=self._take_printed(), seconds=seconds)

    def _take_printed(self) -> str:
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (AttributeError, OSError, ValueError):
                continue  # the grader replaced or closed it
        descriptor = self._printed.fileno()
        size = os.fstat(descriptor).st_size
        if not size:
            return ""
        text = read_at(descriptor, PRINTED, 0).decode("utf-8", "replace")
        os.ftruncate(descriptor, 0)
        return f"{text}… ({size} bytes)" if size > PRINTED else text


def _describe_error(error: BaseException) -> Grade:
    return Grade(error=f"{type(error).__name__}: {error_text(error)}"[:TEXT_CAP], kind="raised")


def main() -> None:
    source, out = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    first = read_frame(source)
    if first is None:
        return
    start = msgspec.msgpack.decode(first, type=GraderStart)
    end_with(start.parent, KILL)
    with tempfile.TemporaryFile() as printed:
        # Written at its end, whatever was cut off it.
        appending = os.open(f"/proc/self/fd/{printed.fileno()}", os.O_WRONLY | os.O_APPEND) if _has_proc() else None
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        for stream in (1, 2):
            os.dup2(printed.fileno() if appending is None else appending, stream)
        serving = _Serving(source, out, printed, start.threshold)
        try:
            _build(start, serving.serve)
        except CarobError as error:
            refusal = Refusal(error.message, error.fix, error.slug)
        except BaseException as error:  # noqa: BLE001 - importing runs the user's code
            refusal = Refusal(
                f"{start.kind}:{start.name}: it cannot be made: {_describe_error(error).error}", slug="bad-grader"
            )
        write_frame(out, msgspec.msgpack.encode(refusal))


def _has_proc() -> bool:
    return os.path.exists("/proc/self/fd")


def _build(start: GraderStart, serve: Callable[[Judge], Any]) -> NoReturn:
    adapter, root = import_adapter(start.kind), Path(start.root)
    os.chdir(root)
    if start.kind == "pytest":
        adapter.serve(start.name, root, serve)
        raise CarobError(f"'pytest:{start.name}': pytest ended before there was a test.", slug="bad-grader")
    serve(adapter.build(start.name, Loader(root, [Path(entry) for entry in start.path])))
    raise AssertionError("a grader is served until the process ends")


if __name__ == "__main__":
    main()
