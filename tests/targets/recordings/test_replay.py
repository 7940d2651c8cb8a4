from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any

import msgspec
import pytest

from carob.errors import CarobError, ConfigError, SuiteError
from carob.model.run import CaseRecord, Footer, Header, Summary
from carob.model.suite import Turn
from carob.model.trace import TextLoss, ToolCall, Trace, TraceError
from carob.model.verdict import CaseStatus, Verdict
from carob.targets.base import RunContext, TargetError
from targets.conftest import ask, case, opened


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "traces.jsonl"


def lines(*values: object) -> str:
    return "".join((value.decode() if isinstance(value, bytes) else json.dumps(value)) + "\n" for value in values)


def record(trace: Trace, **rest: Any) -> CaseRecord:
    return CaseRecord(index=0, case=case("p", trace.case_id), trace=trace, verdict=Verdict(CaseStatus.PASS), **rest)


def journal(*records: CaseRecord) -> bytes:
    header = Header(
        run_id="r", suite="s", suite_format="eval-set", suite_sha256="0", target="t", started_at="", total=1
    )
    footer = Footer(finished_at="", summary=Summary())
    return b"".join(msgspec.json.encode(part) + b"\n" for part in (header, *records, footer))


@pytest.mark.parametrize(
    ("keys", "tools", "unobserved"),
    [
        pytest.param({}, [], {"tools", "telemetry"}, id="text-alone"),
        pytest.param({"tool_calls": []}, [], {"telemetry"}, id="no-calls-were-seen"),
        pytest.param({"tool_calls": None}, [], {"tools", "telemetry"}, id="null-is-not-seen"),
        pytest.param({"tools_called": ["a", "b"]}, ["a", "b"], {"tool_results", "telemetry"}, id="names"),
        pytest.param({"telemetry": []}, [], set(), id="empty-telemetry"),
        pytest.param({"telemetry": [{"source": "tool.a", "event": "start"}]}, ["a"], set(), id="derived"),
        pytest.param({"telemetry": ['{"source": "tool.a", "event": "start"}']}, ["a"], set(), id="derived-raw"),
        pytest.param({"page": "- heading"}, [], {"tools", "telemetry"}, id="page"),
        pytest.param({"page": None}, [], {"tools", "telemetry"}, id="has-no-page"),
    ],
)
async def test_what_was_observed(file: Path, keys: dict[str, Any], tools: list[str], unobserved: set[str]) -> None:
    file.write_text(lines({"case_id": "one", "final_message": "x", **keys}))
    async with opened("replay", file.name, file.parent) as target:
        trace = await ask(target, "p")
    assert [call.name for call in trace.tool_calls] == tools
    assert trace.unobserved.keys() == unobserved


async def test_a_journal_is_replayed_as_it_is(file: Path) -> None:
    whole = Trace(
        case_id="one",
        input="p",
        final_message="x",
        tool_calls=(ToolCall("a", {"q": [1]}, success=True),),
        cuts={"page": TextLoss("cut", 3, "ff")},
        started_at=3.5,
        timings={"turn": 1.0},
    )
    broken = Trace(case_id="two", input="p", error=TraceError("agent", "boom", "trace"))
    file.write_bytes(
        journal(record(Trace(case_id="one", input="p", final_message="first")), record(whole), record(broken))
    )
    async with opened("replay", file.name, file.parent) as target:
        assert await ask(target, "p") == whole, "of several attempts the last counts"
        with pytest.raises(TargetError, match="boom") as caught:
            await ask(target, "p", case_id="two")
    assert (caught.value.kind, caught.value.detail) == ("agent", "trace")


async def test_repeats(file: Path) -> None:
    first, second = Trace(case_id="one", final_message="first"), Trace(case_id="one", final_message="second")
    short = {"case_id": "short", "final_message": "0"}, {"case_id": "short", "final_message": "1", "repeat": 1}
    file.write_bytes(journal(record(first), record(second, repeat=1)) + lines(*short).encode())
    async with opened("replay", file.name, file.parent) as target:
        assert (await target.run(case("p"), RunContext(repeat=1))).final_message == "second"
        assert (await target.run(case("p"), RunContext())).final_message == "first"
        assert (await target.run(case("p", "short"), RunContext(repeat=1))).final_message == "1"
        with pytest.raises(TargetError, match="contains no repeat 2 of this case") as caught:
            await target.run(case("p"), RunContext(repeat=2))
    assert caught.value.kind == "not-recorded"


@pytest.mark.parametrize("more", [{}, {"started_at": 1.0}, {"timings": {"x": 1.0}}, {"attachments": {"a": "b"}}])
async def test_a_line_that_says_nothing_of_tools(file: Path, more: dict[str, Any]) -> None:
    file.write_text(lines({"case_id": "one", "final_message": "hi", **more}))
    async with opened("replay", file.name, file.parent) as target:
        assert (await ask(target, "p")).unobserved.keys() == {"tools", "telemetry"}


