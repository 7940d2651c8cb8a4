"""Each result of the table through each kind of target, by its own way of reading: the same verdict everywhere."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from carob.model.trace import ToolCall, Trace
from carob.proxy.server import ServiceProxy
from carob.targets.base import RunContext
from evidence.spans.span_factory import span, tool
from evidence.spans.test_reading import ROOT, TOP, T, read
from targets.conftest import ask, case, opened
from targets.http.server import LAST, Asked, constantly, http, serving, sse, started
from targets.results_table import RAISED, TABLE, as_text

WHY = "it broke"


def short_calls() -> list[dict[str, Any]]:
    """The calls as functions, commands and recordings give them."""
    ends = ({"error": WHY} if result == RAISED else {"result": result} for result, _ in TABLE)
    return [{"name": "row", "arguments": {"n": n}, **end} for n, end in enumerate(ends)]


def check(calls: Iterable[ToolCall]) -> None:
    made = list(calls)
    assert [call.arguments["n"] for call in made] == list(range(len(TABLE)))
    wrong = [(TABLE[n][0], call.success) for n, call in enumerate(made) if call.success is not TABLE[n][1]]
    assert wrong == []


def of_row(name: str, build: Callable[[int, Any], list[dict[str, Any]]]) -> list[dict[str, Any]]:
    return [event for n, (result, _) in enumerate(TABLE) for event in build(n, result)]


def test_the_table_is_large() -> None:
    assert len(TABLE) >= 60


async def test_python(tmp_path: Path) -> None:
    answer = json.dumps({"final_message": "Done.", "tool_calls": short_calls()})
    (tmp_path / "agent_of_rows.py").write_text(f"import json\ndef answer(prompt):\n    return json.loads({answer!r})\n")
    async with opened("python", "agent_of_rows:answer", tmp_path) as target:
        check((await ask(target, "go")).tool_calls)


async def test_command(tmp_path: Path) -> None:
    file = tmp_path / "answer.json"
    file.write_text(json.dumps({"final_message": "Done.", "tool_calls": short_calls()}))
    async with opened("command", f"cat {file}", tmp_path) as target:
        check((await ask(target, "go")).tool_calls)


async def test_replay(tmp_path: Path) -> None:
    line = {"case_id": "one", "final_message": "Done.", "tool_calls": short_calls()}
    (tmp_path / "traces.jsonl").write_text(json.dumps(line) + "\n")
    async with opened("replay", "traces.jsonl", tmp_path) as target:
        check((await ask(target, "go")).tool_calls)


async def test_telemetry_of_a_log(tmp_path: Path) -> None:
    """Browser targets, and whoever gives lines, read calls so."""

    def events(n: int, result: Any) -> list[dict[str, Any]]:
        end = {"event": "error", "data": {"error": WHY}} if result == RAISED else None
        end = end or {"event": "result", "data": {"result": result}}
        start = {"source": "tool.row", "event": "start", "data": {"call_id": str(n), "args": {"n": n}}}
        end["data"]["call_id"] = str(n)
        return [start, {"source": "tool.row", **end}]

    line = {"case_id": "one", "final_message": "Done.", "telemetry": of_row("row", events)}
    (tmp_path / "traces.jsonl").write_text(json.dumps(line) + "\n")
    async with opened("replay", "traces.jsonl", tmp_path) as target:
        check((await ask(target, "go")).tool_calls)


async def test_http() -> None:
    calls = [
        {"name": "row", "args": call["arguments"], **{k: call[k] for k in ("result", "error") if k in call}}
        for call in short_calls()
    ]
    options = {
        "body": {"message": "{prompt}"},
        "answer": "$.reply",
        "tool_calls": {
            "at": "$.calls[*]",
            "name": "$.name",
            "arguments": "$.args",
            "result": "$.result",
            "error": "$.error",
        },
    }
    answer = http(json.dumps({"reply": "Done.", "calls": calls}))
    async with serving(constantly(answer)) as server, opened(*server.target, options=options) as target:
        check((await ask(target, "go")).tool_calls)


async def _streamed(kind: str, events: list[dict[str, Any]], **rest: Any) -> Trace:
    answer = constantly(started() + sse(*events) + LAST)
    async with serving(answer) as server, opened(kind, server.url, **rest) as target:
        return await ask(target, "go")


async def test_ag_ui() -> None:
    def events(n: int, result: Any) -> list[dict[str, Any]]:
        start = {"type": "TOOL_CALL_START", "toolCallId": f"c{n}", "toolCallName": "row"}
        arguments = {"type": "TOOL_CALL_ARGS", "toolCallId": f"c{n}", "delta": json.dumps({"n": n})}
        end = {"type": "TOOL_CALL_RESULT", "toolCallId": f"c{n}", "messageId": f"m{n}", "content": as_text(result)}
        if result == RAISED:
            end = {"type": "RAW", "event": {"event": "on_tool_error", "name": "row", "data": {"error": WHY}}}
        return [start, arguments, {"type": "TOOL_CALL_END", "toolCallId": f"c{n}"}, end]

    said = [{"type": "TEXT_MESSAGE_CONTENT", "messageId": "a", "delta": "Done."}]
    ends = {"threadId": "t", "runId": "r"}
    whole = [{"type": "RUN_STARTED", **ends}, *of_row("row", events), *said, {"type": "RUN_FINISHED", **ends}]
    check((await _streamed("ag-ui", whole)).tool_calls)


async def test_ai_sdk() -> None:
    def events(n: int, result: Any) -> list[dict[str, Any]]:
        start = {"type": "tool-input-available", "toolCallId": f"c{n}", "toolName": "row", "input": {"n": n}}
        end = {"type": "tool-output-available", "toolCallId": f"c{n}", "output": result}
        if result == RAISED:
            end = {"type": "tool-output-error", "toolCallId": f"c{n}", "errorText": WHY}
        return [start, end]

    said = [{"type": "text-delta", "id": "a", "delta": "Done."}, {"type": "finish", "finishReason": "length"}]
    trace = await _streamed("ai-sdk", [{"type": "start"}, *of_row("row", events), *said])
    check(trace.tool_calls)
    assert trace.ended_by == "length"


async def test_openai_loop(tmp_path: Path) -> None:
    file = Path(__file__).parent / "results_table.py"
    (tmp_path / "rows.py").write_text(
        f"{file.read_text()}\n\ndef row(n: int):\n    result = TABLE[n][0]\n"
        f"    if result == RAISED:\n        raise ValueError({WHY!r})\n    return result\n"
    )
    calls = [
        {"id": f"c{n}", "type": "function", "function": {"name": "row", "arguments": json.dumps({"n": n})}}
        for n in range(len(TABLE))
    ]

    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        first = asked.json["messages"][-1]["role"] == "user"
        message = {"role": "assistant", "content": "" if first else "Done."} | ({"tool_calls": calls} if first else {})
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if first else "stop"}
        writer.write(http(json.dumps({"choices": [choice]})))

    options = {"model": "m", "mode": "loop", "stream": False, "tools": {"row": "rows.py:row"}}
    async with serving(answer) as server, opened("openai", server.url, tmp_path, options=options) as target:
        trace = await ask(target, "go")
    check(trace.tool_calls)
    assert trace.ended_by == "itself"


GRAPH = '''
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode


@tool
def row(n: int):
    """A row."""
    result = TABLE[n][0]
    if result == RAISED:
        raise ValueError("it broke")
    return result


def speak(state):
    if state["messages"][-1].type == "tool":
        return {"messages": [AIMessage("Done.")]}
    asked = [{"name": "row", "args": {"n": n}, "id": f"c{n}"} for n in range(len(TABLE))]
    return {"messages": [AIMessage("", tool_calls=asked)]}


def route(state):
    return "tools" if state["messages"][-1].tool_calls else END


built = StateGraph(MessagesState)
built.add_node("speak", speak)
built.add_node("tools", ToolNode([row], handle_tool_errors=True))
built.add_edge(START, "speak")
built.add_conditional_edges("speak", route)
built.add_edge("tools", "speak")
graph = built.compile()
'''


async def test_langgraph(tmp_path: Path) -> None:
    file = Path(__file__).parent / "results_table.py"
    (tmp_path / "graph_of_rows.py").write_text(file.read_text() + GRAPH)
    async with opened("langgraph", "graph_of_rows:graph", tmp_path) as target:
        check((await ask(target, "go")).tool_calls)


async def test_langgraph_server() -> None:
    asked = [{"name": "row", "id": f"c{n}", "args": {"n": n}} for n in range(len(TABLE))]
    messages: list[dict[str, Any]] = [{"type": "ai", "id": "m", "content": "", "tool_calls": asked}]
    for n, (result, _) in enumerate(TABLE):
        status = {"content": WHY, "status": "error"} if result == RAISED else {"content": as_text(result)}
        messages.append({"type": "tool", "id": f"t{n}", "name": "row", "tool_call_id": f"c{n}", **status})
    messages.append({"type": "ai", "id": "e", "content": "Done."})
    update = f"event: updates\ndata: {json.dumps({'node': {'messages': messages}})}\n\n"

    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        if asked.path.endswith("/runs/stream"):
            writer.write(http(f"{update}event: end\ndata: null\n\n", "text/event-stream"))
        elif asked.path.endswith("/state"):
            writer.write(http(json.dumps({"values": {"messages": messages}, "next": [], "tasks": []})))
        else:
            writer.write(http(json.dumps({"thread_id": "t", "assistant_id": "a"})))

    async with serving(answer) as server:
        url = server.url.removesuffix("/chat")
        async with opened("langgraph-server", url, options={"assistant": "a"}) as target:
            check((await ask(target, "go")).tool_calls)


def test_spans() -> None:
    spans = [
        tool(
            "row",
            T,
            json.dumps({"n": n}),
            "" if result == RAISED else as_text(result),
            parent=TOP,
            at=102.0 + n / 1000,
            failed=WHY if result == RAISED else "",
        )
        for n, (result, _) in enumerate(TABLE)
    ]
    check(read(ROOT, *spans).calls)


def test_a_failed_span_within_the_call() -> None:
    outer = tool("row", T, '{"n": 0}', parent=TOP, at=102.0)
    inner = span(
        "tools/call row",
        T,
        parent=outer.span_id.hex(),
        at=102.1,
        gen_ai__operation__name="execute_tool",
        gen_ai__tool__name="row",
        mcp__method__name="tools/call",
    )
    assert [call.success for call in read(ROOT, outer, inner).calls] == [True]
    inner.status.code = 2
    assert [call.success for call in read(ROOT, outer, inner).calls] == [False]


class McpServer(BaseHTTPRequestHandler):
    """Gives each row as an MCP server does: as it is where it is a result of MCP, else as text."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        result = TABLE[asked["params"]["arguments"]["n"]][0]
        if result == RAISED:
            end: dict[str, Any] = {"error": {"code": -32000, "message": WHY}}
        elif isinstance(result, dict) and "content" in result:
            end = {"result": result}
        else:
            end = {"result": {"content": [{"type": "text", "text": as_text(result)}]}}
        body = json.dumps({"jsonrpc": "2.0", "id": asked["id"], **end}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None: ...


def test_mcp_recorder() -> None:
    from urllib.request import Request, urlopen

    with ThreadingHTTPServer(("127.0.0.1", 0), McpServer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        proxy = ServiceProxy(None, {}, frozenset(), lambda name: None, f"http://127.0.0.1:{server.server_port}/mcp")
        proxy.open()
        try:
            for n in range(len(TABLE)):
                params = {"name": "row", "arguments": {"n": n}}
                body = json.dumps({"jsonrpc": "2.0", "id": n, "method": "tools/call", "params": params}).encode()
                with urlopen(
                    Request(proxy.mcp_url(), body, {"Content-Type": "application/json"}), timeout=20
                ) as answer:
                    answer.read()
            check(call.call for call in proxy.mcp)
        finally:
            proxy.close()
            server.shutdown()


ANSWERED = GRAPH.replace(
    """built.add_node("tools", ToolNode([row], handle_tool_errors=True))""",
    """
def answer_for(state):
    from langchain_core.messages import ToolMessage
    made = []
    for call in state["messages"][-1].tool_calls:
        try:
            made.append(row.invoke({**call, "type": "tool_call"}))
        except ValueError:
            made.append(ToolMessage("All is well.", tool_call_id=call["id"], name="row"))
    return {"messages": made}


built.add_node("tools", answer_for)""",
)


async def test_a_tool_that_raised_and_was_answered_for(tmp_path: Path) -> None:
    """Middleware that catches what a tool raises does not make it a success."""
    rows = "RAISED = 'raised'\nTABLE = [(RAISED, False), ('Booked.', True)]\n"
    (tmp_path / "graph_answered_for.py").write_text(rows + ANSWERED)
    async with opened("langgraph", "graph_answered_for:graph", tmp_path) as target:
        calls = (await ask(target, "go")).tool_calls
    assert [(call.success, call.result) for call in calls] == [(False, "All is well."), (True, "Booked.")]


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({}, None),
        ({"result": None}, True),
        ({"ended_at": 1.0}, True),
        ({"success": True, "result": {"error": "x"}}, False),
    ],
)
async def test_an_end_that_was_not_observed(tmp_path: Path, more: dict[str, Any], expected: bool | None) -> None:
    line = {"case_id": "one", "final_message": "Done.", "tool_calls": [{"name": "row", **more}]}
    (tmp_path / "traces.jsonl").write_text(json.dumps(line) + "\n")
    async with opened("replay", "traces.jsonl", tmp_path) as target:
        (call,) = (await ask(target, "go")).tool_calls
    assert call.success is expected


