"""Makes the files of tests/evidence/exports/files: one scripted agent, recorded by the SDK of a platform.

Each is made in an environment of its own: `python export_files.py PLATFORM FOLDER`, with openai and what PLATFORMS
names installed. Phoenix's own files come from a server that was sent `openinference-otlp`, those of the AI SDK from a
script of Node.
"""

from __future__ import annotations

import gzip
import json
import os
import sys
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

PLATFORMS = {
    "openai-chat": "",
    "langsmith": "langsmith",
    "langfuse": "langfuse",
    "traceloop": "traceloop-sdk",
    "openinference": "arize-phoenix-otel openinference-instrumentation-openai",
    "openai-agents": "openai-agents",
    "mlflow": "mlflow-skinny sqlalchemy alembic",
}
SESSIONS = {"s-1": ("u-1", ["Where is A-1?", "Cancel A-2, please."]), "s-2": ("u-2", ["Compare A-3 and A-4."])}
STATUS = {"A-1": "paid", "A-3": "open", "A-4": "open"}
Tools = dict[str, Callable[..., Any]]
Turn = Callable[[str, str, Callable[[str], str], str], None]


def lookup_order(order: str) -> dict[str, str]:
    """Look up."""
    return {"order": order, "status": STATUS[order]}


def cancel_order(order: str, reason: str) -> dict[str, str]:
    """Cancel."""
    raise RuntimeError(f"order {order} is locked")


TOOLS: Tools = {tool.__name__: tool for tool in (lookup_order, cancel_order)}
PARAMETERS = {"lookup_order": ["order"], "cancel_order": ["order", "reason"]}


