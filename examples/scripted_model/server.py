"""The server: real sockets on this machine, answers from a script."""

import hashlib
import json
import math
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from scripted_model.dialects import DIALECTS, ChatCompletions, Dialect, Json
from scripted_model.script import Rule, Script

MAX_BODY = 32 * 1024 * 1024
KEPT_REQUESTS = 10_000


class ScriptedModel:
    """A running server. `requests` holds what was asked: (path, body), the latest 10,000."""

    def __init__(self, script: Script, url: str) -> None:
        self.script = script
        self.url = url
        self.requests: deque[tuple[str, Json]] = deque(maxlen=KEPT_REQUESTS)
        self.unmatched: list[str] = []
        """Why requests found no rule."""
        self.numbers = count(1)


@contextmanager
def serve(script: Path | str | Mapping[str, Any], *, port: int = 0) -> Iterator[ScriptedModel]:
    """Serves a script (a file, or its content) on this machine while the block runs.

    SDKs of OpenAI take `url + "/v1"` as their base, those of Anthropic and Google `url`.
    """
    loaded = Script.load(script)
    server = _Server(("127.0.0.1", port), _Handler)
    server.model = ScriptedModel(loaded, f"http://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server.model
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    # Many agents ask at once; what does not fit in the queue would be refused.
    request_queue_size = 128
    # A client that keeps its connection open must not keep the block from ending.
    block_on_close = False
    model: ScriptedModel


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "scripted-model"
    sys_version = ""
    server: _Server

    def log_message(self, format: str, *args: Any) -> None:
        """Stays silent: `requests` and `unmatched` hold what happened."""

    def do_GET(self) -> None:
        if urlsplit(self.path).path.endswith("/models"):
            model = {"id": "scripted", "object": "model", "created": 0, "owned_by": "a script"}
            self._send(200, {"object": "list", "data": [model]})
        else:
            self._send(404, ChatCompletions().error(404, f"scripted model: {self.path} is not an address of it"))

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        if not 0 < length <= MAX_BODY:
            self.close_connection = True
            self._send(413, ChatCompletions().error(413, "scripted model: no body, or a body over 32 MiB"))
            return
        raw = self.rfile.read(length)
        path = urlsplit(self.path).path
        for pattern, dialect in DIALECTS:
            if found := pattern.search(path):
                self._answer(dialect, raw, path, found.groupdict())
                return
        if path.endswith("/embeddings"):
            self._embed(raw)
        else:
            self._send(404, ChatCompletions().error(404, f"scripted model: {path} is not an address of it"))

    def _answer(self, dialect: Dialect, raw: bytes, path: str, address: dict[str, str | None]) -> None:
        model = self.server.model
        try:
            body = json.loads(raw)
            said = dialect.read(body)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            self._send(400, dialect.error(400, f"scripted model: not a request of this kind: {error!r}"))
            return
        model.requests.append((path, body))
        said.model = said.model or address.get("model") or ""
        said.stream = said.stream or bool(address.get("stream"))
        chosen = model.script.choose(said)
        if chosen is None:
            why = model.script.explain(said)
            model.unmatched.append(why)
            self._send(400, dialect.error(400, why))
            return
        rule, groups = chosen
        time.sleep(rule.delay)
        if rule.status != 200:
            self._send(
                rule.status, dialect.error(rule.status, str(rule.say or f"scripted model: status {rule.status}"))
            )
            return
        try:
            answer = rule.answer(said, groups, next(model.numbers))
        except ValueError as error:
            self._send(400, dialect.error(400, f"scripted model: {error}"))
            return
        if said.stream:
            self._stream(dialect.stream(answer, said), rule)
        else:
            self._send(200, dialect.write(answer), cut=rule.cut is not None)

    def _embed(self, raw: bytes) -> None:
        try:
            body = json.loads(raw)
            given, size = body["input"], int(body.get("dimensions") or 1536)
        except (ValueError, KeyError, TypeError) as error:
            self._send(400, ChatCompletions().error(400, f"scripted model: not a request of this kind: {error!r}"))
            return
        texts = given if isinstance(given, list) and given and not isinstance(given[0], int) else [given]
        data = [{"object": "embedding", "index": at, "embedding": embed(text, size)} for at, text in enumerate(texts)]
        self._send(
            200,
            {
                "object": "list",
                "model": body.get("model"),
                "data": data,
                "usage": {"prompt_tokens": 0, "total_tokens": 0},
            },
        )

    def _stream(self, events: Iterator[tuple[str, Json | str]], rule: Rule) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for at, (name, data) in enumerate(events):
            if at == rule.cut:
                self.close_connection = True
                return
            text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
            event = (f"event: {name}\n" if name else "") + f"data: {text}\n\n"
            self._chunk(event.encode())
        self._chunk(b"")

    def _chunk(self, content: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(content), content))
        self.wfile.flush()

    def _send(self, status: int, body: Json, *, cut: bool = False) -> None:
        content = json.dumps(body, ensure_ascii=False).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[: len(content) // 2] if cut else content)
        self.close_connection = self.close_connection or cut


def embed(text: object, size: int) -> list[float]:
    """A vector in which texts with words in common are near each other: one direction for each word."""
    vector = [0.0] * size
    for word in str(text).lower().split():
        vector[int.from_bytes(hashlib.sha256(word.encode()).digest()[:4]) % size] += 1.0
    norm = math.sqrt(sum(value * value for value in vector)) or 1.0
    return [value / norm for value in vector]
