"""A small chat app that does on its page whatever a test asks of it, and nothing like the app in examples/."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

HUGE = 1_100_000
COOKIE = "user=ticket-0815"
HOSTILE = "</div><script>alert(1)</script>\u202e\x1b[31m{{7*7}} ‘OK’\ud800"

CHAT = """<!doctype html><meta charset="utf-8"><title>Plain</title>
<style>.hidden { display: none } .msg { white-space: pre-wrap }</style>
<div id="title">No talk yet</div>
<div id="out"></div>
<div id="spin" class="hidden">* * *</div>
<div id="oops"></div>
<textarea id="in"></textarea><button id="go">Go</button>
<script>
const query = new URLSearchParams(location.search);
const how = query.get("how") || "quiet";
const at = (id) => document.getElementById(id);
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
function bubble(who, text) {
  const made = document.createElement("div");
  made.className = "msg " + who;
  made.textContent = (query.has("named") ? { me: "You: ", bot: "Bot: " }[who] : "") + text;
  at("out").append(made);
  return made;
}
function work(on) {
  if (how === "busy") at("out").setAttribute("aria-busy", String(on));
  if (how === "spinner") at("spin").className = on ? "" : "hidden";
  if (how === "gone" && on) bubble("wait", "Thinking...").id = "wait";
  if (how === "gone" && !on) at("wait").remove();
}
async function talk(text) {
  if (!query.has("silent")) bubble("me", text);
  if (query.has("titled")) at("title").textContent = text.slice(0, 30) + "…";
  at("in").value = "";
  work(true);
  let told;
  try {
    const answer = await fetch("/say" + location.search, { method: "POST", body: text });
    told = await answer.json();
  } catch (failure) {
    at("oops").textContent = "The line is dead.";
    work(false);
    return;
  }
  if (told.dialog) alert(told.dialog);
  const said = bubble("bot", "");
  for (const piece of told.pieces) {
    said.textContent += piece;
    await sleep(told.gap);
  }
  if (told.oops) at("oops").textContent = told.oops;
  if (told.spin) {  // nobody can look at the page until this request ends
    const asking = new XMLHttpRequest();
    asking.open("POST", "/say", false);
    asking.send("hang");
  }
  work(false);
}
at("go").onclick = () => talk(at("in").value);
</script>"""

LOGIN = """<!doctype html><title>Door</title><form method="post" action="/login">
<input name="user"><input name="word" type="password"><button>Sign in</button></form>"""
LOBBY = '<!doctype html><title>Lobby</title><p>Welcome.</p><a href="/chat?how=gone">Open the chat</a>'
RELOADING = """<!doctype html><meta charset="utf-8"><title>Old school</title>{history}
<form method="post" action="/old{query}"><input name="text"><button>Send</button></form>"""


@dataclass
class Stub:
    """What the app heard, and what it shall log."""

    log: Path | None = None
    told_by: str = "conversation"
    late: float = 0.0
    first: str = ""
    """A line before those of a turn."""
    delays: list[float] = field(default_factory=list)
    """How long the lines of each turn's tool come after its first line."""
    heard: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    talks: dict[str, list[str]] = field(default_factory=dict)
    script: str = ""
    """What the chat page does besides."""
    let_go: threading.Event = field(default_factory=threading.Event)
    url: str = ""
    page: Callable[[str], str] = str

    def answer(self, prompt: str, conversation: str) -> dict[str, Any]:
        """What the page is told to show."""
        self.heard.append(prompt)
        self.talks.setdefault(conversation, []).append(prompt)
        word, _, rest = prompt.partition(" ")
        answer: dict[str, Any] = {"pieces": ["OK"], "gap": 0}
        if word == "say":
            answer["pieces"] = [rest]
        elif word == "stream":
            answer |= {"pieces": ["one ", "two ", "three"], "gap": 150}
        elif word == "drip":
            answer |= {"pieces": ["one ", "two ", "three"], "gap": 600}
        elif word == "recall":
            answer["pieces"] = [str(len(self.talks[conversation]))]
        elif word == "key":
            answer["pieces"] = [self.headers[-1].get("X-Key", "")]
        elif word == "huge":
            answer["pieces"] = ["x" * HUGE]
        elif word == "hostile":
            answer["pieces"] = [HOSTILE]
        elif word == "dialog":
            answer["dialog"] = "Are you there?"
        elif word == "break":
            answer |= {"pieces": ["half an "], "oops": "Something broke."}
        elif word == "spin":
            answer |= {"pieces": ["half an "], "spin": True}
        elif word == "hang":
            self.let_go.wait(60)
        return answer

    def write(self, conversation: str, word: str) -> None:
        """The telemetry of a turn: a tool, and the end."""
        if self.log is None:
            return
        lines = [
            {"source": "tool.look", "event": "start", self.told_by: conversation},
            {"source": "tool.look", "event": "result", "data": {"success": True}, self.told_by: conversation},
            {"source": "turn", "event": "end", self.told_by: conversation, "word": word},
        ]
        with self.log.open("a", buffering=1) as file:
            if self.first:
                file.write(f"{self.first}\n")
            if self.delays:
                file.write('{"source": "turn", "event": "begin"}\n')
                time.sleep(self.delays.pop(0))
            for line in lines:
                file.write(json.dumps(line) + "\n")


