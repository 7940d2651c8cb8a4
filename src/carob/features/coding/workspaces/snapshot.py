"""The files of a folder at a moment: copied, digested, compared. No link is ever followed."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from carob.criteria.files import is_labels_folder
from carob.errors import ConfigError
from carob.model.workspace import FileChange
from carob.system.portable import FOLDER, NO_LINK, NO_WAIT

CHUNK = 1 << 20
TEXT_CAP = 1 << 16
ALL_TEXTS = 1 << 18
"""So much of the lines of changed files is kept, on each side of the change."""
MOST_CHANGES = 2_000
NOT_COPIED = frozenset({"carob-results"})
BINARY = "it is not text"
TOO_LARGE = f"it has more than {TEXT_CAP:,} bytes"
ENOUGH = "the changed files have too many lines to be kept"

_OPEN = os.O_RDONLY | NO_LINK | NO_WAIT


class FileMark(NamedTuple):
    """A file or a link: what is in it, and by what the system shows that it was not touched since."""

    digest: str
    mark: tuple[int, int, int, int]
    changed_at: float
    mode: int


Snapshot = dict[str, FileMark]
"""By path relative to the folder."""


class TooLargeError(Exception):
    """There is more in a folder than its limits allow."""


def take_snapshot(folder: Path, before: Snapshot | None = None, most_files: int = 0) -> Snapshot:
    """The files of a folder. What was not touched since an earlier snapshot is not read again."""
    entries: Snapshot = {}
    for path, entry in walk(folder):
        if most_files and len(entries) >= most_files:
            raise TooLargeError(f"it has more than {most_files:,} files")
        found = entry.stat(follow_symlinks=False)
        mark = (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
        known = before.get(path) if before else None
        digest = known.digest if known and known.mark == mark else _digest(entry.path, found)
        entries[path] = FileMark(digest, mark, found.st_ctime, stat.S_IMODE(found.st_mode))
    return entries


def walk(folder: Path) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Every file and link below a folder, in the order of their paths as far as folders go."""
    pending = [("", str(folder))]
    while pending:
        prefix, place = pending.pop()
        try:
            with os.scandir(place) as found:
                entries = sorted(found, key=lambda entry: entry.name)
        except (PermissionError, FileNotFoundError, NotADirectoryError):
            continue  # what cannot be looked into changed: its files are no longer there
        for entry in entries:
            path = f"{prefix}{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                pending.append((f"{path}/", entry.path))
            else:
                yield path, entry


