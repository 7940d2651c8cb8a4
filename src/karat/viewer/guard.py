"""Who may ask: a browser on this machine that was given the token, for pages of this address, to read."""

from __future__ import annotations

import secrets
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl, quote, urlencode

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

LONGEST_ADDRESS: Final = 8_000
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self';"
    " base-uri 'none'; frame-ancestors 'none'"
)
HEADERS: Final = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
NO_TOKEN: Final = "This address needs its token. Open the one that karat view printed.\n"


class Guard:
    """Checks every request before it reaches a page."""

    def __init__(self, app: ASGIApp, token: str, port: int) -> None:
        self._app = app
        self._token = token
        self._cookie = f"karat-{port}"
        self._hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")}
        self._origins = {f"http://{host}" for host in self._hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        refusal = self._refusal(scope, headers)
        if refusal is not None:
            await _answer(send, *refusal)
        elif self._is_given(scope):
            await self._let_in(scope, send)
        elif self._has_cookie(headers.get("cookie", "")):
            await self._app(scope, receive, _with_headers(send))
        else:
            await _answer(send, 403, NO_TOKEN)

    def _refusal(self, scope: Scope, headers: dict[str, str]) -> tuple[int, str] | None:
        if scope["method"] not in ("GET", "HEAD"):
            return 405, "The viewer only reads.\n"
        if headers.get("host", "") not in self._hosts:
            return 421, "This is not the host that you think it is.\n"
        if headers.get("origin", "null" if "origin" in headers else "") not in {"", *self._origins}:
            return 403, "Pages of others may not ask.\n"
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            return 403, "Pages of others may not lead here.\n"
        if len(scope["raw_path"]) + len(scope["query_string"]) > LONGEST_ADDRESS:
            return 414, "The address is too long.\n"
        return None

    def _is_given(self, scope: Scope) -> bool:
        given = dict(parse_qsl(scope["query_string"].decode("latin-1"))).get("token", "")
        return secrets.compare_digest(given.encode(), self._token.encode())

    def _has_cookie(self, text: str) -> bool:
        try:
            found = SimpleCookie(text).get(self._cookie)
        except CookieError:
            return False
        return found is not None and secrets.compare_digest(found.value.encode(), self._token.encode())

    async def _let_in(self, scope: Scope, send: Send) -> None:
        """Keep the token in a cookie, and redirect to the address without it: it must not stay in the history."""
        rest = [(key, value) for key, value in parse_qsl(scope["query_string"].decode("latin-1")) if key != "token"]
        path = "/" + quote(scope["path"].lstrip("/\\"))
        place = f"{path}?{urlencode(rest)}" if rest else path
        cookie = f"{self._cookie}={self._token}; HttpOnly; SameSite=Strict; Path=/"
        await _answer(send, 303, "", {"location": place, "set-cookie": cookie})


def _with_headers(send: Send) -> Send:
    async def wrapped(message: Message) -> None:
        if message["type"] == "http.response.start":
            known = {name for name, _ in message["headers"]}
            extra = [(name.encode(), value.encode()) for name, value in HEADERS.items() if name.encode() not in known]
            message["headers"] = [*message["headers"], *extra]
        await send(message)

    return wrapped


async def _answer(send: Send, status: int, text: str, more: dict[str, str] | None = None) -> None:
    headers = {**HEADERS, "content-type": "text/plain; charset=utf-8", **(more or {})}
    pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": pairs})
    await send({"type": "http.response.body", "body": text.encode()})