class _Handler(BaseHTTPRequestHandler):
    stub: Stub

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        self.stub.headers.append(dict(self.headers))
        if parts.path == "/chat":
            self._send(CHAT + f"<script>{self.stub.script}</script>")
        elif parts.path == "/guarded":
            allowed = self.headers["X-Key"] == "open sesame" or "pass=sesame" in (self.headers["Cookie"] or "")
            self._send(CHAT if allowed else "<p>Go away.</p>", 200 if allowed else 403)
        elif parts.path == "/login":
            self._send(LOGIN)
        elif parts.path == "/lobby":
            known = COOKIE in (self.headers["Cookie"] or "")
            self._send(LOBBY if known else "<p>Sign in first.</p>")
        elif parts.path == "/old":
            self._send(self._reloading())
        elif parts.path == "/echo":
            self._send(self.stub.page(parse_qs(parts.query)["page"][0]))
        else:
            self._send("<p>Nothing here.</p>", 404)

    def do_POST(self) -> None:
        parts = urlsplit(self.path)
        body = self.rfile.read(int(self.headers["Content-Length"] or 0)).decode()
        conversation = parse_qs(parts.query).get("conversation", [""])[0]
        if parts.path == "/login":
            form = parse_qs(body)
            right = form.get("user") == ["mira"] and form.get("word") == ["s3cret-pass"]
            self._redirect("/lobby" if right else "/login", COOKIE if right else "")
        elif parts.path == "/old":
            text = parse_qs(body)["text"][0]
            answer = self.stub.answer(text, conversation)
            self.stub.talks[conversation][-1:] = [text, "".join(answer["pieces"])]
            self._redirect(self.path, "")
        elif body.startswith("drop"):
            self.close_connection = True
        else:
            answer = self.stub.answer(body, conversation)
            self._send(json.dumps(answer), kind="application/json")
            if self.stub.late:
                time.sleep(self.stub.late)
            self.stub.write(conversation, body.split(" ")[0])

    def _reloading(self) -> str:
        query = urlsplit(self.path).query
        conversation = parse_qs(query).get("conversation", [""])[0]
        history = "".join(f"<div class=line>{text}</div>" for text in self.stub.talks.get(conversation, []))
        return RELOADING.format(history=history, query=f"?{query}" if query else "")

    def _send(self, text: str, status: int = 200, kind: str = "text/html") -> None:
        data = text.encode("utf-8", "surrogatepass")
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
        self.wfile.flush()

    def _redirect(self, where: str, cookie: str) -> None:
        self.send_response(303)
        self.send_header("Location", where)
        if cookie:
            self.send_header("Set-Cookie", cookie)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def handle(self) -> None:
        """Some tests close their page before it was answered."""
        with suppress(ConnectionError):
            super().handle()

    def log_message(self, format: str, *args: object) -> None:
        """Tests look at `heard`, not at what a server prints."""


@contextmanager
def serving(**options: Any) -> Iterator[Stub]:
    """The app on a free port, in a thread of its own."""
    stub = Stub(**options)
    handler = type("Handler", (_Handler,), {"stub": stub})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    stub.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield stub
    finally:
        stub.let_go.set()
        server.shutdown()
        server.server_close()
        thread.join(10)
