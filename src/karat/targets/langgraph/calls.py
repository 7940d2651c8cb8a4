"""Tool calls of a LangGraph turn: what the messages tell of them, with what callbacks saw of their runs.

Messages know what the model asked for, unknown tools and broken arguments included; callbacks know when a tool began
and ended, also in subgraphs, in nodes that call tools themselves, and when a turn was cut short.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from karat.model.trace import ToolCall
from karat.targets.langgraph.callbacks import Book, Run, Written
from karat.targets.langgraph.messages import plain_text
from karat.traces.clean import jsonable, loads

if TYPE_CHECKING:
    from langchain_core.messages import ToolMessage

NOT_A_CALL = "the model's call could not be read"


@dataclass(slots=True)
class Told:
    """A call that a message asks for."""

    order: int
    name: str
    call_id: str | None
    arguments: Any
    unreadable: str | None = None
    runs: list[Run] = field(default_factory=list)
    answers: list[ToolMessage] = field(default_factory=list)

    def as_call(self) -> ToolCall:
        run = self.runs[-1] if self.runs else None
        answer = self.answers[-1] if self.answers else None
        result = answer.content if answer is not None else run.result if run is not None else None
        if answer is not None:
            broke = answer.status == "error"
        else:
            broke = bool(self.unreadable or (run is not None and run.broke))
        why = (run and run.error) or self.unreadable or (plain_text(result) if broke else None)
        ended = answer is not None or (run is not None and run.ended_at is not None)
        return _call(
            ToolCall(
                self.name,
                jsonable(self.arguments),
                id=self.call_id,
                started=bool(self.runs),
                error=why if broke else None,
                started_at=self.runs[0].started_at if self.runs else None,
                ended_at=run.ended_at if run else None,
            ),
            result,
            ended=ended,
            broke=broke,
        )


def tool_calls(written: Sequence[Written], book: Book) -> tuple[ToolCall, ...]:
    """The calls of a turn in their order: those that messages ask for, and those that only callbacks saw."""
    told = sorted(_told(written), key=lambda call: call.order)
    runs = book.runs
    _share_out(told, runs, written)
    taken = {id(run) for call in told for run in call.runs}
    calls = [(call.order, call.as_call()) for call in told]
    calls += [(run.order, run_as_call(run)) for run in runs if id(run) not in taken]
    return tuple(call for _, call in sorted(calls, key=lambda pair: pair[0]))


def run_as_call(run: Run) -> ToolCall:
    """A run that no message asks for, or of which none is known yet."""
    call = ToolCall(
        run.name,
        jsonable(run.arguments),
        id=run.call_id,
        error=run.error,
        started_at=run.started_at,
        ended_at=run.ended_at,
    )
    return _call(call, run.result, ended=run.ended_at is not None, broke=run.broke)


def _call(call: ToolCall, result: Any, *, ended: bool, broke: bool) -> ToolCall:
    """The call with what its result says. One that says nothing of success counts by how LangGraph ended it."""
    data = _decoded(result)
    said = data if isinstance(data, dict) else {}
    success, lacking = said.get("success"), said.get("missing_fields", said.get("missingFields"))
    outcome = False if broke else (success if isinstance(success, bool) else True) if ended else None
    return ToolCall(
        call.name,
        call.arguments,
        id=call.id,
        started=call.started,
        result=jsonable(data),
        error=call.error,
        success=outcome,
        missing_fields=tuple(f for f in lacking if isinstance(f, str)) if isinstance(lacking, list) else (),
        started_at=call.started_at,
        ended_at=call.ended_at,
        unfinished=not ended and not broke,
    )


def _told(written: Iterable[Written]) -> Iterable[Told]:
    from langchain_core.messages import AIMessage

    for order, message in written:
        if isinstance(message, AIMessage):
            for call in message.tool_calls:
                yield Told(order, call["name"], call["id"], call["args"])
            for broken in message.invalid_tool_calls:
                why = broken["error"] or NOT_A_CALL
                yield Told(order, broken["name"] or "", broken["id"], broken["args"], why)


def _share_out(told: Sequence[Told], runs: Sequence[Run], written: Iterable[Written]) -> None:
    """Give every call its runs and answers. Ids may come again: models that count from one do so in every round."""
    from langchain_core.messages import ToolMessage

    by_id: dict[object, list[Told]] = defaultdict(list)
    for call in told:
        if call.call_id is not None:
            by_id[call.call_id].append(call)
            by_id[call.call_id, call.name].append(call)
    for order, message in written:
        if isinstance(message, ToolMessage) and message.tool_call_id in by_id:
            _owner(by_id[message.tool_call_id], order, "answers").answers.append(message)
    for run in runs:
        if (run.call_id, run.name) in by_id:
            _owner(by_id[run.call_id, run.name], run.order, "runs").runs.append(run)
    _share_out_nameless(told, [run for run in runs if run.call_id is None])


def _owner(told: Sequence[Told], order: int, got: Literal["answers", "runs"]) -> Told:
    """The call before an event; before any call, as when a node tells of all at its end, the first that has none."""
    place = bisect_right([call.order for call in told], order) - 1
    if place >= 0:
        return told[place]
    return next((call for call in told if not getattr(call, got)), told[-1])


def _share_out_nameless(told: Sequence[Told], runs: list[Run]) -> None:
    """Runs without an id belong to calls of their name that have none: by equal arguments, or because of an answer."""
    for call in told:
        if call.runs:
            continue
        own = [run for run in runs if run.name == call.name]
        match = next((run for run in own if run.arguments == call.arguments), own[0] if own and call.answers else None)
        if match is not None:
            call.runs.append(match)
            runs.remove(match)


def _decoded(result: Any) -> Any:
    """A result as data: JSON in text, also in text blocks, is read."""
    if isinstance(result, list) and result and all(_is_text_block(part) for part in result):
        data = _decoded(plain_text(result))
        return result if isinstance(data, str) else data
    if isinstance(result, str) and result.lstrip()[:1] in ("{", "["):
        try:
            return loads(result)
        except ValueError:
            return result
    return result


def _is_text_block(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") == "text" and isinstance(part.get("text"), str)
