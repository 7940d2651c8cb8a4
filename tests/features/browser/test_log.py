"""The telemetry of a turn, and captures that are broken: an ERROR, never a verdict."""

from __future__ import annotations

import asyncio
import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from carob.evidence.logs.events import tool_calls
from carob.features.browser.log import TurnLog
from carob.features.browser.options import LogOptions
from carob.features.browser.target import NO_LOG, SILENT
from carob.targets.base import RunContext, TargetError

from .conftest import IN_A_BROWSER, ask, opened
from .stub import Stub

pytestmark = IN_A_BROWSER


def telemetry(log: Path | None, **rest: Any) -> dict[str, Any]:
    settings = {"end_source": "turn", "end_event": "end", "wait_ms": 700, **rest}
    return {"telemetry": settings | ({"log": str(log)} if log else {}), "answer": {"selector": ".bot"}}


NOBODYS = "an event of tool.drop has no 'conversation', so its conversation is unknown"
TOO_LATE = "within 0.7 s: check where the app writes it"


def broken(why: str) -> str:
    return f"telemetry capture is broken: {why} [telemetry]"


async def test_tools_come_from_the_turns_own_lines(logging_stub: Stub) -> None:
    assert logging_stub.log is not None
    logging_stub.log.write_text('{"source": "tool.older", "event": "start"}\n')
    async with opened(logging_stub.url, **telemetry(logging_stub.log)) as target:
        trace = await ask(target, "say hi", setup_prompts=("say a",))
    assert [json.loads(line)["source"] for line in trace.telemetry] == ["tool.look", "tool.look", "turn"]
    assert [str(call) for call in trace.tool_calls] == ["look (success)"]
    assert trace.unobserved == {}


@pytest.mark.parametrize(
    ("settings", "doubted"),
    [
        pytest.param({}, ["drop"], id="names-no-conversation"),
        pytest.param({"complete": True}, [], id="vouched-for", marks=pytest.mark.thorough),
        pytest.param({"session_query": "conversation"}, ["drop"], id="other-lines-name-it", marks=pytest.mark.thorough),
        pytest.param(
            {"session_query": "conversation", "session": "all"},
            ["drop"],
            id="all-share-it",
            marks=pytest.mark.thorough,
        ),
    ],
)
async def test_from_the_second_case_on_only_a_result_without_its_start_may_be_a_late_one(
    logging_stub: Stub, settings: dict[str, Any], doubted: list[str]
) -> None:
    options = telemetry(logging_stub.log, **{key: settings[key] for key in ("complete",) if key in settings})
    rest = {key: value for key, value in settings.items() if key != "complete"}
    late = {"source": "tool.drop", "event": "result", "data": {"success": True}}
    async with opened(logging_stub.url, **options, **rest) as target:
        first = await ask(target, "say a", case_id="a")
        second = await ask(target, "say b", case_id="b")
        logging_stub.first = json.dumps(late)
        third = await ask(target, "say c", case_id="c")
    for trace in (first, second):
        assert [call.name for call in trace.tool_calls] == ["look"]
        assert (trace.possible_calls, trace.unobserved) == ((), {})
    assert [call.name for call in third.tool_calls if call.name == "look"] == ["look"]
    assert [call.text for call in third.possible_calls] == doubted
    assert ("telemetry" in third.unobserved) is bool(doubted)


async def test_side_by_side_by_correlation(logging_stub: Stub) -> None:
    options = telemetry(logging_stub.log, correlation_field="conversation", wait_ms=5000)
    async with opened(logging_stub.url, **options, session_query="conversation") as target:
        assert target.limits.max_concurrency is None
        traces = await asyncio.gather(*(ask(target, f"word{n} stream", case_id=f"c{n}") for n in range(2)))
    for number, trace in enumerate(traces):
        events = [json.loads(line) for line in trace.telemetry]
        assert [event.get("word") for event in events] == [None, None, f"word{number}"]
        assert len({event["conversation"] for event in events}) == 1


async def test_a_line_of_another_conversation_does_not_end_the_turn(logging_stub: Stub) -> None:
    options = telemetry(logging_stub.log, correlation_field="conversation")
    async with opened(logging_stub.url, "/chat?conversation=other", **options, session_query="talk") as target:
        with pytest.raises(TargetError) as caught:
            await ask(target, "say hi")
    assert str(caught.value) == broken(f"nothing was written to {logging_stub.log} in this turn {TOO_LATE}")


async def test_late_lines_are_waited_for(logging_stub: Stub) -> None:
    logging_stub.late = 1.0
    async with opened(logging_stub.url, **telemetry(logging_stub.log, wait_ms=8000)) as target:
        assert len((await ask(target, "say hi")).telemetry) == 3


