"""`carob init` in projects of seven kinds: what it finds, writes and runs; and that a second run changes nothing."""

from __future__ import annotations

import json
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import yaml

from carob import api
from carob.cli import main
from cli.support import Carob, write
from features.setup.init.projects import DESK, FASTAPI, LANGGRAPH, MCP, PROMPTFOO, PYTEST
from scripted_model import serve

SCHEMA, IGNORE = "carob-1.schema.json", ".gitignore"


@pytest.fixture(autouse=True)
def empty_folder(here: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """No agent but the project's own, nothing of the machine's environment, and runs in this process."""
    monkeypatch.setattr(main, "run", lambda words, go=main.run: go([*words, *["--workers", "0"] * (words[0] == "run")]))
    Path("agent.py").unlink()
    # A client that leaves early makes a server of the standard library print a traceback, which is not Carob's.
    monkeypatch.setattr(socketserver.BaseServer, "handle_error", lambda *_: None)
    for name in ("OPENAI_BASE_URL", "OPENAI_API_BASE", "OPENAI_API_KEY", "OPENAI_MODEL", "MODEL"):
        monkeypatch.delenv(name, raising=False)


def lay_out(files: dict[str, str]) -> None:
    for path, text in files.items():
        write(path, text)


def snapshot() -> dict[str, bytes]:
    """Every file of the project but the results of runs."""
    files = (path for path in Path().rglob("*") if path.is_file())
    return {str(path): path.read_bytes() for path in files if not {"carob-results", "__pycache__"} & {*path.parts}}


def initialised(carob: Carob, *arguments: str) -> tuple[set[str], str]:
    """The files that appeared, and what was printed; a second run finds nothing to do."""
    before = snapshot()
    first = carob("init", "--yes", *arguments)
    assert first.code == 0, first
    after = snapshot()
    assert {path: after[path] for path in before if path != IGNORE} == {p: before[p] for p in before if p != IGNORE}
    again = carob("init", "--yes", *arguments)
    assert (again.code, snapshot()) == (0, after)
    assert "Nothing to write" in again.out
    return set(after) - set(before), first.out


def test_langgraph_is_drafted_and_run(carob: Carob) -> None:
    lay_out(LANGGRAPH)
    new, out = initialised(carob, "--allow-effects", "--prompt", "Where is A-17?")
    assert new == {"carob.toml", "desk.carob.yaml", SCHEMA, IGNORE, ".github/workflows/carob.yml"}
    assert "LangGraph graph 'desk'  langgraph.json: langgraph:langgraph.json:desk" in out
    assert 'use = "langgraph:langgraph.json:desk"' in Path("carob.toml").read_text()
    assert "lookup_order" in Path("desk.carob.yaml").read_text()
    assert "1 passed" in out
    workflow = yaml.safe_load(Path(".github/workflows/carob.yml").read_text())
    runs = [step.get("run", "") for step in workflow["jobs"]["carob"]["steps"]]
    assert "pip install -r requirements.txt" in runs
    assert "carob run desk.carob.yaml --report html" in runs


class Chat(BaseHTTPRequestHandler):
    """A web app as FastAPI would be one: it streams events."""

    def do_GET(self) -> None:
        self.send_error(404)

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path != "/api/v1/chat" or "message" not in asked:
            self.send_error(422)
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for event in (
            {"type": "tool_start", "id": "1", "name": "lookup_order", "input": {"order": asked["message"][-5:-1]}},
            {"type": "tool_end", "id": "1", "output": {"status": "shipped"}},
            *({"type": "token", "text": f"{word} "} for word in f"You said: {asked['message']}".split()),
            {"type": "done"},
        ):
            self.wfile.write(f"data: {json.dumps(event)}\n\n".encode())

    def log_message(self, *arguments: object) -> None: ...


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler]) -> Iterator[int]:
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


def test_a_web_app_that_runs_is_read_and_drafted(carob: Carob) -> None:
    with serving(Chat) as port:
        lay_out(FASTAPI | {"shop/main.py": FASTAPI["shop/main.py"].replace("PORT", str(port))})
        new, out = initialised(carob, "--allow-effects", "--prompt", "Where is A-17?", "--prompt", "Where is B-04?")
    assert new == {"carob.toml", "app.carob.yaml", SCHEMA, IGNORE}
    assert f"web app, POST /api/v1/chat  shop/main.py:7: http://127.0.0.1:{port}/api/v1/chat" in out
    assert 'when = { type = "token" }' in Path("carob.toml").read_text()
    assert "2 passed" in out


