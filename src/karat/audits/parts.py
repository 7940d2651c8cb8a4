"""What of a case is changed at a time: all of it, or one turn of a conversation, which is judged as a whole again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from msgspec import structs

from karat.audits.operators.base import Subject
from karat.model.suite import Case, Turn
from karat.model.trace import Trace
from karat.traces.turns import conversation

Change = Callable[[Trace], Trace]


class CasePart(NamedTuple):
    """A piece of a case that can be made wrong, and the trace of the case with such a piece in its place."""

    subject: Subject
    turn: int | None
    within: Change

    def named(self, what: str) -> str:
        return what if self.turn is None else f"turn {self.turn}: {what}"


def parts(subject: Subject) -> Iterator[CasePart]:
    """The pieces of a case: each turn that something is expected of, the last one by what all turns are to come to."""
    case, trace = subject.case, subject.trace
    if not case.turns:
        yield CasePart(subject, None, lambda piece: piece)
        return
    for number, turn in enumerate(case.turns, 1):
        if turn.checks or (case.checks and number == len(case.turns)):
            earlier = trace.turns[number - 2] if number > 1 else None
            piece = _piece(subject, turn, trace.turns[number - 1], earlier)
            yield CasePart(piece, number, _replacing(trace, number))


def everywhere(trace: Trace, change: Change) -> Trace:
    """The trace with every turn of it changed, or all of it where there is but one."""
    if not trace.turns:
        return change(trace)
    return structs.replace(conversation([change(turn) for turn in trace.turns]), database=change(trace).database)


def _piece(subject: Subject, turn: Turn, trace: Trace, earlier: Trace | None) -> Subject:
    case: Case = structs.replace(
        subject.case, prompt=turn.prompt, checks=(*turn.checks, *subject.case.checks), turns=()
    )
    return Subject(case, trace, subject.seed, earlier)


def _replacing(trace: Trace, number: int) -> Change:
    turns = trace.turns
    return lambda piece: _rebuilt(trace, [*turns[: number - 1], piece, *turns[number:]])


def _rebuilt(trace: Trace, turns: list[Trace]) -> Trace:
    """The conversation of these turns, with what a database gave at its end."""
    return structs.replace(conversation(turns), database={**trace.database, **turns[-1].database})
