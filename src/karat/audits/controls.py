"""Agents that do not do the work. None of them may pass."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from msgspec import structs

from karat.audits.operators.base import Subject
from karat.audits.parts import everywhere
from karat.model.trace import Trace

ELSEWHERE = "Paris is the capital of France, and the Seine runs through it."


class Control(NamedTuple):
    """What such an agent would leave behind."""

    name: str
    trace: Trace


def controls(subject: Subject, another: Subject | None) -> Iterator[Control]:
    """An agent that does nothing, one that repeats the prompt, and one that gives another case's answer."""
    trace, prompt = subject.trace, subject.case.prompt

    def saying(words: str) -> Trace:
        return everywhere(trace, lambda turn: structs.replace(_idle(turn), final_message=words))

    yield Control("does nothing", everywhere(trace, _idle))
    repeats = everywhere(trace, lambda turn: structs.replace(_idle(turn), final_message=turn.input or prompt))
    yield Control("repeats the prompt", repeats if trace.turns else saying(prompt))
    if another is None:
        yield Control("answers another question", saying(ELSEWHERE))
    else:
        other = another.trace
        yield Control(f"answers as in {another.case.id}", everywhere(trace, lambda turn: _as_in(other, _idle(turn))))


def _idle(trace: Trace) -> Trace:
    """Nothing was said or done, and all of that was seen."""
    return structs.replace(
        trace,
        final_message="",
        messages=(),
        tool_calls=(),
        telemetry=(),
        page=trace.page_before if trace.page_before is not None else ("" if trace.page is not None else None),
        database={query: [] for query in trace.database},
        cuts={},
    )


def _as_in(other: Trace, idle: Trace) -> Trace:
    """What was done in another case; what was not looked at there is as if nothing had been done."""
    return structs.replace(
        idle,
        final_message=other.final_message,
        tool_calls=other.tool_calls,
        telemetry=other.telemetry,
        page=other.page if other.page is not None and idle.page is not None else idle.page,
        page_before=other.page_before if other.page_before is not None else idle.page_before,
        database={query: other.database.get(query, rows) for query, rows in idle.database.items()},
    )