class UiMessages(Chat):
    """The same, which speaks as the AI SDK does; its source does not say so."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if "message" not in asked and "messages" not in asked:
            self.send_error(422)
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        words = {"type": "text-delta", "id": "1", "delta": f"You said {asked}"[:40]}
        for event in ({"type": "start"}, words, {"type": "finish"}):
            self.wfile.write(f"data: {json.dumps(event)}\n\n".encode())


def test_a_protocol_that_was_heard_is_the_one_that_is_drafted(carob: Carob) -> None:
    with serving(UiMessages) as port:
        lay_out(FASTAPI | {"shop/main.py": FASTAPI["shop/main.py"].replace("PORT", str(port))})
        _, out = initialised(carob)
    assert f'use = "ai-sdk:http://127.0.0.1:{port}/api/v1/chat"' in Path("carob.toml").read_text()
    assert "no suite was drafted" not in out
    assert "1 passed" in out


class Described(Chat):
    """The same, which describes itself; its source does not name the path."""

    def do_GET(self) -> None:
        prompt = {"type": "object", "required": ["message"], "properties": {"message": {"type": "string"}}}
        taken = {"post": {"requestBody": {"content": {"application/json": {"schema": prompt}}}}}
        body = json.dumps({"paths": {"/orders": {"post": {}}, "/api/v1/chat": taken}}).encode()
        self.send_response(200 if self.path == "/openapi.json" else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def test_a_web_app_that_runs_says_itself_which_path_takes_a_prompt(carob: Carob) -> None:
    with serving(Described) as port:
        lay_out({"main.py": f"from fastapi import FastAPI\napp = FastAPI()\napp.include_router(load())\n# {port}\n"})
        lay_out({".env": f"PORT={port}\n"})
        _, out = initialised(carob)
    assert f"http://127.0.0.1:{port}/\n" in out
    assert f'use = "http://127.0.0.1:{port}/api/v1/chat"' in Path("carob.toml").read_text()


def test_a_web_app_that_does_not_run_leaves_the_lines_that_finish_its_target(carob: Carob) -> None:
    lay_out(FASTAPI | {"shop/main.py": FASTAPI["shop/main.py"].replace("port=PORT", "port=1")})
    new, out = initialised(carob)
    assert new == {"carob.toml", "app.carob.yaml", SCHEMA, IGNORE}
    config = Path("carob.toml").read_text()
    assert "#   uvicorn shop.main:app --port 1\n" in config
    assert "#   carob init --inspect http://127.0.0.1:1/api/v1/chat --name app --write\n" in config
    assert "nothing answers at http://127.0.0.1:1/api/v1/chat." in out
    assert "carob lint --errors-only app.carob.yaml" in out
    assert api.find_config().targets == {}


def test_an_openai_compatible_address_in_env(carob: Carob) -> None:
    with serve({"rules": [{"when": {"user": "."}, "say": "I can look orders up."}]}) as model:
        lay_out({".env": f'OPENAI_BASE_URL="{model.url}/v1"\nOPENAI_API_KEY=sk-none-of-your-business\n'})
        new, out = initialised(carob)
    assert new == {"carob.toml", "model.carob.yaml", SCHEMA, IGNORE}
    config = Path("carob.toml").read_text()
    assert f'use = "openai:{model.url}/v1"' in config
    assert "model = " in config
    assert "sk-none" not in out + config
    assert "1 passed" in out


def test_mcp_servers_are_named_without_what_their_commands_hold(carob: Carob) -> None:
    lay_out(MCP)
    new, out = initialised(carob)
    assert new == {"carob.toml", "first.carob.yaml", SCHEMA, IGNORE}
    config = Path("carob.toml").read_text()
    assert "carob tape stdio orders -- COMMAND" in config
    assert '# mcp_record = "http://127.0.0.1:9000/mcp"\n' in config
    assert "s3cr3t" not in out + config


def test_a_suite_of_another_tool_is_the_first_suite(carob: Carob) -> None:
    lay_out(PROMPTFOO)
    new, out = initialised(carob)
    assert new == {"carob.toml", IGNORE}
    assert "suite (promptfoo)  promptfooconfig.yaml" in out
    assert "carob lint --errors-only promptfooconfig.yaml" in out


def test_a_plain_function_in_a_project_with_pytest(carob: Carob) -> None:
    lay_out(PYTEST)
    new, out = initialised(carob, "--allow-effects", "--prompt", "Where is A-17?")
    assert new == {"carob.toml", "tests/answer.carob.yaml", SCHEMA}
    assert "collects *.carob.yaml files as tests in tests/" in out
    assert Path("tests/answer.carob.yaml").read_text().startswith(f"# yaml-language-server: $schema=../{SCHEMA}\n")
    assert Path(IGNORE).read_text() == "*.pyc\ncarob-results/\n"
    assert "1 passed" in out


def test_an_empty_folder(carob: Carob) -> None:
    new, out = initialised(carob)
    assert new == {"carob.toml", "first.carob.yaml", SCHEMA, IGNORE}
    assert "no agent" in out
    assert "carob lint --errors-only first.carob.yaml" in out


def test_a_target_of_the_configuration_gets_a_first_suite(carob: Carob) -> None:
    lay_out({"desk.py": PYTEST["desk/agent.py"], "carob.toml": '[targets.desk]\nuse = "python:desk.py:answer"\n'})
    before = Path("carob.toml").read_bytes()
    done = carob("init", "--yes", "--allow-effects", "--prompt", "Where is A-17?")
    assert Path("carob.toml").read_bytes() == before
    assert "lookup" in Path("first.carob.yaml").read_text(), done


WRONG = {
    "an empty answer": ('return "What is your order number?"', 'return ""'),
    "a refund that was declined": ('{"status": "paid"}', '{"status": "declined"}'),
    "a number from nowhere": ('"I could not find the order {order[0]}."', '"I could not find it. Wait 14 days."'),
    "another amount": ('"amount": amount}\n', '"amount": 400}\n'),
}


def test_a_drafted_suite_passes_its_agent_and_fails_wrong_ones(carob: Carob) -> None:
    lay_out({"desk.py": DESK})
    prompts = ("I want my money back.", "Refund A-17, please.", "Refund Z-99, please.")
    _, out = initialised(carob, "--allow-effects", *(word for prompt in prompts for word in ("--prompt", prompt)))
    assert "3 passed" in out
    for number, (what, (right, wrong)) in enumerate(WRONG.items()):
        assert right in DESK
        write(f"wrong{number}.py", DESK.replace(right, wrong))
        assert carob("run", "answer.carob.yaml", "-t", f"python:wrong{number}.py:answer").code == 1, what
