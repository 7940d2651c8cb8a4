"""The streams of this process: patient ones, on which no named secret is written."""

from __future__ import annotations

import codecs
import io
import os
import select
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from carob.errors import CarobError, ExitCode

if TYPE_CHECKING:
    from typing_extensions import Buffer


PLAIN: Final = "carob-plain"
IN_ASCII: Final = {"→": "->", "…": "..."} | dict(zip("–—‑−·•×✕‘’“”▁▂▃▄▅▆▇█", "-----*xx''\"\"__.--==#", strict=True))
"""What Carob writes of its own where the console has no such character; others are written as their numbers."""


class Descriptor(io.RawIOBase):
    """A file descriptor. Once it takes no more, what is written goes nowhere, and the work goes on."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._is_terminal = os.isatty(number)
        self._closed_to_us = False
        self.failure: OSError | None = None

    def fileno(self) -> int:
        return self._number

    def isatty(self) -> bool:
        return self._is_terminal

    def writable(self) -> bool:
        return True

    def write(self, data: Buffer, /) -> int:
        size = memoryview(data).nbytes
        while not self._closed_to_us:
            try:
                return os.write(self._number, data)
            except BlockingIOError:
                select.select([], [self._number], [])
            except BrokenPipeError:
                self._closed_to_us = True
            except OSError as error:
                self._closed_to_us = True
                self.failure = error
        return size


class _CleanWriter(io.BufferedWriter):
    """Writes without the secrets that the project of this folder names. A text comes here in one piece."""

    def write(self, data: Buffer, /) -> int:
        _learn_names()
        known = sys.modules.get("carob.redaction.named")  # not loaded where nothing is named: most commands are quick
        super().write(data if known is None else known.without_secrets(bytes(data)))
        return memoryview(data).nbytes


@cache
def _learn_names() -> None:
    """Learn the secrets of this folder also where a command reads no configuration; a broken one it reports itself."""
    with suppress(CarobError, OSError):
        here = Path.cwd()
        files = (folder / name for folder in (here, *here.parents) for name in ("carob.toml", "pyproject.toml"))
        if any(b"secrets" in file.read_bytes() for file in files if file.is_file()):
            from carob.plugins.project import find_project

            find_project()


def patient_streams() -> Descriptor:
    """Put patient streams in place of stdout and stderr; the descriptor of stdout, which shows how it went."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest free number is this one: no other file may take its place
    codecs.register_error(PLAIN, _write_plainly)
    out, err = Descriptor(1), Descriptor(2)
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    sys.stdout = _text(out, encoding, line_buffering=out.isatty())
    sys.stderr = _text(err, encoding, line_buffering=True)
    return out


def final_exit_code(out: Descriptor, code: int) -> int:
    """The exit code once everything is written: output that was lost to a broken disk is a failure of its own."""
    sys.stdout.flush()
    if out.failure is None:
        return code
    print(f"carob: the output could not be written: {out.failure.strerror}. [output]", file=sys.stderr)
    return ExitCode.INTERNAL


def _write_plainly(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    missing = error.object[error.start : error.end]
    plain = (IN_ASCII.get(each) or each.encode("ascii", "backslashreplace").decode() for each in missing)
    return "".join(plain), error.end


def _text(raw: Descriptor, encoding: str, *, line_buffering: bool) -> io.TextIOWrapper:
    return io.TextIOWrapper(_CleanWriter(raw), encoding=encoding, errors=PLAIN, line_buffering=line_buffering)
