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
    place: Path
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
            for one in sorted(staged, key=lambda one: one.file.before is not None):
                _settle(one, undo)
        except BaseException as error:
            for is_folder, place in reversed(undo):
                with suppress(OSError):
                    place.rmdir() if is_folder else place.unlink()
            if not isinstance(error, OSError):
                raise
            where = str(error.filename2 or error.filename or folder)
            raise ArtifactError(f"it cannot be written: {error.strerror}. Nothing was written.", where=where) from error
        finally:
            for one in staged:
                Path(one.temporary).unlink(missing_ok=True)


def _stage(place: Path, file: PlannedFile) -> _Staged:
    """The text in an unfinished file, in the nearest folder that is there."""
    nearest = next(folder for folder in place.parents if folder.is_dir())
    descriptor, temporary = create_unfinished(str(nearest / place.name))
    try:
        with os.fdopen(descriptor, "wb") as out:
            out.write(file.text.encode("utf-8", "surrogateescape"))
            out.flush()
            os.fsync(out.fileno())
            os.fchmod(out.fileno(), MODE)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return _Staged(temporary, place, file)


def _settle(one: _Staged, undo: list[tuple[bool, Path]]) -> None:
    """Give a staged file its name, and note what would take that back."""
    place, before = one.place, one.file.before
    missing = [folder for folder in place.parents if not folder.exists()]
    for folder in reversed(missing):
        folder.mkdir()
        undo.append((True, folder))
    if before is not None:
        if place.read_bytes() != before.encode("utf-8", "surrogateescape"):
            raise UsageError("it has changed in the meantime.", where=str(place), fix="Run `karat init` again.")
        os.replace(one.temporary, place)
        return
    try:
        give_name(one.temporary, place)
    except FileExistsError as error:
        fix = "Nothing was written. Run `karat init` again."
        raise UsageError("a file of that name has appeared in the meantime.", where=str(place), fix=fix) from error
    undo.append((False, place))


@contextmanager
def defer_signals() -> Iterator[None]:
    """Signals that would end the process wait until the block is left."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    caught: list[int] = []
    ending = [one for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP) if signal.getsignal(one) != signal.SIG_IGN]
    before = {one: signal.signal(one, lambda number, _: caught.append(number)) for one in ending}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
        for number in caught:
            signal.raise_signal(number)
