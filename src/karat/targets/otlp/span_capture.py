"""A target whose agent sends spans: they are received, given to the case that they belong to, and join its trace."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import monotonic

from msgspec import structs

from karat.errors import ConfigError
from karat.evidence.merge import TurnEvidence, answers_by_turn, merge_by_turn, merge_evidence
from karat.evidence.otlp.inbox import CaseWindow
from karat.evidence.otlp.receiver import Receiver
from karat.evidence.spans.facts import SpanFacts, facts
from karat.evidence.spans.reading import by_turn, read_turn
from karat.evidence.spans.record import SpanRecord
from karat.evidence.spans.trace_context import flush_spans
from karat.model.suite import Case
from karat.model.trace import PossibleCall, Trace
from karat.targets.base import RunContext, Target, TargetError, secrets_of
from karat.targets.config import TargetConfig, place_of
from karat.targets.otlp.options import Otlp, add_endpoint
from karat.targets.otlp.plugins import plugins_left_out, without_plugin, without_plugins
from karat.targets.reach import reach_of
from karat.text.wording import shorten, visible

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


class SpanCapture:
    """Opens the receiver before the target, which is made anew with the receiver's address in its configuration."""

    def __init__(self, make: Callable[[TargetConfig], Target], config: TargetConfig, otlp: Otlp) -> None:
        self._make = make
        self._config = config
        self._otlp = otlp
        self._target = make(config)
        self._receiver = Receiver()
        self._reported: set[str] = set()
        self._model_calls = False
        self._structured = False
        self.limits = (
            structs.replace(self._target.limits, max_workers=1, why_workers=ONE_PORT)
            if otlp.port
            else (self._target.limits)
        )
        self.options = self._target.options
        self.secrets = secrets_of(self._target)
        self.reaches = reach_of(self._target)

    async def open(self) -> None:
        try:
            self._receiver.open(self._otlp.port)
        except ConfigError as error:
            error.where = self._place
            raise
        self._target = self._make(add_endpoint(self._config, self._receiver.endpoint))
        await self._target.open()

    @property
    def _place(self) -> str:
        """Where the receiver is asked for."""
        table = f"[targets.{self._config.name or self._config.use}.telemetry]"
        return place_of(self._config, "telemetry") or table

    async def close(self) -> None:
        try:
            await self._target.close()
        finally:
            self._receiver.close()

    async def run(self, case: Case, context: RunContext) -> Trace:
        trace_context = context.trace_context
        trace_context.listen(case.id)
        window = self._receiver.inbox.open_window(trace_context)
        answered = False
        if (speak := context.next_prompt) is not None:

            async def speak_to_joined(so_far: Trace) -> str | None:
                return await speak(await self._complete(so_far, window, case, context))

            context.next_prompt = speak_to_joined
        try:
            trace = await self._target.run(case, context)
            answered = True
            return await self._complete(trace, window, case, context)
        except TargetError as error:
            partial = error.partial or context.recorder.partial(case, error.error)
            error.partial = self._join(partial, window, case)
            raise
        finally:
            window.close()
            context.notices += self._news(answered)

    async def _complete(self, trace: Trace, window: CaseWindow, case: Case, context: RunContext) -> Trace:
        """The trace with its spans, once they have arrived."""
        await flush_spans()
        await self._arrival(window, trace, case)
        for reading in self._readings(window, trace, case):
            context.tool_schemas = {**reading.tool_schemas, **context.tool_schemas}
        return self._join(trace, window, case)

    async def _arrival(self, window: CaseWindow, trace: Trace, case: Case) -> None:
        """Wait until the spans of the judged turn are all there, or until that takes too long."""
        inbox, began = self._receiver.inbox, monotonic()
        silent = "silent" in self._reported and not inbox.requests
        end = began + (min(SHORT_WAIT, self._otlp.wait_ms / 1000) if silent else self._otlp.wait_ms / 1000)
        version, changed, reading = -1, began, TurnEvidence()
        while (now := monotonic()) < end:
            if inbox.version != version:
                version, changed = inbox.version, now
                reading = self._readings(window, trace, case)[-1]
            if not reading.doubt and (not reading.gap or now - changed > SETTLE):
                return
            await asyncio.sleep(POLL)

    def _join(self, trace: Trace, window: CaseWindow, case: Case) -> Trace:
        """The trace, and each of its turns, with what their spans tell."""
        unowned = _unowned_calls(window)

        def join(turn: Trace, reading: TurnEvidence) -> Trace:
            vouched = self._otlp.complete
            return merge_evidence(turn, reading, vouched=vouched, structured=self._structured, unowned=unowned)

        return merge_by_turn(trace, self._readings(window, trace, case), join)

    def _readings(self, window: CaseWindow, trace: Trace, case: Case) -> list[TurnEvidence]:
        """What the spans tell of each turn; one at least, though nothing was sent."""
        turns = by_turn(window.records(), window.trace_context.turns) or [[]]
        answers = answers_by_turn(trace, len(turns))
        found = [self._read(records, window, answer) for records, answer in zip(turns, answers, strict=True)]
        return [self._rename_plugins(reading, case) for reading in found]

    def _rename_plugins(self, reading: TurnEvidence, case: Case) -> TurnEvidence:
        """What was read, with tools named by their function where nothing speaks of its plugin."""
        configured = (*self._config.tool_names, *self._config.success, *self._config.ignore_tools)
        plugins = plugins_left_out(reading.plugins, case, configured)
        if not plugins:
            return reading
        schemas = {without_plugin(name, plugins): schema for name, schema in reading.tool_schemas.items()}
        return structs.replace(reading, calls=without_plugins(reading.calls, plugins), tool_schemas=schemas)

    def _read(self, records: list[SpanRecord], window: CaseWindow, answer: str) -> TurnEvidence:
        sent = {turn.span_id for turn in window.trace_context.turns}
        reading = read_turn(records, sent, self._otlp.tool_count, answer)
        self._model_calls = self._model_calls or reading.model_calls > 0
        self._structured = self._structured or reading.structured
        doubt = self._unsent() if not records else reading.doubt
        if not doubt and self._model_calls and not reading.model_calls and reading.gap:
            doubt = "other turns of this agent show model calls and this one shows none, so spans of it may be missing"
        if not doubt and window.loss:
            doubt = f"spans were lost while the case ran: {window.loss}"
        return structs.replace(reading, doubt=doubt)

    def _unsent(self) -> str:
        if self._receiver.inbox.requests:
            return (
                "spans arrived, but none that is known to be this case's: pass `traceparent` on, or set "
                "gen_ai.conversation.id or session.id to the conversation"
            )
        return f"no span has reached {self._receiver.place}"

    def _news(self, answered: bool) -> list[str]:
        """What is to be reported once: that an agent sends nothing, that spans fit no case, that they came too late."""
        inbox, place = self._receiver.inbox, self._receiver.place
        news = {
            "silent": answered
            and not inbox.requests
            and f"{self._place}: no span has reached {place}: is the agent instrumented, does it export "
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
    known = [entry for record in window.unowned_spans() if (entry := facts(record)) is not None]
    names = [
        name for entry in known for name in ([entry.name] if entry.kind == "tool" else _requested_names(entry)) if name
    ]
    return tuple(PossibleCall(name, UNOWNED.format(name)) for name in dict.fromkeys(names))


def _requested_names(entry: SpanFacts) -> list[str]:
    return [call.name for call in entry.asked]
