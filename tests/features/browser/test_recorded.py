"""Front ends of others, as they showed one turn when it was recorded: the target still reads it as it did then."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from carob.features.browser.target import BrowserTarget
from carob.targets.config import TargetConfig

from .conftest import IN_A_BROWSER, ask

pytestmark = IN_A_BROWSER

RECORDED = sorted((Path(__file__).parent / "recorded").glob("*.json"))
# Elements stay the same from frame to frame wherever they can, as they do in the app itself.
PLAYER = """<!doctype html><meta charset="utf-8"><title>Recorded</title>
<style>[hidden] { display: none !important }</style><body></body><script>
const frames = %(frames)s;
const morph = (old, now) => {
  for (const { name } of [...old.attributes]) if (!now.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of now.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  const wanted = [...now.childNodes];
  wanted.forEach((node, at) => {
    const there = old.childNodes[at];
    if (!there) old.append(node.cloneNode(true));
    else if (there.nodeName !== node.nodeName) there.replaceWith(node.cloneNode(true));
    else if (node.nodeType === Node.ELEMENT_NODE) morph(there, node);
    else if (there.data !== node.data) there.data = node.data;
  });
  while (old.childNodes.length > wanted.length) old.lastChild.remove();
};
const show = (html) => {
  const now = new DOMParser().parseFromString(html, "text/html").body;
  morph(document.body, now);
};
show(frames[0][1]);
document.addEventListener("keydown", (event) => {
  if (event.key !== "Enter") return;
  event.preventDefault();
  event.target.value = "";
  for (const [at, html] of frames.slice(1)) setTimeout(() => show(html), at);
});
</script>"""


@contextmanager
def playing(recording: dict[str, Any]) -> Iterator[str]:
    frames = json.dumps(recording["frames"]).replace("</", "<\\/")
    page = PLAYER.replace("%(frames)s", frames).encode()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(page)))
            self.end_headers()
            self.wfile.write(page)

        def log_message(self, format: str, *args: object) -> None:
            """Nobody reads it."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


async def test_four_front_ends_are_recorded() -> None:
    assert {file.stem for file in RECORDED} >= {"chainlit", "gradio", "nicegui", "streamlit"}


@pytest.mark.parametrize("file", RECORDED, ids=lambda file: file.stem)
async def test_a_recorded_turn_is_read_as_it_was(file: Path) -> None:
    recording = json.loads(file.read_text())
    with playing(recording) as url:
        target = BrowserTarget(TargetConfig(kind="browser", spec=url, options=recording["options"]))
        await target.open()
        try:
            trace = await ask(target, recording["prompt"])
        finally:
            await target.close()
    assert trace.final_message == recording["final_message"]
    assert trace.answer_page == recording["answer_page"]
    assert recording["prompt"] not in trace.page
    assert trace.hidden_words == ""
