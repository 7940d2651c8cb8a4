"""Law 9: what was recorded reads back, and a tape is never made smaller by a run that failed.

A server answers with arbitrary bytes, statuses, headers and chunks; a client asks it through the proxy that records,
and then, without the server, through the one that replays. What the client gets must be the same, byte by byte.
"""

from __future__ import annotations

import http.client
import json
import socket
import threading
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from carob.options import TapeMode
from carob.proxy import forwarding
from carob.proxy.server import CaseSession, ServiceProxy
from carob.proxy.tape.file import Answer, StreamEvent, Tape, read_tape
from carob.proxy.tape.player import TapePlayer
from carob.proxy.tape.requests import IgnoreRules
from carob.proxy.tape.secrets import SecretKeeper
from laws.coverage import Coverage, require

EXAMPLES = 60
EXCHANGES = 4
WORDS = (
    "",
    "plain",
    "🚀 go",
    "\ud83d\ude80".encode("utf-16", "surrogatepass").decode("utf-16"),
    "café\n",
    "a: b # c",
    "\u2028",
    "- x\n\n",
)
HEADERS = {
    "link": '<https://example.test/2>; rel="next"',
    "etag": '"v1"',
    "retry-after": "1",
    "mcp-session-id": "s-1",
    "content-language": "de",
    "x-total-count": "12",
    "content-disposition": "attachment; filename=a.txt",
}


class Sent(NamedTuple):
    """One exchange: what is asked, and what the server writes."""

    method: str = "GET"
    asked: bytes = b""
    asked_gzip: bool = False
    status: int = 200
    kind: str = "application/json"
    headers: tuple[tuple[str, str], ...] = ()
    pieces: tuple[bytes, ...] = (b"{}",)
    is_chunked: bool = False
    gzip: bool = False
    cut: bool = False

    @property
    def has_body(self) -> bool:
        return self.method != "HEAD" and self.status not in (204, 304)

    def reply(self) -> bytes:
        """The bytes on the wire."""
        packer = zlib.compressobj(wbits=31)
        pieces = [packer.compress(piece) for piece in self.pieces] + [packer.flush()] if self.gzip else [*self.pieces]
        head = [("Content-Type", self.kind), *self.headers, *([("Content-Encoding", "gzip")] if self.gzip else [])]
        body = b"".join(pieces)
        if not self.has_body:
            head += [("Content-Length", str(len(body)))] if self.status not in (204, 304) else []
            body = b""
        elif self.is_chunked:
            head.append(("Transfer-Encoding", "chunked"))
            body = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces if piece)
            body += b"" if self.cut else b"0\r\n\r\n"
        else:
            head.append(("Content-Length", str(len(body))))
        lines = "".join(f"{name}: {value}\r\n" for name, value in head)
        return f"HTTP/1.1 {self.status} Whatever\r\n{lines}Connection: close\r\n\r\n".encode() + body


