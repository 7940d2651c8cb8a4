"""A request with spans that was refused while a case ran: that a tool was not called is unknown then."""

from __future__ import annotations

import asyncio

import pytest

from carob.model.suite import Case
from carob.model.trace import Trace
from carob.targets.base import RunContext
from carob.targets.capabilities import Limits
from carob.targets.config import TargetConfig
from carob.targets.wrappers.span_capture import SpanCapture
from carob.targets.wrappers.telemetry import Otlp
from evidence.spans.span_factory import post, request, span


class Instrumented:
    """An agent in this process that sends the span of its turn, and something else of the given type."""

    limits, options = Limits(), {}
    more = ""

    def __init__(self, config: TargetConfig) -> None:
        self._to = config.env.get("OTEL_EXPORTER_OTLP_ENDPOINT", "")

    async def open(self) -> None: ...

    async def close(self) -> None: ...

    async def run(self, case: Case, context: RunContext) -> Trace:
        context.begin_turn("x")
        turn = context.trace_context.turns[-1]
        await asyncio.to_thread(post, self._to, request([span("turn", turn.trace_id, parent=turn.span_id)]))
        if self.more:
            await asyncio.to_thread(post, self._to, b"x", Content_Type=self.more)
        return Trace(case_id="x", final_message="Done.", unobserved={"tools": "not seen"})


@pytest.mark.parametrize(("more", "reason"), [("", ""), ("text/plain", "spans were lost while the case ran: ")])
async def test_what_was_refused_leaves_a_doubt(monkeypatch: pytest.MonkeyPatch, more: str, reason: str) -> None:
    monkeypatch.setattr(Instrumented, "more", more)
    otlp = Otlp(wait_ms=300, complete=True)
    target = SpanCapture(Instrumented, TargetConfig(kind="python", spec=""), otlp)
    await target.open()
    try:
        trace = await target.run(Case(id="x", prompt="x", checks=()), RunContext())
    finally:
        await target.close()
    assert trace.unobserved.get("tools", "").startswith(reason)
    assert bool(trace.unobserved) is bool(reason)
