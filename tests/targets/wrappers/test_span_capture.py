"""A target whose agent sends spans: 200 cases at once, whatever becomes of the batches on their way."""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import socket
import sys
from pathlib import Path

import pytest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue

import carob
from carob.engine.events import Notice
from carob.errors import ConfigError, UsageError
from carob.targets.config import TargetConfig
from carob.targets.python import Conversation
from evidence.spans.span_factory import post, request, span, tool

CASES = 100
WITNESSES = ("messages", "count", "nobody")
"""Who would miss a span that was lost; a case's number decides."""
FATES = (*["whole"] * 8, *["late", "twice"] * 2, "no-root", "no-middle", "no-call", "nothing")
"""What becomes of a case's batches; its number decides."""


def fate(case_id: str) -> str:
    return FATES[int(case_id) % len(FATES)]


def witness(case_id: str) -> str:
    return WITNESSES[int(case_id) % len(WITNESSES)]


async def lossy_agent(prompt: str, conversation: Conversation) -> str:
    """Calls one tool with the number of its case, and sends its spans over a network that may do anything."""
    number = prompt.split()[-1]
    dice, trace = random.Random(number), f"{int(number) + 1:032x}"
    root = span("invoke_agent", trace, gen_ai__conversation__id=conversation.id, **agent_operation)
    if witness(number) == "count":
        root.attributes.append(KeyValue(key="app.calls", value=AnyValue(int_value=1)))
    middle = span("step", trace, parent=root.span_id.hex())
    asked = {"role": "assistant", "tool_calls": [{"function": {"name": "find", "arguments": "{}"}}]}
    messages = json.dumps([{"role": "user", "content": prompt}, asked, {"role": "tool", "content": "ok"}])
    said = {
        "gen_ai__operation__name": "chat",
        "gen_ai__output__messages": '[{"role": "assistant", "content": "Found."}]',
    }
    model = span("chat", trace, parent=middle.span_id.hex(), gen_ai__input__messages=messages, **said)
    call = tool("find", trace, json.dumps({"case": number}), parent=middle.span_id.hex())
    batches = {"root": [root], "middle": [middle], "call": [call]}
    if witness(number) == "messages":
        batches["middle"].append(model)
    lost = {"no-root": ["root"], "no-middle": ["middle"], "no-call": ["call"], "nothing": list(batches)}
    sent = [batch for name, batch in batches.items() if name not in lost.get(fate(number), ())]
    sent = sent * 2 if fate(number) == "twice" else sent
    dice.shuffle(sent)
    endpoint = os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"]
    late = [sent.pop()] if fate(number) == "late" else []
    await asyncio.gather(*(asyncio.to_thread(post, endpoint, request(batch)) for batch in sent))
    for batch in late:
        asyncio.get_running_loop().call_later(0.05, post, endpoint, request(batch))
    return "Found."


agent_operation = {"gen_ai__operation__name": "invoke_agent"}


def target(name: str, **otlp: object) -> TargetConfig:
    folder = Path(__file__).parents[2]
    return TargetConfig(
        kind="python",
        spec=f"{__name__}:{name}",
        root=folder,
        telemetry={"otlp": otlp or True},
    )


def suite(folder: Path, cases: list[dict[str, object]]) -> str:
    file = folder / "suite.json"
    file.write_text(json.dumps({"version": "0.3", "cases": cases}))
    return str(file)


def test_no_span_is_in_a_wrong_case_and_what_was_dropped_is_unknown(tmp_path: Path) -> None:
    cases = [
        {
            "id": str(number),
            "prompt": f"Find {number}",
            "expected": {
                "tool_calls": [{"tool": "find", "arguments": {"case": str(number)}}],
                "tool_calls_none": ["delete"],
            },
        }
        for number in range(CASES)
    ]
    result = carob.run(
        suite(tmp_path, cases),
        target("lossy_agent", wait_ms=3_000, tool_count="app.calls"),
        results_dir=tmp_path,
        concurrency=16,
    )
    records = {record.case.id: record for record in result}
    assert len(records) == CASES
    for case_id, record in records.items():
        asked = [call.arguments for call in record.trace.tool_calls if call.called]
        assert asked in ([{"case": case_id}], []), "a call of another case"
        whole = fate(case_id) in ("whole", "late", "twice") and witness(case_id) != "nobody"
        assert str(record.verdict.status) == ("PASS" if whole else "PARTIAL"), (fate(case_id), record.verdict)
        assert (record.trace.why_unobserved("tools") is None) is whole
        assert len(record.trace.spans) == len({node.id for node in record.trace.spans})


def mute(prompt: str) -> str:
    return "Hello."


def break_down(prompt: str) -> str:
    raise ValueError("it is broken")


