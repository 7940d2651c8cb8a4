"""An MCP server over stdio on a tape: `karat tape stdio NAME -- COMMAND` in place of the command of the server.

In a run without a tape, telemetry of models or faults, or where the server is live, it is the server itself. Otherwise
each message of the client is put to the proxy, which answers it or has the server asked; so is the answer.

Most MCP clients start servers without their own environment. A process that was not given the address of the proxy
finds it by the processes above it: by what the nearest was given, or has announced.
"""

from __future__ import annotations

import http.client
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

import msgspec

from karat.errors import UsageError

PREFIX = "stdio-"
"""A service of this name is a server over stdio: the tape knows it by what it is asked, and has no address for it."""
RECORDED, TO_ASK, LIVE = 200, 204, 205
LONGEST = 32 << 20
ADDRESS = "KARAT_TAPE_URL"
"""The variable that holds the address of the proxy."""
PROCESSES = Path("/proc")


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
            server_answer = server.ask(line)
            if server_answer is None:  # the server ended: so does this one, and the client sees that
                break
            answer = tape.record(line, server_answer)
        if answer:
            sys.stdout.buffer.write(answer.rstrip(b"\n") + b"\n")
            sys.stdout.buffer.flush()
    return 0 if server is None else server.close()


class _TapeClient:
    """Asks the tape for an answer, and gives it one to record."""

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

    def record(self, line: bytes, answer: bytes) -> bytes:
        """Give it what the server answered; what the client is to get."""
        exchange = [line.decode("utf-8", "replace"), answer.decode("utf-8", "replace")]
        return self._request("PUT", msgspec.json.encode(exchange))[1]

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
        self._received = threading.Condition()
        self._ended = False
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def ask(self, line: bytes) -> bytes | None:
        """The answer to a message; an empty one for a notification. None if the server ends before it answers."""
        with suppress(BrokenPipeError):
            if self._process.stdin is not None:
                self._process.stdin.write(line)
                self._process.stdin.flush()
        message_id = _id_of(line)
        if message_id is None:
            return b""
        with self._received:
            self._received.wait_for(lambda: self._ended or message_id in self._answers)
            answer = self._answers.pop(message_id, None)
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
            with self._received:
                if answered is None:
                    self._out.write(line)
                    self._out.flush()
                else:
                    self._answers[answered] = line
                    self._received.notify_all()
        with self._received:
            self._ended = True
            self._received.notify_all()


def find_address(environ: Mapping[str, str]) -> str:
    """The address for this process; the empty string if it does not belong to a run that has one."""
    if address := environ.get(ADDRESS, ""):
        return address
    addresses = (_read_environment(process) or _read_announced(process, environ) for process in _processes_above())
    return next(filter(None, addresses), "")


def announce(url: str, environ: Mapping[str, str]) -> Path | None:
    """Let processes below this one find the address; the file to be removed when it is not valid any more."""
    path = _announcement(os.getpid(), environ)
    try:
        if path is not None:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.unlink(missing_ok=True)
            with open(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file:
                file.write(url)
        return path
    except OSError:
        return None  # a home that cannot be written to: then clients have to hand the variable on


def _processes_above() -> Iterator[int]:
    """The processes above this one, the nearest first."""
    process = os.getppid()
    while process > 1:
        yield process
        try:
            status = (PROCESSES / str(process) / "stat").read_text()
        except OSError:
            return
        process = int(status.rpartition(")")[2].split()[1])


def _read_environment(process: int) -> str:
    prefix = f"{ADDRESS}=".encode()
    with suppress(OSError):
        entries = (PROCESSES / str(process) / "environ").read_bytes().split(b"\0")
        return next((entry.removeprefix(prefix).decode() for entry in entries if entry.startswith(prefix)), "")
    return ""


def _read_announced(process: int, environ: Mapping[str, str]) -> str:
    path = _announcement(process, environ)
    with suppress(OSError):
        return "" if path is None else path.read_text()
    return ""


def _announcement(process: int, environ: Mapping[str, str]) -> Path | None:
    """In the home folder, which clients do hand on."""
    home = environ.get("HOME", "")
    return Path(home) / ".cache" / "karat" / "tapes" / str(process) if home else None


def _id_of(line: bytes, *, answer: bool = False) -> str | None:
    """The id of a request, or of an answer; None for any other message."""
    try:
        message = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    if not isinstance(message, dict) or "id" not in message or ("method" in message) is answer:
        return None
    return str(message["id"])
