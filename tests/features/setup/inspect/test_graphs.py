"""Graphs that nobody described: what is seen of them, and a target that works."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from cli.support import Carob, eval_set, write

GRAPHS = """\
from dataclasses import dataclass
from typing import TypedDict

from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.runtime import Runtime
from langgraph.types import interrupt


@tool
def find(day: str) -> str:
    "Find a room."
    return "Blue"


def think(state):
    if state["messages"][-1].type == "tool":
        return {"messages": [AIMessage("Blue is free.")]}
    return {"messages": [AIMessage("", tool_calls=[{"name": "find", "args": {"day": "Friday"}, "id": "c1"}])]}


def compiled(state, *nodes, **rest):
    builder = StateGraph(state)
    builder.add_sequence([*nodes])
    builder.add_edge(START, nodes[0].__name__ if not isinstance(nodes[0], tuple) else nodes[0][0])
    return builder.compile(**rest)


agent = compiled(MessagesState, ("ask", think), ("tools", ToolNode([find])), ("tell", think))


class Desk(TypedDict, total=False):
    customer: str
    question: str
    steps: list[str]
    final: dict


def reply(state):
    words = f"{state['customer']}, you asked: {state['question']}"
    return {"steps": ["looked"], "final": {"id": "x", "answer": words}}


def broken(state):
    raise ValueError("fuse blown")


def sign(state):
    return {"messages": [AIMessage(interrupt("Sign A?"))]}


@dataclass
class Who:
    name: str = "Ada"


def greet(state, runtime: Runtime[Who]):
    runtime.store.put(("said",), "last", {"to": runtime.context.name})
    return {"messages": [AIMessage(f"Hello {runtime.store.get(('said',), 'last').value['to']}")]}


storing = StateGraph(MessagesState, context_schema=Who).add_node(greet).add_edge(START, "greet").compile()
own_state, fused = compiled(Desk, reply), compiled(Desk, broken)
mute = compiled(TypedDict("Counted", {"question": str, "count": int}), lambda state: {"count": 1})
counting = compiled(TypedDict("Counts", {"number": int}), broken)
signing = compiled(MessagesState, sign, checkpointer=InMemorySaver())


def by_config(config):
    return agent


class Asked(TypedDict):
    question: str


class Answered(TypedDict):
    answer: str


class Whole(MessagesState):
    question: str
    answer: str


def split():
    builder = StateGraph(Whole, input_schema=Asked, output_schema=Answered)
    builder.add_node("only", lambda state: {"answer": f"About {state['question']}"})
    builder.add_edge(START, "only")
    return builder


@dataclass
class Words:
    words: str


@entrypoint()
def whisper(given: Words) -> str:
    return given.words.lower()


@entrypoint()
def shout(prompt: str) -> str:
    return prompt.upper()
