"""A run whose first case fails after sixty calls with results of 50 KB, in a talk of two turns that spans show.

Its suite is a file, so that its lines can be shown.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

from carob.evidence.merge import merge_turns
from carob.journal.writer import begin, encode
from carob.model.run import CaseRecord, Footer, Header, Summary
from carob.model.trace import Message, SpanNode, Tokens, ToolCall, Trace
from carob.model.verdict import CaseStatus
from carob.scoring.verdicts import judge_case
from carob.suites.reading import read_suite
from catalogs import CATALOG

SUITE = """\
carob: 1
defaults:
  expected:
    must_not_say: [as an AI]
cases:
  - id: refund-after-research
    category: money
    tags: [long]
    turns:
      - prompt: What happened to order A-17?
        expected:
          tool_calls_any: [search]
          tool_calls:
            - tool: search
              arguments: { page: 99 }
      - prompt: Then give me my money back.
        expected:
          tool_calls:
            - tool: refund
              arguments:
                order: A-17
                amount: 49
          state:
            $.paid: true
    expected:
      must_say_any: ["49.00", "49 euros"]
      tool_calls_none: [delete_order]
      tool_requires:
        refund: [approve]
  - id: plain
    prompt: Hello
    expected: { must_say_any: [hello] }
"""
SIZE = 50_000
CALLS = (55, 5)
START = 1_800_000_000.0
UNSEEN = "the agent does not give its state"
ANSWERS = (
    "I looked at **55 pages**: order A-17 left our hall on *Monday* and came back on Friday.",
    "Done, as an AI I paid 94.00 back:\n\n| order | amount |\n|---|---|\n| A-17 | 94.00 |\n",
)


def _call(number: int, place: int, size: int) -> ToolCall:
    """A search with a large result; the last calls ask, pay and fail."""
    begin = START + number * 1.4
    known = {"id": f"c{number}", "started_at": begin, "ended_at": begin + 0.2 + (number * 7 % 11) / 10}
    if number == sum(CALLS) - 1:
        return ToolCall("refund", {"order": "A-17", "amount": 94}, result={"status": "paid"}, success=True, **known)
    if number == 20:
        return ToolCall("search", {"query": "order A-17", "page": 21}, error="the index did not answer in 1 s", **known)
    if number == 30:
        words = "Hall 7 at night.\n" + "It was quiet, and nothing left the hall.\n" * (size // 41)
        return ToolCall("read_log", {"hall": 7}, result=words, success=True, **known)
    rows = [{"page": place, "id": f"A-{at}", "said": f"moved to hall {at % 9} & back"} for at in range(size // 56)]
    arguments = {"query": "order A-17", "page": place + 1, "fields": ["page", "id", "said"], "newest_first": True}
    return ToolCall("search", arguments, result={"rows": rows}, success=True, **known)


def _step(number: int) -> SpanNode:
    """The model asks for a call."""
    at = START + number * 1.4
    used = {"tokens": Tokens(12_300, 95), "cost_usd": 0.0123}
    return SpanNode(f"m{number}", "chat", "model", started_at=at - 0.3, ended_at=at - 0.05, model="model-1", **used)


def _turn(number: int, size: int) -> Trace:
    first = sum(CALLS[:number])
    calls = tuple(_call(first + at, at, size) for at in range(CALLS[number]))
    prompt = ("What happened to order A-17?", "Then give me my money back.")[number]
    said = [Message("user", prompt)]
    for at, call in enumerate(calls):
        if at % 10 == 0:
            said.append(Message("assistant", f"I look at the pages from {at + 1} on."))
        said.append(Message("tool", call.error or json.dumps(call.result), call.name))
    spans = [_step(first + at) for at in range(0, CALLS[number], 10)]
    return Trace(
        case_id="refund-after-research",
        input=prompt,
        final_message=ANSWERS[number],
        messages=(*said, Message("assistant", ANSWERS[number])),
        tool_calls=calls,
        spans=tuple(spans),
        unobserved={"state": UNSEEN, "telemetry": UNSEEN, "page": "no page was captured"},
        started_at=START + first * 1.4 - 0.5,
        duration_ms=CALLS[number] * 1400.0,
        tokens=Tokens(12_300 * len(spans), 95 * len(spans)),
    )


def records(suite: Path, size: int) -> Iterator[CaseRecord]:
    cases = read_suite(suite.read_bytes(), str(suite), CATALOG).cases
    traces = (
        merge_turns([_turn(0, size), _turn(1, size)]),
        Trace(case_id="plain", final_message="hello", tool_calls=()),
    )
    for index, (case, trace) in enumerate(zip(cases, traces, strict=True)):
        yield CaseRecord(
            index=index, case=case, trace=trace, verdict=judge_case(case, trace, CATALOG), duration_ms=84_000.0
        )


def write_run(folder: Path, size: int = SIZE) -> Path:
    """The journal of the run, next to its suite."""
    folder.mkdir(parents=True, exist_ok=True)
    suite = folder / "suite.yaml"
    suite.write_text(SUITE)
    made = list(records(suite, size))
    assert [case_record.verdict.status for case_record in made] == [CaseStatus.FAIL, CaseStatus.PASS]
    header = Header(
        run_id="long",
        suite=str(suite),
        suite_format="carob",
        suite_sha256=hashlib.sha256(suite.read_bytes()).hexdigest(),
        target="python:agent:answer",
        started_at="2026-11-15T18:30:11Z",
        total=2,
    )
    journal = folder / "long.jsonl"
    footer = Footer(finished_at="2026-11-15T18:31:40Z", summary=Summary(passed=1, failed=1, total=2, runs=2))
    begin(str(journal), header, [*map(encode, made), encode(footer)])
    return journal
