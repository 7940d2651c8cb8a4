"""A server over stdio that asks its client while it works, and a client that cancels: both directions go on at once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from carob.proxy.server import CaseSession, ServiceProxy
from carob.proxy.stdio import ADDRESS
from carob.proxy.tape.file import Tape, read_tape
from carob.proxy.tape.player import TapePlayer
from carob.proxy.tape.requests import IgnoreRules
from carob.proxy.tape.secrets import SecretKeeper

SERVER = """
import json, sys, threading
out = threading.Lock()
waiting = {}
def send(**message):
    with out:
        print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
def work(message):
    name = message["params"]["name"]
    event = waiting[f"ask-{message['id']}" if name == "elicit" else message["id"]] = [threading.Event(), None]
    if name == "elicit":
        send(id=f"ask-{message['id']}", method="elicitation/create", params={"message": "Which size?"})
    event[0].wait(20)
    send(id=message["id"], result={"said": event[1]})
threads = []
for line in sys.stdin:
    message = json.loads(line)
    if message.get("method") == "tools/call" and message["params"]["name"] != "add":
        threads.append(threading.Thread(target=work, args=(message,)))
        threads[-1].start()
    elif message.get("method") == "notifications/cancelled":
        while message["params"]["requestId"] not in waiting:
            pass
        entry = waiting[message["params"]["requestId"]]
        entry[1] = "cancelled"
        entry[0].set()
    elif "method" not in message:
        entry = waiting[message["id"]]
        entry[1] = message["result"]
        entry[0].set()
    elif "id" in message:
        if message["params"].get("die"):
            sys.exit(5)
        send(id=message["id"], result={"said": "sum"})
for thread in threads:
    thread.join()
"""


class Client:
    """Speaks to `carob tape stdio`."""

    def __init__(self, url: str, folder: Path) -> None:
        (folder / "server.py").write_text(SERVER)
        carob = str(Path(sys.executable).with_name("carob"))
        self.process = subprocess.Popen(
            [carob, "tape", "stdio", "orders", "--", sys.executable, str(folder / "server.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, ADDRESS: url},
            text=True,
        )

    def send(self, **message: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def call(self, number: int, tool: str, **more: Any) -> None:
        self.send(id=number, method="tools/call", params={"name": tool, **more})

    def receive(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        received: dict[str, Any] = json.loads(self.process.stdout.readline())
        return received

    def close(self) -> int:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.stdout.close()
        return self.process.wait(20)


@contextmanager
def client(path: Path, mode: Any) -> Iterator[Client]:
    tape = read_tape(path) if path.exists() else Tape(path=path)
    player = TapePlayer(tape, mode, IgnoreRules(), SecretKeeper([]))
    session = CaseSession(player.begin("case", 0))
    player.open()
    proxy = ServiceProxy(player, {}, frozenset(), lambda name: session)
    proxy.open()
    here = Client(proxy.url(), path.parent)
    try:
        yield here
        assert here.close() == 0
        assert session.on_tape is not None
        assert player.end(session.on_tape) == ""
    finally:
        here.process.kill()
        proxy.close()
        player.close()


def elicit(here: Client, *, live: bool) -> Any:
    here.call(1, "elicit")
    if live:
        asked = here.receive()
        assert (asked["id"], asked["method"]) == ("ask-1", "elicitation/create")
        here.send(id="ask-1", result={"action": "accept", "content": {"size": "XL"}})
    return here.receive()


def test_a_server_that_asks_its_client_gets_an_answer(tmp_path: Path) -> None:
    path = tmp_path / "s.tape.yaml"
    with client(path, "record") as here:
        live = elicit(here, live=True)
    assert live == {"jsonrpc": "2.0", "id": 1, "result": {"said": {"action": "accept", "content": {"size": "XL"}}}}
    with client(path, "replay") as here:
        assert elicit(here, live=False) == live


def test_a_cancellation_reaches_a_server_that_works(tmp_path: Path) -> None:
    with client(tmp_path / "s.tape.yaml", "record") as here:
        here.call(1, "wait")
        here.send(method="notifications/cancelled", params={"requestId": 1})
        assert here.receive()["result"] == {"said": "cancelled"}


def test_a_request_does_not_wait_for_another(tmp_path: Path) -> None:
    with client(tmp_path / "s.tape.yaml", "record") as here:
        here.call(1, "elicit")
        assert here.receive()["method"] == "elicitation/create"
        here.call(2, "add")
        assert here.receive() == {"jsonrpc": "2.0", "id": 2, "result": {"said": "sum"}}
        here.send(id="ask-1", result={"action": "decline"})
        assert here.receive()["id"] == 1


def test_a_server_that_ends_ends_its_relay(tmp_path: Path) -> None:
    player = TapePlayer(Tape(path=tmp_path / "s.tape.yaml"), "record", IgnoreRules(), SecretKeeper([]))
    session = CaseSession(player.begin("case", 0))
    player.open()
    proxy = ServiceProxy(player, {}, frozenset(), lambda name: session)
    proxy.open()
    here = Client(proxy.url(), tmp_path)
    try:
        here.call(1, "add", die=True)
        assert here.process.wait(20) == 5
    finally:
        here.process.kill()
        here.close()
        proxy.close()
        player.close()


@pytest.mark.parametrize("mode", ["record", "replay"])
def test_what_a_client_sends_before_it_closes_is_answered(mode: str, tmp_path: Path) -> None:
    path = tmp_path / "s.tape.yaml"
    for each in dict.fromkeys(("record", mode)):
        with client(path, each) as here:
            assert here.process.stdin is not None
            here.call(1, "add")
            here.process.stdin.close()
            assert here.receive()["result"] == {"said": "sum"}
