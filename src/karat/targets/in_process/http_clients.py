"""Requests that the agent sends to Karat's own proxy from this process: each names the run of a case that it is of.

Without that, a late request of one case counts for the next one, which has the same address.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

from karat.system.loopback_auth import RUN_HEADER
from karat.targets.in_process.cases import CASES

LOOPBACK = ("127.0.0.1", "localhost", "::1")


class HttpClient(NamedTuple):
    """A class that sends requests, and the method that is called with each of them."""

    module: str
    name: str
    method: str
    add_header: Callable[[Any, tuple[Any, ...], str], None]
    """Gives the request a header, if it goes to this machine."""


def _add_to_request(client: Any, args: tuple[Any, ...], run: str) -> None:
    if args and args[0].url.host in LOOPBACK:
        args[0].headers[RUN_HEADER] = run


def _add_to_connection(connection: Any, args: tuple[Any, ...], run: str) -> None:
    if connection.host in LOOPBACK:
        connection.putheader(RUN_HEADER, run)


def _add_to_itself(request: Any, args: tuple[Any, ...], run: str) -> None:
    if request.url.host in LOOPBACK:
        request.headers[RUN_HEADER] = run


HTTP_CLIENTS = (
    HttpClient("httpx._client", "Client", "send", _add_to_request),
    HttpClient("httpx._client", "AsyncClient", "send", _add_to_request),
    HttpClient("httpx2._client", "Client", "send", _add_to_request),
    HttpClient("httpx2._client", "AsyncClient", "send", _add_to_request),
    HttpClient("http.client", "HTTPConnection", "endheaders", _add_to_connection),
    HttpClient("aiohttp.client_reqrep", "ClientRequest", "send", _add_to_itself),
)


def wrap_sender(client: HttpClient, method: Callable[..., Any]) -> Callable[..., Any]:
    """The method, which names the run of a case in each request. What it returns may be awaitable."""

    @functools.wraps(method)
    def send(self: Any, *args: Any, **kwargs: Any) -> Any:
        run = CASES.current_name()
        if run:
            client.add_header(self, args, run)
        return method(self, *args, **kwargs)

    return send
