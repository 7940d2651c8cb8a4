"""Files of storage that have an address and no path: `s3://bucket/exports`, and whatever else pyarrow reads."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PurePosixPath
from typing import IO, Any, Final, TypeAlias

from carob.evidence.exports.record import ExportError
from carob.system.installing import install_extra
from carob.text.wording import error_text

Address: TypeAlias = str
"""Where a file or a folder of storage is, with its scheme."""
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


def is_address(source: object) -> bool:
    return isinstance(source, str) and _SCHEME.match(source) is not None


def list_files(address: Address) -> Iterator[Address]:
    """A file, or those of a folder and its folders. Raises ExportError if there is none."""
    with _explain(address):
        fs, system, path = _find_system(address)
        info = system.get_file_info(path)
        if info.type == fs.FileType.NotFound:
            raise FileNotFoundError("there is no such file or folder")
        if info.type == fs.FileType.File:
            yield address
            return
        below = sorted(system.get_file_info(fs.FileSelector(path, recursive=True)), key=lambda entry: str(entry.path))
        for entry in below:
            if entry.type == fs.FileType.File and not _is_hidden(entry.path, path):
                yield _spell(address, path, entry.path)


def open_stream(address: Address) -> IO[bytes]:
    """A file for reading from any place in it."""
    with _explain(address):
        _, system, path = _find_system(address)
        stream: IO[bytes] = system.open_input_file(path)
        return stream


def _find_system(address: Address) -> tuple[Any, Any, str]:
    try:
        from pyarrow import fs  # type: ignore[import-untyped, import-not-found, unused-ignore]
    except ModuleNotFoundError as error:
        problem = "files that have an address are read with pyarrow, which is not installed"
        raise ExportError(problem, where=address, fix=install_extra("parquet"), slug="no-parquet") from error
    system, path = fs.FileSystem.from_uri(address)
    return fs, system, path


@contextmanager
def _explain(address: Address) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:  # those of pyarrow are of these classes
        fix = "Check the address, and that this machine may read it."
        raise ExportError(f"it cannot be read: {error_text(error)}", where=address, fix=fix) from error


def _is_hidden(path: str, folder: str) -> bool:
    below = PurePosixPath(path).parts[len(PurePosixPath(folder).parts) :]
    return any(part.startswith((".", "_")) for part in below)


def _spell(address: Address, folder: str, path: str) -> Address:
    """The address of what is below a folder: a query, such as the region of a bucket, stays at its end."""
    plain, mark, query = address.partition("?")
    return f"{plain.rstrip('/')}{path.removeprefix(folder.rstrip('/'))}{mark}{query}"
