"""What an agent in Carob's process makes of a turn: its spans are below it, whenever it loads OpenTelemetry."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

FACTORY = Path(__file__).parent / "span_factory.py"
"""It loads the messages of OpenTelemetry, and not its interface."""
AGENT = """
import os, sys
from span_factory import post, request, span, tool

loaded_before = "opentelemetry.trace" in sys.modules


def answer(prompt):
    from opentelemetry import trace  # as frameworks do that trace only once they are used

    turn = trace.get_current_span().get_span_context()
    trace_id = f"{turn.trace_id or 7:032x}"
    root = span("invoke_agent", trace_id, parent=f"{turn.span_id:016x}" if turn.span_id else "",
                gen_ai__operation__name="invoke_agent")
    call = tool("find", trace_id, parent=root.span_id.hex())
    post(os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"], request([root, call]))
    return "Found." if not loaded_before else "OpenTelemetry was loaded before the first turn."
"""
RUN = """
import json, sys
import carob
result = carob.run("suite.json", "lazy", results_dir=".", concurrency=2)
print(json.dumps({record.case.id: str(record.verdict.status) for record in result}))
"""


def test_spans_of_the_turn_that_loads_opentelemetry_first_are_its_own(tmp_path: Path) -> None:
    (tmp_path / "lazy_agent.py").write_text(AGENT)
    (tmp_path / "span_factory.py").write_text(FACTORY.read_text())
    (tmp_path / "carob.toml").write_text(
        '[targets.lazy]\nuse = "python:lazy_agent:answer"\ntelemetry = { otlp = { wait_ms = 3000, complete = true } }\n'
    )
    expected = {"tool_calls": [{"tool": "find"}], "tool_calls_none": ["pay"], "must_say_any": ["Found."]}
    cases = [{"id": name, "prompt": f"Find {name}", "expected": expected} for name in "ab"]
    (tmp_path / "suite.json").write_text(json.dumps({"carob": 1, "cases": cases}))
    done = subprocess.run([sys.executable, "-c", RUN], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == {"a": "PASS", "b": "PASS"}
