"""Who may ask a server of ours: one that knows its address, as no page of another origin does."""

from __future__ import annotations

from http import HTTPStatus

import pytest

from carob.system.loopback_auth import LONGEST_ADDRESS, LoopbackGuard, RefusedRequest, new_token

HOST = ("Host", "127.0.0.1:8000")
DOOR = LoopbackGuard(8000, "secret")
MISDIRECTED, FORBIDDEN = HTTPStatus.MISDIRECTED_REQUEST, HTTPStatus.FORBIDDEN


@pytest.mark.parametrize(
    "headers",
    [
        [HOST],
        [("host", "localhost:8000")],
        [("HOST", "LOCALHOST:8000")],
        [("Host", "[::1]:8000")],
        [HOST, ("Origin", "http://127.0.0.1:8000")],
        [HOST, ("Sec-Fetch-Site", "same-origin")],
        [HOST, ("Sec-Fetch-Site", "none")],
        [HOST, ("X-Forwarded-Host", "evil.example")],
    ],
)
def test_who_knows_the_address_comes_in(headers: list[tuple[str, str]]) -> None:
    assert DOOR.enter("/secret/a/b?c=d", headers) == "/a/b?c=d"
    assert LoopbackGuard(8000, "").enter("/a/b?c=d", headers) == "/a/b?c=d"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ([], MISDIRECTED),
        ([("Host", "")], MISDIRECTED),
        ([("Host", "127.0.0.1")], MISDIRECTED),
        ([("Host", "127.0.0.1:8001")], MISDIRECTED),
        ([("Host", "evil.example:8000")], MISDIRECTED),
        ([("Host", "127.0.0.1:8000.evil.example")], MISDIRECTED),
        ([HOST, HOST], MISDIRECTED),
        ([HOST, ("Host", "evil.example")], MISDIRECTED),
        ([HOST, ("Origin", "null")], FORBIDDEN),
        ([HOST, ("Origin", "")], FORBIDDEN),
        ([HOST, ("Origin", "http://127.0.0.1:8001")], FORBIDDEN),
        ([HOST, ("Origin", "https://127.0.0.1:8000")], FORBIDDEN),
        ([HOST, ("Origin", "http://127.0.0.1:8000"), ("Origin", "http://evil.example")], FORBIDDEN),
        ([HOST, ("Sec-Fetch-Site", "cross-site")], FORBIDDEN),
        ([HOST, ("Sec-Fetch-Site", "same-site")], FORBIDDEN),
    ],
)
@pytest.mark.parametrize("token", ["secret", ""])
def test_others_are_refused(headers: list[tuple[str, str]], status: HTTPStatus, token: str) -> None:
    with pytest.raises(RefusedRequest) as refused:
        LoopbackGuard(8000, token).enter("/secret/", headers)
    assert refused.value.status == status


@pytest.mark.parametrize(
    "address",
    [
        "",
        "/",
        "/secret",
        "/secre/t",
        "/Secret/",
        "//secret/",
        "/x/secret/",
        "secret/",
        "/%73ecret/",
        "/\udcffecret/",
        "http://127.0.0.1:8000/secret/",
    ],
)
def test_the_token_is_the_beginning_of_the_path(address: str) -> None:
    with pytest.raises(RefusedRequest, match="without the token"):
        DOOR.enter(address, [HOST])


def test_addresses_are_bounded_and_tokens_are_long_and_new() -> None:
    assert DOOR.enter("/secret/".ljust(LONGEST_ADDRESS, "a"), [HOST])
    with pytest.raises(RefusedRequest, match="too long"):
        DOOR.enter("/secret/".ljust(LONGEST_ADDRESS + 1, "a"), [HOST])
    tokens = {new_token() for _ in range(20)}
    assert len(tokens) == 20
    assert min(map(len, tokens)) >= 32
