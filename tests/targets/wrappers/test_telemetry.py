"""A framework names tools by plugin and function: a suite may name them by both, or by the function alone."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import pytest

import carob
from carob.targets.base import RunContext
from carob.targets.python import Conversation
from evidence.spans.span_factory import post, request, span, tool
from targets.conftest import opened

SCOPE = "semantic_kernel.functions.kernel_function"


async def agent(prompt: str, conversation: Conversation) -> str:
    trace = os.urandom(16).hex()
    root = span("invoke_agent", trace, gen_ai__conversation__id=conversation.id, gen_ai__operation__name="invoke_agent")
    call = tool("Desk-send_email", trace, '{"to": "ann"}', parent=root.span_id.hex())
    scope = "another" if "another" in prompt else SCOPE
    await asyncio.to_thread(post, os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"], request([root, call], scope))
    return "Sent."


@pytest.mark.parametrize(
    ("prompt", "named", "configured", "status"),
    [
        pytest.param("Send it", "send_email", {}, "PASS", id="by-its-function"),
        pytest.param("Send it", "Desk-send_email", {}, "PASS", id="by-both"),
        pytest.param("Send it", "Desk-*", {}, "PASS", id="by-a-pattern"),
        pytest.param("Send it", "mail", {"Desk-send_email": "mail"}, "PASS", id="as-the-configuration-maps-it"),
        pytest.param("Send it", "end_email", {}, "FAIL", id="by-no-name-of-it"),
        pytest.param("Send by another framework", "send_email", {}, "PARTIAL", id="of-a-framework-without-plugins"),
    ],
)
async def test_a_tool_of_a_plugin_is_named_as_the_suite_names_it(
    prompt: str, named: str, configured: dict[str, str], status: str, tmp_path: Path
) -> None:
    expected = {"tool_calls": [{"tool": named, "arguments": {"to": "ann"}}]}
    file = tmp_path / "suite.json"
    file.write_text(json.dumps({"version": "0.3", "cases": [{"id": "one", "prompt": prompt, "expected": expected}]}))
    (case,) = carob.load_suite(file).cases
    telemetry = {"otlp": {"complete": True}}
    async with opened("python", f"{__name__}:agent", telemetry=telemetry, tool_names=configured) as target:
        verdict = carob.judge(case, await target.run(case, RunContext()))
    assert str(verdict.status) == status


async def observed_agent(prompt: str, conversation: Conversation) -> dict[str, object]:
    """Its calls are known by their full names already, as those of a framework in this process are."""
    said = await agent(prompt, conversation)
    call = {"name": "Desk-send_email", "arguments": {"to": "ann"}, "result": {"sent": True}}
    return {"final_message": said, "tool_calls": [call]}


@pytest.mark.parametrize("named", ["send_email", "Desk-send_email"])
async def test_a_call_that_is_also_in_spans_is_one_call(named: str, tmp_path: Path) -> None:
    document = {"id": "one", "prompt": "Send it", "expected": {"tool_calls": [{"tool": named, "times": 1}]}}
    file = tmp_path / "suite.json"
    file.write_text(json.dumps({"version": "0.3", "cases": [document]}))
    (case,) = carob.load_suite(file).cases
    async with opened("python", f"{__name__}:observed_agent", telemetry={"otlp": {"complete": True}}) as target:
        trace = await target.run(case, RunContext())
    assert [(call.full_name, call.success) for call in trace.tool_calls] == [(named, True)]
