from __future__ import annotations

import asyncio
import json
import os
import shlex
import signal
import sys
import tracemalloc
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from carob.errors import ConfigError
from carob.model.trace import Message, ToolCall
from carob.targets.base import RunContext, TargetError

from .conftest import PROGRAM, ask, case, opened


def python(code: str) -> str:
    """A command that runs this code; `request` and `write` are at hand."""
    head = "import json, os, signal, sys, time\ndef write(value): print(json.dumps(value), flush=True)\n"
    return shlex.join([sys.executable, "-c", head + code])


READ = "request = json.load(sys.stdin)\n"


def alive(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


async def gone(pid: int) -> bool:
    for _ in range(500):
        if not alive(pid):
            return True
        await asyncio.sleep(0.02)
    return False


async def test_the_request() -> None:
    echo = python(READ + "write({'final_message': json.dumps(request) + os.environ['EXTRA'] + os.getcwd()})")
    async with opened("command", echo, Path("/"), env={"EXTRA": "!"}) as target:
        answer = (await ask(target, "p")).final_message
        assert answer == '{"case_id": "one", "prompt": "p"}!/'
        full = case("p", setup_prompts=("a",), metadata={"x": 1})
        with pytest.raises(TargetError, match="wrote 1 lines with `final_message`, not one for each of 2 prompts"):
            await target.run(full, RunContext(given={"when": object()}))


async def test_events_and_answer() -> None:
    code = """
write({"type": "message", "role": "assistant", "content": "thinking"})
write({"type": "tool_call", "name": "lookup", "args": {"q": 1}, "result": {"success": False, "missingFields": ["vin"]}})
print("a log line")
write({"level": "error", "error": "a JSON log line"})
write({"type": "progress", "percent": 10})
write({"final_message": "done", "tokens": {"input": 3}, "metadata": {"model": "m"}})
write({"type": "telemetry", "line": '{"source": "tool.search", "event": "result", "success": true}'})
write({"type": "telemetry", "event": {"source": "app"}})
"""
    async with opened("command", python(code)) as target:
        trace = await ask(target, "p")
    assert (trace.final_message, trace.metadata, trace.unobserved) == ("done", {"model": "m"}, {})
    assert trace.messages == (Message("assistant", "thinking"),)
    assert [(c.name, c.success, c.missing_fields) for c in trace.tool_calls] == [
        ("lookup", False, ("vin",)),
        ("search", True, ()),
    ]
    assert trace.telemetry == ('{"source": "tool.search", "event": "result", "success": true}', '{"source":"app"}')
    assert trace.tokens is not None
    assert trace.tokens.input == 3
    assert trace.page is None


@pytest.mark.parametrize(
    ("listed", "calls"),
    [
        pytest.param([], [ToolCall("a")], id="left-out"),
        pytest.param([{"name": "a", "success": True}], [ToolCall("a", success=True)], id="the-same"),
        pytest.param([{"name": "b"}], [ToolCall("b"), ToolCall("a")], id="another"),
    ],
)
async def test_what_a_list_leaves_out_is_not_lost(listed: list[dict[str, Any]], calls: list[ToolCall]) -> None:
    answer = {"final_message": "x", "tool_calls": listed}
    code = f'write({{"type": "tool_call", "name": "a"}})\nwrite(json.loads({json.dumps(json.dumps(answer))}))'
    async with opened("command", python(code)) as target:
        trace = await ask(target, "p")
    assert (list(trace.tool_calls), trace.unobserved.keys()) == (calls, {"telemetry"})


async def test_a_slip_in_the_type_of_a_line_is_told() -> None:
    code = 'write({"type": "tool_cal", "name": "a"})\nwrite({"final_message": "x", "tool_calls": []})'
    async with opened("command", python(code)) as target:
        with pytest.raises(TargetError, match="Did you mean 'tool_call'"):
            await ask(target, "p")


async def test_a_line_of_another_type_is_a_log() -> None:
    code = 'write({"type": "tool_result", "name": "a"})\nwrite({"final_message": "x", "tool_calls": []})'
    async with opened("command", python(code)) as target:
        assert (await ask(target, "p")).tool_calls == ()


async def test_setup_turns() -> None:
    code = (
        READ
        + """
for prompt in [*request["setup_prompts"], request["prompt"]]:
    write({"type": "tool_call", "name": prompt})
    write({"final_message": prompt})
"""
    )
    async with opened("command", python(code)) as target:
        trace = await ask(target, "last", setup_prompts=("first", "second"))
    assert (trace.final_message, [call.name for call in trace.tool_calls]) == ("last", ["last"])


@pytest.mark.parametrize(
    ("code", "setups", "kind", "message", "detail"),
    [
        pytest.param(
            "print('oh', file=sys.stderr); sys.exit(3)", 0, "agent", "exit status 3", "oh\n", id="exit-status"
        ),
        pytest.param(
            "write({'final_message': 'x'}); sys.exit(1)", 0, "agent", "exit status 1", "", id="answer-and-exit"
        ),
        pytest.param("os.kill(os.getpid(), signal.SIGSEGV)", 0, "agent", "killed by SIGSEGV", "", id="signal"),
        pytest.param("os.kill(os.getpid(), 40)", 0, "agent", "killed by signal 40", "", id="unnamed-signal"),
        pytest.param("sys.exit(1)", 1, "setup", "exit status 1", "", id="dies-in-setup"),
        pytest.param("write({'error': 'no'})", 1, "setup", "setup prompt 1 of 1: no", "", id="error-in-setup"),
        pytest.param("write({'error': 'no model'})", 0, "agent", "no model", "", id="error"),
        pytest.param("write({'final_message': 'x'})", 1, "bad-answer", "one for each of 2 prompts", "", id="too-few"),
        pytest.param("write({'final_message': 'x'});" * 2, 0, "bad-answer", "wrote 2 lines", "", id="too-many"),
        pytest.param(
            "write({'type': 'tool_call', 'nam': 1})", 0, "bad-answer", "Did you mean 'name'?", "", id="event-typo"
        ),
        pytest.param("write({'final_message': 'x', 'tols': 1})", 0, "bad-answer", "unknown key 'tols'", "", id="typo"),
        pytest.param(
            "write({'final_message': 'x', 'case_id': 'b'})", 0, "bad-answer", "for case 'b'", "", id="other-case"
        ),
        pytest.param("sys.stdout.buffer.write(b'\\xff\\n')", 0, "bad-answer", "it wrote: \ufffd", "", id="not-utf8"),
    ],
)
async def test_breaks(code: str, setups: int, kind: str, message: str, detail: str) -> None:
    async with opened("command", python(code)) as target:
        with pytest.raises(TargetError) as caught:
            await ask(target, "p", setup_prompts=("s",) * setups)
    assert (caught.value.kind, caught.value.detail) == (kind, detail)
    assert message in caught.value.message


@pytest.mark.parametrize(("asked", "waited"), [("4", 4.0), ("1e12", 1e9)])
@pytest.mark.parametrize("setups", [0, 1])
async def test_how_long_it_asks_to_wait(setups: int, asked: str, waited: float) -> None:
    code = f"write({{'error': {{'message': '429', 'retry_after': {asked}}}}})"
    async with opened("command", python(code)) as target:
        with pytest.raises(TargetError) as caught:
            await ask(target, "p", setup_prompts=("s",) * setups)
    assert caught.value.retry_after == waited


async def test_an_answer_before_a_bad_end_is_kept_as_partial() -> None:
    code = "write({'final_message': 'x', 'tools_called': ['a']}); sys.exit(1)"
    async with opened("command", python(code)) as target:
        with pytest.raises(TargetError) as caught:
            await ask(target, "p")
    assert caught.value.partial is not None
    assert (caught.value.partial.final_message, caught.value.partial.tool_calls[0].name) == ("x", "a")


async def test_the_end_of_stderr_is_kept_and_the_rest_drained() -> None:
    code = "sys.stderr.write('x' * 3_000_000 + 'the end'); sys.exit(1)"
    async with opened("command", python(code)) as target:
        with pytest.raises(TargetError) as caught:
            await ask(target, "p")
    assert caught.value.detail.endswith("xthe end")
    assert len(caught.value.detail) <= 4_096


async def test_output_over_the_cap_is_drained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("carob.targets.child_process.STDOUT_CAP", 100_000)
    code = "write({'final_message': 'x'})\nfor _ in range(1000): sys.stdout.write('y' * 30_000)"
    tracemalloc.start()
    try:
        async with opened("command", python(code)) as target:
            with pytest.raises(TargetError, match="wrote more than") as caught:
                await ask(target, "p")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 10_000_000, "bytes, of 30 MB that were written"
    assert caught.value.kind == "bad-answer"
    assert caught.value.partial is not None


@pytest.mark.parametrize("prompt", ["short", "x" * 3_000_000], ids=["short", "longer-than-a-pipe"])
@pytest.mark.parametrize("code", ["", "sys.stdin.close();", READ], ids=["ignored", "closed", "read"])
async def test_stdin_may_be_ignored(code: str, prompt: str) -> None:
    async with opened("command", python(f"{code}\nwrite({{'final_message': 'x'}})")) as target:
        assert (await ask(target, prompt)).final_message == "x"


CANCELLED = [
    pytest.param("", id="plain"),
    pytest.param("signal.signal(signal.SIGTERM, signal.SIG_IGN)", id="ignores-sigterm"),
]


@pytest.mark.parametrize("trap", CANCELLED)
async def test_cancelling_ends_the_whole_group(trap: str) -> None:
    code = f"""
import subprocess
{trap}
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"])
write({{"type": "message", "role": "pids", "content": f"{{os.getpid()}} {{child.pid}}"}})
time.sleep(3600)
"""
    context = RunContext()
    async with opened("command", python(code)) as target:
        running = asyncio.create_task(target.run(case("p"), context))
        while not context.recorder.messages:
            assert not running.done()
            await asyncio.sleep(0.01)
        began = monotonic()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert monotonic() - began < 5
    own, child = map(int, context.recorder.messages[0].content.split())
    assert not Path(f"/proc/{own}").exists(), "the process is reaped, not left as a zombie"
    assert await gone(child)


async def test_processes_that_outlive_the_command_are_ended() -> None:
    code = """
import subprocess
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"])
write({"final_message": str(child.pid)})
"""
    async with opened("command", python(code)) as target:
        began = monotonic()
        trace = await ask(target, "p")
        assert monotonic() - began < 20
    assert await gone(int(trace.final_message))


async def test_an_escaped_process_that_holds_the_pipe_does_not_hang_the_case() -> None:
    code = """
import subprocess
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"], start_new_session=True)
write({"final_message": str(child.pid)})
"""
    async with opened("command", python(code)) as target:
        trace = await asyncio.wait_for(ask(target, "p"), 30)
    os.kill(int(trace.final_message), signal.SIGKILL)


async def test_nothing_is_left_open() -> None:
    def descriptors() -> int:
        return len(os.listdir("/proc/self/fd"))

    async with opened("command", python("write({'final_message': 'x'})")) as target:
        await ask(target, "p")
        before = descriptors()
        await asyncio.gather(*(ask(target, "p") for _ in range(4)))
        assert descriptors() == before


async def test_turn_timeout() -> None:
    async with opened("command", PROGRAM, turn_timeout=0.3) as target:
        with pytest.raises(TargetError, match=r"the turn took longer than 0\.3 s") as caught:
            await ask(target, "hang")
    assert caught.value.kind == "timeout"


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        pytest.param("./missing --flag", "is not found", id="missing"),
        pytest.param("no-such-program-here", "is not found", id="not-on-path"),
        pytest.param("./plain.txt", "is not executable", id="not-executable"),
        pytest.param("./agent 'open", "No closing quotation", id="quotes"),
        pytest.param("''", "is not found", id="empty"),
        pytest.param("  ", "the command is empty", id="nothing"),
    ],
)
async def test_what_cannot_be_opened(tmp_path: Path, spec: str, message: str) -> None:
    (tmp_path / "plain.txt").write_text("x")
    with pytest.raises(ConfigError, match=message):
        async with opened("command", spec, tmp_path):
            pass


async def test_relative_to_the_root_and_without_an_interpreter(tmp_path: Path) -> None:
    script = tmp_path / "agent"
    script.write_text('#!/bin/sh\necho \'{"final_message": "from sh"}\'\n')
    script.chmod(0o755)
    async with opened("command", "./agent", tmp_path) as target:
        assert (await ask(target, "p")).final_message == "from sh"
        script.write_text("no program")
        with pytest.raises(TargetError, match="could not be started"):
            await ask(target, "p")


def test_the_documented_lines_are_json() -> None:
    from carob.targets import command

    lines = [line.strip() for line in (command.__doc__ or "").splitlines() if line.startswith("    {")]
    assert len(lines) == 5
    decoder = json.JSONDecoder()
    shown: list[Any] = [decoder.raw_decode(line.replace("{...}", "{}").replace(" ...}", " null}"))[0] for line in lines]
    assert shown[-1] == {"final_message": "..."}
