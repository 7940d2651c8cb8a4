"""That a tool was not called is proved, or it is unknown: never a PASS because something was not seen."""

from __future__ import annotations

import asyncio
import json
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import carob
from carob.checks.tools.names import ToolCallsAny, ToolCallsNone
from carob.evidence.logs.events import tool_calls
from carob.evidence.recorder import Recorder
from carob.features.browser.log import TurnLog, select_own_lines, wait_until_quiet
from carob.features.browser.options import LogOptions
from carob.model.trace import PossibleCall, ToolCall, Trace, TraceError
from carob.model.verdict import Status
from carob.targets.base import RunContext, TargetError
from targets.conftest import ask, case, opened
from targets.http.server import Asked, serving

NONE = ToolCallsNone("delete")


# -- the library


def suite(folder: Path, expected: dict[str, Any]) -> carob.Suite:
    file = folder / "suite.json"
    file.write_text(json.dumps({"version": "0.3", "cases": [{"id": "a", "prompt": "Hi", "expected": expected}]}))
    return carob.load_suite(str(file))


@pytest.mark.parametrize(
    ("made", "status"),
    [
        pytest.param({}, Status.UNKNOWN, id="without-calls"),
        pytest.param({"telemetry": ('{"source": "tool.delete"}',)}, Status.UNKNOWN, id="with-a-log-alone"),
        pytest.param({"tool_calls": ()}, Status.PASSED, id="none-were-made"),
        pytest.param({"tool_calls": (ToolCall("delete"),)}, Status.FAILED, id="called"),
    ],
)
def test_a_trace_that_was_made_without_tool_calls_did_not_observe_them(
    tmp_path: Path, made: dict[str, Any], status: Status
) -> None:
    (only,) = suite(tmp_path, {"tool_calls_none": ["delete"]}).cases
    checks = carob.judge(only, carob.Trace(case_id="a", final_message="Done.", **made)).checks
    (result,) = [check for check in checks if check.name == "tool_calls_none"]
    assert result.status is status
    assert status is not Status.UNKNOWN or "give it tool_calls=()" in result.found


def test_a_journal_that_says_nothing_of_calls_observed_that_there_were_none() -> None:
    import msgspec

    read = msgspec.json.decode(b'{"case_id": "a", "final_message": "Done."}', type=Trace)
    assert NONE.judge(read).status is Status.PASSED
    made = Trace(case_id="a", final_message="Done.", tool_calls=())
    assert msgspec.json.encode(made) == b'{"case_id":"a","final_message":"Done."}'
    unseen = Trace(case_id="a", final_message="Done.")
    assert NONE.judge(msgspec.json.decode(msgspec.json.encode(unseen), type=Trace)).status is Status.UNKNOWN


# -- names


@pytest.mark.parametrize(
    ("called", "status"),
    [
        ("delete", Status.FAILED),
        ("functions.delete", Status.FAILED),
        ("crm.delete", Status.UNKNOWN),
        ("crm/delete", Status.UNKNOWN),
        ("crm:delete", Status.UNKNOWN),
        ("mcp__crm__delete", Status.UNKNOWN),
        ("Crm-delete", Status.UNKNOWN),
        ("soft_delete", Status.PASSED),
        ("undelete", Status.PASSED),
    ],
)
def test_a_forbidden_name_that_ends_a_seen_one_behind_a_name_space_is_unknown(called: str, status: Status) -> None:
    trace = Trace(case_id="a", tool_calls=(ToolCall(called),))
    assert NONE.judge(trace).status is status


def test_a_call_that_may_be_the_turns_is_evidence_of_nothing() -> None:
    possible = PossibleCall("delete", "pass `traceparent` on")
    trace = Trace(case_id="a", tool_calls=(), possible_calls=(possible,))
    for check in (NONE, ToolCallsAny(("delete",))):
        judged = check.judge(trace)
        assert (judged.status, judged.found) == (Status.UNKNOWN, "pass `traceparent` on")
    assert ToolCallsNone("refund").judge(trace).status is Status.PASSED


# -- mappings of services


