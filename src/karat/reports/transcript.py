"""What happened in a case, bounded: what was asked, what was called with what, and what was answered."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from karat.model.faults import STUBBED, AlteredCall
from karat.model.run import CaseRecord
from karat.model.trace import ToolCall, Trace
from karat.reports.encoding import encode
from karat.reports.escaping import clip, terminal

LINE: Final = 300
LINES: Final = 8
CALLS: Final = 12
RESULT: Final = 160
TURNS: Final = 8
WHOLE: Final = 1 << 20


class TranscriptEntry(NamedTuple):
    """One thing that happened, in inert lines: something was `asked`, `called`, `altered` or `answered`."""

    what: str
    lines: list[str]


def transcript(record: CaseRecord, *, whole: bool = False) -> Iterator[TranscriptEntry]:
    """The judged turn, or the last turns of a conversation; `whole`: nothing is left out."""
    trace = record.trace
    yield from _altered_entries(trace.altered_calls, whole)
    if not trace.turns:
        yield from _turn(trace, trace.input or record.case.prompt, "", whole)
        return
    first = 0 if whole else max(len(trace.turns) - TURNS, 0)
    if first:
        yield TranscriptEntry("asked", [f"{first} earlier turns are not shown"])
    for number, turn in enumerate(trace.turns[first:], first + 1):
        yield from _turn(turn, turn.input, f" {number}", whole)


def _altered_entries(calls: tuple[AlteredCall, ...], whole: bool) -> Iterator[TranscriptEntry]:
    """The calls that a stub answered or a fault landed on."""
    for call in calls if whole else calls[:CALLS]:
        ran = ", which ran" if call.ran else ", which did not run"
        more = "" if call.hits != "tool" or call.kind == STUBBED else ran
        yield TranscriptEntry("altered", [terminal(f"{call.kind}: call {call.call} of {call.name}{more}", LINE)])


def _turn(turn: Trace, prompt: str, mark: str, whole: bool) -> Iterator[TranscriptEntry]:
    if asked := _text_lines(prompt, whole):
        yield TranscriptEntry(f"asked{mark}", asked)
    shown = turn.tool_calls if whole else turn.tool_calls[:CALLS]
    for call in shown:
        yield TranscriptEntry(f"called{mark}", [call_line(call, whole=whole)])
    if len(turn.tool_calls) > len(shown):
        yield TranscriptEntry(f"called{mark}", [f"and {len(turn.tool_calls) - len(shown)} more"])
    if answered := _text_lines(turn.final_message, whole):
        yield TranscriptEntry(f"answered{mark}", answered)


def _text_lines(text: str, whole: bool) -> list[str]:
    """The lines of a text that say something."""
    if whole:
        return [terminal(line) for line in text.splitlines() if line.strip()]
    lines = [line for line in clip(text, LINE * LINES).splitlines() if line.strip()]
    more = ["…"] if len(lines) > LINES else []
    return [terminal(line, LINE) for line in lines[:LINES]] + more


def call_line(call: ToolCall, *, whole: bool = False) -> str:
    """`refund(order="A-17") → failed: no such order`, inert."""
    asked = terminal(f"{call.name}({_arguments(call.arguments)})", WHOLE if whole else LINE)
    return f"{asked} → {_outcome(call, WHOLE if whole else RESULT)}"


def _arguments(given: object) -> str:
    if isinstance(given, dict):
        return ", ".join(f"{name}={_json(value)}" for name, value in given.items())
    return "" if given is None else _json(given)


def _outcome(call: ToolCall, limit: int) -> str:
    if not call.called:
        return "requested, never run" + (f": {terminal(call.error, limit)}" if call.error else "")
    if call.error:
        return f"error: {terminal(call.error, limit)}"
    how = "failed" if call.success is False else call.outcome
    if call.missing_fields:
        how += f", missing {terminal(', '.join(call.missing_fields), limit)}"
    if call.result is None:
        return how
    said = terminal(call.result if isinstance(call.result, str) else _json(call.result), limit)
    return f"{how}: {said}"


def _json(value: object) -> str:
    return encode(value).decode()
