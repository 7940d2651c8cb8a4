"""Files that appear whole or not at all, under names that no other run has."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import count
from pathlib import Path, PurePath
from types import TracebackType
from typing import Final, NamedTuple, Protocol, Self

from carob.errors import ArtifactError
from carob.redaction.named import take_clean
from carob.system.locks import hold_folder
from carob.system.unfinished_files import create_unfinished, give_name

USUAL_DIR: Final = Path("carob-results")
EVAL_SETS: Final = Path(".claude/evals")
EVAL_SET: Final = "eval-set"
"""The format whose reports are all called `minimum-eval-results`."""
BUFFER: Final = 1 << 18
STEM_BYTES: Final = 120

ELSEWHERE: Final = "choose another folder with --results-dir"
_FIXES: Final = {
    errno.ENOSPC: "Free some space, or",
    errno.EDQUOT: "Free some space, or",
    errno.ENOTDIR: "A part of this path is a file: remove it, or",
    errno.EEXIST: "A file is in the place of a folder: remove it, or",
    errno.EISDIR: "A folder is in the place of the file: remove it, or",
}


class BinaryWriter(Protocol):
    """Where a report's bytes go."""

    def write(self, data: bytes, /) -> object: ...


class Names(NamedTuple):
    """The files of one run: they share a stamp that no other run in the folder has. Relative ones are below `base`."""

    folder: Path
    stamp: str
    journal: Path
    base: str = ""
    report_stem: str = "results"

    @property
    def file(self) -> Path:
        """The journal, whatever the current folder is by now."""
        return Path(self.base, self.journal)

    @property
    def json(self) -> Path:
        return self.report("json")

    @property
    def markdown(self) -> Path:
        return self.report("md")

    def report(self, extension: str) -> Path:
        return self.folder / f"{self.report_stem}-{self.stamp}.{extension}"


def utc_now() -> datetime:
    return datetime.now(UTC)


def stamp(now: datetime) -> str:
    """A time as file names carry it: `20261115T183011Z`."""
    return now.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")


def results_dir_for(suite: Path, override: Path | None = None) -> Path:
    """The folder for a suite's artifacts: next to the suites in `.claude/evals/`, else `carob-results/`."""
    if override is not None:
        return override
    for folder in (*suite.parents, *suite.absolute().parents):
        if folder.absolute().parts[-2:] == EVAL_SETS.parts:
            return folder / "results"
    return USUAL_DIR


def usual_results_dirs() -> list[Path]:
    """Where runs are kept unless something else is configured; that of eval sets only where there are any."""
    return [USUAL_DIR, *([EVAL_SETS / "results"] if EVAL_SETS.is_dir() else [])]


def reserve(results_dir: Path, suite: str, suite_format: str, now: datetime, base: str = "") -> Names:
    """Names for the files of a run of a suite, its journal already created: two runs in one second get two stamps."""
    stem, folder = safe_stem(PurePath(suite).stem), Path(base, results_dir)
    report_stem = "minimum-eval-results" if suite_format == EVAL_SET else f"{stem}-results"
    with explain_errors(results_dir):
        folder.mkdir(parents=True, exist_ok=True)
        with hold_folder(folder):
            names = os.listdir(folder)
            for mark in _numbered_names(stamp(now)):
                if any(f"-{mark}." in name for name in names):
                    continue
                name = f"{stem}-{mark}.jsonl"
                try:
                    os.close(os.open(folder / name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
                except FileExistsError:
                    continue
                return Names(results_dir, mark, results_dir / name, base, report_stem)
    raise AssertionError("numbers do not run out")


def open_atomic(path: Path, *, replace: bool = False, elsewhere: str = ELSEWHERE, base: str = "") -> AtomicFile:
    """Write a file that appears when it is complete: `with open_atomic(path) as out: out.write(...)`."""
    return AtomicFile(path, replace=replace, elsewhere=elsewhere, base=base)


class AtomicFile:
    """A file written next to its place and moved there. `path` is its final name: another one if that was taken.

    `replace`: the name was asked for, so a file that has it already goes. `elsewhere`: what to do where it cannot be.
    `base`: the folder that a relative path is below, if not the current one.
    """

    def __init__(self, path: Path, *, replace: bool = False, elsewhere: str = ELSEWHERE, base: str = "") -> None:
        self.path = path
        self._place = Path(base, path)
        self._elsewhere = elsewhere
        self._replace = replace
        self._pending = bytearray()

    def __enter__(self) -> Self:
        with explain_errors(self.path, self._elsewhere):
            self._place.parent.mkdir(parents=True, exist_ok=True)
            self._descriptor, temporary = create_unfinished(str(self._place))
            self._temporary = Path(temporary)
        return self

    def write(self, data: bytes, /) -> None:
        self._pending += data
        if len(self._pending) >= BUFFER:
            self._flush()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self._flush(is_end=True)
                with explain_errors(self.path, self._elsewhere):
                    os.fsync(self._descriptor)
                    self._close()  # Windows renames no open file
                    if self._replace:
                        os.replace(self._temporary, self._place)
                    else:
                        self.path = self.path.with_name(_place(self._temporary, self._place).name)
        finally:
            self._close()
            self._temporary.unlink(missing_ok=True)

    def _close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _flush(self, *, is_end: bool = False) -> None:
        with explain_errors(self.path, self._elsewhere), memoryview(take_clean(self._pending, is_end=is_end)) as clean:
            offset = 0
            while offset < len(clean):
                offset += os.write(self._descriptor, clean[offset:])


@contextmanager
def explain_errors(path: Path, elsewhere: str = ELSEWHERE) -> Iterator[None]:
    """Say which artifact could not be written, why, and what to do."""
    try:
        yield
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else str(error)
        first = _FIXES.get(error.errno or 0)
        fix = f"{first} {elsewhere}." if first else f"{elsewhere[0].upper()}{elsewhere[1:]}."
        raise ArtifactError(f"cannot be written: {why}.", where=str(path), fix=fix) from error


def _numbered_names(name: str) -> Iterator[str]:
    yield name
    yield from (f"{name}-{number}" for number in count(2))


def safe_stem(name: str) -> str:
    """A name of others as part of a file name: no separators, no control characters, not hidden, not too long."""
    safe = re.sub(r"[^\w.+-]+", "-", name).strip(".-")
    return safe.encode()[:STEM_BYTES].decode(errors="ignore") or "suite"


def _place(temporary: Path, path: Path) -> Path:
    """Give a finished file its name, or the first numbered one that is free; never overwrite."""
    for stem in _numbered_names(path.stem):
        target = path.with_name(stem + path.suffix)
        try:
            give_name(temporary, target)
        except FileExistsError:
            continue
        return target
    raise AssertionError("numbers do not run out")
