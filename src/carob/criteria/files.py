"""`labels/` on disk: lines that people and processes append, and what was read, each under its hash."""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

import msgspec
from msgspec import Struct

from carob.criteria.identity import SeenEvidence
from carob.criteria.records import Opinion, PersonLabel
from carob.errors import ArtifactError, ConfigError
from carob.text.wording import shorten

LABELS: Final = "labels.jsonl"
OPINIONS: Final = "opinions.jsonl"
REVIEWS: Final = "reviews.jsonl"
_OWN: Final = re.compile(rb'"criterion":\s?"[0-9a-f]{64}"|"check":\s?"[^\n]*"verdict":\s?"(?:right|wrong)"')
_HEAD: Final = 4096
EVIDENCE: Final = "evidence"
FIX: Final = "Correct the line, or remove it."


class LabelLine(Protocol):
    """A line of a file of `labels/`."""

    @property
    def problem(self) -> str:
        """Why it is not one, else the empty string."""


Line = TypeVar("Line", bound=LabelLine)


def is_labels_folder(folder: str | Path) -> bool:
    """Whether this is a folder of labels, by what is in it: no agent is shown it, and it holds no conversations."""
    return any(_has_own_line(os.path.join(folder, name)) for name in (LABELS, OPINIONS, REVIEWS))


def _has_own_line(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return _OWN.search(file.read(_HEAD)) is not None
    except OSError:
        return False


class LabelFiles(Struct, frozen=True):
    """The lines of a folder of labels. `torn`: what was cut off at the end of a file, to be reported."""

    labels: tuple[PersonLabel, ...] = ()
    opinions: tuple[Opinion, ...] = ()
    torn: tuple[str, ...] = ()


def read_files(folder: Path) -> LabelFiles:
    """Read a folder of labels; one that is not there has none. Raises ConfigError with the line that is wrong."""
    torn: list[str] = []
    labels = tuple(read_lines(folder / LABELS, PersonLabel, torn))
    opinions = tuple(read_lines(folder / OPINIONS, Opinion, torn))
    for sha256 in sorted({label.evidence for label in labels}):
        read_evidence(folder, sha256)
    return LabelFiles(tuple(dict.fromkeys(labels)), tuple(dict.fromkeys(opinions)), tuple(torn))


def state_of(folder: Path) -> tuple[tuple[int, int, int], ...]:
    """What changes when a line is added."""
    return tuple(_state(folder / name) for name in (LABELS, OPINIONS))


def _state(path: Path) -> tuple[int, int, int]:
    try:
        state = os.lstat(path)
    except OSError:
        return (0, 0, 0)
    return (state.st_ino, state.st_size, state.st_mtime_ns)


def read_lines(path: Path, form: type[Line], torn: list[str]) -> Iterator[Line]:
    """The lines of a file; `torn` is given one that was cut off at its end. Raises ConfigError with the wrong line."""
    data = _read_file(path)
    if data is not None:
        yield from parse_lines(data, str(path), form, torn)


def parse_lines(data: bytes, name: str, form: type[Line], torn: list[str]) -> Iterator[Line]:
    """The lines of the data of a file."""
    decode = msgspec.json.Decoder(form).decode
    lines = data.split(b"\n")
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        where = f"{name}:{number}"
        try:
            entry = decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            if number == len(lines) and not isinstance(error, msgspec.ValidationError):
                torn.append(f"{where}: the last line is incomplete and was left out. [torn-line]")
                continue
            why = shorten(str(error), 200)
            raise ConfigError(f"not a line of labels: {why}.", where=where, fix=FIX, slug="bad-label") from error
        if problem := entry.problem:
            raise ConfigError(problem, where=where, fix=FIX, slug="bad-label")
        yield entry


def _read_file(path: Path) -> bytes | None:
    """A file of the folder; None where there is none. A link is refused: it may lead out of the project."""
    try:
        mode = os.lstat(path).st_mode
        if stat.S_ISREG(mode):
            return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigError(f"it cannot be read: {error.strerror}.", where=str(path), slug="bad-label") from error
    fix = "Put the file itself there."
    raise ConfigError("it is a link, or not a plain file.", where=str(path), fix=fix, slug="bad-label")


def read_evidence(folder: Path, sha256: str) -> SeenEvidence | None:
    """What was read under this hash; None where only the hash was kept."""
    path = folder / EVIDENCE / f"{sha256}.json"
    if path.parent.is_symlink():
        raise ConfigError("it is a link.", where=str(path.parent), fix="Put the folder itself there.", slug="bad-label")
    data = _read_file(path)
    if data is None:
        return None
    if hashlib.sha256(data).hexdigest() != sha256:
        fix = "Restore it from git, or remove it: the labels hold without it."
        raise ConfigError("the evidence was changed: its hash is not its name.", where=str(path), fix=fix)
    content: Any = json.loads(data)
    return SeenEvidence(content if isinstance(content, dict) else {})


def add_evidence(folder: Path, evidence: SeenEvidence) -> None:
    """Keep what was read, whole or not at all."""
    path = folder / EVIDENCE / f"{evidence.sha256}.json"
    if path.exists():
        return
    with _explain_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.{os.getpid()}")
        temporary.write_bytes(evidence.data)
        temporary.replace(path)


def add_line(folder: Path, line: PersonLabel | Opinion) -> None:
    """Append a line; it is on disk when this returns. Two processes may append at once."""
    append_line(folder / (LABELS if isinstance(line, PersonLabel) else OPINIONS), line)


def append_line(path: Path, line: Struct) -> None:
    """Append a line to a file of `labels/`."""
    from carob.system.locks import lock
    from carob.system.portable import NO_LINK, read_at

    with _explain_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        flags = os.O_CREAT | os.O_APPEND | os.O_RDWR | NO_LINK
        descriptor = os.open(path, flags, 0o644)
        try:
            lock(descriptor)
            size = os.fstat(descriptor).st_size
            ending = b"" if not size or read_at(descriptor, 1, size - 1) == b"\n" else _settle_torn(descriptor, size)
            rest = ending + msgspec.json.encode(line) + b"\n"
            while rest:  # a disk that is nearly full takes a part, and refuses the rest
                rest = rest[os.write(descriptor, rest) :]
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _settle_torn(descriptor: int, size: int) -> bytes:
    """End a last line that lacks only its end; remove one that was never whole, and so never acknowledged."""
    from carob.system.portable import read_at

    data = read_at(descriptor, size, 0)
    start = data.rfind(b"\n") + 1
    try:
        msgspec.json.decode(data[start:])
    except (msgspec.DecodeError, UnicodeDecodeError):
        os.ftruncate(descriptor, start)
        return b""
    return b"\n"


@contextmanager
def _explain_errors(path: Path) -> Iterator[None]:
    """Say in one line why a file cannot be written."""
    try:
        yield
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise ArtifactError(f"it cannot be written: {why}.", where=str(path)) from error