"""


@pytest.fixture(autouse=True)
def graphs(here: None) -> None:
    write("graphs.py", GRAPHS)


@pytest.mark.parametrize(
    ("name", "options", "seen"),
    [
        pytest.param(
            "agent",
            None,
            [
                "input                  messages: list",
                "nodes                  3 nodes: ask, tools, tell",
                "tools                  find",
                "checkpointer           none",
                "said 'Blue is free.'",
                'called find {"day":"Friday"}: succeeded',
            ],
            id="messages",
        ),
        pytest.param(
            "own_state",
            {"output": "$.final.answer", "input": {"question": "{prompt}", "customer": "test"}},
            ["input                  customer: text", "said 'test, you asked: Hi'", "state: customer"],
            id="a-state-of-its-own",
        ),
        pytest.param("shout", None, ["said 'HI'"], id="entrypoint"),
        pytest.param(
            "whisper",
            {"input": {"words": "{prompt}"}},
            ["input                  words: text", "said 'hi'"],
            id="dataclass",
        ),
        pytest.param(
            "split",
            {"output": "$.answer", "input": {"question": "{prompt}"}},
            ["input                  question: text", "output                 answer: text", "said 'About Hi'"],
            id="schemas-of-its-own",
        ),
        pytest.param("signing", None, ["checkpointer           InMemorySaver", "said 'Sign A?'"], id="it-asks-back"),
        pytest.param("storing", {"store": "memory", "context": {}}, ["said 'Hello Ada'"], id="store-and-context"),
        pytest.param("by_config", None, ["it is made for each case", "Blue is free."], id="made-for-each-case"),
    ],
)
def test_a_graph_is_inspected(carob: Carob, name: str, options: Any, seen: list[str]) -> None:
    ran = carob("init", "--inspect", f"langgraph:graphs.py:{name}", "--prompt", "Hi")
    assert ran.code == 0, ran.err
    table = tomllib.loads(ran.out)["targets"][name]
    assert table == {"use": f"langgraph:graphs.py:{name}"} | ({"options": options} if options else {})
    assert [line for line in seen if line not in ran.err] == []


def test_what_was_written_runs_without_editing(carob: Carob) -> None:
    ran = carob("init", "--inspect", "langgraph:graphs.py:own_state", "--write")
    assert (ran.code, ran.out) == (0, "")
    assert "added [targets.own_state] to " in ran.err
    wanted = {"must_say_any": ["you asked: Is it open?"]}
    suite = write("suite.json", eval_set({"id": "A", "prompt": "Is it open?", "expected": wanted}))
    assert carob("run", suite, "--target", "own_state").statuses == {"A": "PASS"}
    again = carob("init", "--inspect", "langgraph:graphs.py:own_state", "--write")
    assert (again.code, again.err.splitlines()[-1]) == (
        4,
        f"carob: {Path('carob.toml').absolute()}: it has a target 'own_state' already. Choose another with --name, or "
        "remove that one. [name-taken]",
    )


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        pytest.param(
            ["langgraph:graphs.py:fused"],
            1,
            "carob: no target was written: ValueError: fuse blown."
            " Add options with -o; see `carob init --inspect --help`.",
            id="raises",
        ),
        pytest.param(
            ["langgraph:graphs.py:counting"],
            1,
            "carob: no target was written: its state has neither `messages` nor a field of text for the prompt: "
            "set `input` and `output`. Add options with -o; see `carob init --inspect --help`.",
            id="no-text",
        ),
        pytest.param(
            ["langgraph:graphs.py:mute"],
            1,
            "carob: no target was written: no answer found in the state of the graph (it has: question, count). Add "
            "options with -o; see `carob init --inspect --help`.",
            id="no-answer",
        ),
        pytest.param(
            ["langgraph:graphs.py:zzz"],
            4,
            "carob: 'graphs.py:zzz': graphs.py has no 'zzz'. [config]",
            id="no-such-graph",
        ),
        pytest.param(
            ["replay:graphs.py"],
            4,
            "carob: targets of kind 'replay' cannot be inspected. Inspect a target of kind browser, langgraph, http, "
            "python, command, openai, ag-ui, ai-sdk, chatkit, langgraph-server or a2a. [not-inspectable]",
            id="kind",
        ),
        pytest.param(
            ["nobody"],
            4,
            "carob: there is no target 'nobody' (configured: none). Write it as 'python:module:function', "
            "'langgraph:module:graph', 'browser:http://…', 'http://…', 'command:./agent' or 'replay:traces.jsonl'. "
            "[unknown-target]",
            id="no-such-target",
        ),
    ],
)
def test_what_cannot_be_inspected_is_one_line_and_no_target(
    carob: Carob, arguments: list[str], code: int, says: str
) -> None:
    ran = carob("init", "--inspect", *arguments, "--write")
    assert (ran.code, ran.out) == (code, "")
    assert ran.err.splitlines()[-1] == says
    assert not Path("carob.toml").exists()


def test_a_function_is_inspected_by_a_turn(carob: Carob) -> None:
    write("desk.py", "def answer(prompt):\n    return {'final_message': 'Hello!', 'tool_calls': [{'name': 'wave'}]}\n")
    ran = carob("init", "--inspect", "python:desk.py:answer", "--prompt", "Hi")
    assert (ran.code, ran.out) == (0, '[targets.answer]\nuse = "python:desk.py:answer"\n')
    assert "called wave null: outcome unknown" in ran.err


def test_a_function_that_breaks_is_no_target(carob: Carob) -> None:
    write("desk.py", "def answer(prompt):\n    raise ValueError('no key')\n")
    ran = carob("init", "--inspect", "python:desk.py:answer")
    assert (ran.code, ran.out) == (1, "")
    assert "no target was written: ValueError: no key" in ran.err
