"""No byte of a tape holds a secret, wherever in an exchange it is and however it is written there."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import pytest
from click.testing import CliRunner

from carob.cli.main import carob as command_line
from carob.proxy.forwarding import ServiceReply
from carob.proxy.server import CaseSession, ServiceProxy
from carob.proxy.tape.file import Answer, Exchange, StreamEvent, Tape, read_tape
from carob.proxy.tape.player import TapePlayer
from carob.proxy.tape.requests import IgnoreRules, ServiceRequest
from carob.proxy.tape.secrets import SecretKeeper
from laws.test_recorded_reads_back import Sent, server

SECRET = "t0ps3cret-é-value/+9"
PLAIN = SECRET.encode()
LATER = "sk-live-51H8xYz0123"
"""Known only from the headers of the agent."""


class Leak(NamedTuple):
    """An exchange with the secret in it."""

    path: str = "/v1/x"
    headers: Mapping[str, str] = {}
    asked: bytes = b"{}"
    status: int = 200
    answered: Mapping[str, str] = {}
    body: bytes = b"{}"
    events: tuple[bytes, ...] = ()
    secret: str = SECRET


def chat(*pieces: str) -> tuple[bytes, ...]:
    """A streamed reply with its text in these pieces."""
    chunks = [{"id": "1", "choices": [{"index": 0, "delta": {"content": piece}}]} for piece in pieces]
    return (*(f"data: {json.dumps(chunk)}\n\n".encode() for chunk in chunks), b"data: [DONE]\n\n")


def arguments(*pieces: str) -> tuple[bytes, ...]:
    calls = [{"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"arguments": p}}]}}]} for p in pieces]
    return tuple(f"data: {json.dumps(call)}\n\n".encode() for call in calls)


def interleaved(*pieces: str) -> tuple[bytes, ...]:
    """Two texts that come in turn."""
    events = [
        {"choices": [{"index": index, "delta": {"content": text}}]}
        for piece in pieces
        for index, text in ((0, piece), (1, "other"))
    ]
    return tuple(f"data: {json.dumps(event)}\n\n".encode() for event in events)


def header(name: str, value: str) -> Leak:
    return Leak(headers={name: value}, asked=json.dumps({"q": LATER}).encode(), body=LATER.encode(), secret=LATER)


FORM = {"content-type": "application/x-www-form-urlencoded"}
HALVES = (SECRET[:6], SECRET[6:])
LEAKS: dict[str, Leak] = {
    "request text": Leak(asked=PLAIN),
    "request json": Leak(asked=json.dumps({"a": {"b": [SECRET]}}).encode()),
    "request key": Leak(asked=json.dumps({SECRET: 1}).encode()),
    "request path": Leak(path=f"/v1/{quote(SECRET, safe='')}"),
    "query": Leak(path=f"/v1/x?q={quote(SECRET)}"),
    "client_secret": Leak(path=f"/v1/x?client_secret={LATER}", secret=LATER),
    "password": Leak(path=f"/v1/x?password={LATER}&user=a", secret=LATER),
    "sig": Leak(path=f"/v1/x?sig={LATER}&se=2026", secret=LATER),
    "amz": Leak(path=f"/v1/x?X-Amz-Signature={LATER}", secret=LATER),
    "form": Leak(headers=FORM, asked=f"client_secret={LATER}&a=1".encode(), secret=LATER),
    "request base64": Leak(asked=json.dumps({"data": base64.b64encode(b"user:" + PLAIN).decode()}).encode()),
    "packed request": Leak(headers={"content-encoding": "gzip"}, asked=zlib.compress(PLAIN, wbits=31)),
    "bearer": header("Authorization", f"Bearer {LATER}"),
    "x-api-key": header("X-Api-Key", LATER),
    "x-goog-api-key": header("x-goog-api-key", LATER),
    "basic": header("Authorization", "Basic " + base64.b64encode(f"user:{LATER}".encode()).decode()),
    "signed": header("Authorization", f"AWS4-HMAC-SHA256 Credential=A/1, Signature={LATER}, SignedHeaders=host"),
    "credential": header("Authorization", f"AWS4-HMAC-SHA256 Credential={LATER}/1/eu/s3, Signature=1"),
    "digest": header("Authorization", f'Digest username="a", response="{LATER}", uri="/v1/x"'),
    "oauth": header("Authorization", f'OAuth oauth_token="{LATER}", oauth_version="1.0"'),
    "signature": header("X-Signature", LATER),
    "jwt assertion": header("X-Goog-IAP-JWT-Assertion", LATER),
    "proxy": header("Proxy-Authorization", f"Bearer {LATER}"),
    "code": Leak(path=f"/v1/x?grant_type=authorization_code&code={LATER}", secret=LATER),
    "code in a form": Leak(headers=FORM, asked=f"grant_type=authorization_code&code={LATER}".encode(), secret=LATER),
    "json client_secret": Leak(asked=json.dumps({"client_secret": LATER}).encode(), secret=LATER),
    "json password": Leak(asked=json.dumps({"user": "a", "password": LATER}).encode(), secret=LATER),
    "granted": Leak(body=json.dumps({"access_token": LATER, "token_type": "bearer"}).encode(), secret=LATER),
    "granted within": Leak(body=json.dumps({"data": {"refresh_token": LATER}}).encode(), secret=LATER),
    "cookie": header("Cookie", f"theme=dark; session={LATER}"),
    "location": Leak(status=302, answered={"Location": f"/next?x={quote(SECRET)}"}),
    "mcp-session-id": Leak(answered={"Mcp-Session-Id": f"s-{LATER}"}, headers={"x-api-key": LATER}, secret=LATER),
    "retry-after": Leak(answered={"Retry-After": LATER}, headers={"x-api-key": LATER}, secret=LATER),
    "set-cookie": Leak(answered={"Set-Cookie": f"a={LATER}"}, secret=LATER),
    "answer json": Leak(body=json.dumps({"a": SECRET}, indent=2).encode()),
    "answer ascii": Leak(body=json.dumps({"a": SECRET}).replace("/", "\\/").encode()),
    "answer bytes": Leak(body=b"\xff\xfe" + PLAIN + b"\x00"),
    "answer utf-16": Leak(body="é".encode("utf-16") + SECRET.encode("utf-16-le")),
    "unasked gzip": Leak(body=zlib.compress(PLAIN, wbits=31), answered={"Content-Encoding": "gzip"}),
    "event": Leak(events=chat(SECRET)),
    "split chat": Leak(events=chat("It is ", *HALVES, ".")),
    "split in letters": Leak(events=chat(*SECRET)),
    "split arguments": Leak(events=arguments('{"key": "', *HALVES, '"}')),
    "split text": Leak(events=tuple(f"data: {half}\n\n".encode() for half in HALVES)),
    "split of another API": Leak(events=tuple(f'data: {{"token": {json.dumps(p)}}}\n\n'.encode() for p in HALVES)),
    "interleaved": Leak(events=interleaved(*HALVES)),
    "not UTF-8 event": Leak(events=(b"data: \xff" + PLAIN + b"\n\n",)),
}  # fmt: skip


def record(path: Path, leaks: list[Leak], secrets: tuple[str, ...] = (SECRET,)) -> None:
    """Record the exchanges with a client and a server over sockets."""
    replies = []
    for leak in leaks:
        kind = "text/event-stream" if leak.events else "application/json"
        sent = Sent(
            "POST", status=leak.status, kind=kind, headers=tuple(leak.answered.items()), is_chunked=bool(leak.events)
        )
        replies.append(sent._replace(pieces=leak.events or (leak.body,)).reply())
    player = TapePlayer(Tape(path=path), "record", IgnoreRules(), SecretKeeper(secrets), keep_failures=True)
    with server(replies) as upstream:
        session = CaseSession(player.begin("case", 0))
        player.open()
        proxy = ServiceProxy(player, {"openai": upstream}, frozenset(), lambda name: session)
        proxy.open()
        try:
            for leak in leaks:
                send(proxy.url("openai") + leak.path, leak)
        finally:
            assert session.on_tape is not None
            assert player.end(session.on_tape) == ""
            proxy.close()
            player.close()


def send(url: str, leak: Leak) -> None:
    import http.client
    from urllib.parse import urlsplit

    split = urlsplit(url)
    connection = http.client.HTTPConnection(split.netloc, timeout=20)
    connection.request(
        "POST", url.partition(split.netloc)[2], leak.asked, {"content-type": "application/json", **leak.headers}
    )
    connection.getresponse().read()
    connection.close()


def written_forms(secret: str) -> list[bytes]:
    plain = secret.encode()
    return [
        plain,
        quote(secret).encode(),
        quote(secret, safe="").encode(),
        json.dumps(secret)[1:-1].encode(),
        secret.encode("utf-16-le"),
        base64.b64encode(plain)[:-4],
        plain[:6] + plain[6:],
        secret[6:].encode(),
    ]


@pytest.mark.parametrize("name", LEAKS)
def test_no_byte_of_a_tape_holds_a_secret(name: str, tmp_path: Path) -> None:
    path, leak = tmp_path / "s.tape.yaml", LEAKS[name]
    record(path, [leak])
    data = path.read_bytes()
    (exchange,) = read_tape(path).exchanges
    raw = [data, exchange.answer.body, b"".join(event.raw for event in exchange.answer.events)]
    texts = [event.data for event in exchange.answer.events]
    raw.append("".join(texts).encode())
    for form in written_forms(leak.secret):
        assert not [piece for piece in raw if form in piece], form
    joined = "".join(str(_text_of(event.raw)) for event in exchange.answer.events)
    assert leak.secret not in joined


def _text_of(event: bytes) -> str:
    data = event.decode("utf-8", "replace").removeprefix("data: ").strip()
    try:
        value = json.loads(data)
    except ValueError:
        return data
    if "token" in value:
        return str(value["token"])
    delta = value["choices"][0]["delta"]
    return str(delta.get("content", "")) + "".join(
        call["function"]["arguments"] for call in delta.get("tool_calls", ())
    )


def test_a_key_that_is_learnt_late_leaves_what_was_recorded_before(tmp_path: Path) -> None:
    """As with a token that the agent fetches first and then sends."""
    path = tmp_path / "s.tape.yaml"
    fetched = Leak(path="/token", body=json.dumps({"access_token": LATER}).encode())
    record(path, [fetched, Leak(headers={"authorization": f"Bearer {LATER}"})])
    assert LATER.encode() not in path.read_bytes()
    assert len(read_tape(path).exchanges) == 2


def test_what_an_older_tape_holds_is_cleaned_too(tmp_path: Path) -> None:
    path = tmp_path / "s.tape.yaml"
    request = ServiceRequest.of("openai", "POST", "/v1/x", "", SECRET.encode())
    Tape(path=path, runs={("old", 0): [Exchange(case="old", request=request, answer=Answer(200, text="ok"))]}).write()
    player = TapePlayer(read_tape(path), "extend", IgnoreRules(), SecretKeeper([SECRET]))
    player.open()
    player.close()
    assert SECRET.encode() not in path.read_bytes()
    assert {case for case, _ in read_tape(path).runs} == {"old"}


@pytest.mark.parametrize("word", ["ollama", "EMPTY", "not-needed", "lm-studio"])
def test_a_word_in_the_place_of_a_key_is_no_secret(word: str, tmp_path: Path) -> None:
    path = tmp_path / "s.tape.yaml"
    record(
        path, [Leak(headers={"authorization": f"Bearer {word}"}, asked=json.dumps({"q": f"What is {word}?"}).encode())]
    )
    assert word in path.read_text()


def test_streams_without_secrets_stay_byte_for_byte() -> None:
    events = tuple(
        StreamEvent.of_bytes(0, event) for event in (*chat("Hello", " world"), b"data: \xff\n\n", b": ping\r\n\r\n")
    )
    exchange = Exchange(
        case="a", request=ServiceRequest.of("o", "POST", "/", "", b""), answer=ServiceReply(200, events=events).answer
    )
    assert SecretKeeper([SECRET]).clean(exchange) == exchange


@pytest.mark.parametrize(
    ("text", "environ", "found"),
    [
        (f"my key is {LATER}", {}, "it holds what looks like a key"),
        ("-----BEGIN PRIVATE KEY-----\\nMIIE", {}, "it holds what looks like a key"),
        ("it is tops3cret-value", {"SHOP_API_KEY": "tops3cret-value"}, "it holds a secret of the environment"),
        (base64.b64encode(b"tops3cret-value").decode(), {"SHOP_API_KEY": "tops3cret-value"}, "of the environment"),
        ("password=[removed] Bearer [removed]", {}, ""),
        ("a task-force of 12 people", {}, ""),
    ],
)
@pytest.mark.parametrize("part", ["request", "answer"])
def test_a_scan_finds_secrets_and_prints_none(
    text: str, environ: Mapping[str, str], found: str, part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "s.tape.yaml"
    asked, said = (text, "ok") if part == "request" else ("hello", text)
    request = ServiceRequest.of("openai", "POST", "/v1/x", "", asked.encode())
    Tape(path=path, runs={("a", 0): [Exchange(case="a", request=request, answer=Answer(200, text=said))]}).write()
    result = CliRunner().invoke(command_line, ["tape", "scan", "s.tape.yaml"], standalone_mode=False)
    assert (result.return_value, f"a: exchange 1, {part}: " in result.output) == (int(bool(found)), bool(found))
    assert found in result.output
    assert not [secret for secret in (LATER, "tops3cret", "MIIE") if secret in result.output]
