"""`carob guard serve`: decisions over HTTP by a real process; the store that several processes share."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

import carob
from carob.features.guard.serve import DecisionServer
from features.guard.policies import DESK, write_policy


def post(url: str, body: object, headers: dict[str, str] | None = None) -> tuple[int, Any]:
    address = urlsplit(url)
    connection = HTTPConnection(address.netloc, timeout=10)
    data = body if isinstance(body, str) else json.dumps(body)
    connection.request("POST", address.path, data, headers or {})
    reply = connection.getresponse()
    text = reply.read().decode()
    connection.close()
    return reply.status, json.loads(text) if text.startswith("{") else text


def test_a_program_in_any_language_asks_and_reports(tmp_path: Path) -> None:
    command = [str(Path(sys.executable).with_name("carob")), "guard", "serve", str(write_policy(tmp_path))]
    env = {**os.environ, "CAROB_GUARD_TOKEN": "t" * 24}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)
    try:
        assert process.stdout is not None
        url = process.stdout.readline().decode().strip()
        assert url.endswith(f"/{'t' * 24}/decide")
        pay = {"tool": "pay_invoice", "arguments": {"id": "A"}}
        _, refused = post(url, {"conversation": "c", "begin": True, "user": "yes", "call": pay})
        assert (refused["allowed"], refused["reasons"][0]["rule"]) == (False, "look-first")
        _, looked = post(url, {"conversation": "c", "call": {"tool": "get_invoice", "arguments": {"id": "A"}}})
        result = {"call": looked["call"], "result": {"total": 80}}
        assert post(url, {"conversation": "c", "results": [result]})[1] == {"kept": True, "message": ""}
        assert post(url, {"conversation": "c", "call": pay})[1]["allowed"] is True
    finally:
        process.terminate()
        _, said = process.communicate()
    assert process.returncode == 0
    assert said.decode().count("a restart forgets all conversations") == 1


@pytest.fixture
def served(tmp_path: Path) -> Any:
    server = DecisionServer(carob.Guard(write_policy(tmp_path), seam="serve"))
    server.open()
    yield server
    server.close()


PAY = {"conversation": "c", "begin": True, "call": {"tool": "pay_invoice", "arguments": {"id": "A"}}}


@pytest.mark.parametrize(
    ("body", "status"),
    [
        pytest.param("", 400, id="empty"),
        pytest.param("{", 400, id="torn"),
        pytest.param({**PAY, "conversation": ""}, 400, id="no-conversation"),
        pytest.param({**PAY, "cal": {}}, 400, id="an-unknown-key"),
        pytest.param({**PAY, "call": {"tool": 3}}, 400, id="a-wrong-type"),
        pytest.param({**PAY, "begin": False}, 200, id="never-begun"),
    ],
)
def test_whatever_is_wrong_is_no_leave(served: DecisionServer, body: object, status: int) -> None:
    answered, answer = post(served.url, body)
    assert answered == status
    assert answer["allowed"] is False
    assert answer["message"]


def test_a_bad_request_is_refused_alone(served: DecisionServer) -> None:
    """Also on one connection: what comes before and after it is answered as without it."""
    address = urlsplit(served.url)
    connection = HTTPConnection(address.netloc)
    look = {**PAY, "call": {"tool": "get_invoice", "arguments": {"id": "A"}}}
    allowed = []
    for body in (look, {**PAY, "cal": {}}, {**look, "conversation": "d"}, "{", look):
        connection.request("POST", address.path, body if isinstance(body, str) else json.dumps(body))
        allowed.append(json.loads(connection.getresponse().read())["allowed"])
    connection.close()
    assert allowed == [True, False, True, False, True]


def test_only_who_has_the_token_may_ask(served: DecisionServer) -> None:
    split = urlsplit(served.url)
    for url in (f"http://{split.netloc}/decide", f"http://{split.netloc}/{'x' * 32}/decide"):
        assert post(url, PAY)[0] == 403
    assert post(served.url, PAY, {"Origin": "https://example.com"})[0] == 403
    assert post(served.url.replace("/decide", "/other"), PAY)[0] == 404


def test_processes_share_a_store(tmp_path: Path) -> None:
    policy, store = write_policy(tmp_path), tmp_path / "state" / "store.sqlite"
    first, second = carob.Guard(policy, store=store), carob.Guard(policy, store=store)
    with first.conversation("c", user="yes") as c:
        c.report(c.allow("get_invoice", {"id": "A"}, call="x"), {"total": 80})
        with second.conversation("c") as same:
            assert same.allow("pay_invoice", {"id": "A"}, call="y")
        assert c.allow("pay_invoice", {"id": "A"}).rule == "paid-once"
        c.report("y", "paid")
        assert "at most 1" in same.allow("pay_invoice", {"id": "A"}).message
    assert oct(store.stat().st_mode & 0o777) == "0o600"
    third = carob.Guard(policy, store=store)
    assert third.open("c").allow("pay_invoice", {"id": "A"}).reasons[0].is_broken
    assert "was not seen" in third.open("unknown").allow("pay_invoice", {"id": "A"}).message


def test_an_expired_conversation_is_not_begun_anew(tmp_path: Path) -> None:
    policy, store = write_policy(tmp_path, DESK), tmp_path / "store.sqlite"
    with carob.Guard(policy, store=store).conversation("a", user="yes"):
        pass
    with sqlite3.connect(store) as database:
        database.execute("UPDATE conversations SET touched = touched - 90000")
    with carob.Guard(policy, store=store).conversation("b"):
        pass
    with carob.Guard(policy, store=store).conversation("a", user="yes") as c:
        c.report(c.allow("get_invoice", {"id": "A"}), {})
        assert "was not seen" in c.allow("pay_invoice", {"id": "A"}).message
