"""The way to a service: one client for all cases of a worker, requests that are sent once, answers that are bounded.

A request is sent again only where nothing was done with it: the connection was refused, or the server said so with 429
or 503 and when to come again. TLS is verified, no proxy is taken from the environment, and cookies stay with their
conversation.
"""

from __future__ import annotations

import asyncio
import errno
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import TYPE_CHECKING, Literal, cast
from urllib.parse import urlencode, urljoin, urlsplit
from uuid import uuid4

import msgspec

from carob.errors import ConfigError
from carob.providers.sse import ServerEvent
from carob.suites.diagnostics import Json
from carob.system.installing import install_extra
from carob.targets.base import DENIED, TargetError
from carob.targets.http.options import Format, ServiceOptions
from carob.targets.http.streams import MISFIT, Received, loads, parser
from carob.text.wording import error_text, shorten, visible

if TYPE_CHECKING:
    from httpx2 import URL, AsyncClient, Cookies, Response

MISFITS = (404, 405, 406, 415, 501)
"""Statuses of a server that is not what the configuration takes it for."""
CONNECT = 10.0
BACKOFF = 0.2
LONGEST_WAIT = 60.0
REDIRECTS = 3
LOCATION = "carob.location"
MULTIPART = "multipart/form-data"
STREAM_SHARE = 8
"""A whole stream may be so many times as long as one answer: its events are not kept."""
ERROR_BODY = 16_384
KNOWN_URLS = 64
"""Addresses that are taken apart once: most services have one for all cases."""
SAME_REQUEST = (307, 308)

UNREADABLE = 422
"""Who cannot read what a protocol sends speaks another."""

Body = Mapping[str, object] | list[object] | str | None


@dataclass(frozen=True, slots=True)
class WireRequest:
    """One request. `stream` of None: the answer is one JSON value or text."""

    url: str
    body: Body = None
    method: str = "POST"
    headers: dict[str, str] = field(default_factory=dict)
    stream: Format | None = None
    broken: tuple[int, ...] | None = None
    """The statuses that say that the turn broke; None: all from 400 on."""
    protocol: bool = False
    """Whether it is one of a protocol: where a stream was asked for, one JSON value is an answer too."""
    form: bool = False
    """Whether `body` is the fields of a form: multipart where the headers say so, else URL-encoded."""