def service(answers: list[Any], *, stream: bool) -> Any:
    """Answers one after the other, each as one value or as the events of a stream."""
    left = list(answers)

    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        reply = left.pop(0)
        body = "".join(f"data: {json.dumps(event)}\n\n" for event in reply) if stream else json.dumps(reply)
        kind = "text/event-stream" if stream else "application/json"
        head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(body.encode())}\r\n\r\n"
        writer.write((head + body).encode())

    return serving(answer)


CALL = [{"tool": "delete"}, {"text": "Done."}]
WORDS = [{"text": "Hello."}]


@pytest.mark.parametrize(
    ("tool", "answers", "rest", "unseen"),
    [
        pytest.param("$.tol", [CALL], {}, [True], id="a-typo"),
        pytest.param("$.tool", [WORDS, CALL, WORDS], {}, [True, False, False], id="known-once-it-matched"),
        pytest.param("$.tool", [WORDS], {"absent": "none"}, [False], id="vouched-for"),
    ],
)
async def test_a_stream_key_that_never_matched_observed_nothing(
    tool: str, answers: list[Any], rest: dict[str, str], unseen: list[bool]
) -> None:
    stream = {"format": "sse", "text": "$.text", "tool": tool, **rest}
    async with service(answers, stream=True) as server:
        options = {"body": {"q": "{prompt}"}, "stream": stream}
        async with opened(*server.target, options=options) as target:
            traces = [await ask(target, "hi") for _ in answers]
    assert [trace.why_unobserved("tools") is not None for trace in traces] == unseen
    if unseen[0]:
        assert f"`stream.tool` {tool} has found nothing" in (traces[0].why_unobserved("tools") or "")
        assert 'stream = { absent = "none" }' in (traces[0].why_unobserved("tools") or "")


CALLED = {"reply": "Done.", "steps": [{"kind": "tool", "name": "delete"}]}
THOUGHT = {"reply": "Done.", "steps": [{"kind": "thought"}]}
NOTHING = {"reply": "Done.", "steps": []}


@pytest.mark.parametrize(
    ("kind", "answers", "rest", "unseen"),
    [
        pytest.param("tol", [CALLED], {}, [True], id="a-typo"),
        pytest.param("tool", [THOUGHT, CALLED, THOUGHT], {}, [True, False, False], id="known-once-it-matched"),
        pytest.param("tool", [NOTHING], {}, [False], id="an-empty-list-is-a-list"),
        pytest.param("tool", [THOUGHT], {"absent": "none"}, [False], id="vouched-for"),
    ],
)
async def test_a_filter_that_never_matched_observed_nothing(
    kind: str, answers: list[Any], rest: dict[str, str], unseen: list[bool]
) -> None:
    calls = {"at": f"$.steps[?@.kind=='{kind}']", "name": "$.name", **rest}
    async with service(answers, stream=False) as server:
        options = {"body": {"q": "{prompt}"}, "answer": "$.reply", "tool_calls": calls}
        async with opened(*server.target, options=options) as target:
            traces = [await ask(target, "hi") for _ in answers]
    assert [trace.why_unobserved("tools") is not None for trace in traces] == unseen
    assert not unseen[0] or 'tool_calls = { absent = "none" }' in (traces[0].why_unobserved("tools") or "")


# -- logs


@pytest.mark.parametrize("tools", [("delete",), ()], ids=["one-tool", "any-tool"])
def test_a_line_of_nuls_is_not_the_absence_of_a_call(tools: tuple[str, ...]) -> None:
    from carob.checks.tools.names import not_understood

    trace = Trace(case_id="a", tool_calls=(), telemetry=('{"source": "turn", "event": "end"}', "\0" * 80))
    assert "it contains 80 NUL characters. Have the app open its log in append mode" in (
        not_understood(trace, tools) or ""
    )


def test_a_call_that_a_model_streams_is_not_the_end_of_one() -> None:
    lines = [
        {"source": "pi.stream", "event": "response.tool_call", "data": {"toolName": "delete", "args": {"n": 1}}},
        {"source": "tool.delete", "event": "start", "data": {"args": {"n": 1}}},
        {"source": "tool.delete", "event": "result", "data": {"success": True}},
    ]
    (call,) = tool_calls(tuple(map(json.dumps, lines)))
    assert (call.name, call.arguments, call.success) == ("delete", {"n": 1}, True)
    (asked,) = tool_calls((json.dumps(lines[0]),))
    assert asked.success is None


