"""Pages that nobody described: what is seen of them, and a target that works without editing."""

from __future__ import annotations

import json
import socket
import threading
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from carob.evidence.logs import jsonl_tail
from carob.features.setup.inspect.page import inspect, observe
from carob.features.setup.inspect.page.inspect import _end_of_turn, inspect_page
from carob.features.setup.inspect.page.observe import PageObservation
from carob.model.trace import Trace
from carob.targets.config import TargetConfig
from cli.support import Carob, eval_set, write
from features.browser.stub import serving

EXAMPLES = Path(__file__).parents[4] / "examples"
CANVAS = {
    "start": "{python} -m canvas_app --port {port}",
    "start_env": f'{{"TELEMETRY_LOG_PATH": "{{log}}", "PYTHONPATH": "{EXAMPLES}"}}',
    "session_query": "session",
    "health": "/health",
}


@contextmanager
def answering(kind: str, status: int = 200) -> Iterator[str]:
    """A server that answers everything with one content type."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, format: str, *args: object) -> None:
            """Nobody reads it."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


def table(text: str, name: str = "app") -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads(text)["targets"][name]
    return found


def test_a_chat_with_a_button_and_a_spinner(carob: Carob) -> None:
    with serving() as stub:
        url = f"{stub.url}/chat?how=spinner"
        ran = carob("init", "--inspect", url, "--prompt", "drip slowly, please", "--name", "plain")
        assert ran.code == 0, ran.err
        assert table(ran.out, "plain") == {
            "use": f"browser:{url}",
            "options": {
                "chat_box": {"selector": "#in"},
                "send": {"role": "button", "name": "Go"},
                "complete": {"spinner": "#spin"},
                "answer": {"selector": ".bot"},
            },
        }
        for line in (
            "chat box               #in",
            'sent by                button "Go"',
            "answer                 .bot: one two three",
            "busy signs             spinner #spin, ",
            "requests               POST /say: 200 application/json",
            "telemetry              none: name its log with -o telemetry_log=FILE, or start the app with {log}",
            "a turn with it         said 'one two three'",
        ):
            assert line in ran.err
        assert len(stub.heard) == 3  # one to look, two to prove


QUOTING = "You ask: Is the desk open? It is open until ten, and the bar is open until the last guest leaves."
WIDGET = """<!doctype html><title>Hotel</title><h1>Hotel</h1>
<iframe title="Chat" srcdoc='<chat-widget></chat-widget><script>
const root = document.querySelector("chat-widget").attachShadow({ mode: "open" });
root.innerHTML = "<div id=log></div><textarea placeholder=Message></textarea><button>Send</button>";
const say = (who, words) => {
  const one = document.createElement("p");
  one.className = who;
  one.textContent = words;
  root.querySelector("#log").append(one);
};
root.querySelector("button").onclick = () => {
  const box = root.querySelector("textarea");
  say("visitor", box.value);
  box.value = "";
  say("typing", "...");
  setTimeout(() => { root.querySelector(".typing").remove(); say("agent", SAID); }, 600);
};
</script>'></iframe>"""


@pytest.mark.thorough
def test_a_widget_in_a_frame_and_a_shadow_root(carob: Carob) -> None:
    with serving() as stub:
        stub.page = lambda _: WIDGET.replace("SAID", f'"{QUOTING}"')
        ran = carob("init", "--inspect", f"{stub.url}/echo?page=x", "--prompt", "Is the desk open?")
    assert ran.code == 0, ran.err
    written = table(ran.out)["options"]
    assert {name: written[name] for name in ("frame", "chat_box", "send", "answer")} == {
        "frame": '[title="Chat"]',
        "chat_box": {"role": "textbox", "name": "Message"},
        "send": {"role": "button", "name": "Send"},
        "answer": {"selector": ".agent"},
    }
    assert f"said {QUOTING!r}" in ran.err