@pytest.mark.parametrize(
    "line", [{"trace": {"case_id": "one"}}, {"case_id": "one", "unobserved": {}}], ids=["key", "bare"]
)
async def test_a_whole_trace_without_a_journal(file: Path, line: dict[str, Any]) -> None:
    file.write_text(lines(line))
    async with opened("replay", file.name, file.parent) as target:
        assert await ask(target, "p") == Trace(case_id="one", tool_calls=())


@pytest.mark.parametrize(
    ("line", "message"),
    [
        pytest.param(
            {"case_id": "a", "final_mesage": "x"}, "unknown key 'final_mesage'. Did you mean 'final_message'?", id="key"
        ),
        pytest.param(
            {"case_id": "a", "final_message": "x", "tool_calls": [{"name": "a", "argments": 1}]},
            "unknown key 'argments' in `tool_calls`. Did you mean 'arguments'?",
            id="key-of-a-call",
        ),
        pytest.param(
            {"case_id": "a", "final_message": 3}, "Expected `str | null`, got `int` - at `$.final_message`", id="type"
        ),
        pytest.param(
            {"case_id": "a", "final_message": "x", "tool_calls": [{"name": "a", "success": "true"}]},
            "Expected `bool | null`, got `str` - at `$.tool_calls[0].success`",
            id="type-in-a-call",
        ),
        pytest.param({"final_message": "x"}, "it has no `case_id`", id="no-case"),
        pytest.param({"case_id": "a", "turns": []}, "`turns` is empty", id="no-turns"),
        pytest.param(
            {"case_id": "a", "final_message": "x", "turns": [{"final_message": "x"}]},
            "`final_message` cannot be combined with `turns`",
            id="an-answer-and-turns",
        ),
        pytest.param(
            {"case_id": "a", "turns": [{"turns": [{"final_message": "x"}]}]}, "turn 1 cannot contain turns", id="deeper"
        ),
        pytest.param({"case_id": "a", "unobserved": {}, "turns": [1]}, "Expected `object`", id="a-turn-of-a-trace"),
        pytest.param({"case_id": "a"}, "it has no `final_message`", id="no-answer"),
        pytest.param([1], "one object per line", id="no-object"),
        pytest.param({"case_id": "a", "final_message": "", "repeat": -1}, "`repeat` is a whole number", id="repeat"),
        pytest.param({"trace": {"final_message": "x"}}, "missing required field `case_id`", id="whole-trace"),
        pytest.param({"case_id": "a", "cuts": {}, "tols": 1}, "unknown key 'tols'", id="key-of-a-whole-trace"),
        pytest.param(
            {"trace": {"case_id": "a", "tool_cals": []}}, "unknown key 'tool_cals'. Did you mean", id="key-of-a-trace"
        ),
        pytest.param(
            {"case_id": "a", "unobserved": {}, "tool_calls": [{"name": "y", "nme": "x"}]},
            "unknown key 'nme' in `tool_calls`. Did you mean 'name'?",
            id="key-of-a-call-of-a-whole-trace",
        ),
        pytest.param(
            {"case_id": "a", "unobserved": {"tool_calls": "nobody looked"}},
            "unknown key 'tool_calls' in `unobserved`. Did you mean 'tools'?",
            id="channel",
        ),
        pytest.param(
            b'{"case_id": "a", "final_message": "x", "final_message": "y"}',
            'Detected duplicate key "final_message": keep one of the two',
            id="a-key-twice",
        ),
        pytest.param(
            b'{"case_id": "a", "unobserved": {}, "tool_calls": [{"name": "x", "name": "y"}]}',
            'Detected duplicate key "name": keep one of the two',
            id="a-key-twice-within",
        ),
        pytest.param(
            {"case_id": "a", "final_message": "", "tool_calls": [], "tools_called": []}, "not both", id="both"
        ),
    ],
)
async def test_bad_lines_alone_are_named_before_any_case(file: Path, line: object, message: str) -> None:
    file.write_text("\ufeff{}\n\n" + lines(line, line))
    with pytest.raises(SuiteError) as caught:
        async with opened("replay", file.name, file.parent):
            pass
    _, first, second = str(caught.value).splitlines()
    assert first.startswith(f"{file}:3:1: ")
    assert message in first
    assert second.startswith(f"{file}:4:1: ")
    assert "the line is cut off" not in first


