"""The twelve cases with an agent of LangChain in this process; its model is a script, as in `make counterparts`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.support import Ran
from counterparts.framework_cases import FOLDER, check_run, suite

AGENT = f"""
import sys

sys.path.insert(0, {str(FOLDER)!r})
import desk
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, convert_to_openai_messages
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import StructuredTool


class Scripted(BaseChatModel):
    _llm_type = "scripted"

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        words, calls = desk.step(convert_to_openai_messages(messages))
        asked = [{{"id": f"call_{{n}}", "name": name, "args": args}} for n, (name, args) in enumerate(calls)]
        return ChatResult(generations=[ChatGeneration(message=AIMessage(words or "", tool_calls=asked))])

    def bind_tools(self, tools, **kwargs):
        return self


tools = [StructuredTool.from_function(made) for made in desk.TOOLS[:2]]
agent = create_agent(Scripted(), [*tools, StructuredTool.from_function(coroutine=desk.check_stock)])


def make():
    return agent


def count():
    return 3


def needy(model):
    return agent
"""


@pytest.fixture(autouse=True)
def _desk(here: None, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("assistant.py").write_text(AGENT)
    Path("suite.json").write_text(json.dumps(suite()))
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "desk", raising=False)
    monkeypatch.setenv("TOOL_LOG", "tools.jsonl")


def run(carob: Callable[..., Ran], use: str, *options: str) -> Ran:
    return carob("run", "suite.json", "--target", use, "--results-dir", "runs", *options)


@pytest.mark.parametrize("name", ["agent", "make"])
def test_verdicts_agree_with_the_log_of_the_tools(name: str, carob: Callable[..., Ran]) -> None:
    run(carob, f"langchain:assistant.py:{name}", "--workers", "0", "--concurrency", "4")
    check_run(Path("runs"), Path("tools.jsonl"))


@pytest.mark.parametrize(
    ("use", "says"),
    [
        ("langchain:assistant.py:count", "returned an int, and 'langchain' takes a Runnable of langchain-core"),
        ("langchain:assistant.py:needy", "one that answers a prompt is 'python:assistant.py:needy'"),
        ("langchain:assistant.py:AGENT", "has no 'AGENT'"),
        ("adk:assistant.py:agent", "a target of kind 'adk' needs google-adk, which is not installed"),
    ],
)
def test_what_is_no_agent_of_the_kind_is_named(use: str, says: str, carob: Callable[..., Ran]) -> None:
    ran = run(carob, use)
    assert says in ran.out + ran.err
    assert "Traceback" not in ran.out + ran.err
