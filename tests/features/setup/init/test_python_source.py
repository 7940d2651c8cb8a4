"""What is read of Python files by their syntax alone; nothing of them is run."""

from __future__ import annotations

from pathlib import Path

import pytest

from carob.features.setup.survey.python_source import read_python
from carob.features.setup.survey.survey import survey_folder

BUILDER = "from langgraph.graph import StateGraph, MessagesState\n"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param(BUILDER + "b = StateGraph(MessagesState)\ngraph = b.compile()", ["graph"], id="compiled"),
        pytest.param(
            BUILDER + "g: object = StateGraph(M).add_node(f).compile().with_config(x)",
            ["g"],
            id="chained-and-annotated",
        ),
        pytest.param("import langgraph.graph as lg\napp = lg.StateGraph(S).compile()", ["app"], id="module-alias"),
        pytest.param(
            "from langchain.agents import create_agent\nbot = create_agent(m, [])", ["bot"], id="create-agent"
        ),
        pytest.param(
            "from langgraph.prebuilt import create_react_agent as make\nbot = make(m, [])", ["bot"], id="renamed"
        ),
        pytest.param(
            "from langgraph_supervisor import create_supervisor\ns = create_supervisor([]).compile()",
            ["s"],
            id="supervisor",
        ),
        pytest.param(BUILDER + "def make():\n b = StateGraph(S)\n return b.compile()", ["make"], id="factory"),
        pytest.param(BUILDER + "def make():\n return StateGraph(S).compile()\ngraph = make()", ["graph"], id="made"),
        pytest.param(BUILDER + "def make(model):\n return StateGraph(S).compile()", [], id="factory-that-needs-more"),
        pytest.param(BUILDER + "try:\n    graph = StateGraph(S).compile()\nexcept X: ...", ["graph"], id="in-a-try"),
        pytest.param(
            "from langgraph.func import entrypoint\n@entrypoint()\ndef flow(x): ...", ["flow"], id="entrypoint"
        ),
        pytest.param("import re\ngraph = re.compile('x')", [], id="a-regex"),
        pytest.param(BUILDER + "import re\nword = re.compile('x')\nbuilder = StateGraph(S)", [], id="not-compiled"),
    ],
)
def test_graphs(text: str, found: list[str]) -> None:
    source = read_python("a.py", text)
    assert source is not None
    assert list(source.graphs) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param("def answer(prompt): return 'x'", ["answer"], id="plain"),
        pytest.param("async def ask_bot(question: str, top_k: int = 3) -> str: return 'x'", ["ask_bot"], id="defaults"),
        pytest.param("def reply(message, conversation, *, case): return {}", ["reply"], id="what-carob-gives"),
        pytest.param("def answer(prompt, client): return 'x'", [], id="needs-more"),
        pytest.param("def answer(order): return 'x'", [], id="not-a-prompt"),
        pytest.param("def answer(prompt: list) -> str: return 'x'", [], id="not-text"),
        pytest.param("def answer(prompt) -> None: print(prompt)", [], id="gives-nothing"),
        pytest.param("def answer(prompt): print(prompt)", [], id="returns-nothing"),
        pytest.param("def _answer(prompt): return 'x'", [], id="private"),
        pytest.param("@tool\ndef ask(question): return 'x'", [], id="a-tool"),
        pytest.param("def parse(text): return 'x'", [], id="a-helper"),
        pytest.param("class Bot:\n    def answer(self, prompt): return 'x'", [], id="a-method"),
        pytest.param(
            "class Bot:\n    def answer(self, prompt): return 'x'\n    def _ask(self, prompt): return 'x'\nbot = Bot()",
            ["bot.answer"],
            id="a-method-of-an-object",
        ),
    ],
)
def test_functions_that_answer(text: str, found: list[str]) -> None:
    source = read_python("a.py", text)
    assert source is not None
    assert list(source.answers) == found


