"""An MCP server over stdio on a tape: `karat tape stdio NAME -- COMMAND` in place of the command of the server.

In a run without a tape, telemetry of models or faults, or where the server is live, it is the server itself. Otherwise
each message of the client is put to the proxy, which answers it or has the server asked; so is the answer.
"""

from __future__ import annotations

import http.client
import os
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import IO
from urllib.parse import urlsplit

import msgspec

from karat.errors import UsageError
from karat.proxy.address import find_address

PREFIX = "stdio-"
"""A service of this name is a server over stdio: the tape knows it by what it is asked, and has no address for it."""
RECORDED, TO_ASK, LIVE = 200, 204, 205
LONGEST = 32 << 20


def serve_stdio(name: str, command: Sequence[str], environ: Mapping[str, str]) -> int:
    """Speak for an MCP server until the client is done; the exit status."""
    base = find_address(environ)
    if not command:
        raise UsageError("the server's command is missing.", fix="Write it after --.", slug="bad-option")
    if not base:
        os.execvp(command[0], list(command))
    tape = _TapeClient(base, name)
    if tape.is_live():
        os.execvp(command[0], list(command))
    server: _Server | None = None
    for line in iter(sys.stdin.buffer.readline, b""):
        answer = tape.ask(line)
        if answer is None:
            server = server or _Server(command, sys.stdout.buffer)
            said = server.ask(line)
            if said is None:  # the server ended: so does this one, and the client knows by it
                break
            answer = tape.keep(line, said)
        if answer:
            sys.stdout.buffer.write(answer.rstrip(b"\n") + b"\n")
            sys.stdout.buffer.flush()
    return 0 if server is None else server.close()


class _TapeClient:
    """Asks the tape for an answer, and gives it one to keep."""

    def __init__(self, base: str, name: str) -> None:
        split = urlsplit(base)
        self._host, self._path = split.netloc, f"{split.path}/{PREFIX}{name}"

    def is_live(self) -> bool:
        """Whether the server is to be asked without the tape: it is live, or the run is over."""
        try:
            return self._request("GET", b"")[0] == LIVE
        except ConnectionRefusedError:
            return True

    def ask(self, line: bytes) -> bytes | None:
        """The recorded answer, empty for a message that has none; None: the server is to be asked."""
        status, body = self._request("POST", line)
        return None if status == TO_ASK else body

    def keep(self, line: bytes, answer: bytes) -> bytes:
        """Give it what the server answered; what the client is to get."""
        both = [line.decode("utf-8", "replace"), answer.decode("utf-8", "replace")]
        return self._request("PUT", msgspec.json.encode(both))[1]

    def _request(self, method: str, body: bytes) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection(self._host, timeout=300)
        try:
            connection.request(method, self._path, body, {"content-type": "application/json"})
            reply = connection.getresponse()
            return reply.status, reply.read(LONGEST)
        finally:
            connection.close()


class _Server:
    """The server itself. What it says of its own accord goes straight to the client."""

    def __init__(self, command: Sequence[str], out: IO[bytes]) -> None:
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._out = out
        self._answers: dict[str, bytes] = {}
        self._came = threading.Condition()
        self._ended = False
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def ask(self, line: bytes) -> bytes | None:
        """The answer to a message; an empty one for a notification. None if the server ends before it answers."""
        with suppress(BrokenPipeError):
            if self._process.stdin is not None:
                self._process.stdin.write(line)
                self._process.stdin.flush()
        wanted = _id_of(line)
        if wanted is None:
            return b""
        with self._came:
            self._came.wait_for(lambda: self._ended or wanted in self._answers)
            answer = self._answers.pop(wanted, None)
            return None if answer is None else answer.strip()

    def close(self) -> int:
        with suppress(BrokenPipeError):
            if self._process.stdin is not None:
                self._process.stdin.close()
        status = self._process.wait()
        self._reader.join()
        if self._process.stdout is not None:
            self._process.stdout.close()
        return status

    def _read(self) -> None:
        for line in iter(self._process.stdout.readline, b"") if self._process.stdout is not None else ():
            answered = _id_of(line, answer=True)
            with self._came:
                if answered is None:
                    self._out.write(line)
                    self._out.flush()
                else:
                    self._answers[answered] = line
                    self._came.notify_all()
        with self._came:
            self._ended = True
            self._came.notify_all()


def _id_of(line: bytes, *, answer: bool = False) -> str | None:
    """The id of a request, or of an answer; None for any other message."""
    try:
        message = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    if not isinstance(message, dict) or "id" not in message or ("method" in message) is answer:
        return None
    return str(message["id"])