class Service:
    """A client, opened once."""

    def __init__(self, options: ServiceOptions, headers: dict[str, str], secure: bool) -> None:
        self._options = options
        self._headers = headers
        self._secure = secure
        self._client: AsyncClient | None = None

    def open(self) -> None:
        try:
            import httpx2
        except ModuleNotFoundError as error:
            raise ConfigError("httpx2 is not installed.", fix=install_extra("http")) from error
        options = self._options
        try:
            self._client = httpx2.AsyncClient(
                headers=_encode(self._headers),
                verify=_trust(options.ca, self._secure),
                trust_env=False,
                proxy=options.proxy or None,
                follow_redirects=False,
                event_hooks={"response": [_keep_location]},
                cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
                timeout=httpx2.Timeout(options.idle_timeout, connect=CONNECT, pool=None),
                limits=httpx2.Limits(max_keepalive_connections=0),  # a server may close a kept one at any moment
            )
        except (OSError, ValueError, httpx2.InvalidURL) as error:
            raise ConfigError(f"no client can be made: {error_text(error)}.", fix="Check `ca` and `proxy`.") from error

    async def close(self) -> None:
        if self._client is not None:
            await self._client.aclose()

    def cookies(self) -> Cookies:
        """The cookies of a new conversation."""
        from httpx2 import Cookies

        return Cookies()

    async def value(self, request: WireRequest, cookies: Cookies, received: Received) -> Json:
        """The whole answer: JSON, or text where the server says that it is no more than that."""
        async with self._answer(request, cookies, received) as response:
            data = await _read_whole(response, self._options.max_bytes, received)
        return _read(data, _kind(response), request, received)

    async def raw(self, request: WireRequest, cookies: Cookies, received: Received) -> tuple[str, bytes]:
        """What an answer says that it is, and its bytes: for a look at a service without a description."""
        async with self._answer(request, cookies, received) as response:
            return _kind(response), await _read_whole(response, self._options.max_bytes, received)

    async def events(self, request: WireRequest, cookies: Cookies, received: Received) -> AsyncGenerator[ServerEvent]:
        """The events of the answer as they come."""
        assert request.stream is not None
        most = self._options.max_bytes
        async with self._answer(request, cookies, received) as response:
            if request.protocol and _kind(response) == "application/json":
                yield ServerEvent((await _read_whole(response, most, received)).decode("utf-8", "replace"), whole=True)
                return
            await _refuse_no_stream(response, request, received)
            events = parser(request.stream, most)
            async for chunk in _chunks(response, most * STREAM_SHARE, received):
                for event in _map_parse_errors(events.feed(chunk), received):
                    yield event
            for event in _map_parse_errors(events.end(), received):
                yield event

    @asynccontextmanager
    async def _answer(self, request: WireRequest, cookies: Cookies, received: Received) -> AsyncIterator[Response]:
        with _map_errors(request.url, received, self._options.idle_timeout):
            response = await self._send_and_follow(request, cookies)
            try:
                await _refuse_failure(response, request, received)
                yield response
            finally:
                await response.aclose()

    async def _send_and_follow(self, request: WireRequest, cookies: Cookies) -> Response:
        """The first answer of a server that took the request, wherever on the same host it is to be sent."""
        from httpx2 import ConnectError

        url, redirects, attempt = request.url, 0, 0
        while True:
            try:
                response = await self._send(request, url, cookies)
            except ConnectError as error:
                if attempt >= self._options.retries or not _is_refused(error):
                    raise
                wait = BACKOFF * 2.0**attempt
            else:
                to = response.extensions.get(LOCATION) if response.status_code in SAME_REQUEST else None
                there = _redirect_on_server(url, to) if to is not None and redirects < REDIRECTS else None
                if there is not None:
                    await response.aclose()
                    url, redirects = there, redirects + 1
                    continue
                retry_delay = retry_after(response)
                if attempt >= self._options.retries or retry_delay is None or retry_delay > LONGEST_WAIT:
                    return response
                await response.aclose()
                wait = retry_delay
            await asyncio.sleep(wait)
            attempt += 1

    async def _send(self, request: WireRequest, url: str, cookies: Cookies) -> Response:
        if self._client is None:
            raise RuntimeError("the target is not open")
        all_headers = {name.lower(): value for name, value in (self._headers | request.headers).items()}
        content, kind = (_form if request.form else _content)(request.body, all_headers.get("content-type", ""))
        headers = {name: value for name, value in request.headers.items() if name.lower() != "content-type"}
        http_request = self._client.build_request(
            request.method, _parse_url(url), content=content, headers=_encode(kind | headers)
        )
        if cookies.jar:
            cookies.set_cookie_header(http_request)
        response = await self._client.send(http_request, stream=True)
        if "set-cookie" in response.headers:
            cookies.extract_cookies(response)
        return response


async def _keep_location(response: Response) -> None:
    """Put aside where a redirect leads: the client parses it even if it does not follow it, and fails at odd ones."""
    response.extensions[LOCATION] = response.headers.pop("location", None)


@lru_cache(KNOWN_URLS)
def _parse_url(url: str) -> URL:
    from httpx2 import URL

    return URL(url)


def retry_after(response: Response) -> float | None:
    """The seconds after which a server that did nothing wants to be asked again; None if it did not say so."""
    header = response.headers.get("retry-after", "").strip() if response.status_code in (429, 503) else ""
    if header.isascii() and header.isdigit():
        return float(header[:9])
    try:
        when = parsedate_to_datetime(header)
    except ValueError:
        return None
    when = when if when.tzinfo else when.replace(tzinfo=UTC)
    return max(0.0, (when - datetime.now(UTC)).total_seconds())


def _encode(headers: dict[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.encode(), value.encode()) for name, value in headers.items()]


