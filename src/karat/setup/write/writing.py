"""Files that appear together or not at all: each is written next to its place, then all are given their names."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from karat.errors import ArtifactError, UsageError
from karat.system.unfinished_files import create_unfinished, give_name

MODE = 0o644


class PlannedFile(NamedTuple):
    """A file to write, by its path in the project. `before` is what it holds now: lines are added to that file."""

    path: str
    text: str
    before: str | None = None
    note: str = ""
    """Shown in place of the lines, if there are too many to read."""


class _Staged(NamedTuple):
    temporary: str
    path: Path
    file: PlannedFile


def write_together(folder: Path, files: Sequence[PlannedFile]) -> None:
    """Write all files, or none. A signal is acted on once it is settled which."""
    staged: list[_Staged] = []
    undo: list[tuple[bool, Path]] = []
    with defer_signals():
        try:
            for file in files:
                staged.append(_stage(folder / file.path, file))  # noqa: PERF401 - one that fails must not lose the others
            # The file that is there already comes last: once it has its lines, nothing is left that can fail.
            for entry in sorted(staged, key=lambda entry: entry.file.before is not None):
                _settle(entry, undo)
        except BaseException as error:
            for is_folder, path in reversed(undo):
                with suppress(OSError):
                    path.rmdir() if is_folder else path.unlink()
            if not isinstance(error, OSError):
                raise
            where = str(error.filename2 or error.filename or folder)
            raise ArtifactError(f"it cannot be written: {error.strerror}. Nothing was written.", where=where) from error
        finally:
            for entry in staged:
                Path(entry.temporary).unlink(missing_ok=True)


def _stage(path: Path, file: PlannedFile) -> _Staged:
    """The text in an unfinished file, in the nearest folder that is there."""
    nearest = next(folder for folder in path.parents if folder.is_dir())
    descriptor, temporary = create_unfinished(str(nearest / path.name))
    try:
        with os.fdopen(descriptor, "wb") as out:
            out.write(file.text.encode("utf-8", "surrogateescape"))
            out.flush()
            os.fsync(out.fileno())
            os.fchmod(out.fileno(), MODE)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return _Staged(temporary, path, file)


def _settle(entry: _Staged, undo: list[tuple[bool, Path]]) -> None:
    """Give a staged file its name, and note what would take that back."""
    path, before = entry.path, entry.file.before
    missing = [folder for folder in path.parents if not folder.exists()]
    for folder in reversed(missing):
        folder.mkdir()
        undo.append((True, folder))
    if before is not None:
        if path.read_bytes() != before.encode("utf-8", "surrogateescape"):
            raise UsageError("it has changed in the meantime.", where=str(path), fix="Run `karat init` again.")
        os.replace(entry.temporary, path)
        return
    try:
        give_name(entry.temporary, path)
    except FileExistsError as error:
        fix = "Nothing was written. Run `karat init` again."
        raise UsageError("a file of that name has appeared in the meantime.", where=str(path), fix=fix) from error
    undo.append((False, path))


@contextmanager
def defer_signals() -> Iterator[None]:
    """Signals that would end the process wait until the block is left."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    caught: list[int] = []
    ending = [
        number
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        if signal.getsignal(number) != signal.SIG_IGN
    ]
    before = {number: signal.signal(number, lambda received, _: caught.append(received)) for number in ending}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for received in caught:
            signal.raise_signal(received)