def run_mute(folder: Path, heard: list[str], agent: str = "mute", **otlp: int) -> carob.RunResult:
    file = suite(folder, [{"id": str(n), "prompt": "Hi", "expected": {"tool_calls_none": ["x"]}} for n in range(3)])

    def hear(event: object) -> None:
        if isinstance(event, Notice):
            heard.append(event.message)

    return carob.run(file, target(agent, **otlp), results_dir=folder, listeners=[hear])


def test_a_receiver_that_nobody_sends_to_is_told_once_with_what_to_check(tmp_path: Path) -> None:
    heard: list[str] = []
    result = run_mute(tmp_path, heard, wait_ms=100)
    assert {str(record.verdict.status) for record in result} == {"PARTIAL"}
    assert all("no span has reached http://127.0.0.1:" in (r.trace.why_unobserved("tools") or "") for r in result)
    (notice,) = heard
    assert re.sub(r":\d+:", ":4318:", notice) == (
        "[targets.python:targets.wrappers.test_span_capture:mute.telemetry]: no span has reached "
        "http://127.0.0.1:4318: is the agent instrumented, does it export there (OTEL_EXPORTER_OTLP_ENDPOINT) over "
        "HTTP (http/protobuf or http/json, not gRPC), and does it flush?"
    )


def test_who_breaks_before_it_answers_is_not_asked_for_spans(tmp_path: Path) -> None:
    heard: list[str] = []
    result = run_mute(tmp_path, heard, "break_down", wait_ms=100)
    assert ({str(record.verdict.status) for record in result}, heard) == ({"ERROR"}, [])


@pytest.mark.parametrize(
    "written", ["telemetry.otlp = {{ port = {port} }}", "[targets.bot.telemetry.otlp]\nport = {port}"]
)
def test_a_port_in_use_is_told_at_its_line(written: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = suite(tmp_path, [{"id": "1", "prompt": "Hi", "expected": {"tool_calls_none": ["x"]}}])
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        (tmp_path / "carob.toml").write_text(f'[targets.bot]\nuse = "command:true"\n{written.format(port=port)}\n')
        with pytest.raises(ConfigError) as caught:
            carob.run(file, "bot", results_dir=tmp_path / "results")
    assert str(caught.value) == (
        f"{tmp_path / 'carob.toml'}:3: the receiver of spans cannot listen at 127.0.0.1:{port}: Address already "
        "in use. Stop the program that listens there, or choose another port; 0 is any free one. [port-in-use]"
    )
    assert [*tmp_path.glob("results/*")] == []


def test_a_fixed_port_can_be_open_in_one_process_only(tmp_path: Path) -> None:
    file = suite(tmp_path, [{"id": "1", "prompt": "Hi", "expected": {"tool_calls_none": ["x"]}}])
    with pytest.raises(UsageError, match="can be open in 1 process only: the receiver of spans uses a fixed port"):
        carob.run(file, target("mute", port=4318), results_dir=tmp_path, workers=2)


@pytest.mark.parametrize(
    ("telemetry", "message"),
    [
        ({"otlp": {"prot": 1}}, "prot"),
        ({"otlp": {"port": 70_000}}, "<= 65535"),
        ({"otlp": "yes"}, "otlp"),
    ],
)
def test_what_is_wrong_with_the_table_is_told(tmp_path: Path, telemetry: dict[str, object], message: str) -> None:
    config = TargetConfig(kind="python", spec=f"{__name__}:mute", root=tmp_path, telemetry=telemetry)
    file = suite(tmp_path, [{"id": "1", "prompt": "Hi", "expected": {"tool_calls_none": ["x"]}}])
    with pytest.raises(ConfigError, match=message):
        carob.run(file, config, results_dir=tmp_path)


def test_the_receivers_address_stands_where_the_configuration_asks_for_it(tmp_path: Path) -> None:
    script = tmp_path / "agent.py"
    script.write_text(
        "import json, os, sys\n"
        "names = ('MINE', 'OTEL_EXPORTER_OTLP_ENDPOINT', 'TRACEPARENT', 'OTEL_RESOURCE_ATTRIBUTES')\n"
        "print(json.dumps({'final_message': json.dumps([sys.argv[1], *map(os.environ.get, names)])}))\n"
    )
    config = TargetConfig(
        kind="command",
        spec=f"{sys.executable} {script} {{otlp}}",
        root=tmp_path,
        env={"MINE": "{otlp}/v1/traces"},
        telemetry={"otlp": {"wait_ms": 1}},
    )
    file = suite(tmp_path, [{"id": "a b", "prompt": "Hi", "expected": {"tool_calls_none": ["x"]}}])
    (record,) = carob.run(file, config, results_dir=tmp_path)
    argument, mine, endpoint, parent, entry = json.loads(record.trace.final_message)
    assert argument == endpoint
    assert endpoint.startswith("http://127.0.0.1:")
    assert mine == f"{endpoint}/v1/traces"
    assert parent.startswith("00-")
    assert entry.startswith("carob.case=a%20b/")
