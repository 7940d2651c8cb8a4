"""Before the pages: the guard of all our servers, requests that only read, and the rules that go with every answer."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from karat.system.loopback_auth import LoopbackGuard, RefusedRequest

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

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
WHAT_TO_OPEN: Final = "Open the address that `karat view` printed."


class Guard:
    """Checks every request before it reaches a page, which sees its address without the token."""

    def __init__(self, app: ASGIApp, token: str, port: int) -> None:
        self._app = app
        self._guard = LoopbackGuard(port, token)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        try:
            inner = self._enter(scope)
        except RefusedRequest as refused:
            await _answer(send, refused.status, f"{refused.why.capitalize()}. {WHAT_TO_OPEN}\n")
        else:
            await self._app(inner, receive, _with_headers(send))

    def _enter(self, scope: Scope) -> Scope:
        if scope["method"] not in ("GET", "HEAD"):
            raise RefusedRequest(HTTPStatus.METHOD_NOT_ALLOWED, "the viewer is read-only")
        headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]]
        path, query = scope["raw_path"].decode("latin-1"), scope["query_string"].decode("latin-1")
        token = len(path) - len(self._guard.enter(f"{path}?{query}", headers).removesuffix(f"?{query}"))
        return {**scope, "path": scope["path"][token:], "raw_path": scope["raw_path"][token:]}


def _with_headers(send: Send) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            sent_names = {name for name, _ in message["headers"]}
            extra = [
                (name.encode(), value.encode()) for name, value in HEADERS.items() if name.encode() not in sent_names
            ]
            message["headers"] = [*message["headers"], *extra]
        await send(message)

    return send_with_headers


async def _answer(send: Send, status: HTTPStatus, text: str) -> None:
    headers = {**HEADERS, "content-type": "text/plain; charset=utf-8"}
    pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": pairs})
    await send({"type": "http.response.body", "body": text.encode()})
