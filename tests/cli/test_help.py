"""`--help` teaches with examples, and every example can be run as it stands."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
from datetime import UTC, datetime
from glob import glob
from pathlib import Path

import pytest

from carob.cli.main import carob as group
from carob.cli.main import every_command
from carob.proxy.tape.file import Answer, Exchange, Tape
from carob.proxy.tape.requests import ServiceRequest
from cli.support import SCRIPT, Carob, case, eval_set, journal_of, program, write

COMMANDS = tuple(command.name for command in every_command())

SUITES = ("suite.json", "checkout.json", "evals/checkout.json", "evals/checkout.yaml")
CONFIGURATION = '[effects]\npay = ["paid"]\n[targets.staging]\nuse = "python:my_agent.py:answer"\n' + (
    '[targets.canary]\nuse = "python:agent.py:ask"\n'
)
DESK = """\
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode


@tool
def look_up() -> str:
    "Look."
    return "hello"


def say(state):
    if len(state["messages"]) == 1:
        return {"messages": [AIMessage("", tool_calls=[{"name": "look_up", "args": {}, "id": "1"}])]}
    return {"messages": [AIMessage("I could not say more than hello.")]}


def agent():
    builder = StateGraph(MessagesState)
    builder.add_node("say", say)
    builder.add_node("tools", ToolNode([look_up], handle_tool_errors=True))
    builder.add_edge(START, "say")
    builder.add_conditional_edges("say", lambda state: "tools" if state["messages"][-1].tool_calls else END)
    builder.add_edge("tools", "say")
    return builder.compile()
"""
GRAPH = """\
from langgraph.func import entrypoint


@entrypoint()
def graph(prompt: str) -> str:
    return "hello"
