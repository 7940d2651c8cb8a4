"""The calls of tools of an MCP server that crossed the proxy, as evidence of what an agent did in a case."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from time import time

from msgspec import structs

from carob.evidence.mcp_calls import McpTraffic, ProxiedCall
from carob.evidence.merge import merge_by_turn, merge_calls
from carob.evidence.spans.trace_context import conversation_in
from carob.model.trace import APPROVALS, PossibleCall, Trace
from carob.targets.base import RunContext
from carob.targets.config import TargetConfig

UNOWNED = (
    "a call to {!r} went through the MCP proxy while the case ran, and its case is unknown: let the agent pass "
    "`traceparent` or `baggage` on, or use the address in CAROB_MCP_URL of a process that is started for each case"
)
UNREAD = "a request to the MCP server could not be read, so the tool that it calls is unknown: send it as plain JSON"
NOT_COMPLETE = (
    "{!r} was called and did not go through the MCP proxy, so `complete = true` is wrong: not all calls are known. "
    "Remove `complete`, or let this tool be called through the proxy"
)
LOST = "too much MCP traffic while the case ran, so some of its calls may be missing"
REMEMBERED = 20_000


class McpEvidence:
    """Finds the calls of each run of a case, and what the server asked a person about them."""

    def __init__(self, traffic: McpTraffic, config: TargetConfig) -> None:
        self._traffic = traffic
        self._complete = config.mcp_complete
        self._shows_approvals = config.mcp_approvals
        self._running: list[RunContext] = []
        self._over: dict[str, None] = {}
        """The traces and names of conversations that are over, the latest last."""

    @contextmanager
    def running(self, context: RunContext) -> Iterator[float]:
        """While a case runs: calls since the given moment may be its own."""
        self._running.append(context)
        try:
            yield time()
        finally:
            self._running.remove(context)
            self._over |= dict.fromkeys(_names(context))
            for name in list(self._over)[:-REMEMBERED]:
                del self._over[name]

    def join(self, trace: Trace, context: RunContext, since: float) -> Trace:
        """The trace, and each of its turns, with the calls since then, and with what is known to be lost of them."""
        calls = [call for call in self._traffic if call.started_at >= since]
        context.tool_schemas = {**self._traffic.tools, **context.tool_schemas}
        if (elsewhere := _find_elsewhere(trace, calls)) is not None:
            context.more_tools = f"{elsewhere!r} did not go through the MCP proxy, so the agent has other tools as well"
        of_case = [call for call in calls if _is_of(call, _names(context))]
        cases = {*self._over}.union(*(_names(other) for other in self._running))
        unowned = [call for call in calls if not _is_of(call, cases)]
        by_turn = [_calls_of_turn(of_case, context, turn) for turn in range(-max(1, len(trace.turns)), 0)]
        joined = merge_by_turn(trace, by_turn, lambda turn, calls: self._join_turn(turn, calls, unowned))
        if self._traffic.lost_at >= since:
            return _with_loss(joined)
        # Of calls that cannot be read, or of no case that is known, approvals may be those of this one.
        shows_approvals = self._shows_approvals and not unowned and all(call.call.name for call in of_case)
        return _with_approvals(joined) if shows_approvals else joined

    def _join_turn(self, trace: Trace, calls: Sequence[ProxiedCall], unowned: Sequence[ProxiedCall]) -> Trace:
        names = dict.fromkeys(call.call.name for call in unowned if call.call.name)
        unobserved = {key: why for key, why in trace.unobserved.items() if key != "tools" or not self._complete}
        elsewhere = _find_elsewhere(trace, (*calls, *unowned))
        if self._complete and elsewhere is not None and "tools" in trace.unobserved:
            unobserved["tools"] = NOT_COMPLETE.format(elsewhere)
        if not all(call.call.name for call in (*calls, *unowned)):
            unobserved["tools"] = UNREAD
        return structs.replace(
            trace,
            tool_calls=tuple(merge_calls(trace.tool_calls, [call.call for call in calls if call.call.name])),
            possible_calls=(*trace.possible_calls, *(PossibleCall(name, UNOWNED.format(name)) for name in names)),
            unobserved=unobserved,
        )


def _find_elsewhere(trace: Trace, calls: Sequence[ProxiedCall]) -> str | None:
    """A tool that was called, and not through the proxy."""
    proxied = {call.call.name for call in calls}
    return next((call.name for call in trace.tool_calls if call.name not in proxied), None)


def _with_loss(trace: Trace) -> Trace:
    unobserved = {**trace.unobserved, "tools": LOST}
    return structs.replace(trace, unobserved=unobserved, turns=tuple(map(_with_loss, trace.turns)))


def _with_approvals(trace: Trace) -> Trace:
    """With none but those that its calls have, unless the target saw others."""
    metadata = {APPROVALS: [], **trace.metadata}
    return structs.replace(trace, metadata=metadata, turns=tuple(map(_with_approvals, trace.turns)))


def _calls_of_turn(calls: Sequence[ProxiedCall], context: RunContext, turn: int) -> list[ProxiedCall]:
    """The calls of a turn, which is counted from the end."""
    starts = [started.began for started in context.trace_context.turns]
    first = starts[turn] if len(starts) >= -turn else 0.0
    last = starts[turn + 1] if turn < -1 and len(starts) >= -turn else float("inf")
    return [call for call in calls if first <= call.started_at < last]


def _names(context: RunContext) -> set[str]:
    """By what a call is known to be of this run of a case."""
    return {context.trace_context.conversation_id, *(turn.trace_id for turn in context.trace_context.turns)}


def _is_of(call: ProxiedCall, names: Collection[str]) -> bool:
    entries = (entry.partition("=")[2].partition(";")[0].strip() for entry in call.baggage.split(","))
    marks = {call.conversation, call.traceparent[3:35], *map(conversation_in, entries)} - {""}
    return not marks.isdisjoint(names)
