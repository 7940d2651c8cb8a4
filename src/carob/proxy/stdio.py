"""An MCP server over stdio on a tape: `carob tape stdio NAME -- COMMAND` in place of the command of the server.

In a run without a tape, telemetry of models or faults, or where the server is live, it is the server itself. Otherwise
each message of the client is put to the proxy, which answers it or has the server asked; so is the answer. What a
server asks its client is not on a tape: a replay has the answer that came of it.

Most MCP clients start servers without their own environment. A process that was not given the address of the proxy
finds it by the processes above it: by what the nearest was given, or has announced.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Protocol
from urllib.parse import urlsplit

import msgspec

from carob.errors import UsageError

PREFIX = "stdio-"
"""A service of this name is a server over stdio: the tape knows it by what it is asked, and has no address for it."""
RECORDED, TO_ASK, LIVE = 200, 204, 205
LONGEST = 32 << 20
ADDRESS = "CAROB_TAPE_URL"
"""The variable that holds the address of the proxy."""
PROCESSES = Path("/proc")


def serve_stdio(name: str, command: Sequence[str], environ: Mapping[str, str]) -> int:
    """Speak for an MCP server until the client is done; the exit status."""
    base = find_address(environ)
    if not command:
        raise UsageError("the server's command is missing.", fix="Write it after --.", slug="bad-option")
    if not base:
        os.execvp(command[0], list(command))
    tape = TapeClient(base, name)
    if tape.is_live():
        os.execvp(command[0], list(command))
    return Relay(tape, command, sys.stdout.buffer).run(sys.stdin.buffer)


class MessageDesk(Protocol):
    """Who sees each message of a client before the server does, and each answer before the client does."""

    def read(self, line: bytes) -> bytes:
        """The message as it is to be handled; empty: not at all."""
        ...

    def ask(self, line: bytes) -> bytes | None:
        """What the client gets, empty for a message that has no answer; None: the server is to be asked."""
        ...

    def record(self, line: bytes, answer: bytes) -> bytes:
        """Take what the server answered; what the client is to get."""
        ...


class Relay:
    """Between a client and the server or its recordings: requests wait side by side, all else goes on at once.

    While a server works on a request it may ask its client, and the client may cancel.
    """

    def __init__(self, tape: MessageDesk, command: Sequence[str], out: IO[bytes]) -> None:
        self._tape = tape
        self._command = command
        self._out = out
        self._lock = threading.Lock()
        self._server: _Server | None = None

    def run(self, lines: IO[bytes]) -> int:
        """Relay until the client is done; the exit status."""
        waiting = list[_Request]()
        for raw in iter(lines.readline, b""):
            line = self._tape.read(raw)
            if not line:
                continue
            if _id_of(line, answer=True) is not None:
                self._pass_on(line)
            elif _id_of(line) is None:
                # A cancellation must not overtake the request that it cancels.
                for request in waiting:
                    request.sent.wait()
                self._notify(line)
            else:
                waiting = [request for request in waiting if request.is_alive()]
                waiting.append(_Request(self, line, waiting[-1].sent if waiting else None))
                waiting[-1].start()
        for request in waiting:
            request.sent.wait()
        if self._server is not None:
            self._server.end_input()
        for request in waiting:
            request.join()
        return 0 if self._server is None else self._server.close()

    def answer(self, line: bytes, sent: threading.Event) -> None:
        """Answer a request; `sent` is set once nothing more goes to the server for it."""
        answer = self._tape.ask(line)
        if answer is None:
            answered = self._open_server().send(line, is_request=True)
            sent.set()
            server_answer = answered()
            if server_answer is None:  # the server ended: so does this one, and the client sees that
                os._exit(self._open_server().close() or 1)
            answer = self._tape.record(line, server_answer)
        self.write(answer)

    def write(self, line: bytes) -> None:
        """Write a message to the client, if it is one."""
        if line.strip():
            with self._lock:
                self._out.write(line.rstrip(b"\n") + b"\n")
                self._out.flush()

    def _notify(self, line: bytes) -> None:
        if self._tape.ask(line) is None:
            self._open_server().send(line)
            self._tape.record(line, b"")

    def _pass_on(self, line: bytes) -> None:
        """Give the server what it asked its client for. What is replayed has no server that asks."""
        if self._server is not None:
            self._server.send(line)

    def _open_server(self) -> _Server:
        with self._lock:
            if self._server is None:
                self._server = _Server(self._command, self.write)
            return self._server


class _Request(threading.Thread):
    """A request that waits for its answer. It is sent once the one before it was: a fault hits the first call."""

    def __init__(self, relay: Relay, line: bytes, before: threading.Event | None) -> None:
        super().__init__(daemon=True)
        self.sent = threading.Event()
        self._relay = relay
        self._line = line
        self._before = before

    def run(self) -> None:
        try:
            if self._before is not None:
                self._before.wait()
            self._relay.answer(self._line, self.sent)
        finally:
            self.sent.set()


class TapeClient:
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

    def read(self, line: bytes) -> bytes:
        return line

    def ask(self, line: bytes) -> bytes | None:
        """The recorded answer, empty for a message that has none; None: the server is to be asked."""
        status, body = self._request("POST", line)
        return None if status == TO_ASK else body

    def record(self, line: bytes, answer: bytes) -> bytes:
        """Give it what the server answered; what the client is to get."""
        exchange = [line.decode("utf-8", "replace"), answer.decode("utf-8", "replace")]
        return self._request("PUT", msgspec.json.encode(exchange))[1]

    def _request(self, method: str, body: bytes) -> tuple[int, bytes]:
        from http.client import HTTPConnection  # late: targets need the name of the address alone

        connection = HTTPConnection(self._host, timeout=300)
        try:
            connection.request(method, self._path, body, {"content-type": "application/json"})
            reply = connection.getresponse()
            return reply.status, reply.read(LONGEST)
        finally:
            connection.close()


class _Server:
    """The server itself. What it says of its own accord goes straight to the client."""

    def __init__(self, command: Sequence[str], write: Callable[[bytes], None]) -> None:
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._write = write
        self._answers: dict[str, bytes] = {}
        self._changed = threading.Condition()
        self._ended = False
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def send(self, line: bytes, *, is_request: bool = False) -> Callable[[], bytes | None]:
        """Send a message; gives what waits for its answer: None if the server ends before it."""
        with self._changed, suppress(BrokenPipeError, ValueError):  # it ended, or its client did
            if self._process.stdin is not None:
                self._process.stdin.write(line)
                self._process.stdin.flush()
        message_id = _id_of(line) if is_request else None
        return lambda: b"" if message_id is None else self._wait(message_id)

    def _wait(self, message_id: str) -> bytes | None:
        with self._changed:
            self._changed.wait_for(lambda: self._ended or message_id in self._answers)
            answer = self._answers.pop(message_id, None)
            return None if answer is None else answer.strip()

    def end_input(self) -> None:
        with self._changed, suppress(BrokenPipeError):
            if self._process.stdin is not None:
                self._process.stdin.close()

    def close(self) -> int:
        self.end_input()
        status = self._process.wait()
        self._reader.join()
        if self._process.stdout is not None:
            self._process.stdout.close()
        return status

    def _read(self) -> None:
        for line in iter(self._process.stdout.readline, b"") if self._process.stdout is not None else ():
            answered = _id_of(line, answer=True)
            if answered is None:
                self._write(line)
                continue
            with self._changed:
                self._answers[answered] = line
                self._changed.notify_all()
        with self._changed:
            self._ended = True
            self._changed.notify_all()


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
            with open(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="utf-8") as file:
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
    return Path(home) / ".cache" / "carob" / "tapes" / str(process) if home else None


def _id_of(line: bytes, *, answer: bool = False) -> str | None:
    """The id of a request, or of an answer; None for any other message."""
    try:
        message = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    if not isinstance(message, dict) or "id" not in message or ("method" in message) is answer:
        return None
    return str(message["id"])
