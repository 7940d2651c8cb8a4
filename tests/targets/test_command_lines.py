"""`command:` with `lines = true`: one process for all cases, and a new one after each that it did not answer."""

from __future__ import annotations

import asyncio
import json
import shlex
import sys
from pathlib import Path

import pytest

from carob.errors import ConfigError
from carob.model.suite import Turn
from carob.targets.base import RunContext, TargetError

from .conftest import ask, case, opened

BRIDGE = """
import json, os, signal, sys, time

def write(value):
    print(json.dumps(value), flush=True)

talks = {}
for line in sys.stdin:
    request = json.loads(line)
    prompt, said = request["prompt"], talks.setdefault(request["conversation"], [])
    said.append(prompt)
    answer = {"id": request["id"], "final_message": f"{os.getpid()} {' '.join(said)}", "tool_calls": []}
    if prompt == "die":
        print("out of memory", file=sys.stderr, flush=True)
        os._exit(3)
    elif prompt == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    elif prompt == "hang":
        time.sleep(60)
    elif prompt == "late":
        time.sleep(0.6)
        write(answer)
    elif prompt == "garbage":
        print("Debugger listening\\x00\\x1b[31m {not json", flush=True)
        write(answer)
    elif prompt == "odd":
        write({"final_message": 3})
    elif prompt == "flood":
        while True:
            print("x" * 100_000)
    elif prompt == "other id":
        write({**answer, "id": 99})
    elif prompt == "twice":
        write(answer)
        write(answer)
    elif prompt == "last":
        write(answer)
        os._exit(0)
    elif prompt == "no id":
        del answer["id"]
        write(answer)
    elif prompt == "call":
        write({"type": "tool_call", "name": "look_up", "arguments": {}, "success": True})
        write({"final_message": "Found."})
    elif prompt == "fails":
        write({"id": request["id"], "error": "no such model"})
    else:
        write(answer)
"""
COMMAND = shlex.join([sys.executable, "-c", BRIDGE])
LINES = {"lines": True}


def pid(answer: str) -> int:
    return int(answer.split()[0])


async def test_one_process_has_all_cases() -> None:
    async with opened("command", COMMAND, options=LINES) as target:
        answers = [(await ask(target, prompt)).final_message for prompt in ("a", "no id", "garbage", "b")]
        trace = await ask(target, "call")
    assert len({pid(answer) for answer in answers}) == 1
    assert [answer.partition(" ")[2] for answer in answers] == ["a", "no id", "garbage", "b"]
    assert [call.name for call in trace.tool_calls] == ["look_up"]


@pytest.mark.parametrize(
    ("prompt", "kind", "says"),
    [
        ("die", "agent", "the command ended with exit status 3"),
        ("killed", "agent", "the command was killed by SIGKILL"),
        ("hang", "timeout", "0.5 s"),
        ("late", "timeout", "0.5 s"),
        ("odd", "bad-answer", "the command wrote a line that cannot be read"),
        ("flood", "bad-answer", "the command wrote more than 67,108,864 bytes"),
        ("other id", "bad-answer", "the command answered prompt 99 when it was asked 2"),
    ],
)
async def test_a_case_without_an_answer_is_an_error_of_its_own(prompt: str, kind: str, says: str) -> None:
    async with opened("command", COMMAND, options=LINES, turn_timeout=30 if prompt == "flood" else 0.5) as target:
        before = pid((await ask(target, "a")).final_message)
        with pytest.raises(TargetError) as caught:
            await ask(target, prompt)
        after = await ask(target, "b")
    assert (caught.value.kind, says in caught.value.message) == (kind, True), caught.value
    assert prompt != "die" or "out of memory" in (caught.value.detail or "")
    assert after.final_message == f"{pid(after.final_message)} b"
    assert pid(after.final_message) != before
    assert not Path(f"/proc/{before}").exists()


async def test_an_error_is_an_answer() -> None:
    async with opened("command", COMMAND, options=LINES) as target:
        before = pid((await ask(target, "a")).final_message)
        with pytest.raises(TargetError, match="no such model"):
            await ask(target, "fails")
        assert pid((await ask(target, "b")).final_message) == before


@pytest.mark.parametrize("prompt", ["twice", "last"])
async def test_what_comes_after_an_answer_is_no_part_of_the_next_case(prompt: str) -> None:
    async with opened("command", COMMAND, options=LINES) as target:
        first = await ask(target, prompt)
        await asyncio.sleep(0.3 if prompt == "last" else 0)
        second = await ask(target, "b")
    assert second.final_message.endswith(" b")
    assert (pid(first.final_message) == pid(second.final_message)) == (prompt == "twice")


async def test_each_conversation_has_a_name_of_its_own() -> None:
    talk = case("one", turns=(Turn("one"), Turn("two")))
    async with opened("command", COMMAND, options=LINES) as target:
        before = await target.run(talk, RunContext())
        trace = await target.run(talk, RunContext())
        setup = await target.run(case("c", setup_prompts=("a", "b")), RunContext())
    assert [turn.final_message.partition(" ")[2] for turn in trace.turns] == ["one", "one two"]
    assert pid(before.final_message) == pid(trace.final_message)
    assert setup.final_message.endswith(" a b c")


async def test_what_is_sent() -> None:
    echo = "import json, sys\nfor line in sys.stdin: print(json.dumps({'final_message': line}), flush=True)"
    async with opened("command", shlex.join([sys.executable, "-c", echo]), options=LINES) as target:
        sent = [json.loads((await ask(target, prompt)).final_message) for prompt in "ab"]
    names = [line.pop("conversation") for line in sent]
    assert sent == [{"id": 1, "prompt": "a", "case_id": "one"}, {"id": 2, "prompt": "b", "case_id": "one"}]
    assert len({*names}) == 2


async def test_the_processes_end_with_the_run() -> None:
    async with opened("command", COMMAND, options=LINES) as target:
        running = pid((await ask(target, "a")).final_message)
        assert Path(f"/proc/{running}").exists()
    assert not Path(f"/proc/{running}").exists()
    with pytest.raises(ConfigError, match="unknown option 'line' of a target of kind 'command'"):
        async with opened("command", COMMAND, options={"line": True}):
            pass