async def test_the_rule_of_the_configuration_comes_first(tmp_path: Path) -> None:
    given = [{"name": "build_app", "result": {"status": "failed"}}, {"name": "build_app", "result": {"error": "x"}}]
    line = {"case_id": "one", "final_message": "Done.", "tool_calls": given}
    (tmp_path / "traces.jsonl").write_text(json.dumps(line) + "\n")
    rules = {"build_*": {"field": "status", "is": ["failed", "passed"]}, "*": {"text": "never"}}
    async with opened("replay", "traces.jsonl", tmp_path, success=rules) as target:
        calls = (await ask(target, "go")).tool_calls
    assert [call.success for call in calls] == [True, False]


async def test_names_of_a_target(tmp_path: Path) -> None:
    names = ["Desk-send_email", "final_answer", "finish", "look_up", "transfer_to_b", "final_result", "final_result_A"]
    line = {"case_id": "one", "final_message": "Done.", "tool_calls": [{"name": name} for name in names]}
    (tmp_path / "traces.jsonl").write_text(json.dumps(line) + "\n")
    rest: dict[str, Any] = {
        "tool_names": {"Desk-send_email": "send_email", "finish": "finish"},
        "ignore_tools": ("transfer_*",),
    }
    async with opened("replay", "traces.jsonl", tmp_path, **rest) as target:
        calls = (await target.run(case("go"), RunContext())).tool_calls
    assert [call.name for call in calls] == ["send_email", "finish", "look_up"]
