"""`valid_arguments` and `ended`, by what each kind of target knows of its tools and of how a turn ended."""

from __future__ import annotations

import asyncio
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import msgspec
import pytest

import carob
from carob.checks.tools.validity import EndedByItself, ValidArguments
from carob.model.check import CheckSpec
from carob.model.suite import Case
from carob.model.trace import Tokens, ToolCall, Trace
from carob.model.verdict import Status
from carob.targets.base import RunContext, Target
from evidence.spans.span_factory import tool
from evidence.spans.test_reading import ROOT, SAYS, TOP, USER, T, chat, read
from targets.conftest import opened
from targets.http.server import Asked, http, serving

BOOK = {
    "type": "object",
    "properties": {"day": {"type": "string"}, "seats": {"type": "integer"}},
    "required": ["day"],
}
CALLS = [
    pytest.param("book", {"day": "Mon", "seats": 2}, "passed", id="right"),
    pytest.param("buk", {"day": "Mon"}, "failed", id="invented-tool"),
    pytest.param("book", {"day": "Mon", "place": "window"}, "failed", id="invented-parameter"),
    pytest.param("book", {"day": "Mon", "seats": "two"}, "failed", id="wrong-type"),
    pytest.param("book", {"seats": 2}, "failed", id="missing-parameter"),
]


def case(prompt: str, *fields: str, **args: dict[str, Any]) -> Case:
    specs = [CheckSpec(name, msgspec.Raw(b"{}"), name) for name in fields]
    specs += [CheckSpec(name, msgspec.Raw(json.dumps(arguments).encode()), name) for name, arguments in args.items()]
    return Case(id="one", prompt=prompt, checks=tuple(specs))


async def judged(target: Target, prompt: str) -> Status:
    return ValidArguments().judge(await target.run(case(prompt, "valid_arguments"), RunContext())).status


GRAPH = '''
import json
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode


@tool
def book(day: str, seats: int = 1) -> str:
    """Book."""
    return "Booked."


def use(n, reason="stop"):
    usage = {"input_tokens": n, "output_tokens": 1, "total_tokens": n + 1}
    return AIMessage("Done.", usage_metadata=usage, response_metadata={"finish_reason": reason})


async def speak(state):
    last = state["messages"][-1]
    if last.type == "tool" and "forever" not in state["messages"][0].content:
        answers = GenericFakeChatModel(messages=iter([use(20), use(4)]))
        await answers.ainvoke("what nobody sees")
        return {"messages": [await answers.ainvoke("what is said")]}
    said = state["messages"][0].content
    if said == "cut":
        return {"messages": [use(1, "length")]}
    given = {"name": "book", "args": {"day": "Mon"}} if said == "forever" else json.loads(said)
    return {"messages": [AIMessage("", tool_calls=[{**given, "id": f"c{len(state['messages'])}"}])]}


def route(state):
    return "tools" if state["messages"][-1].tool_calls else END


built = StateGraph(MessagesState)
built.add_node("speak", speak)
built.add_node("tools", ToolNode([book]))
built.add_edge(START, "speak")
built.add_conditional_edges("speak", route)
built.add_edge("tools", "speak")
graph = built.compile()
'''


@pytest.fixture
def graphs(tmp_path: Path) -> Path:
    (tmp_path / "booking_graph.py").write_text(GRAPH)
    return tmp_path


@pytest.mark.parametrize(("name", "arguments", "status"), CALLS)
async def test_langgraph(graphs: Path, name: str, arguments: dict[str, Any], status: str) -> None:
    async with opened("langgraph", "booking_graph:graph", graphs) as target:
        assert (await judged(target, json.dumps({"name": name, "args": arguments}))).value == status


async def test_langgraph_counts_the_tokens_of_every_model_call(graphs: Path) -> None:
    async with opened("langgraph", "booking_graph:graph", graphs) as target:
        trace = await target.run(case('{"name": "book", "args": {"day": "Mon"}}'), RunContext())
    assert trace.tokens == Tokens(24, 2), "a call whose answer never reached the state counts too"


