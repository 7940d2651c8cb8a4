"""What pages offer of a case besides its view: the files that its trace names, and its raw record.

Files are found only inside the folder of the journal, and shown only if they are pictures.
"""

from __future__ import annotations

import base64
import os
import stat
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from karat.model.run import CaseRecord
from karat.reports.escaping import encode

LONGEST_NAME: Final = 1_000
LARGEST: Final = 64 << 20
_PICTURES: Final = ((b"\x89PNG\r\n\x1a\n", "image/png"), (b"\xff\xd8\xff", "image/jpeg"), (b"GIF8", "image/gif"))


class OwnFile(NamedTuple):
    """A regular file of a run; `type` is what its first bytes say, never what its name does."""

    path: Path
    size: int
    type: str

    @property
    def is_picture(self) -> bool:
        return self.type.startswith("image/")


def find_own_file(journal: str, name: str) -> OwnFile | None:
    """The file of this name if it lies below the journal's folder, without a link on the way; else None."""
    if not name or len(name) > LONGEST_NAME or "\x00" in name or os.path.isabs(name) or "\\" in name:
        return None
    parts = os.path.normpath(name).split(os.sep)
    if ".." in parts:
        return None
    path = Path(os.path.dirname(journal) or ".")
    try:
        for part in parts:
            path = path / part
            mode = path.lstat().st_mode
            if stat.S_ISLNK(mode):
                return None
        if not stat.S_ISREG(mode) or path.stat().st_size > LARGEST:
            return None
        with path.open("rb") as file:
            head = file.read(16)
        return OwnFile(path, path.stat().st_size, _type(head))
    except (OSError, ValueError):
        return None


def _type(head: bytes) -> str:
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for start, kind in _PICTURES if head.startswith(start)), "application/octet-stream")


def as_data(file: OwnFile) -> str:
    """A picture as an address that holds all of it."""
    return f"data:{file.type};base64,{base64.b64encode(file.path.read_bytes()).decode()}"


def record_json(record: CaseRecord) -> bytes:
    """The line of a journal as JSON that people can read, and that is harmless to show."""
    return msgspec.json.format(encode(record), indent=2)
