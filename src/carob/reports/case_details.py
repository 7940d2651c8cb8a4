"""A case that did not pass, in detail: why, what happened in it, and each check with what it expected and found.

Terminals, JUnit, GitHub, pytest and coding agents print it as lines, Markdown as a list.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple

from carob.model.faults import STUBBED
from carob.model.run import CaseRecord
from carob.model.trace import Message, ToolCall, Trace
from carob.model.verdict import CheckResult, EvidenceLocation, RuleTimeline, Status
from carob.reports.case_facts import check_facts, log, reasons
from carob.reports.escaping import CELL_LIMIT, clip, encode, terminal

LINE: Final = 300
LINES: Final = 8
NAME: Final = 60
CHECKS: Final = 30
CALLS: Final = 12
RESULT: Final = 160
TURNS: Final = 8
UNBOUNDED: Final = 1 << 20
AROUND: Final = 60
MATCH: Final = 80
PAGES: Final = ("page", "page_before")
NO_TIMELINE: Final = RuleTimeline()
_GUTTER: Final = "| "
"""Before each line of another's text, so that it is not taken for one of ours."""

Paint = Callable[[Status, str], str]


class TranscriptEntry(NamedTuple):
    """One thing that happened, in inert lines: something was `asked`, `called`, `altered` or `answered`."""

    kind: str
    lines: list[str]


class CheckDetail(NamedTuple):
    """A check that did not pass; `around` is the text around its evidence, `timeline` the events that broke a rule."""

    label: str
    result: CheckResult
    around: str
    timeline: RuleTimeline = NO_TIMELINE


class CaseDetails(NamedTuple):
    """What there is to say of a case that did not pass; `more` checks than these did not."""

    reasons: list[str]
    log: list[str]
    transcript: list[TranscriptEntry]
    checks: list[CheckDetail]
    more: int


def case_details(record: CaseRecord, *, full: bool = False) -> CaseDetails:
    """`full`: nothing is left out."""
    facts = check_facts(record).all
    timelines = timelines_of(record)
    checks = [
        CheckDetail(
            label,
            result,
            evidence(record.trace.of_turn(result.turn), result.at) if result.at else "",
            timelines.get(result.rule_id, NO_TIMELINE),
        )
        for label, result in (facts if full else facts[:CHECKS])
    ]
    entries = list(transcript(record, full=full))
    return CaseDetails(list(reasons(record)), log(record), entries, checks, len(facts) - len(checks))


def without_colour(status: Status, word: str) -> str:
    return word


def why_not_passed(record: CaseRecord, paint: Paint = without_colour, *, full: bool = False) -> Iterator[str]:
    """Inert lines without indent. `paint` colours the status of a check; `full`: nothing is left out."""
    details, limit = case_details(record, full=full), None if full else LINE
    yield from (terminal(reason, limit) for reason in details.reasons)
    yield from (f"{_GUTTER}{line}" for line in details.log)
    width = len(f"answered {len(record.trace.turns) or ''}".rstrip())
    indent = " " * (width + 2)
    for kind, lines in details.transcript:
        yield f"{kind:<{width}}  {lines[0]}"
        yield from (f"{indent}{_GUTTER}{line}" for line in lines[1:])
    for label, result, around, timeline in details.checks:
        status = paint(result.status, f"{result.status.value:<{width}}")
        yield f"{status}  {terminal(label, limit)} ({terminal(result.group, NAME)})"
        yield f"{indent}expected  {terminal(result.expected, limit)}"
        if result.found:
            yield f"{indent}found     {terminal(result.found, limit)}"
        if result.at is not None and around not in ("", result.found):
            yield f"{indent}in        {terminal(result.at.channel, NAME)}: {around}"
        yield from (f"{indent}{line}" for line in timeline_lines(timeline, limit))
    if details.more:
        yield f"and {details.more} more checks"


def timelines_of(record: CaseRecord) -> Mapping[str, RuleTimeline]:
    """The events that decided each rule that did not hold, by its id."""
    if not any(result.rule_id for result in record.verdict.checks):
        return {}
    from carob.checks.rules import find_timelines  # few suites have rules

    return find_timelines(record)


def timeline_lines(timeline: RuleTimeline, limit: int | None) -> Iterator[str]:
    """The events that broke a rule, each with a sign if it is one of them, as inert lines."""
    for event in timeline.entries:
        yield f"event {event.index:<3} {'*' if event.is_evidence else ' '} {terminal(event.words, limit)}"
    if timeline.triggered > 1:
        yield f"judged    at {timeline.triggered} events"


def headline(record: CaseRecord) -> str:
    """One inert line that says why: the reason, and the first check that did not hold."""
    return terminal("; ".join([*reasons(record), *_first_check(record)]), LINE)


def first_reason(record: CaseRecord) -> str:
    """The first check that did not hold, in one inert line; where checks do not say it, the reason."""
    return terminal("; ".join(_first_check(record) or reasons(record)), LINE)


def _first_check(record: CaseRecord) -> list[str]:
    facts = check_facts(record)
    return [f"{label}: {expectation(result)}" for label, result in (*facts.failed, *facts.unknown)[:1]]


def expectation(result: CheckResult) -> str:
    """What a check expected, and what it found if anything."""
    return f"expected {result.expected}" + (f", found {result.found}" if result.found else "")