@pytest.mark.parametrize(
    ("bad", "ids"),
    [
        pytest.param('{"case_id": "b", "final_mess', "b", id="torn"),
        pytest.param('{"case_id": "b", "final_message": 7}', "b", id="another-type"),
        pytest.param('{"case_id": "c", "final_message": "x"}', "c", id="twice"),
        pytest.param('{"case_', "bd", id="of-no-known-case"),
    ],
)
async def test_a_bad_line_is_an_error_of_its_case_and_the_others_are_judged(file: Path, bad: str, ids: str) -> None:
    good = [{"case_id": name, "final_message": "x"} for name in "ac"]
    file.write_text(lines(*good) + bad)
    async with opened("replay", file.name, file.parent) as target:
        for name in {*"abcd"} - {*ids} - {"b", "d"}:
            assert (await ask(target, "p", case_id=name)).final_message == "x"
        for name in ids:
            with pytest.raises(TargetError, match=rf"{file}:3:1: "):
                await ask(target, "p", case_id=name)


async def test_a_later_attempt_counts_also_where_an_earlier_one_cannot_be_read(file: Path) -> None:
    whole = {"case_id": "a", "final_message": "x", "unobserved": {"telemetry": "none"}}
    file.write_text(lines(b'{"case_id": "a", "unobserved": {}, 7}', whole))
    async with opened("replay", file.name, file.parent) as target:
        assert (await ask(target, "p", case_id="a")).final_message == "x"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(None, "cannot be read: No such file", id="missing"),
        pytest.param(b"", "contains no trace", id="empty"),
        pytest.param(journal(), "contains no trace", id="journal-without-cases"),
        pytest.param('{"case_id": "a"}\n'.encode("utf-16"), ":1:1", id="utf-16"),
    ],
)
async def test_what_cannot_be_opened(file: Path, content: bytes | None, message: str) -> None:
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(CarobError, match=message):
        async with opened("replay", file.name, file.parent):
            pass


async def test_a_directory_is_no_recording(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no file of the folder contains a conversation"):
        async with opened("replay", ".", tmp_path):
            pass


async def test_cases_and_prompts_that_were_not_recorded(file: Path) -> None:
    file.write_text(lines({"case_id": "refund-1", "final_message": "x", "input": "old"}))
    async with opened("replay", file.name, file.parent) as target:
        with pytest.raises(TargetError, match=r"contains no trace of this case. Did you mean 'refund-1'\?") as missing:
            await ask(target, "p", case_id="refund-2")
        with pytest.raises(TargetError, match="recorded with another prompt") as changed:
            await ask(target, "new", case_id="refund-1")
        assert (await ask(target, "old", case_id="refund-1")).final_message == "x"
        file.write_text("rewritten\n" * 9)
        with pytest.raises(TargetError, match="changed while it was replayed"):
            await ask(target, "old", case_id="refund-1")
    assert missing.value.kind == changed.value.kind == "not-recorded"


@pytest.mark.parametrize(
    ("recorded", "prompts", "why"),
    [
        pytest.param({"turns": [{"final_message": "x"}]}, [], "the trace is of a conversation", id="one-prompt"),
        pytest.param({"final_message": "x"}, ["p", "q"], "the trace is of one prompt", id="a-conversation"),
        pytest.param({"turns": [{"final_message": "x"}]}, ["p", "q"], "the recording has 1 turn", id="more-turns"),
        pytest.param(
            {"turns": [{"final_message": "x"}] * 3}, ["p", "q"], "goes on after turn 2: record it again", id="fewer"
        ),
    ],
)
async def test_another_form_than_the_case_has(file: Path, recorded: Any, prompts: list[str], why: str) -> None:
    file.write_text(lines({"case_id": "one", **recorded}))
    turns = tuple(Turn(prompt, ()) for prompt in prompts)
    async with opened("replay", file.name, file.parent) as target:
        with pytest.raises(TargetError, match=why) as caught:
            await ask(target, "p", turns=turns)
    assert caught.value.kind == "not-recorded"


async def test_the_case_of_another_line_is_not_taken(file: Path) -> None:
    file.write_text(lines({"case_id": "one", "final_message": "x"}))
    async with opened("replay", file.name, file.parent) as target:
        file.write_text(lines({"case_id": "two", "final_message": "x"}))
        with pytest.raises(TargetError, match="changed while it was replayed"):
            await ask(target, "p")


async def test_a_large_recording_costs_little_memory(file: Path) -> None:
    count, text = 20_000, "word " * 600
    with file.open("w") as out:
        for number in range(count):
            out.write(f'{{"case_id": "case-{number}", "final_message": "{text}", "tools_called": []}}\n')
    tracemalloc.start()
    try:
        async with opened("replay", file.name, file.parent) as target:
            trace = await ask(target, "p", case_id=f"case-{count - 1}")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert trace.final_message == text
    assert peak < 10_000_000, "bytes, for a file of 60 MB"