def _call(number: int, name: str, **arguments: str) -> dict[str, Any]:
    return {"id": f"call_{number}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}


SCRIPT = {
    "Where is A-1?": ([_call(1, "lookup_order", order="A-1")], "A-1 is paid."),
    "Cancel A-2, please.": (
        [_call(2, "cancel_order", order="A-2", reason="late")],
        "I could not cancel A-2: it is locked.",
    ),
    "Compare A-3 and A-4.": (
        [_call(3, "lookup_order", order="A-3"), _call(4, "lookup_order", order="A-4")],
        "Both are open.",
    ),
}


class _Model(BaseHTTPRequestHandler):
    """The model behind the API of OpenAI, and the platform, which keeps what it is sent."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        body = gzip.decompress(body) if self.headers.get("content-encoding") == "gzip" else body
        sent: list[tuple[str, bytes]] = self.server.sent  # type: ignore[attr-defined]
        sent.append((self.path, body))
        reply: dict[str, Any] = {}
        if self.path.endswith("/chat/completions"):
            messages = json.loads(body)["messages"]
            calls, answer = SCRIPT[next(m["content"] for m in reversed(messages) if m["role"] == "user")]
            asks = messages[-1]["role"] == "user"
            message = {
                "role": "assistant",
                "content": None if asks else answer,
                **({"tool_calls": calls} if asks else {}),
            }
            choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if asks else "stop"}
            usage = {"prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 25}
            reply = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "scripted-1"}
            reply |= {"choices": [choice], "usage": usage}
        data = json.dumps(reply).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        pass


def converse(client: Any, tools: Tools, messages: list[Any], prompt: str) -> str:
    """One turn: ask the model, and run what it asks for, until it answers."""
    offered = [
        {"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": properties}}}
        for name, names in PARAMETERS.items()
        for properties in [{key: {"type": "string"} for key in names}]
    ]
    messages.append({"role": "user", "content": prompt})
    while True:
        reply = client.chat.completions.create(model="scripted-1", messages=messages, tools=offered)
        message = reply.choices[0].message
        messages.append(message.model_dump(exclude_none=True))
        if not message.tool_calls:
            return str(message.content)
        for call in message.tool_calls:
            try:
                result = json.dumps(tools[call.function.name](**json.loads(call.function.arguments)))
            except RuntimeError as error:
                result = f"Error: {error}"
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})


def _converse_all(client: Any, tools: Tools, run: Turn) -> list[dict[str, Any]]:
    """Every session; `run(session, user, turn, prompt)` runs a turn within what the platform traces."""
    rows = []
    for session, (user, prompts) in SESSIONS.items():
        messages: list[Any] = []
        for prompt in prompts:

            def turn(question: str, messages: list[Any] = messages) -> str:
                return converse(client, tools, messages, question)

            run(session, user, turn, prompt)
        rows.append({"id": session, "user": user, "model": "scripted-1", "messages": messages})
    return rows


def record_langsmith(url: str) -> None:
    from langsmith import Client, traceable
    from langsmith.wrappers import wrap_openai
    from openai import OpenAI

    os.environ.update(LANGSMITH_TRACING="true", LANGSMITH_API_KEY="k", LANGSMITH_ENDPOINT=url, LANGSMITH_PROJECT="desk")
    batches = {"use_multipart_endpoint": False, "size_limit": 100, "size_limit_bytes": 1 << 20}
    batches |= {"scale_up_nthreads_limit": 1, "scale_up_qsize_trigger": 1000}
    client = Client(api_url=url, api_key="k", info={"batch_ingest_config": batches})

    def run(session: str, user: str, turn: Callable[[str], str], prompt: str) -> None:
        extra = {"metadata": {"session_id": session, "user_id": user}, "tags": ["prod"]}
        traceable(run_type="chain", name="desk", client=client)(turn)(prompt, langsmith_extra=extra)

    tools = {name: traceable(run_type="tool", client=client)(tool) for name, tool in TOOLS.items()}
    _converse_all(wrap_openai(OpenAI()), tools, run)
    client.flush()
    time.sleep(1)


def record_langfuse(url: str) -> None:
    os.environ.update(LANGFUSE_PUBLIC_KEY="pk", LANGFUSE_SECRET_KEY="sk", LANGFUSE_BASE_URL=url)
    from langfuse import get_client, observe, propagate_attributes
    from langfuse.openai import OpenAI

    def run(session: str, user: str, turn: Callable[[str], str], prompt: str) -> None:
        with propagate_attributes(session_id=session, user_id=user, tags=["prod"], version="1.4"):
            observe(as_type="agent", name="desk")(turn)(prompt)

    _converse_all(OpenAI(), {name: observe(as_type="tool")(tool) for name, tool in TOOLS.items()}, run)
    get_client().flush()


def record_traceloop(url: str) -> None:
    from openai import OpenAI
    from traceloop.sdk import Traceloop
    from traceloop.sdk.decorators import tool as as_tool
    from traceloop.sdk.decorators import workflow

    Traceloop.init(app_name="desk", api_endpoint=url, api_key="k", disable_batch=True, telemetry_enabled=False)

    def run(session: str, user: str, turn: Callable[[str], str], prompt: str) -> None:
        Traceloop.set_association_properties({"session_id": session, "user_id": user})
        workflow(name="desk")(turn)(prompt)

    _converse_all(OpenAI(), {name: as_tool(name=name)(tool) for name, tool in TOOLS.items()}, run)


def record_openinference(url: str) -> None:
    from openai import OpenAI
    from openinference.instrumentation import using_attributes
    from openinference.instrumentation.openai import OpenAIInstrumentor
    from phoenix.otel import register

    quiet = {"set_global_tracer_provider": False, "verbose": False}
    provider = register(endpoint=f"{url}/v1/traces", protocol="http/protobuf", batch=False, **quiet)
    OpenAIInstrumentor().instrument(tracer_provider=provider)
    tracer = provider.get_tracer("desk")

    def run(session: str, user: str, turn: Callable[[str], str], prompt: str) -> None:
        with using_attributes(session_id=session, user_id=user, tags=["prod"], metadata={"tier": "gold"}):
            tracer.agent(name="desk")(turn)(prompt)

    _converse_all(OpenAI(), {name: tracer.tool(tool) for name, tool in TOOLS.items()}, run)


def record_openai_agents(url: str) -> None:
    import asyncio

    from agents import Agent, OpenAIChatCompletionsModel, Runner, function_tool, set_trace_processors, trace
    from agents.tracing import get_trace_provider
    from agents.tracing.processors import BackendSpanExporter, BatchTraceProcessor
    from openai import AsyncOpenAI

    exporter = BackendSpanExporter(api_key="k", endpoint=f"{url}/v1/traces/ingest")
    set_trace_processors([BatchTraceProcessor(exporter)])
    model = OpenAIChatCompletionsModel("scripted-1", AsyncOpenAI())
    agent = Agent(name="desk", model=model, tools=[function_tool(tool) for tool in TOOLS.values()])

    async def run() -> None:
        for session, (user, prompts) in SESSIONS.items():
            history: list[Any] = []
            for prompt in prompts:
                with trace("desk", group_id=session, metadata={"user_id": user}):
                    result = await Runner.run(agent, [*history, {"role": "user", "content": prompt}])
                    history = result.to_input_list()

    asyncio.run(run())
    get_trace_provider().shutdown()


def record_mlflow(folder: Path) -> None:
    import mlflow
    from openai import OpenAI

    mlflow.set_tracking_uri(f"sqlite:///{folder.resolve() / 'mlflow.db'}")
    experiment = mlflow.set_experiment("desk").experiment_id
    mlflow.openai.autolog()

    def run(session: str, user: str, turn: Callable[[str], str], prompt: str) -> None:
        def desk(question: str) -> str:
            about = {"mlflow.trace.session": session, "mlflow.trace.user": user}
            mlflow.update_current_trace(metadata=about, tags={"stage": "prod"})
            return turn(question)

        mlflow.trace(span_type="AGENT")(desk)(prompt)

    _converse_all(OpenAI(), {name: mlflow.trace(span_type="TOOL")(tool) for name, tool in TOOLS.items()}, run)
    mlflow.flush_trace_async_logging()
    traces = mlflow.search_traces(return_type="list", experiment_ids=[experiment], order_by=["timestamp_ms ASC"])
    (folder / "mlflow.jsonl").write_text("".join(trace.to_json() + "\n" for trace in traces))
    mlflow.search_traces(experiment_ids=[experiment]).to_parquet(folder / "mlflow.parquet")


def _write_sent(platform: str, sent: list[tuple[str, bytes]], folder: Path) -> None:
    """What the platform was sent, as it would give it back."""
    if platform == "langsmith":
        runs: dict[str, dict[str, Any]] = {}
        for path, body in sent:
            batch = json.loads(body) if path.endswith("/batch") else {}
            for run in (*(batch.get("post") or ()), *(batch.get("patch") or ())):
                known = {key: value for key, value in run.items() if value is not None}
                runs[run["id"]] = {**runs.get(run["id"], {}), **known}
        rows = [*runs.values()]
    elif platform == "openai-agents":
        rows = [row for path, body in sent if path.endswith("/ingest") for row in json.loads(body)["data"]]
    else:
        requests = [body for path, body in sent if path.endswith("/traces")]
        (folder / f"{platform}-otlp.pb").write_bytes(b"".join(len(body).to_bytes(4) + body for body in requests))
        return
    (folder / f"{platform}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def main(platform: str, folder: Path) -> None:
    """Make the files of one platform."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Model)
    server.sent = []  # type: ignore[attr-defined]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    os.environ.update(OPENAI_API_KEY="k", OPENAI_BASE_URL=f"{url}/v1")
    if platform == "openai-chat":
        from openai import OpenAI

        rows = _converse_all(OpenAI(), TOOLS, lambda session, user, turn, prompt: turn(prompt) and None)
        (folder / "openai-chat.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif platform == "mlflow":
        record_mlflow(folder)
    else:
        recorders = (record_langsmith, record_langfuse, record_traceloop, record_openinference, record_openai_agents)
        {name.__name__.removeprefix("record_").replace("_", "-"): name for name in recorders}[platform](url)
        _write_sent(platform, server.sent, folder)  # type: ignore[attr-defined]


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
