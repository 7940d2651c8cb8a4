"""One child process from start to end, in a thread: bounded output, and nothing of it left."""

from __future__ import annotations

import os
import selectors
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from subprocess import PIPE
from time import monotonic
from typing import IO, cast

from carob.system import process_tree
from carob.text.wording import end_of

OnLine = Callable[[bytes], None]

CHUNK = 1 << 16
STDOUT_CAP = 1 << 26
STDERR_TAIL = 1 << 12
GRACE = 1.0
"""How long a process may take to end after SIGTERM, and its pipes to close after its end."""
POLL = 0.05
"""How often a process that writes nothing is looked at."""
PROMPTLY = 0.01
"""How often, if somebody may send it something."""


@dataclass(slots=True)
class ExitStatus:
    """How a process came to its end."""

    returncode: int
    stderr: str
    overflowed: bool


class Child:
    """A process that gets `stdin`, and whose stdout is handed on line by line.

    One that is to be `spoken_to` gets what is sent while it runs, until nothing more is to come.
    """

    def __init__(
        self, argv: Sequence[str], cwd: Path, env: dict[str, str], stdin: bytes = b"", *, spoken_to: bool = False
    ) -> None:
        self._argv = argv
        self._cwd = cwd
        self._env = env
        self._stdin = memoryview(stdin)
        self._letters: SimpleQueue[bytes | None] = SimpleQueue()
        self._spoken_to = spoken_to
        self._stdout = bytearray()
        self._stderr = bytearray()
        self._cut = False
        self._seen = 0
        self._stopping = threading.Event()

    def stop(self) -> None:
        """Ask, from another thread, that the process be ended."""
        self._stopping.set()

    def send(self, data: bytes | None) -> None:
        """Write to its stdin, from another thread; None: nothing more is to come."""
        self._letters.put(data)

    def restart_count(self) -> None:
        """Allow it to write as much again: a turn begins in a process that had others before."""
        self._seen = 0

    def run(self, on_line: OnLine) -> ExitStatus:
        """Run to the end. Whatever happens, the whole process group is dead and reaped afterwards."""
        process = process_tree.start(self._argv, cwd=self._cwd, env=self._env, stdin=PIPE, stdout=PIPE, stderr=PIPE)
        try:
            self._attend(process, on_line)
        finally:
            process_tree.end(process, GRACE)
            for pipe in (process.stdin, process.stdout, process.stderr):
                if pipe is not None:
                    pipe.close()
        if self._stdout:
            on_line(bytes(self._stdout))
        stderr = self._stderr.decode("utf-8", "replace")
        return ExitStatus(process.returncode, end_of(stderr) if self._cut else stderr, self._seen > STDOUT_CAP)

    def _attend(self, process: subprocess.Popen[bytes], on_line: OnLine) -> None:
        """Feed and drain the pipes until the process has ended and they are closed, or it is to be stopped."""
        with selectors.DefaultSelector() as selector:
            self._watch(selector, process)
            deadline: float | None = None
            while (selector.get_map() or process.poll() is None) and not self._stopping.is_set():
                if self._seen > STDOUT_CAP and self._spoken_to:
                    return
                self._take_letters(selector, process)
                for key, _ in selector.select(PROMPTLY if self._spoken_to else POLL):
                    self._serve(selector, key, on_line)
                if deadline is None and process.poll() is not None:
                    deadline = monotonic() + GRACE
                    process_tree.kill_group(process.pid)
                if deadline is not None and monotonic() > deadline:
                    return

    def _watch(self, selector: selectors.BaseSelector, process: subprocess.Popen[bytes]) -> None:
        pipes = ((process.stdout, selectors.EVENT_READ, "stdout"), (process.stderr, selectors.EVENT_READ, "stderr"))
        for pipe, event, name in (*pipes, (process.stdin, selectors.EVENT_WRITE, "stdin")):
            if pipe is not None:
                if sys.platform != "win32":
                    os.set_blocking(pipe.fileno(), False)
                if name != "stdin" or not self._spoken_to:
                    selector.register(pipe, event, name)

    def _take_letters(self, selector: selectors.BaseSelector, process: subprocess.Popen[bytes]) -> None:
        """Get ready to write what was sent, as soon as the process reads it."""
        while not self._letters.empty():
            letter = self._letters.get()
            self._spoken_to = letter is not None
            self._stdin = memoryview(bytes(self._stdin) + (letter or b""))
            if process.stdin is not None and not process.stdin.closed and process.stdin not in selector.get_map():
                selector.register(process.stdin, selectors.EVENT_WRITE, "stdin")

    def _serve(self, selector: selectors.BaseSelector, key: selectors.SelectorKey, on_line: OnLine) -> None:
        if key.data == "stdin":
            is_done = self._feed(key.fd)
        else:
            data = os.read(key.fd, CHUNK)
            is_done = not data
            if key.data == "stdout":
                self._lines(data, on_line)
            else:
                self._stderr += data
                self._cut = self._cut or len(self._stderr) > STDERR_TAIL
                del self._stderr[:-STDERR_TAIL]
        if is_done:
            selector.unregister(key.fileobj)
            if key.data != "stdin" or not self._spoken_to or self._stdin:
                cast(IO[bytes], key.fileobj).close()

    def _feed(self, fd: int) -> bool:
        """Write some of what is there; whether that was all, or the reader is gone."""
        try:
            size = os.write(fd, self._stdin[:CHUNK])
        except BlockingIOError:
            return False
        except BrokenPipeError:
            return True
        self._stdin = self._stdin[size:]
        return not self._stdin

    def _lines(self, data: bytes, on_line: OnLine) -> None:
        """Hand on what became whole lines; beyond the cap, drain and forget."""
        room = STDOUT_CAP - self._seen
        self._seen += len(data)
        self._stdout += data[: max(room, 0)]
        if b"\n" not in data:
            return
        *lines, tail = bytes(self._stdout).split(b"\n")
        self._stdout = bytearray(tail)
        for line in lines:
            on_line(line)