DIALECT = json.dumps({"start": "-> {tool}", "result": "<- {tool} {result}"})


def test_what_is_left_of_a_turn_that_broke_is_read_by_the_configured_events() -> None:
    recorder = Recorder()
    recorder.dialect = DIALECT
    recorder.event("-> delete")
    trace = recorder.partial(case(), TraceError("timeout", "late"))
    assert [call.name for call in trace.tool_calls] == ["delete"]
    assert trace.dialect == DIALECT


async def test_a_target_hands_the_configured_events_to_what_records_the_turn(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text("def answer(prompt):\n    return 'Done.'\n")
    events, context = {"start": "-> {tool}"}, RunContext()
    async with opened("python", "agent.py:answer", tmp_path, telemetry={"events": events}) as target:
        await target.run(case(), context)
    assert json.loads(context.recorder.dialect) == events


def test_without_a_field_that_names_it_a_logged_call_may_be_a_late_one() -> None:
    lines = ('{"source": "turn", "event": "start"}', '{"source": "tool.delete", "event": "start"}')
    named = '{"source": "tool.look", "event": "start", "talk": "carob-1"}'
    own, possible = select_own_lines((*lines, named, "-> refund"), "carob-1", DIALECT)
    assert own == (lines[0], named)
    assert [call.text for call in possible] == ["delete", "refund"]
    assert all("telemetry = { complete = true }" in call.why and "correlation_field" in call.why for call in possible)


def event(tool: str, kind: str) -> str:
    return json.dumps({"source": f"tool.{tool}", "event": kind, "data": {"success": True}})


@pytest.mark.parametrize(
    ("lines", "own", "late"),
    [
        pytest.param([("look", "start"), ("look", "result")], 2, [], id="a-call-and-its-result"),
        pytest.param([("delete", "result"), ("look", "start"), ("look", "result")], 2, ["delete"], id="a-late-result"),
        pytest.param([("look", "start"), ("look", "result"), ("look", "result")], 2, ["look"], id="two-results"),
        pytest.param([("look", "start"), ("look", "start"), ("look", "result")], 3, [], id="one-is-still-running"),
        pytest.param([("look", "start"), ("look", "error")], 2, [], id="an-error"),
        pytest.param([("look", "progress")], 0, ["look"], id="neither-start-nor-end"),
    ],
)
def test_after_a_quiet_moment_a_turn_has_the_calls_that_begin_in_it(
    lines: list[tuple[str, str]], own: int, late: list[str]
) -> None:
    written = tuple(event(*each) for each in lines)
    kept, possible = select_own_lines(written, "carob-1", "", was_quiet=True)
    assert (len(kept), [call.text for call in possible]) == (own, late)
    assert select_own_lines(written, "carob-1", "")[0] == ()


async def test_a_log_is_quiet_once_nothing_was_written_for_a_moment(tmp_path: Path) -> None:
    file = tmp_path / "log.jsonl"
    assert await wait_until_quiet(file)
    file.write_text("{}\n")
    began = time.monotonic()
    assert await wait_until_quiet(file)
    assert time.monotonic() - began > 0.2

    async def write() -> None:
        while True:
            file.write_text("{}\n")
            await asyncio.sleep(0.05)

    busy = asyncio.create_task(write())
    await asyncio.sleep(0.1)
    assert not await wait_until_quiet(file)
    busy.cancel()


@pytest.mark.parametrize(
    ("field", "broken"),
    [
        pytest.param("", "", id="without-correlation"),
        pytest.param("talk", "an event of tool.delete has no 'talk'", id="with-a-field-that-it-lacks"),
    ],
)
async def test_the_log_of_a_page_knows_the_configured_events(tmp_path: Path, field: str, broken: str) -> None:
    file = tmp_path / "log.jsonl"
    file.touch()
    options = LogOptions(correlation_field=field)
    with closing(TurnLog(file, options, "mine", dialect=DIALECT)) as log:
        file.write_text("-> delete\n")
        if not broken:
            assert [call.name for call in log.calls] == ["delete"]
            return
        with pytest.raises(TargetError, match=broken):
            log.is_ended()
