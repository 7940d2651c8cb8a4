"""A target whose agent reaches an MCP server through a recording proxy: what crossed it joins the trace."""

from __future__ import annotations

from collections.abc import Callable
from time import time

from msgspec import structs

from karat.model.suite import Case
from karat.model.trace import ToolCall, Trace
from karat.targets.base import RunContext, Target, secrets_of
from karat.targets.config import TargetConfig
from karat.targets.otlp.options import filled_in
from karat.telemetry.otlp.mcp_proxy import CrossedCall, McpProxy
from karat.traces.recorder import completed

MCP = "{mcp}"
ENVIRONMENT = "KARAT_MCP_URL"
AMBIGUOUS = (
    "calls crossed the MCP proxy while several cases ran, and nothing says whose they are: pass `traceparent` on"
)


class McpRecorded:
    """Opens the proxy before the target, which is made anew with the proxy's address in its configuration."""

    def __init__(self, make: Callable[[TargetConfig], Target], config: TargetConfig, upstream: str) -> None:
        self._make = make
        self._config = config
        self._proxy = McpProxy(upstream)
        self._target = make(config)
        self._running: list[RunContext] = []
        self._shared: list[RunContext] = []
        self.limits = self._target.limits
        self.options = self._target.options
        self.secrets = secrets_of(self._target)

    async def open(self) -> None:
        self._proxy.open()
        self._target = self._make(filled_in(self._config, MCP, self._proxy.url, {ENVIRONMENT: self._proxy.url}))
        await self._target.open()

    async def close(self) -> None:
        try:
            await self._target.close()
        finally:
            self._proxy.close()

    async def run(self, case: Case, context: RunContext) -> Trace:
        context.marks.listen(case.id)
        self._running.append(context)
        if len(self._running) > 1:
            self._shared += [other for other in self._running if other not in self._shared]
        began = time()
        try:
            trace = await self._target.run(case, context)
            crossed = [one for one in list(self._proxy.crossed) if (one.call.started_at or 0) >= began]
            return self._joined(trace, context, crossed)
        finally:
            self._running.remove(context)
            self._shared = [other for other in self._shared if other in self._running]

    def _joined(self, trace: Trace, context: RunContext, crossed: list[CrossedCall]) -> Trace:
        """Of a conversation, the whole; of one prompt, what was called since it was sent."""
        since = context.marks.turns[-1].began if context.marks.turns and not trace.turns else 0.0
        own = [one for one in crossed if self._is_own(one, context) and (one.call.started_at or 0) >= since]
        if any(self._is_anybodys(one, context) for one in crossed):
            context.notices.append(AMBIGUOUS)
        calls: list[ToolCall] = [one.call for one in own]
        context.tool_schemas = {**self._proxy.tools, **context.tool_schemas}
        elsewhere = next((one.name for one in trace.tool_calls if one.name not in {call.name for call in calls}), None)
        if elsewhere is not None:
            context.more_tools = f"{elsewhere!r} did not cross the MCP proxy, so the agent has other tools as well"
        return structs.replace(trace, tool_calls=tuple(completed(trace.tool_calls, calls))) if calls else trace

    def _is_own(self, one: CrossedCall, context: RunContext) -> bool:
        if self._names(one, context):
            return True
        return context not in self._shared and not self._named(one)

    def _is_anybodys(self, one: CrossedCall, context: RunContext) -> bool:
        return context in self._shared and not self._named(one)

    def _named(self, one: CrossedCall) -> bool:
        return any(self._names(one, other) for other in self._running)

    def _names(self, one: CrossedCall, context: RunContext) -> bool:
        traces = {turn.trace_id for turn in context.marks.turns}
        return one.traceparent[3:35] in traces or context.marks.conversation_id in one.baggage
