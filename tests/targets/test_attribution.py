"""Fifty cases at once, amid spans, MCP calls and log lines that are late, foreign or unnamed: each has only its own."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections.abc import Iterator
from contextlib import closing
from http.server import ThreadingHTTPServer
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import carob
from carob.evidence.logs.events import tool_calls
from carob.features.browser.log import TurnLog
from carob.features.browser.options import LogOptions
from carob.model.run import CaseRecord
from carob.model.verdict import Status
from carob.targets.config import TargetConfig
from carob.targets.python import Conversation
from evidence.spans.span_factory import Span, post, request, span, tool
from targets.wrappers.test_mcp_evidence import StandIn, call

CASES = 50
USED, FORBIDDEN, MISSING = "lookup", "delete_all", "refund"
"""What each agent calls, what only others call, and what a late or foreign call would wrongly prove."""
_foreign = count(1 << 100)
FINISHED: list[dict[str, str]] = []
"""The headers of turns that are over: what comes with them is late."""
TAKEN: dict[str, Any] = {}


def chat(trace: str, parent: str, number: str) -> Span:
    asked = {"role": "assistant", "tool_calls": [{"function": {"name": USED, "arguments": json.dumps({"n": number})}}]}
    messages = [{"role": "user", "content": f"Find {number}"}, asked, {"role": "tool", "content": "ok"}]
    said = [{"role": "assistant", "content": f"Found {number}."}]
    attributes = {"gen_ai__input__messages": json.dumps(messages), "gen_ai__output__messages": json.dumps(said)}
    return span("chat", trace, parent=parent, gen_ai__operation__name="chat", **attributes)


def strangers(unnamed: bool) -> list[Span]:
    """What other exporters send to the port, and what is late of cases that are over."""
    trace = f"{next(_foreign):032x}"
    spans = [tool(FORBIDDEN if unnamed else "sweep", trace)]
    for headers in FINISHED[-3:]:
        spans += [tool(name, headers["traceparent"][3:35]) for name in (FORBIDDEN, MISSING)]
        entry = headers["baggage"].partition("=")[2]
        spans += [tool(name, f"{next(_foreign):032x}", carob__case=entry) for name in (FORBIDDEN, MISSING)]
    return spans


async def spanning(prompt: str, conversation: Conversation, *, unnamed: bool) -> str:
    number, endpoint = prompt.split()[-1], os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"]
    trace, above = conversation.headers["traceparent"].split("-")[1:3]
    root = span("invoke_agent", trace, parent=above, gen_ai__operation__name="invoke_agent")
    inner = root.span_id.hex()
    own = [root, tool(USED, trace, json.dumps({"n": number}), parent=inner), chat(trace, inner, number)]
    await asyncio.gather(
        *(asyncio.to_thread(post, endpoint, request(spans)) for spans in (strangers(unnamed), own, strangers(unnamed)))
    )
    FINISHED.append(conversation.headers)
    return f"Found {number}."


async def propagating(prompt: str, conversation: Conversation) -> str:
    return await spanning(prompt, conversation, unnamed=False)


async def beside_unnamed_calls(prompt: str, conversation: Conversation) -> str:
    return await spanning(prompt, conversation, unnamed=True)


async def over_mcp(prompt: str, conversation: Conversation) -> str:
    """Calls its tool; late and unnamed calls cross the proxy meanwhile."""
    number, own = prompt.split()[-1], conversation.headers
    late = [(tool, headers) for headers in FINISHED[-2:] for tool in (FORBIDDEN, MISSING)]
    await asyncio.gather(*(asyncio.to_thread(call, tool, **headers) for tool, headers in [*late, (USED, own)]))
    FINISHED.append(own)
    return f"Found {number}."


def run(agent: str, folder: Path, **config: Any) -> dict[str, CaseRecord]:
    FINISHED.clear()
    cases = [
        {
            "id": str(number),
            "prompt": f"Find {number}",
            "expected": {"tool_calls_any": [wanted], "tool_calls_none": [FORBIDDEN]},
        }
        for number in range(CASES)
        for wanted in [MISSING if number % 5 == 0 else USED]
    ]
    file = folder / "suite.json"
    file.write_text(json.dumps({"version": "0.3", "cases": cases}))
    root = Path(__file__).parents[1]
    target = TargetConfig(kind="python", spec=f"{__name__}:{agent}", root=root, **config)
    result = carob.run(str(file), target, results_dir=folder, concurrency=CASES)
    return {record.case.id: record for record in result}


def results(records: dict[str, CaseRecord], check: str) -> dict[str, Status]:
    return {key: result.status for key, r in records.items() for result in r.verdict.checks if result.name == check}


TRUTH = {str(number): Status.FAILED if number % 5 == 0 else Status.PASSED for number in range(CASES)}


def test_fifty_at_once_with_late_and_foreign_spans_have_their_own_and_none_is_unknown(tmp_path: Path) -> None:
    records = run("propagating", tmp_path, telemetry={"otlp": {"wait_ms": 20_000}})
    assert results(records, "tool_calls_any") == TRUTH
    assert set(results(records, "tool_calls_none").values()) == {Status.PASSED}
    for case_id, record in records.items():
        calls = [(made.name, made.arguments) for made in record.trace.tool_calls]
        assert calls == [(USED, {"n": case_id})], "a call of another case"


def test_an_unnamed_forbidden_call_is_of_no_case_and_leaves_its_absence_unknown(tmp_path: Path) -> None:
    records = run("beside_unnamed_calls", tmp_path, telemetry={"otlp": {"wait_ms": 20_000}})
    assert results(records, "tool_calls_any") == TRUTH
    assert set(results(records, "tool_calls_none").values()) == {Status.UNKNOWN}
    reasons = {c.found for r in records.values() for c in r.verdict.checks if c.status is Status.UNKNOWN}
    assert all(f"a span of a call to {FORBIDDEN!r} arrived while the case ran" in why for why in reasons)
    assert all("`traceparent`" in why for why in reasons)


@pytest.fixture
def server() -> Iterator[str]:
    class Busy(ThreadingHTTPServer):
        request_queue_size = 512

    with Busy(("127.0.0.1", 0), StandIn) as made:
        threading.Thread(target=made.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{made.server_port}/mcp"
        made.shutdown()


def test_fifty_at_once_with_late_mcp_calls_have_their_own_and_none_is_unknown(server: str, tmp_path: Path) -> None:
    records = run("over_mcp", tmp_path, mcp_record=server, mcp_complete=True)
    assert results(records, "tool_calls_any") == TRUTH
    assert set(results(records, "tool_calls_none").values()) == {Status.PASSED}
    assert {tuple(made.name for made in record.trace.tool_calls) for record in records.values()} == {(USED,)}


async def test_fifty_at_once_in_one_log_have_their_own_lines(tmp_path: Path) -> None:
    file = tmp_path / "log.jsonl"
    file.touch()
    options = LogOptions(end_source="turn", end_event="end", correlation_field="talk")

    def written(talk: str, source: str, event: str) -> str:
        return json.dumps({"source": source, "event": event, "talk": talk}) + "\n"

    async def turn(number: int) -> list[str]:
        own, late = f"carob-{number:03}", f"carob-over-{number:03}"
        with closing(TurnLog(file, options, own)) as log, file.open("a", buffering=1) as app:
            for talk, tool in ((late, FORBIDDEN), ("stranger", MISSING), (own, USED), (late, MISSING)):
                app.write(written(talk, f"tool.{tool}", "start"))
                await asyncio.sleep(0)
            app.write("plain words of nobody\n" + written(late, "turn", "end") + written(own, "turn", "end"))
            return [made.name for made in tool_calls(await log.finish())]

    assert await asyncio.gather(*map(turn, range(CASES))) == [[USED]] * CASES