def _digest(path: str, found: os.stat_result) -> str:
    if stat.S_ISLNK(found.st_mode):
        return f"link to {os.readlink(path)}"
    if not stat.S_ISREG(found.st_mode):
        return "no file"
    try:
        descriptor = os.open(path, _OPEN)
    except OSError as error:
        return f"not readable: {error.strerror}"
    digest = hashlib.sha256()
    with os.fdopen(descriptor, "rb") as file:
        while chunk := file.read(CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def copy_folder(source: Path, to: Path, most_files: int, most_bytes: int) -> None:
    """A copy with links that stay within it, without results and labels. A link to a file elsewhere becomes that file.

    Raises ConfigError for a link to a folder elsewhere, or to nothing there: an agent could write through it.
    """
    root, files, size = source.resolve(), 0, 0
    to.mkdir(parents=True, exist_ok=True)
    pending = [(source, to)]
    while pending:
        place, copy = pending.pop()
        with os.scandir(place) as found:
            entries = sorted(found, key=lambda entry: entry.name)
        for entry in entries:
            target = copy / entry.name
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in NOT_COPIED and not is_labels_folder(entry.path):
                    target.mkdir()
                    pending.append((Path(entry.path), target))
                continue
            if entry.is_symlink() and (kept := _link_within(Path(entry.path), root)):
                os.symlink(kept, target)
                continue
            if not entry.is_file():
                continue  # a socket, a pipe
            files, size = files + 1, size + entry.stat().st_size
            if files > most_files or size > most_bytes:
                bound = f"{most_files:,} files" if files > most_files else f"{most_bytes >> 20:,} MB"
                raise ConfigError(
                    f"the workspace folder {str(source)!r} has more than {bound}.",
                    fix="Name a smaller folder, or raise `max_files` or `max_mb` of the workspace.",
                    slug="large-workspace",
                )
            shutil.copyfile(entry.path, target)
            shutil.copystat(entry.path, target)
            target.chmod(stat.S_IMODE(target.stat().st_mode) | stat.S_IRUSR | stat.S_IWUSR)


def _link_within(link: Path, root: Path) -> str:
    """Where a link leads, as it is to be written into the copy; empty for one to a file elsewhere."""
    written, place = os.readlink(link), os.path.realpath(link)
    if place == str(root) or place.startswith(f"{root}/"):
        return os.path.relpath(place, os.path.realpath(link.parent)) if os.path.isabs(written) else written
    if os.path.isfile(place):
        return ""
    raise ConfigError(
        f"the link {str(link)!r} leads out of the workspace folder, to {place!r}.",
        fix="Replace it by what it leads to: an agent could change that folder through the link.",
        slug="link-outside",
    )


def compare(
    before: Snapshot,
    after: Snapshot,
    ignored: Callable[[str], bool],
    read_before: Callable[[str], bytes | None],
    read_after: Callable[[str], bytes | None],
) -> list[FileChange]:
    """What is not as it was. The lines of small text files are kept, of both sides."""
    changes: list[FileChange] = []
    room = [ALL_TEXTS, ALL_TEXTS]
    for path in sorted(before.keys() | after.keys()):
        old, new = before.get(path), after.get(path)
        if ignored(path) or (old and new and (old.digest, old.mode) == (new.digest, new.mode)):
            continue
        texts: list[str | None] = [None, None]
        why = ""
        for side, (entry, read) in enumerate(((old, read_before), (new, read_after))):
            text, lack = _text(path, entry, read, room[side]) if entry else (None, "")
            texts[side], why = text, why or lack
            room[side] -= len(text or "")
        changes.append(
            FileChange(
                _printable(path),
                "created" if old is None else "deleted" if new is None else "changed",
                _printable(old.digest) if old else "",
                _printable(new.digest) if new else "",
                texts[0],
                texts[1],
                why,
                new.changed_at if new else None,
            )
        )
    return changes


def _text(path: str, entry: FileMark, read: Callable[[str], bytes | None], room: int) -> tuple[str | None, str]:
    """The text of a file, or why there is none. A link has one: where it leads."""
    if entry.digest.startswith("link to "):
        return _printable(entry.digest), ""
    if entry.mark[1] > TEXT_CAP:
        return None, TOO_LARGE
    data = read(path)
    if data is None:
        return None, "it could not be read"
    text = as_text(data)
    if text is None:
        return None, BINARY
    return (text, "") if len(text) <= room else (None, ENOUGH)


def as_text(data: bytes) -> str | None:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text


def read_file(folder: Path, path: str, most: int = TEXT_CAP + 1) -> bytes | None:
    """The beginning of a file, if it is one and no folder on the way to it is a link."""
    descriptor = -1
    try:
        descriptor = os.open(folder, os.O_RDONLY | FOLDER)
        *folders, name = path.split("/")
        for part in folders:
            inner = os.open(part, _OPEN | FOLDER, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = inner
        inner = os.open(name, _OPEN, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = inner
        return _read(descriptor, most) if stat.S_ISREG(os.fstat(descriptor).st_mode) else None
    except OSError:
        return None
    finally:
        if descriptor >= 0:
            os.close(descriptor)


def _read(descriptor: int, most: int) -> bytes:
    data = bytearray()
    while len(data) < most and (chunk := os.read(descriptor, most - len(data))):
        data += chunk
    return bytes(data)


def _printable(path: str) -> str:
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def remove_folder(folder: Path) -> None:
    """Remove a folder with all in it, whatever its permissions are. No link is followed."""
    pending = [str(folder)]
    while pending:
        place = pending.pop()
        try:
            if stat.S_IMODE(os.lstat(place).st_mode) & 0o700 != 0o700:
                os.chmod(place, 0o700)
            with os.scandir(place) as entries:
                pending += [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
        except OSError:
            continue
    shutil.rmtree(folder, ignore_errors=True)