@pytest.mark.parametrize(
    ("prompt", "ended_by", "status"),
    [
        ('{"name": "book", "args": {"day": "Mon"}}', "itself", "passed"),
        ("cut", "length", "failed"),
        ("forever", "recursion_limit", "failed"),
    ],
)
async def test_how_a_graph_ended(graphs: Path, prompt: str, ended_by: str, status: str) -> None:
    async with opened("langgraph", "booking_graph:graph", graphs, options={"recursion_limit": 8}) as target:
        trace = await target.run(case(prompt, "ended"), RunContext())
    assert (trace.ended_by, EndedByItself().judge(trace).status.value) == (ended_by, status)


async def test_what_a_limit_cut_off_is_judged_by_what_was_observed(graphs: Path) -> None:
    async with opened("langgraph", "booking_graph:graph", graphs, options={"recursion_limit": 8}) as target:
        trace = await target.run(case("forever"), RunContext())
    assert (trace.error, trace.ended_by) == (None, "recursion_limit")
    assert {call.name for call in trace.tool_calls} == {"book"}


async def test_a_name_that_no_tool_has_is_reported_once(graphs: Path) -> None:
    context = RunContext()
    asked = case(
        '{"name": "book", "args": {"day": "Mon"}}',
        tool_calls_none={"tool": "delete_*"},
        tool_calls_any={"tools": ["bok", "book", "b*"]},
        max_calls={"tool": "book", "most": 1},
    )
    async with opened("langgraph", "booking_graph:graph", graphs) as target:
        await target.run(asked, context)
        await target.run(asked, context)
    assert context.notices == [
        "one names 'delete_*', and the target has no such tool.",
        "one names 'bok', and the target has no such tool. Did you mean 'book'?",
    ]


@pytest.mark.parametrize(("name", "arguments", "status"), CALLS)
async def test_openai(name: str, arguments: dict[str, Any], status: str) -> None:
    function = {"name": name, "arguments": json.dumps(arguments)}
    message = {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": "c", "type": "function", "function": function}],
    }

    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
        writer.write(http(json.dumps({"choices": [choice]})))

    options = {"model": "m", "stream": False, "tools": {"book": {"parameters": BOOK}, "look": {"description": "Look"}}}
    async with serving(answer) as server, opened("openai", server.url, options=options) as target:
        assert (await judged(target, "go")).value == status


@pytest.mark.parametrize(("reason", "ended_by"), [("stop", "itself"), ("length", "length")])
async def test_how_a_completion_ended(reason: str, ended_by: str) -> None:
    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        choice = {"index": 0, "message": {"role": "assistant", "content": "Done."}, "finish_reason": reason}
        writer.write(http(json.dumps({"choices": [choice]})))

    async with (
        serving(answer) as server,
        opened("openai", server.url, options={"model": "m", "stream": False}) as target,
    ):
        assert (await target.run(case("go", "ended"), RunContext())).ended_by == ended_by


