"""Real libraries, live: their spans give the same verdicts as in their recordings, which this writes anew if asked to.

`KARAT_RECORD=1 make counterparts` replaces the recordings that `make test` holds the dialects against.
"""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import karat
from counterparts.environments import python_with
from counterparts.span_sources import EMITTERS, EXPORTER, PROMPTS, SOURCES, SpanSource
from karat.targets.config import TargetConfig
from telemetry.spans.order_cases import SUITE, VERDICTS

HERE = re.compile(r"/[\w./-]*/(site-packages|emitters|python3\.\d+)/")
"""Where files stand on the machine that records is nobody's business."""
IDS = ("traceId", "spanId", "parentSpanId")


@pytest.fixture(params=SOURCES, ids=lambda source: source.name)
def source(request: pytest.FixtureRequest) -> SpanSource:
    return request.param


@pytest.fixture
def command(source: SpanSource) -> list[str]:
    python = python_with(f"spans-{source.name.removesuffix('-latest')}", *source.requirements, *EXPORTER)
    script, *rest = source.command.split()
    return [str(python), str(EMITTERS / script), *rest]


@pytest.mark.limit(900)
def test_spans_of_the_living_library_decide_each_case(source: SpanSource, command: list[str], tmp_path: Path) -> None:
    target = TargetConfig(
        kind="command",
        spec=" ".join(command),
        root=tmp_path,
        env=source.env,
        telemetry={"otlp": {"wait_ms": 20_000}},
        timeout=300,
    )
    suite = tmp_path / "orders.json"
    suite.write_text(json.dumps(SUITE))
    result = karat.run(str(suite), target, results_dir=tmp_path)
    assert {record.case.id: str(record.verdict.status) for record in result} == {**VERDICTS, "crash": "ERROR"}


@pytest.mark.limit(900)
@pytest.mark.skipif(not os.environ.get("KARAT_RECORD"), reason="records only if KARAT_RECORD is set")
def test_its_spans_are_recorded(source: SpanSource, command: list[str]) -> None:
    lines = []
    for case, prompts in PROMPTS.items():
        lines += _recorded(command, source.env, case, prompts)
    source.recording.parent.mkdir(exist_ok=True)
    source.recording.write_text("".join(f"{line}\n" for line in lines))
    assert lines


def _recorded(command: list[str], env: dict[str, str], case: str, prompts: list[str]) -> list[str]:
    from google.protobuf.json_format import MessageToDict
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    lines: list[str] = []

    class Sink(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            lines.append(json.dumps(_hex(MessageToDict(ExportTraceServiceRequest.FromString(body)))))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *args: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Sink) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        told = {
            "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{server.server_port}",
            "OTEL_RESOURCE_ATTRIBUTES": f"karat.case={case}/recorded-{case}",
        }
        request = json.dumps({"case_id": case, "setup_prompts": prompts[:-1], "prompt": prompts[-1]})
        subprocess.run(
            command, input=f"{request}\n", env={**os.environ, **env, **told}, text=True, check=True, capture_output=True
        )
        server.shutdown()
    return [HERE.sub(r"\1/", line) for line in lines]


def _hex(value: object) -> object:
    """Ids as OTLP's JSON has them, which is not as protobuf's JSON has bytes."""
    if isinstance(value, list):
        return [_hex(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {key: base64.b64decode(item).hex() if key in IDS else _hex(item) for key, item in value.items()}
