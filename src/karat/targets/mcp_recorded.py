"""A target whose agent reaches an MCP server through a recording proxy: what crossed it joins the trace."""

from __future__ import annotations

from collections.abc import Callable, Collection
from time import time

from msgspec import structs

from karat.evidence.merge import merge_calls, merge_turns
from karat.evidence.spans.trace_context import conversation_in
from karat.model.suite import Case
from karat.model.trace import PossibleCall, Trace
from karat.proxy.crossed import CrossedCall
from karat.proxy.mcp_proxy import McpProxy
from karat.targets.base import RunContext, Target, secrets_of
from karat.targets.config import TargetConfig
from karat.targets.otlp.options import fill_address
from karat.targets.reach import reach_of

MCP = "{mcp}"
ENVIRONMENT = "KARAT_MCP_URL"
UNOWNED = (
    "a call to {!r} went through the MCP proxy while the case ran, and its case is unknown: let the agent pass "
    "`traceparent` or `baggage` on, or use the address in KARAT_MCP_URL of a process that is started for each case"
)
UNREAD = "a request to the MCP server could not be read, so the tool that it calls is unknown: send it as plain JSON"
NOT_COMPLETE = (
    "{!r} was called and did not go through the MCP proxy, so `complete = true` is wrong: not all calls are known. "
    "Remove `complete`, or let this tool be called through the proxy"
)
LOST = "too much MCP traffic while the case ran, so some of its calls may be missing"
REMEMBERED = 20_000


class McpRecorded:
    """Opens the proxy before the target, which is made anew with the proxy's address in its configuration."""

    def __init__(self, make: Callable[[TargetConfig], Target], config: TargetConfig, upstream: str) -> None:
        self._make = make
        self._complete = config.mcp_complete
        self._config = config
        self._proxy = McpProxy(upstream)
        self._target = make(config)
        self._over: dict[str, None] = {}
        """The traces and names of conversations that are over, the latest last."""
        self._running: list[RunContext] = []
        self.limits = self._target.limits
        self.options = self._target.options
        self.secrets = secrets_of(self._target)
        self.reaches = reach_of(self._target)

    async def open(self) -> None:
        self._proxy.open()
        self._config = fill_address(self._config, MCP, self._proxy.url, {ENVIRONMENT: self._proxy.url})
        self._target = self._make(self._config)
        await self._target.open()

    async def close(self) -> None:
        try:
            await self._target.close()
        finally:
            self._proxy.close()

    async def run(self, case: Case, context: RunContext) -> Trace:
        context.trace_context.listen(case.id)
        general, own = self._proxy.url, self._proxy.url_of(context.trace_context.conversation_id)
        addressed = {name: value for name, value in self._config.env.items() if general in value}
        context.trace_context.process_env |= {name: value.replace(general, own) for name, value in addressed.items()}
        self._running.append(context)
        began = time()
        if (speak := context.next_prompt) is not None:
            context.next_prompt = lambda so_far: speak(self._add_crossed(so_far, context, began))
        try:
            return self._add_crossed(await self._target.run(case, context), context, began)
        finally:
            self._running.remove(context)
            self._over |= dict.fromkeys(_names(context))
            for name in list(self._over)[:-REMEMBERED]:
                del self._over[name]

    def _add_crossed(self, trace: Trace, context: RunContext, began: float) -> Trace:
        """The trace with the calls that crossed the proxy since then, and with what is known to be lost of them."""
        joined = self._join(trace, context, [one for one in self._proxy.crossed if _start(one) >= began])
        return joined if self._proxy.crossed.lost_at < began else _with_loss(joined)

    def _join(self, trace: Trace, context: RunContext, crossed: list[CrossedCall]) -> Trace:
        """The trace, and each of its turns, with the calls that were made since its prompt was sent."""
        names = _names(context)
        context.tool_schemas = {**self._proxy.tools, **context.tool_schemas}
        crossing = {one.call.name for one in crossed}
        elsewhere = next((one.name for one in trace.tool_calls if one.name not in crossing), None)
        if elsewhere is not None:
            context.more_tools = f"{elsewhere!r} did not go through the MCP proxy, so the agent has other tools as well"
        own = [one for one in crossed if _is_of(one, names)]
        others = {*self._over}.union(*(_names(other) for other in self._running))
        unowned = [one for one in crossed if not _is_of(one, others)]
        if not trace.turns:
            return self._with(trace, _since(own, context, -1), unowned)
        turns = [
            self._with(turn, _since(own, context, number - len(trace.turns)), unowned)
            for number, turn in enumerate(trace.turns)
        ]
        joined = merge_turns(turns, trace.error)
        return structs.replace(joined, metadata={**joined.metadata, **trace.metadata})

    def _with(self, trace: Trace, own: list[CrossedCall], unowned: list[CrossedCall]) -> Trace:
        calls = [one.call for one in own if one.call.name]
        names = dict.fromkeys(one.call.name for one in unowned if one.call.name)
        unobserved = {key: why for key, why in trace.unobserved.items() if key != "tools" or not self._complete}
        crossed = {one.call.name for one in (*own, *unowned)}
        elsewhere = next((one.name for one in trace.tool_calls if one.name not in crossed), None)
        if self._complete and elsewhere is not None and "tools" in trace.unobserved:
            unobserved["tools"] = NOT_COMPLETE.format(elsewhere)
        if any(not one.call.name for one in (*own, *unowned)):
            unobserved["tools"] = UNREAD
        return structs.replace(
            trace,
            tool_calls=tuple(merge_calls(trace.tool_calls, calls)),
            possible_calls=(*trace.possible_calls, *(PossibleCall(name, UNOWNED.format(name)) for name in names)),
            unobserved=unobserved,
        )


def _with_loss(trace: Trace) -> Trace:
    unobserved = {**trace.unobserved, "tools": LOST}
    return structs.replace(trace, unobserved=unobserved, turns=tuple(map(_with_loss, trace.turns)))


def _start(one: CrossedCall) -> float:
    return one.call.started_at or 0.0


def _since(own: list[CrossedCall], context: RunContext, turn: int) -> list[CrossedCall]:
    """The calls of a turn, which is counted from the end."""
    began = [mark.began for mark in context.trace_context.turns]
    first = began[turn] if len(began) >= -turn else 0.0
    last = began[turn + 1] if turn < -1 and len(began) >= -turn else float("inf")
    return [one for one in own if first <= _start(one) < last]


def _names(context: RunContext) -> set[str]:
    """By what a call is known to be of this run of a case."""
    return {context.trace_context.conversation_id, *(turn.trace_id for turn in context.trace_context.turns)}


def _is_of(one: CrossedCall, names: Collection[str]) -> bool:
    entries = (entry.partition("=")[2].partition(";")[0].strip() for entry in one.baggage.split(","))
    named = {one.conversation, one.traceparent[3:35], *map(conversation_in, entries)} - {""}
    return not named.isdisjoint(names)
