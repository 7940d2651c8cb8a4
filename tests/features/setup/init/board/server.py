"""A board with an assistant, as a project of its own: a page, a telemetry log, and a bug (nothing is ever removed)."""

import json
import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

LOG = Path(os.environ.get("TELEMETRY_LOG_PATH", "logs/telemetry.jsonl"))
PAGE = """<!doctype html><meta charset="utf-8"><title>Board</title>
<style>body { display: grid; grid-template-columns: 2fr 1fr } #talk { overflow-y: auto; height: 20rem }</style>
<main id="board"><h1>Board</h1></main>
<div><div id="talk"></div><form id="form"><input id="box" placeholder="Ask the assistant"></form></div>
<script>
const put = (place, tag, name, text) => {
  const made = Object.assign(document.createElement(tag), { className: name, textContent: text });
  place.append(made);
  return made;
};
form.onsubmit = async (event) => {
  event.preventDefault();
  const prompt = box.value;
  form.reset();
  put(talk, "div", "said-user", prompt);
  const wait = put(talk, "div", "typing", "Thinking...");
  const told = await (await fetch("/api/chat", { method: "POST", body: prompt })).json();
  await new Promise((done) => setTimeout(done, 300));
  wait.remove();
  put(talk, "div", "said-assistant", told.answer);
  board.replaceChildren(Object.assign(document.createElement("h1"), { textContent: "Board" }));
  for (const card of told.cards) {
    const made = put(board, "section", "card", "");
    made.ariaLabel = card;
    put(made, "h2", "", card);
    put(made, "p", "", "A card with a long text about everything that it shows, today and in all of the last days.");
  }
};
</script>"""


def log(source, event, **more):
    LOG.parent.mkdir(parents=True, exist_ok=True)
    with LOG.open("a") as file:
        print(json.dumps({"level": "info", "source": source, "event": event, **more}), file=file)


def answer(prompt):
    word, _, rest = prompt.rstrip(".").partition(" ")
    if word not in ("Add", "Remove"):
        return "Hello, I can add a card to your board and remove one.", []
    name = f"{word.lower()}_card"
    log(f"tool.{name}", "start", data={"card": rest})
    log(f"tool.{name}", "result", success=True)
    return f"{word.removesuffix('e')}ed the card {rest} as you asked.", [rest]


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.reply(PAGE, "text/html")

    def do_POST(self):
        said, cards = answer(self.rfile.read(int(self.headers["Content-Length"])).decode())
        log("turn", "end")
        self.reply(json.dumps({"answer": said, "cards": cards}), "application/json")

    def reply(self, text, kind):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):
        pass


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), Handler).serve_forever()
