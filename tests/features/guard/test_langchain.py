"""The guard as a middleware of LangChain's `create_agent`: refusals, approvals, messages, and what the agent said."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

import carob
from features.guard.policies import BIG, CALLS, write_policy

PAID: list[dict[str, Any]] = []
Step = str | list[tuple[str, dict[str, Any]]]
PAY, LOOK = ("pay_invoice", {"id": "A"}), ("get_invoice", {"id": "A"})


@tool
def get_invoice(id: str) -> dict[str, Any]:
    """Look an invoice up."""
    return {"id": id, "total": 80}


@tool
def pay_invoice(id: str = "A", amount: int = 0) -> str:
    """Pay an invoice."""
    PAID.append({"id": id, "amount": amount})
    return "paid"


@tool
def close_desk() -> Command[Any]:
    """Close the desk, by a command."""
    raise ValueError("it is locked")


class Model(GenericFakeChatModel):
    def bind_tools(self, tools: Any, **_: Any) -> Model:
        return self


@pytest.fixture(autouse=True)
def nothing_paid() -> None:
    PAID.clear()


def agent_of(guard: carob.Guard, *steps: Step, words: str = "", **about: Any) -> Any:
    """An agent whose model gives these answers: words, or the calls of one message."""

    def say() -> Iterator[AIMessage]:
        for number, step in enumerate(steps):
            if isinstance(step, str):
                yield AIMessage(step)
            else:
                calls = [{"name": name, "args": args, "id": f"c{number}-{n}"} for n, (name, args) in enumerate(step)]
                yield AIMessage(words, tool_calls=calls)

    tools = [get_invoice, pay_invoice, close_desk]
    return create_agent(Model(messages=say()), tools, middleware=[guard.middleware()], **about)


def answers(state: dict[str, Any]) -> list[ToolMessage]:
    return [message for message in state["messages"] if isinstance(message, ToolMessage)]


ASK = {"messages": [("user", "Pay A.")]}


@pytest.mark.parametrize("is_async", [False, True])
def test_a_call_is_refused_and_the_model_reads_why(tmp_path: Path, is_async: bool) -> None:
    guard = carob.Guard(write_policy(tmp_path, CALLS))
    agent = agent_of(guard, [PAY], [LOOK], [PAY], "Paid.")
    with guard.conversation():
        state = asyncio.run(agent.ainvoke(ASK)) if is_async else agent.invoke(ASK)
    refused, _, paid = answers(state)
    assert refused.status == "error"
    assert "Look an invoice up before you pay it." in refused.content
    assert paid.content == "paid"
    assert PAID == [{"id": "A", "amount": 0}]


def test_beside_frameworks_a_call_counts_once(tmp_path: Path) -> None:
    once = "carob: 1\nrules:\n  - { id: once, each: { call: pay_invoice, success: true }, at_most: 1 }\n"
    guard = carob.Guard(write_policy(tmp_path, once))
    with guard.frameworks(), guard.conversation():
        answered = answers(agent_of(guard, [PAY], [PAY], "Done.").invoke(ASK))
    assert [message.status for message in answered] == ["success", "error"]
    assert len(PAID) == 1


def test_calls_of_one_message_are_no_evidence_for_each_other(tmp_path: Path) -> None:
    guard = carob.Guard(write_policy(tmp_path, CALLS))
    with guard.conversation():
        answered = answers(agent_of(guard, [LOOK, PAY], "Done.").invoke(ASK))
    assert [message.status for message in answered] == ["success", "error"]
    assert not PAID


def test_words_beside_a_call_are_seen(tmp_path: Path) -> None:
    text = "carob: 1\nrules:\n  - { id: silent, each: { call: pay_invoice }, where: each.beside_words == false }\n"
    guard = carob.Guard(write_policy(tmp_path, text))
    for words, paid in (("I pay now.", 0), ("", 1)):
        with guard.conversation():
            agent_of(guard, [PAY], "Done.", words=words).invoke(ASK)
        assert len(PAID) == paid


def test_a_call_outside_of_a_conversation_is_refused(tmp_path: Path) -> None:
    guard = carob.Guard(write_policy(tmp_path, CALLS))
    [refused] = answers(agent_of(guard, [PAY], "Done.").invoke(ASK))
    assert "belongs to no conversation" in refused.content
    assert not PAID


@pytest.mark.parametrize(
    ("answer", "paid"),
    [
        ({"decisions": [{"type": "approve"}]}, 1),
        ({"decisions": [{"type": "reject"}]}, 0),
        (True, 1),
        ({"decisions": []}, 0),
    ],
)
def test_a_person_is_asked_as_langchain_asks(tmp_path: Path, answer: Any, paid: int) -> None:
    guard = carob.Guard(write_policy(tmp_path, BIG))
    agent = agent_of(guard, [("pay_invoice", {"amount": 500})], "Done.", checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "t"}}
    with guard.conversation("t"):
        [asked] = agent.invoke(ASK, config)["__interrupt__"]
        assert asked.value["action_requests"][0]["args"] == {"amount": 500}
        assert "A person looks at large sums." in asked.value["action_requests"][0]["description"]
        assert asked.value["review_configs"] == [
            {"action_name": "pay_invoice", "allowed_decisions": ["approve", "reject"]}
        ]
        assert not PAID
        state = agent.invoke(Command(resume=answer), config)
    assert len(PAID) == paid
    assert paid or "needs the approval of a person" in answers(state)[0].content


def test_an_approval_counts_in_another_process_with_the_same_store(tmp_path: Path) -> None:
    saver, store = InMemorySaver(), tmp_path / "store.sqlite"
    config: Any = {"configurable": {"thread_id": "t"}}
    policy = write_policy(tmp_path, BIG)
    steps: tuple[Step, ...] = ([("pay_invoice", {"amount": 500})], "Done.")
    first, second = carob.Guard(policy, store=store), carob.Guard(policy, store=store)
    with first.conversation("t"):
        agent_of(first, *steps, checkpointer=saver).invoke(ASK, config)
    with second.conversation("t"):
        agent_of(second, *steps[1:], checkpointer=saver).invoke(Command(resume=True), config)
    assert PAID == [{"id": "A", "amount": 500}]


def test_an_approval_of_other_arguments_is_none(tmp_path: Path) -> None:
    guard = carob.Guard(write_policy(tmp_path, BIG))
    agent = agent_of(guard, [("pay_invoice", {"amount": 500})], "Done.", checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "t"}}
    with guard.conversation("t"):
        agent.invoke(ASK, config)
        *_, message = agent.get_state(config).values["messages"]
        message.tool_calls[0]["args"]["amount"] = 50_000
        agent.update_state(config, {"messages": [message]}, as_node="model")
        state = agent.invoke(Command(resume=True), config)
    assert not PAID
    assert "__interrupt__" in state or "other arguments" in answers(state)[0].content


def test_what_the_agent_said_and_a_tool_that_raised_are_heard(tmp_path: Path) -> None:
    text = """
carob: 1
rules:
  - { id: quiet-after-goodbye, each: { says: goodbye }, forbids: { after: { call: pay_invoice } } }
"""
    guard = carob.Guard(write_policy(tmp_path, text), journal=tmp_path / "d.jsonl")
    with guard.conversation("c"):
        agent_of(guard, "Well, goodbye.").invoke(ASK)
        [refused] = answers(agent_of(guard, [PAY], "Done.").invoke(ASK))
        with pytest.raises(ValueError, match="locked"):
            agent_of(guard, [("close_desk", {})], "Done.").invoke(ASK)
    assert "quiet-after-goodbye" in refused.content
    assert "it is locked" in (tmp_path / "d.jsonl").read_text()


def test_without_langchain_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "carob.features.guard.langchain", raising=False)
    monkeypatch.setitem(sys.modules, "langchain.agents.middleware", None)
    with pytest.raises(carob.CarobError, match="Install langchain"):
        carob.Guard(write_policy(tmp_path, CALLS)).middleware()
