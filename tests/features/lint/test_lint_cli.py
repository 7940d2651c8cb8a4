"""`carob lint` on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.support import Carob, write
from features.audit.support import case

SMELLY = {"version": "0.3", "cases": [case({"must_say_any": ["late", "punctual"]}, prompt="Which train is late?")]}
CLEAN = {"version": "0.3", "cases": [case({"must_say_any": ["express"]})]}
LIT = {"version": "0.3", "cases": [case({"must_say_any": ["express"], "ui": ["The lamp is lit."]})]}

GRAPH = """\
from langchain_core.tools import tool
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode


@tool
def find_trains(week: int) -> str:
    "Find them."
    return "none"


def make():
    builder = StateGraph(MessagesState)
    builder.add_node("tools", ToolNode([find_trains]))
    builder.add_edge(START, "tools")
    builder.add_edge("tools", END)
    return builder.compile()


async def make_later():
    return make()


graph = make()


def broken():
    raise ValueError("no model")
"""


@pytest.mark.parametrize(
    ("tree", "arguments", "code"),
    [
        pytest.param(CLEAN, [], 0, id="clean"),
        pytest.param(CLEAN, ["--strict"], 0, id="clean-strict"),
        pytest.param(SMELLY, [], 0, id="smelly"),
        pytest.param(SMELLY, ["--strict"], 1, id="smelly-strict"),
        pytest.param(SMELLY, ["--strict", "--ignore", "prompt-satisfies,echo-passes"], 0, id="ignored"),
        pytest.param(
            SMELLY, ["--strict", "--ignore", "prompt-satisfies", "--ignore", "echo-passes"], 0, id="ignored-one-by-one"
        ),
        pytest.param({"version": "0.3", "cases": []}, [], 4, id="not-a-suite"),
    ],
)
def test_exit_codes(carob: Carob, tree: object, arguments: list[str], code: int) -> None:
    assert carob("lint", write("s.json", tree), *arguments).code == code


def test_smells_are_shown_at_their_place(carob: Carob) -> None:
    ran = carob("lint", write("s.json", SMELLY), write("clean.json", CLEAN))
    first, *_ = ran.out.splitlines()
    assert first.startswith("s.json:1:")
    assert first.endswith("[echo-passes]")
    assert "s.json: 1 case, 2 smells\nclean.json: 1 case, no smell\n" in ran.out
    assert "carob help lint" in ran.err


def test_one_bad_suite_does_not_hide_the_others(carob: Carob) -> None:
    ran = carob("lint", "gone.json", write("bad.json", "{"), write("s.json", SMELLY), "--strict")
    assert ran.code == 4
    assert "carob: gone.json: no such file." in ran.err
    assert "bad.json:1:" in ran.err
    assert "[prompt-satisfies]" in ran.out


def test_an_unknown_slug(carob: Carob) -> None:
    ran = carob("lint", write("s.json", CLEAN), "--ignore", "loose-regexp")
    assert (ran.code, ran.out) == (4, "")
    assert "no smell is called 'loose-regexp'. Did you mean 'loose-regex'?" in ran.err


def test_vocabularies_of_all_targets_or_of_one(carob: Carob) -> None:
    write(
        "carob.toml",
        '[targets.lamp]\nuse = "python:agent:greet"\n[targets.lamp.ui_vocabulary]\n'
        '"The lamp is lit." = [{ role = "img", name = "Lamp" }]\n[targets.dark]\nuse = "python:agent:greet"\n',
    )
    suite = write("s.json", LIT)
    assert "no smell" in carob("lint", suite).out
    assert "no smell" in carob("lint", suite, "--target", "lamp").out
    assert "of the target 'dark'" in carob("lint", suite, "--target", "dark").out
    unknown = carob("lint", suite, "--target", "dakr")
    assert unknown.code == 4
    assert "Did you mean 'dark'?" in unknown.err


@pytest.mark.parametrize("attribute", ["graph", "make", "make_later"])
def test_tools_of_a_graph(carob: Carob, attribute: str) -> None:
    pytest.importorskip("langgraph")
    Path("trains_graph.py").write_text(GRAPH)
    suite = write(
        "s.json", {"version": "0.3", "cases": [case({"must_say_any": ["express"], "tool_calls_none": ["find_train"]})]}
    )
    ran = carob("lint", suite, "--target", f"langgraph:trains_graph.py:{attribute}", "--strict")
    assert ran.code == 1
    assert "has no tool 'find_train'. Did you mean 'find_trains'? [unknown-tool]" in ran.out


def test_a_graph_that_cannot_be_made(carob: Carob) -> None:
    pytest.importorskip("langgraph")
    Path("trains_graph.py").write_text(GRAPH)
    ran = carob("lint", write("s.json", CLEAN), "--target", "langgraph:trains_graph.py:broken")
    assert (ran.code, ran.out) == (4, "")
    assert "raised ValueError: no model" in ran.err
