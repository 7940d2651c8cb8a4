"""A target whose agent sends spans: they are received, given to the case that they belong to, and join its trace."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from time import monotonic

from msgspec import structs

from carob.errors import ConfigError
from carob.evidence.merge import TurnEvidence, answers_by_turn, merge_by_turn, merge_evidence
from carob.evidence.span_receiver import CaseWindow, Receiver
from carob.evidence.spans.facts import read_facts
from carob.evidence.spans.otlp import SpanRecord
from carob.evidence.spans.reading import read_turn, spans_by_turn
from carob.evidence.spans.trace_context import flush_spans
from carob.model.suite import Case
from carob.model.trace import PossibleCall, Trace
from carob.targets.base import RunContext, Target
from carob.targets.config import TargetConfig, place_of
from carob.targets.wrappers.base import ServedTarget
from carob.targets.wrappers.telemetry import Otlp, add_endpoint
from carob.text.wording import shorten, visible

POLL = 0.02
SETTLE = 0.3
"""Seconds without news after which a trace that seems whole is taken for it, where no model call proves that it is."""
SHORT_WAIT = 0.5
"""Once a whole wait brought nothing from anybody, later cases wait only so long."""
UNOWNED = (
    "a span of a call to {!r} arrived while the case ran, and its case is unknown: let the agent pass "
    "`traceparent` on, or set gen_ai.conversation.id or session.id to the conversation"
)
ONE_PORT = "the receiver of spans uses a fixed port"


class SpanCapture(ServedTarget):
    """Receives the spans of an agent while its target is open."""

    def __init__(self, build: Callable[[TargetConfig], Target], config: TargetConfig, otlp: Otlp) -> None:
        super().__init__(build, config)
        self._otlp = otlp
        self._receiver = Receiver()
        self._reported: set[str] = set()
        self._model_calls = False
        self._structured = False
        if otlp.port:
            self.limits = structs.replace(self.limits, max_workers=1, why_workers=ONE_PORT)

    def start(self) -> TargetConfig:
        try:
            self._receiver.open(self._otlp.port)
        except ConfigError as error:
            error.where = self._where
            raise
        return add_endpoint(self._config, self._receiver.endpoint)

    def stop(self) -> None:
        self._receiver.close()

    @property
    def _where(self) -> str:
        """Where the receiver is asked for."""
        table = f"[targets.{self._config.name or self._config.use}.telemetry]"
        return place_of(self._config, "telemetry") or table

    async def run(self, case: Case, context: RunContext) -> Trace:
        context.trace_context.listen(case.id)
        window = self._receiver.inbox.open_window(context.trace_context)
        is_answered = False

        async def join(trace: Trace, ended: bool) -> Trace:
            nonlocal is_answered
            is_answered = is_answered or ended
            if ended:
                await self._wait_for_spans(window, trace)
                for evidence in self._read_turns(window, trace):
                    context.tool_schemas = {**evidence.tool_schemas, **context.tool_schemas}
            return self._join(trace, window, context)

        try:
            return await self.run_joined(case, context, join)
        finally:
            window.close()
            context.notices += self._news(is_answered)

    async def _wait_for_spans(self, window: CaseWindow, trace: Trace) -> None:
        """Wait until the spans of the judged turn are all there, or until that takes too long."""
        await flush_spans()
        inbox, started, wait = self._receiver.inbox, monotonic(), self._otlp.wait_ms / 1000
        silent = "silent" in self._reported and not inbox.requests
        end = started + (min(SHORT_WAIT, wait) if silent else wait)
        version, changed, evidence = -1, started, TurnEvidence()
        while (now := monotonic()) < end:
            if inbox.version != version:
                version, changed = inbox.version, now
                evidence = self._read_turns(window, trace)[-1]
            if not evidence.doubt and (not evidence.gap or now - changed > SETTLE):
                return
            await asyncio.sleep(POLL)

    def _join(self, trace: Trace, window: CaseWindow, context: RunContext) -> Trace:
        """The trace, and each of its turns, with what their spans show."""
        evidence = self._read_turns(window, trace)
        context.recorder.plugins.update(*(of_turn.plugins for of_turn in evidence))
        vouched, structured, unowned = self._otlp.complete, self._structured, _unowned_calls(window)
        merge = partial(merge_evidence, vouched=vouched, structured=structured, unowned=unowned)
        return merge_by_turn(trace, evidence, merge)

    def _read_turns(self, window: CaseWindow, trace: Trace) -> list[TurnEvidence]:
        """What the spans show of each turn; one at least, though nothing was sent."""
        turns = spans_by_turn(window.records(), window.trace_context.turns) or [[]]
        answers = answers_by_turn(trace, len(turns))
        pairs = zip(turns, answers, strict=True)
        return [self._read(records, window, answer) for records, answer in pairs]

    def _read(self, records: list[SpanRecord], window: CaseWindow, answer: str) -> TurnEvidence:
        span_ids = {turn.span_id for turn in window.trace_context.turns}
        evidence = read_turn(records, span_ids, self._otlp.tool_count, answer)
        self._model_calls = self._model_calls or evidence.model_calls > 0
        self._structured = self._structured or evidence.structured
        doubt = self._unsent() if not records else evidence.doubt
        if not doubt and self._model_calls and not evidence.model_calls and evidence.gap:
            doubt = "other turns of this agent show model calls and this one shows none, so spans of it may be missing"
        if not doubt and window.loss:
            doubt = f"spans were lost while the case ran: {window.loss}"
        return structs.replace(evidence, doubt=doubt)

    def _unsent(self) -> str:
        if self._receiver.inbox.requests:
            return (
                "spans arrived, but none that is known to be this case's: pass `traceparent` on, or set "
                "gen_ai.conversation.id or session.id to the conversation"
            )
        return f"no span has reached {self._receiver.address}"

    def _news(self, answered: bool) -> list[str]:
        """What is to be reported once: that an agent sends nothing, that spans fit no case, that they came too late."""
        inbox, address = self._receiver.inbox, self._receiver.address
        news = {
            "silent": answered
            and not inbox.requests
            and f"{self._where}: no span has reached {address}: is the agent instrumented, does it export "
            "there (OTEL_EXPORTER_OTLP_ENDPOINT) over HTTP (http/protobuf or http/json, not gRPC), and does it flush?",
            "stray": inbox.strays
            and f"spans that belong to no case are ignored, such as {visible(shorten(inbox.stray_name, 80))!r}",
            "late": inbox.late
            and "spans arrived after their case was judged: "
            "flush at the end of a turn, or raise `telemetry.otlp.wait_ms`",
        }
        new = [key for key, message in news.items() if message and key not in self._reported]
        self._reported.update(new)
        return [str(news[key]) for key in new]


def _unowned_calls(window: CaseWindow) -> tuple[PossibleCall, ...]:
    """The tools that spans of no case call, or whose call a model asks for in them."""
    names: dict[str, None] = {}
    for record in window.unowned_spans():
        if (span := read_facts(record)) is not None:
            names |= dict.fromkeys([span.name] if span.kind == "tool" else [call.name for call in span.requested_calls])
    return tuple(PossibleCall(name, UNOWNED.format(name)) for name in names if name)
