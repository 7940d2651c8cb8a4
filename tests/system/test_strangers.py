"""Connections of programs that do not have the token cannot keep out the one that has it."""

from __future__ import annotations

import http.client
import socket

import pytest

from carob.system import loopback
from carob.system.loopback import Connection, HttpRequest, LoopbackServer, format_reply


def serve(connection: Connection, request: HttpRequest) -> bool:
    connection.send(format_reply(200, "text/plain", b"hello"))
    return request.keeps_alive


def ask(server: LoopbackServer, token: str) -> tuple[http.client.HTTPConnection, int]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    connection.request("GET", f"/{token}/x")
    reply = connection.getresponse()
    reply.read()
    return connection, reply.status


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> LoopbackServer:
    monkeypatch.setattr(loopback, "MAX_CONNECTIONS", 6)
    server = LoopbackServer(serve, "a server")
    server.open()
    return server


def test_strangers_do_not_fill_a_server(server: LoopbackServer) -> None:
    strangers = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(30)]
    try:
        friends = [ask(server, server.token) for _ in range(5)]
        assert [status for _, status in friends] == [200] * 5
        friends[0][0].request("GET", f"/{server.token}/x")
        assert friends[0][0].getresponse().status == 200, "a connection that has the token is kept"
        for connection, _ in friends:
            connection.close()
    finally:
        for stranger in strangers:
            stranger.close()
        server.close()