def _trust(ca: str, secure: bool) -> ssl.SSLContext | Literal[True]:
    if ca:
        return ssl.create_default_context(cafile=ca)
    # A plain address leads to no TLS: a context that trusts no one is made in no time.
    return True if secure else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _content(body: Body, kind: str) -> tuple[bytes | None, dict[str, str]]:
    """A body as bytes, and what it is; what the configuration says of that counts."""
    if body is None:
        return None, {"content-type": kind} if kind else {}
    if isinstance(body, str):
        return body.encode(), {"content-type": kind or "text/plain; charset=utf-8"}
    return msgspec.json.encode(body), {"content-type": kind or "application/json"}


def _form(body: Body, kind: str) -> tuple[bytes, dict[str, str]]:
    """The fields of a form as bytes, and what they are."""
    fields = list(_fields(body)) if isinstance(body, Mapping) else []
    if kind.partition(";")[0].strip().lower() != MULTIPART:
        return urlencode(fields).encode(), {"content-type": kind or "application/x-www-form-urlencoded"}
    boundary = f"carob-{uuid4().hex}"
    parts = (
        f'--{boundary}\r\nContent-Disposition: form-data; name="{_quote_name(name)}"\r\n\r\n{value}\r\n'
        for name, value in fields
    )
    return f"{''.join(parts)}--{boundary}--\r\n".encode(), {"content-type": f"{MULTIPART}; boundary={boundary}"}


