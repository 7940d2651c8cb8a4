"""What crosses a proxy of services is handed on as it comes; what is kept of it is bounded."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import pytest

from carob.proxy.forwarding import ForwardedRequest, ServiceReply
from carob.system import loopback
from carob.system.loopback import HttpRequest
from carob.system.loopback_auth import RefusedRequest


class Stream:
    """A service that streams these lines; it is its own reply, and its own wire. A fake: the real ones hold sockets."""

    name, is_stream, status = "models", True, 200
    headers: ClassVar[dict[str, str]] = {}

    def __init__(self, *lines: bytes) -> None:
        self._lines = lines
        self.sent = b""

    @contextmanager
    def open_reply(self, request: HttpRequest, path: str) -> Iterator[Stream]:
        yield self

    def pieces(self) -> Iterator[bytes]:
        yield from self._lines

    def hold(self, size: int) -> None:
        """Nothing is counted."""

    release = hold

    def head(self, changed: dict[str, str]) -> bytes:
        return b""

    def send(self, data: bytes) -> None:
        self.sent += data


def forwarded(service: Any) -> tuple[ForwardedRequest, list[ServiceReply]]:
    made, kept = ForwardedRequest(service, HttpRequest("POST", "/", {}), service, "/", ""), list[ServiceReply]()
    made.record = lambda reply, closed: kept.append(reply)
    return made, kept


def test_a_stream_that_is_too_long_is_handed_on_and_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loopback, "BODY_CAP", 4_000)
    for events, is_kept in ((9, True), (90, False)):
        service = Stream(*[b"data: 1\n", b"\n"] * events)
        made, kept = forwarded(service)
        made.hand_on()
        assert service.sent.count(b"data") == events
        assert [len(reply.events) for reply in kept] == [events] * is_kept
    made, kept = forwarded(Stream(*[b"data: 1\n", b"\n"] * 90))
    with pytest.raises(RefusedRequest, match="models sent a stream of more than 4,000 bytes"):
        made.read_reply()


def test_an_event_that_does_not_end_breaks_the_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loopback, "BODY_CAP", 4_000)
    service = Stream(*[b"data: 1\n"] * 9_000)
    made, kept = forwarded(service)
    made.hand_on()
    assert service.sent.count(b"data") == 0
    assert [(reply.events, reply.cut) for reply in kept] == [((), True)]
