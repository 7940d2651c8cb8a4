"""From a path or an object to bytes, and from bytes to text; and which numbers a journal can hold."""

from __future__ import annotations

import codecs
import json
import math
import os
import re
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from carob.errors import UsageError
from carob.suites.diagnostics import Json, PathDiagnostic, Place, refuse
from carob.suites.diagnostics import Path as TreePath

SuiteSource: TypeAlias = Path | str | Mapping[str, object] | Sequence[Mapping[str, object]]

OUT_OF_RANGE = "the number does not fit in 64 bits. Write it as a string."
LARGEST = 256 << 20
PIECE = 1 << 20

_HANDED_OVER = ("/dev/stdin", "/dev/fd/", "/proc/self/fd/")
"""Where the shell passes what it has opened: a pipe there has somebody at its other end."""

# With digits alike and signs gone, a number that does not fit shows as one of these.
_SHAPE = bytes.maketrans(b"123456789E", b"000000000e")
_SUSPECT = (b"0" * 19, b"0e00")
_BOM = b"\xef\xbb\xbf"
_WIDE_BOMS = (
    (b"\xff\xfe\x00\x00", "UTF-32"),
    (b"\x00\x00\xfe\xff", "UTF-32"),
    (b"\xff\xfe", "UTF-16"),
    (b"\xfe\xff", "UTF-16"),
)


_TEST = re.compile(r"(?:test_.*|.*_test)\.py")
_PROGRAMS = frozenset((".cjs", ".go", ".ipynb", ".js", ".mjs", ".py", ".rs", ".sh", ".ts", ".tsx"))


def read_bytes(path: str | Path) -> bytes:
    """The bytes of a suite file, at most LARGEST of them."""
    name = str(path)
    try:
        about = os.stat(path)
        _refuse_odd(name, about.st_mode)
        with open(path, "rb") as file:
            data = file.read(min(about.st_size or LARGEST, LARGEST) + 1)
    except FileNotFoundError:
        from carob.text.file_names import suggest_file

        raise UsageError("no such file.", where=name, fix=suggest_file(name), slug="missing-file") from None
    except (OSError, ValueError) as error:
        why = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else str(error)
        raise UsageError(f"cannot be read: {why}.", where=name, slug="unreadable-file") from None
    if len(data) > LARGEST:
        message = f"is larger than {LARGEST >> 20} MiB, the limit for a suite."
        raise UsageError(message, where=name, fix="Split it into several suites.", slug="too-large")
    return data


def _refuse_odd(path: str, mode: int) -> None:
    """Refuse what is not a file before it is opened: reading a pipe without a writer would wait forever."""
    if _TEST.fullmatch(os.path.basename(path)):
        fix = "Run it with pytest, where `carob.check` judges what an agent did (`carob help pytest`)."
        raise UsageError("is a test, not a suite.", where=path, fix=fix, slug="not-a-suite")
    if os.path.splitext(path)[1] in _PROGRAMS:
        fix = "Name the suite, and the agent with --target: carob run SUITE --target python:agent.py:FUNCTION"
        raise UsageError("is a program, not a suite.", where=path, fix=fix, slug="not-a-suite")
    if stat.S_ISDIR(mode):
        names = sorted(os.listdir(path))
        suites = [os.path.join(path, name) for name in names if name.endswith((".yaml", ".yml"))]
        fix = f"Name a suite file inside it{f', such as {suites[0]!r}' if suites else ''}."
        if not suites and any(name.endswith(".jsonl") for name in names):
            fix = "It has journals of runs: name the suite here, a .yaml or .json file."
        raise UsageError("is a directory, not a suite file.", where=path, fix=fix, slug="not-a-file")
    if not stat.S_ISREG(mode) and not path.startswith(_HANDED_OVER):
        fix = "Name a file, or /dev/stdin for what is piped in."
        raise UsageError("is not a regular file.", where=path, fix=fix, slug="not-a-file")


def source(suite: SuiteSource) -> tuple[bytes, str]:
    """The bytes of a suite, and what to call it: a file by its path, whose suffix decides between YAML and JSON."""
    if isinstance(suite, Path):
        return read_bytes(suite), str(suite)
    if isinstance(suite, str):
        if suite.lstrip().startswith(("{", "[")):
            return suite.encode("utf-8", "surrogatepass"), "<text>"
        if "\n" in suite:
            return suite.encode("utf-8", "surrogatepass"), "<text>.yaml"
        return read_bytes(suite), suite
    try:
        return json.dumps(suite, ensure_ascii=False).encode("utf-8", "surrogatepass"), "<object>"
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(f"the suite is not JSON: {error}.", slug="bad-suite") from None


def utf8(data: bytes, *, is_suite: bool = True) -> bytes:
    """The data of a suite, or of a file that one names, as UTF-8 without byte order mark, proven to be text."""
    data = data.removeprefix(_BOM)
    for bom, name in _WIDE_BOMS:
        if data.startswith(bom):
            raise _encoding_error(name)
    if not data or data.isspace():
        hint = " `carob init` writes a first suite." if is_suite else ""
        raise refuse(f"the file is empty.{hint}", "empty-file")
    nul = data.find(0)
    if nul >= 0:
        if nul <= 3 and len(data) % 2 == 0:
            raise _encoding_error("UTF-32" if b"\0\0" in data[:4] else "UTF-16")
        message = f"a NUL byte at offset {nul}: this is not text. Save the suite as UTF-8."
        raise refuse(message, "nul-byte", byte_place(data, nul))
    try:
        _decode(data)
    except UnicodeDecodeError as error:
        message = f"not UTF-8: byte 0x{data[error.start]:02x} at offset {error.start}. Save the file as UTF-8."
        raise refuse(message, "not-utf-8", byte_place(data, error.start)) from None
    return data


def _decode(data: bytes) -> None:
    """Decode the data bit by bit: a text as long as the largest file would be far larger than it."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    for start in range(0, len(data), PIECE):
        try:
            decoder.decode(data[start : start + PIECE], final=start + PIECE >= len(data))
        except UnicodeDecodeError:
            data.decode()


def byte_place(data: bytes, offset: int) -> Place:
    """The line and column, in characters, of a byte."""
    start = data.rfind(b"\n", 0, offset) + 1
    return data.count(b"\n", 0, offset) + 1, len(data[start:offset].decode(errors="replace")) + 1


def _encoding_error(name: str) -> Exception:
    message = f"the file is {name}, not UTF-8. Convert it: iconv -f {name} -t UTF-8."
    return refuse(message, "not-utf-8")


def holds(number: int | float) -> bool:
    return math.isfinite(number) if isinstance(number, float) else -(1 << 63) <= number < 1 << 64


def may_misfit(text: bytes) -> bool:
    """Whether JSON may hold a number that does not fit: almost none does, and then it needs no second look."""
    shape = text.translate(_SHAPE, b"+")
    return any(sign in shape for sign in _SUSPECT)


def fit_numbers(value: Json, path: TreePath, diagnostics: list[PathDiagnostic]) -> Json:
    """The value with 1 for each number that no journal could hold, so that the rest of the file can be judged."""
    if isinstance(value, dict):
        return {name: fit_numbers(below, (*path, name), diagnostics) for name, below in value.items()}
    if isinstance(value, list):
        return [fit_numbers(below, (*path, index), diagnostics) for index, below in enumerate(value)]
    if not isinstance(value, int | float) or holds(value):
        return value
    diagnostics.append(PathDiagnostic(path, OUT_OF_RANGE, "out-of-range"))
    return 1
