"""`carob watch` as a process: a real exporter sends to it, signals end it, and a kill loses nothing."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from benchmarks.watch import POLICY, main, watch_stream
from cli.support import SCRIPT, Carob

MESSAGES = '[{"role": "user", "parts": [{"type": "text", "content": "Is A-1 late?"}]}]'
ANSWER = '[{"role": "assistant", "parts": [{"type": "text", "content": "Cancelled."}]}]'


@contextmanager
def watching(
    folder: Path, *options: str, environ: Mapping[str, str] = {}
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    (folder / "policy.carob.yaml").write_text(POLICY)
    command = [str(SCRIPT), "watch", "--rules", "policy.carob.yaml", "--port", "0", "--quiet", "0.3", *options]
    process = subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True, env={**os.environ, **environ})
    try:
        assert process.stderr is not None
        line = process.stderr.readline()
        assert line.startswith("listening at http://"), line + process.stderr.read()
        yield process, line.split()[2].removesuffix("/v1/traces,")
    finally:
        process.kill()
        process.communicate()


def send_turn(url: str, headers: Mapping[str, str]) -> None:
    """One turn of an agent that cancels without asking, by the SDK of OpenTelemetry."""
    provider = TracerProvider()
    exporter = OTLPSpanExporter(f"{url}/v1/traces", headers=dict(headers))
    provider.add_span_processor(BatchSpanProcessor(exporter))
    tracer = provider.get_tracer("desk")
    with tracer.start_as_current_span("invoke_agent desk") as agent:
        agent.set_attributes({"gen_ai.operation.name": "invoke_agent", "session.id": "sdk-1"})
        with tracer.start_as_current_span("execute_tool cancel_order") as tool:
            tool.set_attributes({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "cancel_order"})
            tool.set_attributes({"gen_ai.tool.call.arguments": '{"order": "A-1"}', "gen_ai.tool.call.result": "{}"})
        with tracer.start_as_current_span("chat m") as chat:
            chat.set_attributes({"gen_ai.operation.name": "chat", "gen_ai.input.messages": MESSAGES})
            chat.set_attributes({"gen_ai.output.messages": ANSWER})
    provider.shutdown()


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_an_exporter_sends_and_a_signal_ends_it(tmp_path: Path, how: signal.Signals) -> None:
    """With a token, as from another machine; what is complete is judged at the end."""
    token = "t" * 24
    with watching(tmp_path, "--token-env", "WATCH_KEY", environ={"WATCH_KEY": token}) as (process, url):
        send_turn(url, {"Authorization": f"Bearer {token}"})
        process.send_signal(how)
        _, said = process.communicate(timeout=30)
    assert process.returncode == 0
    assert "carob: explicit-yes broken in sdk-1: " in said
    assert "1 conversation judged\n  explicit-yes: 1 broken\n" in said
    assert "Traceback" not in said


def test_a_stream_with_a_kill_and_a_restart_is_judged_once(tmp_path: Path) -> None:
    """Spans late, lost, doubled and out of order: as a check of the same spans says, and none by another's evidence."""
    outcome = watch_stream(tmp_path, minutes=0.1, rate=600, quiet=0.5, patience=1.5, lateness=3.0)
    assert outcome.is_sound, [*outcome.describe(), *outcome.wrong, *outcome.foreign, *outcome.not_again]
    assert outcome.conversations == 60
    assert outcome.again


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(5))
def test_a_longer_stream_is_judged_once(seed: int) -> None:
    assert main(["--minutes", "0.5", "--rate", "2000", "--seed", str(seed)]) == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        pytest.param(["--rules", "none.yaml"], "no such file", id="no-rules"),
        pytest.param([], "there is nothing to check the conversations against", id="no-rules-at-all"),
        pytest.param(["--rules", "p.yaml", "--host", "0.0.0.0"], "so a token is needed", id="no-token"),
        pytest.param(["--rules", "p.yaml", "--token-env", "NOT_SET"], "the variable NOT_SET is not set", id="not-set"),
        pytest.param(["--rules", "p.yaml", "--export", "here"], "'here' is not an address", id="no-address"),
        pytest.param(["--rules", "p.yaml", "--host", "256.1.1.1"], "so a token is needed", id="no-host"),
        pytest.param(["--rules", "p.yaml", "--folder", "p.yaml"], "spans cannot be kept here", id="no-folder"),
        pytest.param(["--rules", "p.yaml", "--quiet", "nan"], "is not a valid number of seconds", id="no-number"),
    ],
)
def test_what_cannot_begin_says_why_in_one_line(carob: Carob, options: list[str], words: str) -> None:
    Path("p.yaml").write_text("carob: 1\nrules: [{id: once, each: {call: pay}, at_most: 1}]\n")
    ran = carob("watch", *options)
    assert (ran.code, len(ran.err.splitlines())) == (4, 1)
    assert words in ran.err


def test_a_port_in_use_is_named(carob: Carob) -> None:
    import socket

    Path("p.yaml").write_text("carob: 1\nrules: [{id: once, each: {call: pay}, at_most: 1}]\n")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        ran = carob("watch", "--rules", "p.yaml", "--port", str(port))
    assert (ran.code, len(ran.err.splitlines())) == (4, 1)
    assert f"carob watch cannot listen at 127.0.0.1:{port}" in ran.err
