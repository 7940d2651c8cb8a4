"""The two ends of the pipe to a client: bounded lines in, whole lines out, and what happens when the client is gone."""

from __future__ import annotations

import os
import select
import sys
import threading
from collections.abc import Callable, Iterator

from carob.features.judge.messages import MAX_BYTES, Ask, Reply, encode
from carob.redaction.named import without_secrets

CHUNK = 1 << 16


class ClientPipe:
    """Stdin and stdout, for messages alone: what checks of a project print goes to stderr."""

    def __init__(self) -> None:
        sys.stdout.flush()
        self._in, self._out = os.dup(0), os.dup(1)
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.close(null)
        os.dup2(2, 1)

    def lines(self) -> Iterator[bytes | None]:
        """Each line as it arrives; None for one that is too long, of which nothing is kept."""
        pending, skipping = bytearray(), False
        while chunk := os.read(self._in, CHUNK):
            *whole, rest = chunk.split(b"\n")
            for part in whole:
                pending += part
                yield None if skipping or len(pending) > MAX_BYTES else bytes(pending)
                pending, skipping = bytearray(), False
            pending += rest
            if len(pending) > MAX_BYTES:
                pending, skipping = bytearray(), True
        if pending:
            yield bytes(pending)

    def send(self, reply: Reply) -> None:
        """Write a message. Where the client takes no more, there is nothing left to do.

        What an agent is asked stays as the suite has it; everything else loses the secrets that the project names.
        """
        message = encode(reply)
        left = memoryview((message if isinstance(reply, Ask) else without_secrets(message)) + b"\n")
        while left:
            try:
                left = left[os.write(self._out, left) :]
            except OSError:
                return

    def when_abandoned(self, leave: Callable[[], None]) -> None:
        """Call this, in a thread of its own, once no one reads what is written: even a check that hangs ends then."""

        def wait() -> None:
            if sys.platform != "win32":
                gone = select.POLLERR | select.POLLHUP | select.POLLNVAL
                poll = select.poll()
                poll.register(self._out, 0)
                if any(event & gone for _, event in poll.poll()):
                    leave()

        threading.Thread(target=wait, name="carob-judge-abandoned", daemon=True).start()