class McpServer(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        listed = {"tools": [{"name": "book", "inputSchema": BOOK}]}
        result = listed if asked["method"] == "tools/list" else {"content": [{"type": "text", "text": "Booked."}]}
        body = json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None: ...


AGENT = """
import json, os, urllib.request


def post(method, params, headers):
    body = json.dumps({"jsonrpc": "2.0", "id": method, "method": method, "params": params}).encode()
    sent = {"Content-Type": "application/json", **headers}
    request = urllib.request.Request(os.environ["CAROB_MCP_URL"], body, sent)
    urllib.request.urlopen(request, timeout=20).read()


def answer(prompt, conversation):
    asked = json.loads(prompt)
    if asked["lists"]:
        post("tools/list", {}, conversation.headers)
    post("tools/call", {"name": asked["name"], "arguments": asked["arguments"]}, conversation.headers)
    own = [{"name": "look", "arguments": {}, "result": "seen"}] if asked.get("own") else []
    return {"final_message": "Done.", "tool_calls": own}
"""


@pytest.fixture
def mcp(tmp_path: Path) -> Any:
    (tmp_path / "agent_of_mcp.py").write_text(AGENT)
    with ThreadingHTTPServer(("127.0.0.1", 0), McpServer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield tmp_path, f"http://127.0.0.1:{server.server_port}/mcp"
        server.shutdown()


@pytest.mark.parametrize(("name", "arguments", "status"), CALLS)
async def test_mcp(mcp: tuple[Path, str], name: str, arguments: dict[str, Any], status: str) -> None:
    prompt = json.dumps({"lists": True, "name": name, "arguments": arguments})
    async with opened("python", "agent_of_mcp:answer", mcp[0], mcp_record=mcp[1]) as target:
        assert (await judged(target, prompt)).value == status


@pytest.mark.parametrize("keys", [{"lists": False}, {"lists": True, "own": True}])
async def test_mcp_without_a_schema(mcp: tuple[Path, str], keys: dict[str, Any]) -> None:
    prompt = json.dumps({**keys, "name": "book", "arguments": {"day": "Mon"}})
    async with opened("python", "agent_of_mcp:answer", mcp[0], mcp_record=mcp[1]) as target:
        assert await judged(target, prompt) is Status.UNKNOWN


OFFERED = {
    "genai": {"gen_ai__tool__definitions": json.dumps([{"type": "function", "name": "book", "parameters": BOOK}])},
    "chat": {
        "gen_ai__request__tools": json.dumps([{"type": "function", "function": {"name": "book", "parameters": BOOK}}])
    },
    "none": {},
}


@pytest.mark.parametrize("offered", OFFERED)
@pytest.mark.parametrize(("name", "arguments", "status"), CALLS)
def test_spans(offered: str, name: str, arguments: dict[str, Any], status: str) -> None:
    ended = {"gen_ai__response__finish_reasons": '["max_tokens"]'}
    model = chat(TOP, [USER], [SAYS], **OFFERED[offered], **ended)
    reading = read(ROOT, model, tool(name, T, json.dumps(arguments), parent=TOP))
    trace = Trace(case_id="one", tool_calls=reading.calls, tool_schemas=reading.tool_schemas)
    assert ValidArguments().judge(trace).status.value == ("unknown" if offered == "none" else status)
    assert reading.ended_by == "max_tokens"


def test_spans_of_openinference() -> None:
    from evidence.spans.span_factory import span

    schema = json.dumps({"type": "function", "function": {"name": "book", "parameters": BOOK}})
    model = span("llm", T, parent=TOP, openinference__span__kind="LLM", llm__tools__0__tool__json_schema=schema)
    assert read(ROOT, model).tool_schemas == {"book": BOOK}


@pytest.mark.parametrize("kind", ["function", "replay"])
def test_where_no_schema_is_known(kind: str) -> None:
    trace = Trace(case_id="one", tool_calls=(ToolCall("book", {"day": "Mon"}),))
    assert ValidArguments().judge(trace).status is Status.UNKNOWN


def test_a_scripted_user_that_runs_out_of_turns(tmp_path: Path) -> None:
    suite = tmp_path / "s.yaml"
    suite.write_text(
        "carob: 1\nname: s\ncases:\n  - id: a\n    prompt: Refund me.\n    max_turns: 2\n"
        "    replies: [{asks_for: [order number], say: A-17.}]\n    expected: {ended: true}\n"
    )
    run = carob.run(suite, lambda prompt: {"final_message": "What is the order number?", "tool_calls": []})
    (result,) = [check for check in run.records[0].verdict.checks if check.name == "ended"]
    assert (result.status, result.found) == (Status.FAILED, "cut off: max_turns")
