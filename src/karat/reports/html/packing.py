"""What a report holds back until its end, on disk, and the cases that it packs because they have much in common."""

from __future__ import annotations

import base64
import tempfile
import zlib
from collections.abc import Iterator
from typing import Final

MOST_PACKED: Final = 11 << 20
CHUNK: Final = 1 << 18
IN_MEMORY: Final = 1 << 22


class Spool:
    """Bytes that are read once, when all of them are there."""

    def __init__(self) -> None:
        self._file = tempfile.SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115 - it is closed when it has been read
        self.size = 0

    def write(self, data: bytes) -> None:
        self._file.write(data)
        self.size += len(data)

    def pieces(self) -> Iterator[bytes]:
        with self._file as file:
            file.seek(0)
            while piece := file.read(CHUNK):
                yield piece


class Packs:
    """Cases that a browser unpacks when they are opened, several of them together."""

    def __init__(self) -> None:
        self._spool = Spool()
        self._chunk = bytearray()
        self._number = 1

    def add(self, html: bytes) -> int:
        """The number of the pack that it went into; 0 if there is no room any more."""
        if self._spool.size > MOST_PACKED:
            return 0
        self._chunk += html
        number = self._number
        if len(self._chunk) >= CHUNK:
            self._pack()
        return number

    def _pack(self) -> None:
        packed = base64.b64encode(zlib.compress(bytes(self._chunk), 9))
        self._spool.write(b'<script type="text/plain" id="pack%d">%s</script>\n' % (self._number, packed))
        self._number += 1
        self._chunk.clear()

    def pieces(self) -> Iterator[bytes]:
        if self._chunk:
            self._pack()
        yield from self._spool.pieces()