class Got(NamedTuple):
    """What a client sees of a reply."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    is_cut: bool


@contextmanager
def server(replies: Sequence[bytes]) -> Iterator[str]:
    """Answers each connection with the next of these bytes."""
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        for reply in replies:
            try:
                client, _ = listening.accept()
            except OSError:
                return
            with client:
                head = b""
                while b"\r\n\r\n" not in head:
                    head += client.recv(65_536)
                size = [int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
                rest = len(head.partition(b"\r\n\r\n")[2])
                while size and rest < size[0]:
                    rest += len(client.recv(65_536))
                client.sendall(reply)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        with suppress(OSError):
            listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        thread.join()


def ask(url: str, exchange: Sent) -> Got:
    split = urlsplit(url)
    connection = http.client.HTTPConnection(split.netloc, timeout=20)
    body = zlib.compress(exchange.asked, wbits=31) if exchange.asked_gzip else exchange.asked
    headers = {"content-type": "application/json"} | ({"content-encoding": "gzip"} if exchange.asked_gzip else {})
    try:
        connection.request(exchange.method, split.path, body or None, headers)
        reply = connection.getresponse()
        relevant = ("content-type", *HEADERS, *(["content-length"] if exchange.method == "HEAD" else []))
        kept = tuple((name, value) for name in relevant if (value := reply.getheader(name)) is not None)
        try:
            return Got(reply.status, kept, reply.read(), is_cut=False)
        except http.client.IncompleteRead as cut:
            return Got(reply.status, kept, cut.partial, is_cut=True)
    finally:
        connection.close()


def through(player: TapePlayer, upstream: str, exchanges: Sequence[Sent]) -> tuple[list[Got], CaseSession]:
    session = CaseSession(player.begin("case", 0))
    player.open()
    proxy = ServiceProxy(player, {"shop": upstream}, frozenset(), lambda name: session)
    proxy.open()
    try:
        got = [ask(f"{proxy.url('shop')}/{number}", exchange) for number, exchange in enumerate(exchanges)]
        assert session.on_tape is not None
        player.end(session.on_tape)
    finally:
        proxy.close()
        player.close()
    return got, session


def player_for(path: Path, mode: TapeMode, *, keep_failures: bool = True) -> TapePlayer:
    tape = read_tape(path) if path.exists() else Tape(path=path)
    return TapePlayer(tape, mode, IgnoreRules(), SecretKeeper([]), keep_failures=keep_failures)


def expected(exchange: Sent) -> bytes:
    return b"".join(exchange.pieces) if exchange.has_body else b""


texts = st.one_of(st.sampled_from(WORDS), st.text(max_size=12))
json_bodies = st.builds(
    lambda value, ascii, indent: json.dumps(value, ensure_ascii=ascii, indent=indent).encode("utf-8", "surrogatepass"),
    st.dictionaries(st.text(max_size=4), texts | st.integers() | st.none() | st.floats(allow_nan=False), max_size=3),
    st.booleans(),
    st.sampled_from([None, 2]),
)
bodies = st.one_of(json_bodies, st.binary(max_size=40), texts.map(lambda text: text.encode("utf-8", "replace")))
events = st.builds(
    lambda text, end: b"data: " + text.replace(b"\n", b" ").replace(b"\r", b" ") + end,
    bodies,
    st.sampled_from([b"\n\n", b"\r\n\r\n"]),
)


def sent_of(**fields: st.SearchStrategy[object]) -> st.SearchStrategy[Sent]:
    return st.fixed_dictionaries(fields).map(lambda values: Sent(**values))  # type: ignore[arg-type]  # by name


plain = sent_of(
    method=st.sampled_from(["GET", "POST", "HEAD", "PUT", "DELETE"]),
    asked=bodies,
    asked_gzip=st.booleans(),
    status=st.sampled_from([200, 201, 204, 301, 304, 400, 401, 404, 409, 418, 422, 429, 500, 503, 599]),
    kind=st.sampled_from(["application/json", "text/plain; charset=utf-8", "application/octet-stream", "image/png"]),
    headers=st.lists(st.sampled_from(sorted(HEADERS.items())), unique=True, max_size=3).map(tuple),
    pieces=st.lists(bodies, max_size=3).map(tuple),
    is_chunked=st.booleans(),
    gzip=st.booleans(),
)
streams = sent_of(
    method=st.just("POST"),
    asked=bodies,
    kind=st.sampled_from(["text/event-stream", "text/event-stream; charset=utf-8"]),
    pieces=st.lists(events, min_size=1, max_size=5).map(tuple),
    is_chunked=st.just(True),
    gzip=st.booleans(),
)
cut_streams = streams.map(lambda stream: stream._replace(cut=True, gzip=False))
exchanges = st.lists(st.one_of(plain, streams, cut_streams), min_size=1, max_size=EXCHANGES)

EMOJI = Sent(method="POST", kind="text/event-stream", pieces=('data: {"say": "Go 🚀"}\n\n'.encode(),), is_chunked=True)
NOT_FOUND = Sent(status=404, headers=(("etag", '"v1"'),), pieces=(b'{"error": "no such order"}',))


def find_differences(sent: Sequence[Sent], path: Path) -> list[str]:
    """What a client got that the server did not send, and what a replay gave otherwise than the recording."""
    with server([exchange.reply() for exchange in sent]) as upstream:
        live, _ = through(player_for(path, "record"), upstream, sent)
    replayed, session = through(player_for(path, "replay"), "http://127.0.0.1:9", sent)
    assert session.on_tape is not None
    wanted = [(exchange.status, expected(exchange), exchange.cut) for exchange in sent]
    return [
        *(f"sent {at}, came as {got}" for at, got in zip(wanted, live, strict=True) if (got[0], *got[2:]) != at),
        *(f"recorded {one}, replayed {other}" for one, other in zip(live, replayed, strict=True) if one != other),
        *(f"not on the tape: {miss}" for miss in session.on_tape.misses),
    ]


def test_a_replay_gives_what_the_recording_gave(
    tmp_path_factory: pytest.TempPathFactory, record_property: Callable[[str, object], None]
) -> None:
    coverage = Coverage(9, "a replay gives an agent what the recording gave it, byte by byte")

    @settings(max_examples=EXAMPLES, deadline=None)
    @given(sent=exchanges)
    @example(sent=[EMOJI])
    @example(sent=[NOT_FOUND])
    @example(sent=[Sent(method="HEAD", pieces=(b"12345",))])
    @example(sent=[EMOJI._replace(cut=True)])
    @example(sent=[EMOJI._replace(pieces=(b"data: \xff\xfe\n\n",))])
    @example(sent=[Sent(pieces=()), Sent(status=204, pieces=())])
    def replay_gives_the_same(sent: list[Sent]) -> None:
        differences = find_differences(sent, tmp_path_factory.mktemp("tape") / "s.tape.yaml")
        assert differences == []
        coverage.tried += len(sent)

    replay_gives_the_same()
    require(coverage, record_property)


NO_EMOJI = classmethod(lambda cls, after_ms, raw: StreamEvent(after_ms, raw.decode("ascii", "ignore")))
PLANTED = {
    "an event is kept without its emoji": (StreamEvent, "of_bytes", NO_EMOJI, EMOJI),
    "headers are not kept": (forwarding, "is_kept", lambda header: False, NOT_FOUND),
    "a body is given back in other words": (Answer, "body", property(lambda answer: b"{}"), NOT_FOUND),
}


@pytest.mark.parametrize(("where", "name", "change", "sent"), PLANTED.values(), ids=PLANTED)
def test_a_difference_is_noticed(
    where: object, name: str, change: object, sent: Sent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert find_differences([sent], tmp_path / "sound.tape.yaml") == []
    monkeypatch.setattr(where, name, change)
    assert find_differences([sent], tmp_path / "s.tape.yaml")


@settings(max_examples=EXAMPLES // 4, deadline=None)
@given(asked=json_bodies)
def test_a_packed_request_is_the_same_as_a_plain_one(asked: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("tape") / "s.tape.yaml"
    sent = Sent("POST", asked, asked_gzip=True)
    with server([sent.reply()]) as upstream:
        through(player_for(path, "record"), upstream, [sent])
    (got,), _ = through(player_for(path, "replay"), "http://127.0.0.1:9", [sent._replace(asked_gzip=False)])
    assert got.status == 200


FAILURES = [Sent(status=429), Sent(status=503), EMOJI._replace(cut=True)]


@pytest.mark.parametrize("failure", FAILURES, ids=["429", "503", "cut"])
def test_a_run_that_failed_leaves_the_tape_as_it_was(failure: Sent, tmp_path: Path) -> None:
    """Without `keep_failures`: an attempt that may succeed later is no answer."""
    path, good = tmp_path / "s.tape.yaml", [Sent(), Sent("POST", b"{}")]
    with server([exchange.reply() for exchange in good]) as upstream:
        through(player_for(path, "record"), upstream, good)
    before = path.read_bytes()
    with server([Sent().reply(), failure.reply()]) as upstream:
        player = player_for(path, "record", keep_failures=False)
        through(player, upstream, [Sent(), failure])
    assert path.read_bytes() == before


def test_a_failure_that_was_tried_again_is_replaced_by_the_answer(tmp_path: Path) -> None:
    path, ask_once = tmp_path / "s.tape.yaml", Sent("POST", b'{"q": 1}')
    session_replies = [ask_once._replace(status=503).reply(), ask_once._replace(pieces=(b'{"a": 1}',)).reply()]
    with server(session_replies) as upstream:
        player = player_for(path, "record", keep_failures=False)
        session = CaseSession(player.begin("case", 0))
        player.open()
        proxy = ServiceProxy(player, {"shop": upstream}, frozenset(), lambda name: session)
        proxy.open()
        statuses = [ask(proxy.url("shop") + "/x", ask_once).status for _ in session_replies]
        assert session.on_tape is not None
        assert player.end(session.on_tape) == ""
        proxy.close()
        player.close()
    assert statuses == [503, 200]
    assert [exchange.answer.status for exchange in read_tape(path).exchanges] == [200]
