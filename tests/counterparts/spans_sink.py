"""A receiver that keeps what it is sent as a collector's file exporter would write it."""

from __future__ import annotations

import base64
import json
import re
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

HERE = re.compile(r"/[\w./-]*/(site-packages|emitters|python3\.\d+)/")
"""Where files stand on the machine that records is nobody's business."""
IDS = ("traceId", "spanId", "parentSpanId")
LONG = ("input.value", "exception.stacktrace")
"""Attributes of which the beginning is enough: what Carob reads of them is short."""
PROSE = (".content", ".text")
BEGINNING = 1_000


def recorded(command: list[str], env: dict[str, str], folder: Path, case: str, prompts: list[str]) -> list[str]:
    """Let an agent that is a command answer the prompts of a case: the requests that it exports, as lines of JSON."""
    from google.protobuf.json_format import MessageToDict
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    lines: list[str] = []

    class Sink(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.path == "/v1/traces":  # some send metrics too
                sent = MessageToDict(ExportTraceServiceRequest.FromString(body))
                lines.append(json.dumps(_shortened(_hex(sent))))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *args: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Sink) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        table = {
            "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{server.server_port}",
            "OTEL_RESOURCE_ATTRIBUTES": f"carob.case={case}/recorded-{case}",
        }
        request = json.dumps({"case_id": case, "setup_prompts": prompts[:-1], "prompt": prompts[-1]})
        subprocess.run(
            command, input=f"{request}\n", cwd=folder, env={**env, **table}, text=True, check=True, capture_output=True
        )
        server.shutdown()
    return [HERE.sub(r"\1/", line) for line in lines]


def _shortened(value: object) -> object:
    """What was sent, without most of the long texts that frameworks give to their models."""
    if isinstance(value, list):
        return [_shortened(item) for item in value]
    if not isinstance(value, dict):
        return value
    key, held = value.get("key", ""), value.get("value", {})
    text = held.get("stringValue", "") if isinstance(held, dict) else ""
    if len(text) > BEGINNING and (key in LONG or key.endswith(PROSE)):
        return {**value, "value": {"stringValue": f"{text[:BEGINNING]} [cut]"}}
    return {name: _shortened(item) for name, item in value.items()}


def _hex(value: object) -> object:
    """Ids as OTLP's JSON has them, which is not as protobuf's JSON has bytes."""
    if isinstance(value, list):
        return [_hex(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {key: base64.b64decode(item).hex() if key in IDS else _hex(item) for key, item in value.items()}