@pytest.mark.thorough
def test_the_canvas_app_with_its_telemetry(carob: Carob, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (observe, jsonl_tail):
        monkeypatch.setattr(module, "SETTLE", 0.4)
    options = [word for key, value in CANVAS.items() for word in ("-o", f"{key}={value}")]
    prompt = "Add my GitHub activity"  # after which the canvas has more new words than the conversation
    ran = carob("init", "--inspect", "browser:app", *options, "--prompt", prompt, "--name", "canvas", "--write")
    assert (ran.code, ran.out) == (0, ""), ran.err
    written = table(Path("carob.toml").read_text(), "canvas")["options"]
    assert {key: written[key] for key in ("chat_box", "complete", "answer", "failure", "telemetry")} == {
        "chat_box": {"role": "textbox", "name": "Message the assistant"},
        "complete": {"busy": '[role="log"]'},
        "answer": {"selector": '[aria-label="Assistant"]'},
        "failure": {"role": "alert"},
        "telemetry": {"end_source": "turn", "end_event": "end", "correlation_field": "correlation_id"},
    }
    right = {"outcome": "tool_success", "tool_calls_any": ["create_space"], "must_say_any": ["Night Shift"]}
    wrong = {"tool_calls_none": ["create_space"], "must_say_any": ["Night Shift"]}
    prompt = "Create a space called Night Shift."
    cases = [{"id": name, "prompt": prompt, "expected": said} for name, said in (("right", right), ("wrong", wrong))]
    plain = ("--option", "screenshots=false", "--workers", "0")
    assert carob("run", write("suite.json", eval_set(*cases)), "--target", "canvas", *plain).statuses == {
        "right": "PASS",
        "wrong": "FAIL",
    }


def line(source: str, event: str) -> str:
    return json.dumps({"source": source, "event": event})


@pytest.mark.parametrize(
    ("turns", "end"),
    [
        ([["a", "end"], ["end"], ["b", "end"]], {"end_source": "app", "end_event": "end"}),
        ([["a", "saved"], ["a", "saved"], ["a", "saved", "end"]], {}),
        ([["end", "a", "end"], ["end"]], {}),
        ([["end"], []], {}),
        ([["tool.find"], ["tool.find"]], {}),
    ],
)
def test_end_of_turn_is_the_last_line_of_every_turn(turns: list[list[str]], end: dict[str, str]) -> None:
    logs = [[line(name if name.startswith("tool.") else "app", name) for name in names] for names in turns]
    assert _end_of_turn(logs) == end
    assert _end_of_turn([["plain words", *lines, "{"] for lines in logs]) == end


@pytest.mark.parametrize("last", ["end", "saved"])
async def test_line_that_does_not_end_every_turn_is_not_proposed(monkeypatch: pytest.MonkeyPatch, last: str) -> None:
    seen = PageObservation(session="s", log=[line("app", "end")])
    proved: list[object] = []

    async def prove(config: TargetConfig, *prompts: str, earlier: list[Trace] | None = None) -> Trace:
        proved.append(config.options.get("telemetry"))
        if earlier is not None:
            earlier.append(Trace(case_id="a", telemetry=(line("app", "end"),)))
        return Trace(case_id="a", final_message="Yes.", telemetry=(line("app", "end"), line("app", last))[-1:])

    async def look(*_: object) -> PageObservation:
        return seen

    monkeypatch.setattr(inspect, "observe_page", look)
    monkeypatch.setattr(inspect, "prove_target", prove)
    config = TargetConfig(kind="browser", spec="http://127.0.0.1:9/", options={"telemetry_log": "app.jsonl"})
    found = await inspect_page(config, "Hi")
    ends = {"end_source": "app", "end_event": "end"}
    assert found.table["options"].get("telemetry") == (ends if last == "end" else None)  # type: ignore[attr-defined] # a table
    assert proved == ([None, ends] if last == "end" else [None])


@pytest.mark.parametrize(
    ("content_type", "status"),
    [("application/json", 200), ("application/json", 405), ("text/html", 404), ("text/html", 405), ("text/html", 501)],
)
def test_what_is_no_page_is_taken_for_a_service(carob: Carob, content_type: str, status: int) -> None:
    with answering(content_type, status) as url:
        ran = carob("init", "--inspect", url)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.splitlines()[-1] == (
        "carob: no target was written: the service accepted none of the usual requests: "
        "set `body` or `form`. Add options "
        "with -o; see `carob init --inspect --help`."
    )


def test_an_address_where_nothing_is(carob: Carob) -> None:
    with socket.socket() as held:  # nobody else can listen there
        held.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{held.getsockname()[1]}"
        ran = carob("init", "--inspect", url)
    assert (ran.code, ran.out) == (4, "")
    assert ran.err == (
        f"carob: {url} does not respond: [Errno 111] Connection refused. Start the app, or correct the address. "
        "[no-app]\n"
    )


def test_a_page_without_a_chat_is_told(carob: Carob) -> None:
    with answering("text/html") as url:
        ran = carob("init", "--inspect", url, "-o", "wait_ms=3000")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == (
        f"carob: found no text box for a prompt at {url}/. If the chat comes after a login or a click, describe the "
        "steps with -o 'steps=[...]' [config]\n"
    )


@pytest.mark.parametrize(
    ("script", "says"),
    [
        pytest.param(
            "at('go').onclick = () => {}",
            "the prompt stayed in its box: neither Enter nor a button next to it sent it; set `send` [config]",
            id="not-sent",
            marks=pytest.mark.thorough,
        ),
        pytest.param(
            "at('go').onclick = () => { at('in').value = '' }",
            "no text appeared within 4 s after the prompt [timeout]",
            id="not-answered",
            marks=pytest.mark.thorough,
        ),
    ],
)
def test_a_prompt_of_which_nothing_comes_is_told(carob: Carob, script: str, says: str) -> None:
    with serving() as stub:
        stub.script = script
        ran = carob("init", "--inspect", f"{stub.url}/chat", "-o", "wait_ms=4000")
    assert (ran.code, ran.out, ran.err) == (1, "", f"carob: {says}\n")


@pytest.mark.thorough
def test_a_page_that_opens_a_dialog_by_itself_is_told(carob: Carob) -> None:
    with serving() as stub:
        stub.script = """
        const dialog = document.body.appendChild(document.createElement("div"));
        dialog.style = "position: fixed; inset: 0; background: white";
        dialog.innerHTML = "<button onclick='this.parentElement.remove()'>Accept</button>";"""
        ran = carob("init", "--inspect", f"{stub.url}/chat")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == (
        'carob: button "Go" could not be clicked: something on the page covers it. Name the button that '
        """closes it with -o 'dismiss=[{"role": "button", "name": "Accept"}]' [config]\n"""
    )