"""
RECORDED = "carob-results/checkout-20260101T090000Z.jsonl"
NEEDS_A_SHELL = ("|", ">")


def examples(command: str) -> list[str]:
    """The lines of a help text that can be typed."""
    described = group.get_command(None, command) if command else group  # type: ignore[arg-type]
    assert described is not None
    text = re.sub(r"(?m)^( *carob [^\n]*?) {3,}\S.*$", r"\1", described.help or "")
    return [line.strip() for line in text.splitlines() if line.strip().startswith("carob ")]


ELSEWHERE = (
    *("--prompt", "carob view", "carob watch", "carob tape stdio", "carob mcp"),
    *("carob guard mcp", "carob guard serve", "carob guard install", "carob guard log"),
)
"""What asks an app of the reader (tests/features/setup), serves until stopped, or changes what a user has set
(tests/features/guard)."""
EVERY = [
    (command, line)
    for command in ("", *COMMANDS)
    for line in examples(command)
    if not any(mark in line for mark in ELSEWHERE)
]


COSTLY = ("carob stress shop.carob.yaml -t",)
"""Of `carob stress` one example is enough for every day."""


PAID = [
    {"role": "user", "content": "Pay."},
    {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "pay", "arguments": "{}"}}]},
    {"role": "tool", "tool_call_id": "1", "content": '{"ok": true}'},
]
LOOKED_UP = [
    {"role": "assistant", "tool_calls": [{"id": "0", "function": {"name": "look_up", "arguments": "{}"}}]},
    {"role": "tool", "tool_call_id": "0", "content": "{}"},
]


@pytest.fixture
def world(carob: Carob) -> None:
    """Everything that the examples name."""
    for name in SUITES:
        write(name, eval_set(case("G1"), case("G2")))
    for name in ("agent.py", "my_agent.py"):
        write(name, "def ask(prompt): return 'hello'\nanswer = ask\n")
    write("my_graph.py", GRAPH)
    write("desk.py", DESK)
    write("carob.toml", CONFIGURATION)
    write("shop.carob.yaml", "carob: 1\ncases: [{id: refund, prompt: Hi, expected: {must_say_any: [hello]}}]\n")
    request = ServiceRequest("openai", "POST", "/v1/chat/completions", text="Hi")
    exchange = Exchange(case="refund", request=request, answer=Answer(200, text="hello"), recorded="2026-01-01")
    Tape(path=Path("shop.tape.yaml"), runs={("refund", 0): [exchange]}).write()
    program()
    carob("run", "checkout.json", "-t", "staging")
    journal_of().rename(RECORDED)
    for name in (
        "carob-results/JOURNAL.jsonl",
        "disk/run.jsonl",
        "before.jsonl",
        "after.jsonl",
        "small.jsonl",
        "large.jsonl",
    ):
        write(name, Path(RECORDED).read_bytes())
    for name in ("suite", "checkout"):
        carob("compare", "--save", RECORDED, "--file", f"{name}.baseline.jsonl")


def write_grader() -> None:
    """Two graders that accept everything, and the conversations that they are audited on."""
    write("judge.py", "def is_right(trace): return True\n")
    write("order.py", "def in_order(trace): return True\n")
    Path(write("judge", "#!/bin/sh\necho true\n")).chmod(0o755)
    for name in ("recorded.jsonl", "production.jsonl"):
        write(name, json.dumps({"messages": PAID}) + "\n")


def write_sessions() -> None:
    """A good session, and a bad one in which nothing was paid."""
    for side, messages in {"good": PAID, "bad": [PAID[0], PAID[-1]]}.items():
        write(f"{side}/session.jsonl", json.dumps({"messages": messages}) + "\n")


def write_conversations_that_keep_a_rule() -> None:
    """Orders of several customers, in each of which something is looked up before it is paid."""
    asked = ({"role": "user", "content": f"Pay order {number}."} for number in range(6))
    lines = (json.dumps({"messages": [said, *LOOKED_UP, *PAID[1:]]}) for said in asked)
    shutil.rmtree("carob-results")
    write("carob-results/orders.jsonl", "\n".join(lines))


def write_exports() -> None:
    """The rules and the exports that commands on recorded conversations are shown with."""
    conversation = json.dumps({"messages": PAID, "created_at": datetime.now(UTC).isoformat()})
    for name, count in (("export.jsonl", 2), ("exports/monday.jsonl", 2), ("spans.jsonl", 1_000)):
        write(name, f"{conversation}\n" * count)


@pytest.mark.usefixtures("world")
@pytest.mark.parametrize(
    ("command", "line"),
    [
        pytest.param(*example, id=example[1], marks=[pytest.mark.thorough] * example[1].startswith(COSTLY))
        for example in EVERY
    ],
)
def test_examples_can_be_run(carob: Carob, command: str, line: str) -> None:
    if command in ("check", "guard"):
        write("policy.carob.yaml", "carob: 1\nrules: [{id: once, each: {call: pay}, at_most: 1}]\n")
    if command == "check":
        write_exports()
    if command in ("audit", "coverage"):
        write_grader()
    if "openapi.yaml" in line:
        write("openapi.yaml", "openapi: 3.1.0\npaths: {/pay: {post: {operationId: pay}}}\n")
    if "--rules" in line and command == "draft":
        write_conversations_that_keep_a_rule()
    if "--bad" in line:
        write_sessions()
    line = line.replace("/full/disk", "disk").replace("/other/disk", "other")
    if any(mark in line for mark in NEEDS_A_SHELL):
        path = f"{SCRIPT.parent}:{os.environ['PATH']}"
        ran = subprocess.run(["sh", "-c", line], env={**os.environ, "PATH": path}, capture_output=True, text=True)
        assert ran.returncode == 0, ran.stderr
        assert command in ("init --inspect", "draft") or not ran.stderr
        return
    words = [match for word in shlex.split(line)[1:] for match in (sorted(glob(word)) or [word])]
    done = carob(*words)
    # The suite of these examples proves little, and `carob init` writes nothing where it cannot ask.
    is_unmet = (command == "audit" and "--grader" not in words) or {"--min-asserted", "--min-caught"} & {*words}
    assert done.code == (4 if "init" in words and "--inspect" not in words else bool(is_unmet)), done.err


def test_every_command_but_the_plainest_shows_an_example() -> None:
    without = {command for command in COMMANDS if not examples(command)}
    assert without <= {"audit --self"}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_help_of_every_command(carob: Carob, command: str, flag: str) -> None:
    ran = carob(*command.split(), flag)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith(f"Usage: carob {command} ")


@pytest.mark.parametrize("command", [None, *COMMANDS])
def test_no_line_of_help_is_over_100_columns(carob: Carob, command: str | None) -> None:
    long = [line for line in carob(*(command or "").split(), "--help").out.splitlines() if len(line) > 100]
    assert not long


def test_help_names_every_command(carob: Carob) -> None:
    shown = carob("--help").out
    for command in COMMANDS:
        name, _, form = command.partition(" ")
        assert f"\n  {name} " in shown
        assert f"\n  {form} " in carob(name, "--help").out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        pytest.param(["runn"], "No such command 'runn'. Did you mean 'run'? Try 'carob --help'.", id="command"),
        pytest.param(["self-test"], "It is now: carob audit --self", id="old"),
        pytest.param(["run", "s.json", "--targt", "x"], "Did you mean", id="option"),
        pytest.param(["--verison"], "'--version'", id="option-of-carob"),
        pytest.param(
            ["run"],
            "no suite is given, and there is none here. Write it as `carob run SUITE...`",
            id="no-suite",
        ),
        pytest.param(["rescore"], "@last: there is no such run here.", id="no-journal"),
        pytest.param(["rescore", "a", "b"], "a: it cannot be read: No such file or directory.", id="no-such-journal"),
        pytest.param(["run", "s.json", "--timeout", "0"], "0.0 is not in the range x>0.", id="zero"),
        pytest.param(["run", "s.json", "--timeout", "soon"], "'soon' is not a valid number of seconds.", id="word"),
        pytest.param(["run", "s.json", "--timeout", "nan"], "'nan' is not a valid number of seconds.", id="nan"),
        pytest.param(["run", "s.json", "--run-timeout", "inf"], "'inf' is not a valid number of seconds.", id="inf"),
        pytest.param(["run", "s.json", "-o", "x"], "'x' is not KEY=VALUE.", id="no-value"),
        pytest.param(["run", "s.json", "-o", "=x"], "'=x' is not KEY=VALUE.", id="no-key"),
    ],
)
def test_misuse_is_one_line(carob: Carob, arguments: list[str], says: str) -> None:
    ran = carob(*arguments)
    assert (ran.code, ran.out, len(ran.err.splitlines())) == (4, "", 1)
    assert ran.err.startswith("carob: ")
    assert says in ran.err