@pytest.mark.parametrize(
    ("state", "message"),
    [
        pytest.param("missing", "{} does not exist: check where the app writes it", id="missing"),
        pytest.param(
            "silent",
            f"nothing was written to {{}} in this turn {TOO_LATE}",
            id="never-written",
            marks=pytest.mark.thorough,
        ),
        pytest.param("folder", "{} is not a log: Is a directory", id="folder"),
        pytest.param(
            "endless",
            "{} did not show the end of the turn within 0.7 s: correct the end-of-turn event, or increase `wait_ms`",
            id="no-end",
        ),
    ],
)
async def test_a_broken_capture_is_an_error_with_what_was_seen(
    stub: Stub, tmp_path: Path, state: str, message: str
) -> None:
    log = tmp_path / "log.jsonl"
    end = {}
    if state == "silent":
        log.touch()
    elif state == "folder":
        log.mkdir()
    elif state == "endless":
        stub.log, end = log, {"end_event": "never"}
    context = RunContext()
    async with opened(stub.url, **telemetry(log, **end)) as target:
        with pytest.raises(TargetError) as caught:
            await ask(target, "say hi", context)
    assert str(caught.value) == broken(message.format(log))
    if state != "folder":
        assert context.recorder.final_message == "hi"
    assert len(context.recorder.telemetry or ()) == (3 if state == "endless" else 0)


@pytest.mark.parametrize("vouched", [False, True], ids=["unknown", "vouched-for"])
async def test_silent_log_without_an_end_line_is_not_an_error(stub: Stub, tmp_path: Path, vouched: bool) -> None:
    (tmp_path / "log.jsonl").touch()
    settings = {"log": str(tmp_path / "log.jsonl"), "wait_ms": 200, "tools_only": vouched}
    async with opened(stub.url, telemetry=settings, answer={"selector": ".bot"}) as target:
        trace = await ask(target, "say hi")
    assert trace.final_message == "hi"
    assert trace.unobserved == ({} if vouched else {"tools": SILENT, "telemetry": SILENT})


ANOTHERS = '{"source": "turn", "event": "end", "conversation": "x"}'
ANOTHER_ENDED = "a turn of conversation 'x' ended in it: set `correlation_field`, if 'conversation' is one"


@pytest.mark.parametrize(
    ("field", "line", "message"),
    [
        pytest.param("conversation", '{"source": "tool.drop", "data": {"conversation": "mine"}}', NOBODYS, id="nested"),
        pytest.param(
            "conversation",
            '{"source": "tool.drop"}{"a": 1}',
            'a line of it cannot be read: {"source": "tool.drop"}{"a": 1}',
            id="two-in-one",
        ),
        pytest.param("conversation", "torn: mine", "a line of it cannot be read: torn: mine", id="names-this-one"),
        pytest.param("", ANOTHERS, ANOTHER_ENDED, id="another-ended"),
        pytest.param("conversation", '{"source": "tool.drop", "conversation": "x"}', "", id="another-ones"),
        pytest.param("conversation", "plain words", "", id="no-tool"),
    ],
)
async def test_a_line_that_may_be_this_conversations_is_not_dropped(
    tmp_path: Path, field: str, line: str, message: str
) -> None:
    app = Stub(log=tmp_path / "log.jsonl", first=line)
    assert app.log is not None
    options = LogOptions(end_source="turn", end_event="end", correlation_field=field)
    with closing(TurnLog(app.log, options, "mine", "conversation")) as log:
        app.write("mine", "say")
        if message:
            with pytest.raises(TargetError) as caught:
                await log.finish()
            assert str(caught.value) == broken(message)
        else:
            assert [str(call) for call in tool_calls(await log.finish())] == ["look (success)"]


async def test_the_end_of_another_conversations_turn_is_told(logging_stub: Stub) -> None:
    logging_stub.first = ANOTHERS
    options = telemetry(logging_stub.log, wait_ms=5000)
    async with opened(logging_stub.url, **options, session_query="conversation", session="mine") as target:
        with pytest.raises(TargetError) as caught:
            await ask(target, "say hi")
    assert str(caught.value) == broken(ANOTHER_ENDED)


async def test_late_lines_of_a_setup_prompt_are_not_of_the_prompt(logging_stub: Stub) -> None:
    logging_stub.delays = [0.7]
    options = telemetry(logging_stub.log, end_event="", end_source="", wait_ms=5000)
    async with opened(logging_stub.url, **options) as target:
        trace = await ask(target, "say hi", setup_prompts=("say a",))
    assert [str(call) for call in trace.tool_calls] == ["look (success)"]


async def test_a_log_that_shrinks_in_mid_turn_is_broken(logging_stub: Stub) -> None:
    assert logging_stub.log is not None
    logging_stub.log.write_text("an old line\n" * 100)
    logging_stub.late = 30
    async with opened(logging_stub.url, **telemetry(logging_stub.log, wait_ms=20_000)) as target:
        running = asyncio.create_task(ask(target, "say hi"))
        while not logging_stub.heard:
            assert not running.done()
            await asyncio.sleep(0.02)
        logging_stub.log.write_text("")
        with pytest.raises(TargetError) as caught:
            await running
    assert str(caught.value) == broken(f"{logging_stub.log} was truncated during the turn")


async def test_without_a_log_nothing_is_claimed(stub: Stub) -> None:
    async with opened(stub.url, **telemetry(None)) as target:
        trace = await ask(target, "say hi")
    assert trace.unobserved == {"tools": NO_LOG, "telemetry": NO_LOG}


async def test_the_log_of_the_command_line_comes_first(logging_stub: Stub, tmp_path: Path) -> None:
    options = telemetry(tmp_path / "elsewhere.jsonl")
    async with opened(logging_stub.url, **options, telemetry_log=str(logging_stub.log)) as target:
        assert len((await ask(target, "say hi")).telemetry) == 3
