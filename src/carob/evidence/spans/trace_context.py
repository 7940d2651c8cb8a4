"""By what the spans of one run of a case are known: what Carob sends along, and when each turn began."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import sys
import time
from functools import cache
from urllib.parse import quote, unquote
from uuid import uuid4

from msgspec import Struct

CASE_ENTRY = "carob.case"
"""The baggage entry, and the attribute that a service may make of it."""

RESOURCE = "OTEL_RESOURCE_ATTRIBUTES"
FLUSH_MS = 5_000


class TurnContext(Struct, frozen=True):
    """What was sent with one turn, and when it began."""

    trace_id: str
    span_id: str
    began: float


class TraceContext:
    """One per run of a case."""

    __slots__ = ("_conversation_id", "_process_ids", "case_id", "known_as", "listening", "process_env", "turns")

    def __init__(self) -> None:
        self.listening = False
        self.turns: list[TurnContext] = []
        self.known_as: set[str] = set()
        """Ids that the agent itself gave to this conversation."""
        self.process_env: dict[str, str] = {}
        """What else a process that is started for this case alone finds in its environment."""
        self.case_id = ""
        self._conversation_id = ""
        self._process_ids: tuple[str, str] | None = None

    @property
    def conversation_id(self) -> str:
        """A name that no other conversation ever has."""
        if not self._conversation_id:
            self._conversation_id = str(uuid4())
        return self._conversation_id

    def listen(self, case_id: str) -> None:
        """Spans are received: let the agent know whose it makes, also where no request says it."""
        self.listening = True
        self.case_id = case_id

    def begin_turn(self) -> None:
        """A turn begins, with a trace of its own, unless the agent is a process that already has one."""
        self.turns.append(TurnContext(*(self._process_ids or _new_ids()), time.time()))

    @property
    def case_entry(self) -> str:
        """The value of the baggage entry: the case, and which run of it."""
        return f"{quote(self.case_id, safe='')}/{self.conversation_id}"

    @property
    def headers(self) -> dict[str, str]:
        """What is sent with a request of the current turn, by the names of W3C's headers."""
        if not self.turns:
            return {}
        turn = self.turns[-1]
        return {"traceparent": f"00-{turn.trace_id}-{turn.span_id}-01", "baggage": f"{CASE_ENTRY}={self.case_entry}"}

    def for_process(self) -> dict[str, str]:
        """The environment of a process that is started for this case alone, if a receiver listens for its spans."""
        if not self.listening:
            return {}
        self._process_ids = (self.turns[-1].trace_id, self.turns[-1].span_id) if self.turns else _new_ids()
        trace_id, span_id = self._process_ids
        entry = f"{CASE_ENTRY}={self.case_entry}"
        return {"TRACEPARENT": f"00-{trace_id}-{span_id}-01", "BAGGAGE": entry, RESOURCE: entry, **self.process_env}


def _new_ids() -> tuple[str, str]:
    ids = os.urandom(24).hex()
    return ids[:32], ids[32:]


def conversation_in(entry: str) -> str:
    """The conversation that a baggage entry names, or the empty string."""
    return unquote(entry).rpartition("/")[2] if "/" in entry else ""


def enter_turn(trace_context: TraceContext) -> None:
    """Put the spans of an agent in this process below the current turn.

    An agent may load OpenTelemetry only as it answers its first prompt, so it is loaded here, if it is installed.
    """
    if not (trace_context.listening and trace_context.turns and _has_opentelemetry()):
        return
    from opentelemetry import baggage, context, trace

    turn = trace_context.turns[-1]
    parent = trace.SpanContext(
        int(turn.trace_id, 16), int(turn.span_id, 16), is_remote=True, trace_flags=trace.TraceFlags(1)
    )
    within = trace.set_span_in_context(trace.NonRecordingSpan(parent))
    context.attach(baggage.set_baggage(CASE_ENTRY, trace_context.case_entry, within))


@cache
def _has_opentelemetry() -> bool:
    try:
        return importlib.util.find_spec("opentelemetry.trace") is not None
    except ModuleNotFoundError:
        return False


async def flush_spans() -> None:
    """Have the spans of this process sent now; a provider that cannot flush sends in its own time."""
    if "opentelemetry.trace" not in sys.modules:
        return
    from opentelemetry import trace

    force = getattr(trace.get_tracer_provider(), "force_flush", None)
    if callable(force):
        await asyncio.to_thread(force, FLUSH_MS)
