"""What spans or traffic with models show of a turn, joined with what the target itself saw of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import structs

from karat.evidence.recorder import merge_calls
from karat.evidence.spans.reading import SpanReading
from karat.evidence.turns import conversation
from karat.model.trace import Message, PossibleCall, Trace

SYSTEM = "system"


def with_reading(
    trace: Trace,
    reading: SpanReading,
    *,
    vouched: bool,
    structured: bool,
    unowned: tuple[PossibleCall, ...] = (),
) -> Trace:
    """A turn with what was read of it.

    `vouched`: the user vouches that no call is missing. `structured`: the agent is known to ask by structured calls.
    """
    unobserved = {key: why for key, why in trace.unobserved.items() if key != "tools"}
    blind = trace.why_unobserved("tools")
    doubt = reading.doubt if vouched else reading.unproved
    in_words = () if structured or vouched else reading.possible_calls
    if blind and doubt:
        unobserved["tools"] = doubt
    # Where every call is shown, what the target could not read is not one more.
    guessed = [one for one in trace.possible_calls if not blind or doubt or one.of != "words"]
    prompts = reading.system if not any(one.role == SYSTEM for one in trace.messages) else ()
    return structs.replace(
        trace,
        messages=(*(Message(SYSTEM, text) for text in prompts), *trace.messages),
        tool_calls=tuple(merge_calls(trace.tool_calls, reading.calls)),
        possible_calls=(*guessed, *unowned, *((*in_words, *reading.open_calls) if blind else ())),
        unobserved=unobserved,
        spans=reading.nodes or trace.spans,
        ended_by=trace.ended_by or reading.ended_by,
        tokens=trace.tokens or reading.tokens,
        state=trace.state or reading.state,
        metadata={**trace.metadata, **reading.costs},
    )


def with_readings(trace: Trace, readings: Sequence[SpanReading], join: Callable[[Trace, SpanReading], Trace]) -> Trace:
    """The trace, and each of its turns, with what was read of it; the readings are those of the last turns."""
    if not trace.turns:
        return join(trace, readings[-1])
    own = zip(trace.turns, readings[-len(trace.turns) :], strict=False)
    joined = conversation([join(turn, reading) for turn, reading in own], trace.error)
    return structs.replace(joined, metadata={**joined.metadata, **trace.metadata})