def _fields(form: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """A list of plain values is a field that comes again; a list or table of anything else is sent as JSON."""
    for name, value in form.items():
        several = isinstance(value, list) and not any(isinstance(item, dict | list) for item in value)
        for item in cast("list[object]", value) if several else [value]:
            yield name, item if isinstance(item, str) else msgspec.json.encode(item).decode()


def _quote_name(name: str) -> str:
    """As browsers write the name of a field."""
    return name.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")


@contextmanager
def _map_errors(url: str, received: Received, idle: float) -> Iterator[None]:
    """What goes wrong on the way, as an error of the case."""
    import httpx2

    try:
        yield
    except httpx2.ConnectError as error:
        untrusted = any(isinstance(cause, ssl.SSLError) for cause in _causes(error))
        raise TargetError("config" if untrusted else "gone", _unreachable(url, error)) from error
    except httpx2.ConnectTimeout as error:
        raise TargetError("gone", f"{_host(url)} did not accept the connection within {CONNECT:g} s") from error
    except httpx2.TimeoutException as error:
        raise received.error("timeout", f"{_host(url)} sent nothing for {idle:g} s") from error
    except httpx2.DecodingError as error:
        raise received.error("bad-answer", f"the answer cannot be decompressed: {error_text(error)}") from error
    except (httpx2.LocalProtocolError, httpx2.UnsupportedProtocol, httpx2.InvalidURL) as error:
        raise TargetError("config", f"the request cannot be sent: {error_text(error)}") from error
    except httpx2.TransportError as error:
        how = error_text(error) or type(error).__name__
        raise received.error("gone", f"the connection broke before the answer was complete: {how}") from error


def _unreachable(url: str, error: Exception) -> str:
    causes = list(_causes(error))
    tls = next((cause for cause in causes if isinstance(cause, ssl.SSLError)), None)
    if isinstance(tls, ssl.SSLCertVerificationError):
        return f"the TLS certificate of {_host(url)} is not trusted: {error_text(tls)}. Name its authority with `ca`"
    if tls is not None:
        return f"{_host(url)} cannot be reached over TLS: {error_text(tls)}"
    if _is_refused(error):
        return f"{_host(url)} refuses the connection: is the service running?"
    os_error = next((cause for cause in causes if isinstance(cause, OSError)), error)
    return f"{_host(url)} cannot be reached: {error_text(os_error)}"


def _is_refused(error: BaseException) -> bool:
    return any(isinstance(cause, OSError) and cause.errno == errno.ECONNREFUSED for cause in _causes(error))


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        if isinstance(error, BaseExceptionGroup):
            for member in error.exceptions:
                yield from _causes(member)
        error = error.__cause__ or error.__context__


def _host(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.hostname}:{parts.port}" if parts.port else str(parts.hostname)


def _redirect_on_server(url: str, to: str) -> str | None:
    """Where a redirect leads; None if that is another server, or not an address at all."""
    from httpx2 import InvalidURL  # installed with the extra alone

    try:
        there = urljoin(url, to)
        _parse_url(there)
        return there if _origin(there) == _origin(url) else None
    except (ValueError, InvalidURL):
        return None


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or {"http": 80, "https": 443}.get(parts.scheme)


async def _refuse_failure(response: Response, request: WireRequest, received: Received) -> None:
    """Raise for a status that says that there is no answer."""
    status = response.status_code
    is_accepted = request.broken is not None and status not in (*request.broken, 401, 403, 429)
    if 200 <= status < 300 or (status >= 400 and is_accepted):
        return
    await _beginning(response, received)
    problem = (
        f"{request.method} {shorten(visible(request.url), 200)} answered {status} {visible(response.reason_phrase)}"
    )
    if status in (401, 403):
        raise received.error(DENIED, f"{problem}: access denied. Check `headers`")
    if 300 <= status < 400:
        to = visible(shorten(response.extensions.get(LOCATION) or "nowhere", 200))
        raise received.error("bad-answer", f"{problem} and redirects to {to}: if that is right, use it as the address")
    protocol_error = status in MISFITS or (request.protocol and status == UNREADABLE)
    error = received.error(
        "config" if protocol_error else "agent", f"{problem}: {MISFIT}" if protocol_error else problem
    )
    error.retry_after = retry_after(response)
    raise error


async def _beginning(response: Response, received: Received) -> None:
    """Read as much of an answer as a message shows."""
    async for chunk in response.aiter_bytes():
        received.add(chunk)
        if received.size >= ERROR_BODY:
            return


async def _read_whole(response: Response, most: int, received: Received) -> bytes:
    return b"".join([chunk async for chunk in _chunks(response, most, received)])


async def _chunks(response: Response, most: int, received: Received) -> AsyncIterator[bytes]:
    length = response.headers.get("content-length", "")
    if length.isdigit() and int(length[:18]) > most:
        raise received.error("bad-answer", f"the answer has {int(length[:18]):,} bytes, over the limit of {most:,}")
    async for chunk in response.aiter_bytes():
        received.add(chunk)
        if received.size > most:
            raise received.error("bad-answer", f"the answer has more than {most:,} bytes")
        yield chunk


def _kind(response: Response) -> str:
    return response.headers.get("content-type", "").partition(";")[0].strip().lower()


def _read(data: bytes, kind: str, request: WireRequest, received: Received) -> Json:
    if not data.strip():
        raise received.error("bad-answer", "the answer is empty")
    if kind == "text/event-stream":
        raise received.error("config", "the answer is a stream of events: set `stream` to say how to read it")
    if kind == "text/html" or data.lstrip()[:1] == b"<":
        raise _protocol_error(request, received, "the answer is HTML, not JSON")
    try:
        return data.decode("utf-8") if kind == "text/plain" else loads(data)
    except ValueError as error:
        problem = "not UTF-8" if isinstance(error, UnicodeError) else "not valid JSON"
        raise received.error("bad-answer", f"the answer is {problem}: {error_text(error)}") from error


def _map_parse_errors(events: Iterator[ServerEvent], received: Received) -> Iterator[ServerEvent]:
    try:
        yield from events
    except ValueError as error:
        raise received.error("bad-answer", f"the stream cannot be read: {error_text(error)}") from error


async def _refuse_no_stream(response: Response, request: WireRequest, received: Received) -> None:
    kind = _kind(response)
    if kind == "text/html" or (request.stream == "sse" and kind == "application/json"):
        await _beginning(response, received)
        raise _protocol_error(request, received, f"the answer is {kind}, not a stream of {request.stream}")


def _protocol_error(request: WireRequest, received: Received, problem: str) -> TargetError:
    """A page where a protocol is expected: there is none at this address. Of what is mapped, a fault of one case."""
    if request.protocol:
        return received.error("config", f"{problem}: {MISFIT}")
    return received.error("bad-answer", problem)
