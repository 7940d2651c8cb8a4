"""A client of `carob judge`, as small as one can be: a process, a line for each message."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any

CAROB = Path(sys.executable).with_name("carob")
Message = dict[str, Any]


class Client:
    def __init__(self, folder: Path) -> None:
        self.process = subprocess.Popen(
            [CAROB, "judge"], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        self.sent: list[Message] = []
        self.received: list[Message] = []
        self._ids = count(1)
        assert self.get()["is"] == "ready"

    def write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def get(self) -> Message:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the judge ended"
        self.received.append(json.loads(line))
        return self.received[-1]

    def put(self, do: str, **fields: Any) -> int:
        number = next(self._ids)
        self.sent.append({"protocol": 1, "id": number, "do": do, **fields})
        self.write(json.dumps(self.sent[-1]).encode() + b"\n")
        return number

    def ask(self, do: str, **fields: Any) -> Message:
        number = self.put(do, **fields)
        reply = self.get()
        assert reply["id"] == number
        return reply

    def load(self, suite: object) -> str:
        reply = self.ask("load", suite=suite)
        assert reply["is"] == "suite", reply
        return str(reply["suite"])

    def run_case(self, run: str, case: str, *answers: object) -> Message:
        """Run a case that asks as often as there are answers."""
        self.put("case", run=run, case=case)
        for answer in answers:
            asked = self.get()
            assert asked["is"] == "ask", asked
            self.put("answer", ask=asked["ask"], trace=answer)
        return self.get()

    def end(self) -> int:
        """Close stdin, and wait."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(60)


@contextmanager
def judge(folder: Path) -> Iterator[Client]:
    client = Client(folder)
    try:
        yield client
    finally:
        client.process.kill()
        with suppress(BrokenPipeError), client.process:
            pass  # closes its pipes
