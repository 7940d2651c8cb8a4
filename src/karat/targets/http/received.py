"""What a server sent, bounded, for the message that tells what was wrong with it."""

from __future__ import annotations

from karat.targets.base import TargetError
from karat.text.wording import counted, visible

HEAD = 1_000


class Received:
    """How much came, and how it began."""

    __slots__ = ("_head", "size")

    def __init__(self) -> None:
        self.size = 0
        self._head = b""

    def add(self, data: bytes) -> None:
        self.size += len(data)
        if len(self._head) < HEAD:
            self._head += data[: HEAD - len(self._head)]

    def __str__(self) -> str:
        if not self.size:
            return "nothing was received"
        begins = "received" if self.size <= HEAD else f"received {counted(self.size, 'byte')}, which begin"
        return f"{begins}: {visible(self._head.decode('utf-8', 'replace'))}"

    def error(self, kind: str, message: str) -> TargetError:
        return TargetError(kind, message, detail=str(self))
