"""The agents of the examples as services on loopback, and the targets of carob.toml that judge them by their spans."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import uvicorn
from msgspec import structs

from carob.features.browser.environment import AppProcess
from carob.targets.config import TargetConfig
from dyno_agent.service import create_app
from recordings import ROOT, shipped

CANVAS = "{python} -m canvas_app --port {port}"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def at(name: str, port: int, otlp: int) -> TargetConfig:
    """A target of carob.toml, whose service and receiver have other ports here."""
    target = shipped(name)
    spec = target.spec.replace(":8000", f":{port}").replace(":8001", f":{port}")
    return structs.replace(target, spec=spec, telemetry={"otlp": {**target.telemetry["otlp"], "port": otlp}})


@asynccontextmanager
async def canvas_service(command: str = CANVAS) -> AsyncIterator[TargetConfig]:
    """The canvas app, started by this command."""
    otlp = free_port()
    told = {"PYTHONPATH": "examples", "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{otlp}"}
    app = AppProcess(command, ROOT, told)
    await app.start("http://127.0.0.1:{port}/health", 120)
    try:
        yield at("canvas-http", app.port, otlp)
    finally:
        await app.stop()


@asynccontextmanager
async def dyno_service() -> AsyncIterator[TargetConfig]:
    """The dyno agent in a thread of this process, with whatever is planted in it."""
    otlp, listener = free_port(), socket.create_server(("127.0.0.1", 0))
    app = create_app(f"http://127.0.0.1:{otlp}")
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        yield at("dyno-http", listener.getsockname()[1], otlp)
    finally:
        server.should_exit = True
        await asyncio.to_thread(thread.join, 30)
        listener.close()
        assert not thread.is_alive(), "the service did not stop"