def test_the_name_of_a_method_is_one_key_of_carob_toml(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text("class Bot:\n    def ask(self, prompt): return 'x'\nbot = Bot()")
    (agent,) = survey_folder(tmp_path, {}).agents
    assert (agent.use, agent.name) == ("python:main.py:bot.ask", "bot_ask")


FASTAPI = "from fastapi import FastAPI\napp = FastAPI()\n"


@pytest.mark.parametrize(
    ("text", "uses"),
    [
        pytest.param(FASTAPI + "@app.post('/chat')\ndef f(m): ...", ["http://127.0.0.1:8000/chat"], id="fastapi"),
        pytest.param(
            FASTAPI + "@app.post('/a/{id}')\ndef f(m): ...\n@app.get('/chat')\ndef g(): ...",
            ["http://127.0.0.1:8000/"],
            id="paths-unknown",
        ),
        pytest.param(
            FASTAPI + "@app.post('/save')\ndef f(m): ...\n@app.post('/ask')\ndef g(m): ...",
            ["http://127.0.0.1:8000/ask"],
            id="likely-paths",
        ),
        pytest.param(
            "from starlette.applications import Starlette\nfrom starlette.routing import Route\n"
            "app = Starlette(routes=[Route('/chat', f, methods=['POST']), Route('/', page)])",
            ["http://127.0.0.1:8000/chat"],
            id="starlette",
        ),
        pytest.param(
            FASTAPI + "@app.post('/v1/chat/completions')\ndef f(m): ...",
            ["openai:http://127.0.0.1:8000/v1"],
            id="openai",
        ),
        pytest.param(
            "from flask import Flask\ndef create_app():\n    app = Flask('x')\n"
            "    @app.route('/chat', methods=['POST'])\n    def chat(): ...\n    return app",
            ["http://127.0.0.1:5000/chat"],
            id="flask-factory",
        ),
        pytest.param(
            "from flask import Flask\ndef create_app():\n    app = Flask('x')\n"
            "    @app.route('/api/bot', methods=['POST'])\n    def bot():\n        return jsonify(reply='x')\n"
            "    return app\napp = create_app()\napp.run(port=5055)",
            ["http://127.0.0.1:5055/api/bot"],
            id="flask-factory-whose-routes-return",
        ),
        pytest.param(
            "from pydantic_ai import Agent\nagent = Agent('openai:x')\napp = agent.to_ag_ui()",
            ["ag-ui:http://127.0.0.1:8000"],
            id="ag-ui",
        ),
        pytest.param(
            "from pydantic_ai.ui.ag_ui import AGUIAdapter\nfrom starlette.applications import Starlette\n"
            "from starlette.routing import Route\napp = Starlette(routes=[Route('/agent', run, methods=['POST'])])",
            ["ag-ui:http://127.0.0.1:8000/agent"],
            id="ag-ui-route",
        ),
        pytest.param("app = agent.to_a2a()", ["a2a:http://127.0.0.1:8000"], id="a2a"),
    ],
)
def test_web_apps_by_their_addresses(tmp_path: Path, text: str, uses: list[str]) -> None:
    (tmp_path / "main.py").write_text(text)
    assert [agent.use for agent in survey_folder(tmp_path, {}).agents if agent.address] == uses


@pytest.mark.parametrize(
    ("text", "start"),
    [
        (FASTAPI, "uvicorn main:app --port 8000"),
        ("from fastapi import FastAPI\ndef make():\n    return FastAPI()", "uvicorn --factory main:make --port 8000"),
        ("from flask import Flask\napp = Flask('x')", "flask --app main:app run --port 5000"),
        ("from flask import Flask\ndef make():\n    return Flask('x')", "flask --app main:make run --port 5000"),
    ],
)
def test_the_command_that_serves_an_app(tmp_path: Path, text: str, start: str) -> None:
    (tmp_path / "main.py").write_text(text)
    assert [agent.start for agent in survey_folder(tmp_path, {}).agents] == [start]


@pytest.mark.parametrize(
    ("files", "port"),
    [
        pytest.param({}, 8000, id="usual"),
        pytest.param({".env": "PORT=8123\n"}, 8123, id="env"),
        pytest.param({"Procfile": "web: uvicorn main:app --host 0.0.0.0 --port 8124\n"}, 8124, id="procfile"),
        pytest.param(
            {"run.py": "import uvicorn\nuvicorn.run('main:app', port=8125)\n", ".env": "PORT=1"}, 8125, id="code"
        ),
    ],
)
def test_ports(tmp_path: Path, files: dict[str, str], port: int) -> None:
    for name, text in {**files, "main.py": FASTAPI + "@app.post('/chat')\ndef f(m): ..."}.items():
        (tmp_path / name).write_text(text)
    (agent,) = survey_folder(tmp_path, {}).agents
    assert (agent.address, agent.start) == (f"http://127.0.0.1:{port}/chat", f"uvicorn main:app --port {port}")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("def broken(:", id="syntax"),
        pytest.param("x = " + "(" * 5000, id="nested"),
        pytest.param("x = " + "-" * 20_000 + "1", id="deep"),
        pytest.param("x = a" + ".b" * 20_000, id="long-chain"),
        pytest.param("\x00", id="null"),
    ],
)
def test_hostile_source_is_left_out(text: str) -> None:
    assert read_python("a.py", text) is None


def test_folders_that_are_not_the_project(tmp_path: Path) -> None:
    for folder in (".hidden", "node_modules", "mine", "deep/er", "deep/tests", "testing"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "agent.py").write_text("def answer(prompt): return 'x'")
    (tmp_path / "mine" / "pyvenv.cfg").touch()
    (tmp_path / "loop").symlink_to(tmp_path)
    assert [agent.where for agent in survey_folder(tmp_path, {}).agents] == [
        "testing/agent.py:1",
        "deep/er/agent.py:1",
    ]