def transcript(record: CaseRecord, *, full: bool = False) -> Iterator[TranscriptEntry]:
    """The judged turn, or the last turns of a conversation; `full`: nothing is left out."""
    trace = record.trace
    for call in trace.altered_calls if full else trace.altered_calls[:CALLS]:
        ran = ", which ran" if call.ran else ", which did not run"
        more = "" if call.hits != "tool" or call.kind == STUBBED else ran
        yield TranscriptEntry("altered", [terminal(f"{call.kind}: call {call.call} of {call.name}{more}", LINE)])
    if not trace.turns:
        yield from _turn(trace, trace.input or record.case.prompt, "", full)
        return
    first = 0 if full else max(len(trace.turns) - TURNS, 0)
    if first:
        yield TranscriptEntry("asked", [f"{first} earlier turns are not shown"])
    for number, turn in enumerate(trace.turns[first:], first + 1):
        yield from _turn(turn, turn.input, f" {number}", full)


def _turn(turn: Trace, prompt: str, mark: str, full: bool) -> Iterator[TranscriptEntry]:
    if lines := _text_lines(prompt, full):
        yield TranscriptEntry(f"asked{mark}", lines)
    calls = turn.tool_calls if full else turn.tool_calls[:CALLS]
    for call in calls:
        yield TranscriptEntry(f"called{mark}", [call_line(call, full=full)])
    if len(turn.tool_calls) > len(calls):
        yield TranscriptEntry(f"called{mark}", [f"and {len(turn.tool_calls) - len(calls)} more"])
    if lines := _text_lines(turn.final_message, full):
        yield TranscriptEntry(f"answered{mark}", lines)


def _text_lines(text: str, full: bool) -> list[str]:
    """The lines of a text that say something."""
    lines = [line for line in (text if full else clip(text, LINE * LINES)).splitlines() if line.strip()]
    if full:
        return [terminal(line) for line in lines]
    return [terminal(line, LINE) for line in lines[:LINES]] + ["…"] * (len(lines) > LINES)


def call_line(call: ToolCall, *, full: bool = False) -> str:
    """`refund(order="A-17") → failed: no such order`, inert."""
    return f"{_request(call, UNBOUNDED if full else LINE)} → {_outcome(call, UNBOUNDED if full else RESULT)}"


def short_call_line(call: ToolCall, limit: int) -> str:
    """`refund(order="A-17") → failure`, inert: what was asked, and how it came out, without what came back."""
    return f"{_request(call, limit)} → {call.outcome if call.called else 'never run'}"


def _request(call: ToolCall, limit: int) -> str:
    return terminal(f"{call.name}({_arguments(call.arguments)})", limit)


def _arguments(arguments: object) -> str:
    if isinstance(arguments, dict):
        return ", ".join(f"{name}={_json(value)}" for name, value in arguments.items())
    return "" if arguments is None else _json(arguments)


def _outcome(call: ToolCall, limit: int) -> str:
    if not call.called:
        return "requested, never run" + (f": {terminal(call.error, limit)}" if call.error else "")
    if call.error:
        return f"error: {terminal(call.error, limit)}"
    outcome = "failed" if call.success is False else call.outcome
    if call.missing_fields:
        outcome += f", missing {terminal(', '.join(call.missing_fields), limit)}"
    if call.result is None:
        return outcome
    return f"{outcome}: {terminal(call.result if isinstance(call.result, str) else _json(call.result), limit)}"


def _json(value: object) -> str:
    return encode(value).decode()


def evidence(trace: Trace, at: EvidenceLocation) -> str:
    """The text around a check's evidence, or the empty string if the trace holds none there."""
    text = _text_at(trace, at)
    if at.start is not None and text:
        return excerpt(text, at.start, at.start if at.end is None else at.end)
    if at.channel in PAGES:
        return ""  # how a page begins says nothing of what is missing from it
    return clip(_one_line(text[: 4 * CELL_LIMIT]), CELL_LIMIT)


def _text_at(trace: Trace, at: EvidenceLocation) -> str:
    texts = {"final_message": trace.final_message, "page": trace.page, "page_before": trace.page_before}
    lists = {"tool_calls": trace.tool_calls, "telemetry": trace.telemetry, "messages": trace.messages}
    entries = lists.get(at.channel, ())
    if at.index is None or not 0 <= at.index < len(entries):
        return texts.get(at.channel) or ""
    entry = entries[at.index]
    return entry.content if isinstance(entry, Message) else str(entry)


def excerpt(text: str, start: int, end: int) -> str:
    """One bounded line around a span: `…before [match] after…`. White space is drawn together."""
    start = min(max(start, 0), len(text))
    end = min(max(end, start), len(text))
    match = text[start:end]
    if len(match) > MATCH:
        match = f"{match[: MATCH // 2]}…{match[-MATCH // 2 :]}"
    before = _one_line(text[max(start - AROUND, 0) : start])
    after = _one_line(text[end : end + AROUND])
    cut_before = "…" if start > AROUND or len(before) > AROUND else ""
    cut_after = "…" if len(text) - end > AROUND or len(after) > AROUND else ""
    around = f"{cut_before}{before[-AROUND:]}[{clip(_one_line(match), 2 * MATCH)}]{after[:AROUND]}{cut_after}"
    # Cut once more: an invisible character is up to ten visible ones. The bracket may make a command of `##error`.
    return terminal(around.strip())


def _one_line(text: str) -> str:
    return terminal(re.sub(r"\s+", " ", text))
