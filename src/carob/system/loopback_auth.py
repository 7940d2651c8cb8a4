"""Who may ask a server of ours on the loopback address: a program of this machine that was given its address.

Every such server is reached from any page that a browser of this machine shows, and from every other program on it. So
each request must name the server itself as its host, may not come from a page of another origin, and has a token at
the beginning of its path that cannot be guessed. A cookie would not do: a browser sends it to every port.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from http import HTTPStatus
from typing import Final, Protocol

LOOPBACK: Final = "127.0.0.1"
LONGEST_ADDRESS: Final = 8_000
NAMES: Final = (LOOPBACK, "localhost", "[::1]")
RUN_HEADER: Final = "x-carob-run"
UNKNOWN_RUN: Final = "?"
"""What a request says that may be of several runs."""
"""Names the run of a case that a request is of, where one address serves several."""


class RefusedRequest(Exception):
    """A request that is not served: the status that says so, and why."""

    def __init__(self, status: HTTPStatus, why: str) -> None:
        super().__init__(why)
        self.status = status
        self.why = why


def new_token() -> str:
    return secrets.token_urlsafe(24)


class RequestGuard(Protocol):
    """What every request to a server must satisfy."""

    def enter(self, address: str, headers: Iterable[tuple[str, str]]) -> str:
        """The address as it is served. Raises RefusedRequest."""
        ...


class LoopbackGuard:
    """The rules of one server. Without a token, who knows its port may ask."""

    def __init__(self, port: int, token: str) -> None:
        self._hosts = {f"{name}:{port}" for name in NAMES}
        self._origins = {f"http://{host}" for host in self._hosts}
        self._prefix = f"/{token}/" if token else "/"

    def enter(self, address: str, headers: Iterable[tuple[str, str]]) -> str:
        """The address without the token. Raises RefusedRequest."""
        hosts = _refuse_pages(address, headers, self._origins)
        if len(hosts) != 1 or hosts[0] not in self._hosts:
            raise RefusedRequest(HTTPStatus.MISDIRECTED_REQUEST, "a request named a host other than this one")
        prefix = address[: len(self._prefix)]
        if not secrets.compare_digest(prefix.encode(errors="surrogatepass"), self._prefix.encode()):
            raise RefusedRequest(HTTPStatus.FORBIDDEN, "a request came without the token of this address")
        return address[len(self._prefix) - 1 :]


class BearerGuard:
    """The rules of a server that other machines may reach: a token in the header `Authorization`, and no browser.

    On the loopback address, where no token is needed, a request must name the server itself as its host.
    """

    def __init__(self, port: int, token: str, *, is_local: bool) -> None:
        self._hosts = {f"{name}:{port}" for name in NAMES} if is_local else None
        self._expected = f"Bearer {token}".encode() if token else b""

    def enter(self, address: str, headers: Iterable[tuple[str, str]]) -> str:
        listed = [(name.lower(), value) for name, value in headers]
        hosts = _refuse_pages(address, listed, ())
        if self._hosts is not None and (len(hosts) != 1 or hosts[0] not in self._hosts):
            raise RefusedRequest(HTTPStatus.MISDIRECTED_REQUEST, "a request named a host other than this one")
        if self._expected:
            tokens = [value.strip() for name, value in listed if name == "authorization"] or [""]
            if not secrets.compare_digest(tokens[0].encode(errors="surrogatepass"), self._expected):
                why = "a request came without the token of this address, or with another one"
                raise RefusedRequest(HTTPStatus.UNAUTHORIZED, why)
        return address


def _refuse_pages(address: str, headers: Iterable[tuple[str, str]], origins: Iterable[str]) -> list[str]:
    """The hosts that a request names. Raises RefusedRequest if a page of another origin sent it, or it is too long."""
    relevant: dict[str, list[str]] = {"host": [], "origin": [], "sec-fetch-site": []}
    for name, value in headers:
        relevant.get(name.lower(), []).append(value.lower())
    if not {*origins}.issuperset(relevant["origin"]):
        raise RefusedRequest(HTTPStatus.FORBIDDEN, "a page of another origin sent a request")
    if not {"none", "same-origin"}.issuperset(relevant["sec-fetch-site"]):
        raise RefusedRequest(HTTPStatus.FORBIDDEN, "a page of another site sent a request")
    if len(address) > LONGEST_ADDRESS:
        raise RefusedRequest(HTTPStatus.REQUEST_URI_TOO_LONG, "a request has an address that is too long")
    return relevant["host"]