OPENAPI = """\
openapi: 3.1.0
servers: [{ url: "http://localhost:7000/" }]
paths:
  /orders: { post: { requestBody: { content: { application/json: { schema: { type: object } } } } } }
  /talk:
    post:
      requestBody:
        content:
          application/json:
            schema: { type: object, required: [message], properties: { message: { type: string } } }
"""


@pytest.mark.parametrize(
    ("name", "text", "uses"),
    [
        pytest.param("openapi.yaml", OPENAPI, ["http://localhost:7000/talk"], id="openapi"),
        pytest.param("openapi.json", "[1, 2", [], id="broken-openapi"),
        pytest.param(
            "langgraph.json", '{"graphs": {"a": "x.py:g", "b\\nc": "y"}}', ["langgraph:langgraph.json:a"], id="graphs"
        ),
        pytest.param("langgraph.json", '{"graphs": [1]}', [], id="odd-graphs"),
        pytest.param(
            ".env", "export LLM_BASE_URL='http://localhost:1234/v1/'", ["openai:http://localhost:1234/v1"], id="env"
        ),
        pytest.param(".env", "OPENAI_BASE_URL=http://me:pass@localhost/v1", [], id="a-password"),
        pytest.param(".env", "OPENAI_BASE_URL=${OTHER}", [], id="a-reference"),
        pytest.param(
            "src/app/api/chat/route.ts",
            "import { streamText } from 'ai'\nreturn result.toUIMessageStreamResponse()",
            ["ai-sdk:http://127.0.0.1:3000/api/chat"],
            id="ai-sdk",
        ),
        pytest.param("src/app/api/login/route.ts", "return Response.json({})", [], id="another-route"),
    ],
)
def test_files_that_name_agents(tmp_path: Path, name: str, text: str, uses: list[str]) -> None:
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text(text)
    assert [agent.use for agent in survey_folder(tmp_path, {}).agents] == uses


@pytest.mark.parametrize(
    ("name", "text"),
    [
        pytest.param("mcp.json", '{"servers": {"orders": {"command": "x"}}}', id="editor"),
        pytest.param("claude_desktop_config.json", '{"mcpServers": {"orders": {"command": "x"}}}', id="desktop"),
        pytest.param("pyproject.toml", "[tool.mcp.servers.orders]\ncommand = 'x'", id="pyproject"),
        pytest.param("pyproject.toml", "[tool.desk.mcp_servers.orders]\nurl = 'http://x/mcp'", id="tool-of-its-own"),
    ],
)
def test_mcp_servers(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    assert [(one.name, one.where) for one in survey_folder(tmp_path, {}).servers] == [("orders", name)]


@pytest.mark.parametrize(
    ("name", "text", "form"),
    [
        pytest.param(
            "desk.evalset.json",
            '{"eval_set_id": "a", "eval_cases": [{"eval_id": "1", "conversation": []}]}',
            "adk",
            id="adk",
        ),
        pytest.param(
            "evals/a.carob.yaml",
            "carob: 1\ncases: [{id: a, prompt: b, expected: {must_say_any: [c]}}]",
            "carob-1",
            id="carob",
        ),
        pytest.param("test_data.json", '[{"id": 1, "name": "x"}]', None, id="data"),
        pytest.param("evals/broken.carob.yaml", "carob: 1\ncases: [{id: a}]", None, id="broken"),
    ],
)
def test_suites_that_are_there(tmp_path: Path, name: str, text: str, form: str | None) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text(text)
    assert [suite.format for suite in survey_folder(tmp_path, {}).suites] == [form] * (form is not None)


@pytest.mark.parametrize(
    ("builder", "graph"),
    [
        pytest.param("builder = StateGraph(S)", "from .parts import builder\ngraph = builder.compile(x)", id="builder"),
        pytest.param("builder = StateGraph(S)", "from app import parts\ngraph = parts.builder.compile()", id="module"),
        pytest.param(
            "def build():\n    return StateGraph(S).compile()",
            "from app.parts import build\ngraph = build()",
            id="factory",
        ),
    ],
)
def test_a_graph_whose_builder_is_in_another_file(tmp_path: Path, builder: str, graph: str) -> None:
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "parts.py").write_text(BUILDER + builder)
    (tmp_path / "app" / "main.py").write_text(f"import re\n{graph}\nword = re.compile('x')\n")
    uses = [agent.use for agent in survey_folder(tmp_path, {}).agents]
    assert "langgraph:app/main.py:graph" in uses
    assert not [use for use in uses if use.endswith(":word")]


def test_an_agent_of_a_framework_is_named(tmp_path: Path) -> None:
    (tmp_path / "desk.py").write_text("from pydantic_ai import Agent\ndesk = Agent('openai:gpt-5-mini')\n")
    found = survey_folder(tmp_path, {})
    assert ([agent.use for agent in found.agents], found.others) == (["pydantic-ai:desk.py:desk"], ())
