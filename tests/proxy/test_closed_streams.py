"""An agent that closes a stream once it has what it wants: neither an error of the case, nor a tape that is cut."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from carob.evidence.model_traffic import ModelTraffic
from carob.proxy.server import CaseSession, ServiceProxy
from carob.proxy.tape.file import Tape, read_tape
from carob.proxy.tape.player import TapePlayer
from carob.proxy.tape.requests import IgnoreRules
from carob.proxy.tape.secrets import SecretKeeper
from laws.test_recorded_reads_back import Sent, server


def chunk(text: str, finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": finish}
    return f"data: {json.dumps({'id': '1', 'choices': [choice]})}\n\n".encode()


def read_until(url: str, text: bytes) -> bytes:
    """Ask for a stream and hang up as soon as this came."""
    split, body = urlsplit(url), b'{"model":"m","messages":[],"stream":true}'
    with socket.create_connection((split.hostname or "", split.port or 0), timeout=20) as wire:
        head = f"POST {split.path} HTTP/1.1\r\nHost: {split.netloc}\r\nContent-Length: {len(body)}\r\n\r\n"
        wire.sendall(head.encode() + body)
        received = b""
        while text not in received:
            received += wire.recv(4_096)
    return received


@pytest.mark.parametrize("end", [b"hello", b"[DONE]"])
def test_an_agent_that_closes_a_stream_has_its_whole_answer_on_the_tape(end: bytes, tmp_path: Path) -> None:
    path = tmp_path / "s.tape.yaml"
    pieces = (chunk("hello"), *[chunk(" and more" * 200)] * 50, chunk("", "stop"), b"data: [DONE]\n\n")
    sent = Sent("POST", kind="text/event-stream", pieces=pieces, is_chunked=True)
    player = TapePlayer(Tape(path=path), "record", IgnoreRules(), SecretKeeper([]))
    session = CaseSession(player.begin("a", 0), ModelTraffic())
    player.open()
    with server([sent.reply()]) as upstream:
        proxy = ServiceProxy(player, {"openai": upstream}, frozenset(), lambda name: session)
        proxy.open()
        read_until(f"{proxy.url('openai')}/v1/chat/completions", end)
        while session.is_busy:
            pass
        proxy.close()
    assert session.on_tape is not None
    assert player.end(session.on_tape) == ""
    player.close()
    (exchange,) = read_tape(path).exchanges
    assert (exchange.answer.cut, b"".join(event.raw for event in exchange.answer.events)) == (False, b"".join(pieces))
    assert session.traffic is not None
    (traffic,) = session.traffic.exchanges
    assert (traffic.failure, traffic.reply is not None and traffic.reply.torn) == ("", False)
