"""The guard over the seam where Carob's stubs and faults stop calls: LangGraph's tools, threads, approvals, runs."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import ToolException, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command

import carob
from carob.targets.in_process.cases import CASES
from carob.targets.in_process.wrapping import WRAPPING
from features.guard.policies import BIG, CALLS, write_policy

PAID: list[dict[str, Any]] = []


@tool
def get_invoice(id: str) -> dict[str, Any]:
    """Look an invoice up."""
    if id == "none":
        raise LookupError("there is none")
    return {"id": id, "total": 80}


@tool
def pay_invoice(id: str = "A", amount: int = 0) -> str:
    """Pay an invoice."""
    PAID.append({"id": id, "amount": amount})
    return "paid"


@pytest.fixture(autouse=True)
def nothing_paid() -> None:
    PAID.clear()


def graph_of(*calls: tuple[str, dict[str, Any]], checkpointer: Any = None) -> Any:
    requested = [{"name": name, "args": args, "id": f"c{n}"} for n, (name, args) in enumerate(calls)]
    graph = StateGraph(MessagesState)
    for number, call in enumerate(requested):
        graph.add_node(f"model{number}", lambda state, call=call: {"messages": [AIMessage("", tool_calls=[call])]})
        graph.add_node(f"tools{number}", ToolNode([get_invoice, pay_invoice], handle_tool_errors=True))
        graph.add_edge(f"model{number}", f"tools{number}")
        graph.add_edge(START if not number else f"tools{number - 1}", f"model{number}")
    return graph.compile(checkpointer=checkpointer)


def answers(state: dict[str, Any]) -> list[ToolMessage]:
    return [message for message in state["messages"] if isinstance(message, ToolMessage)]


def test_a_tool_of_langgraph_is_refused_and_the_model_reads_why(tmp_path: Path) -> None:
    guard = carob.Guard(write_policy(tmp_path, CALLS))
    graph = graph_of(("pay_invoice", {"id": "A"}), ("get_invoice", {"id": "A"}), ("pay_invoice", {"id": "A"}))
    with guard.frameworks(), guard.conversation():
        refused, _, paid = answers(graph.invoke({"messages": []}))
    assert refused.status == "error"
    assert "Look an invoice up before you pay it." in refused.content
    assert paid.content == "paid"
    assert PAID == [{"id": "A", "amount": 0}]


def test_a_lookup_that_raised_is_none(tmp_path: Path) -> None:
    guard = carob.Guard(write_policy(tmp_path, CALLS))
    graph = graph_of(("get_invoice", {"id": "none"}), ("pay_invoice", {"id": "none"}))
    with guard.frameworks(), guard.conversation():
        graph.invoke({"messages": []})
    assert not PAID


def pay_in_thread() -> None:
    with pytest.raises(ToolException, match="belongs to no conversation"):
        pay_invoice.invoke({"id": "A"})


def test_a_call_of_no_conversation_is_refused(tmp_path: Path) -> None:
    guard = carob.Guard(write_policy(tmp_path, CALLS))
    with guard.frameworks():
        [refused] = answers(graph_of(("pay_invoice", {"id": "A"})).invoke({"messages": []}))
        assert "belongs to no conversation" in refused.content
        thread = threading.Thread(target=pay_in_thread)
        thread.start()
        thread.join()
    assert not PAID
    assert CASES.of_none is None
    pay_invoice.invoke({"id": "A"})
    assert PAID, "once the guard is closed, nothing is asked"


def test_langgraph_is_interrupted_for_an_approval(tmp_path: Path) -> None:
    guard = carob.Guard(write_policy(tmp_path, BIG))
    for answer, paid in ((True, 1), ("no", 1), ({"type": "approve"}, 2)):
        graph = graph_of(("pay_invoice", {"amount": 500}), checkpointer=InMemorySaver())
        config = {"configurable": {"thread_id": "t"}}
        with guard.frameworks(), guard.conversation(f"t {answer}"):
            asked = graph.invoke({"messages": []}, config)
            [action] = asked["__interrupt__"][0].value["action_requests"]
            assert (action["name"], action["args"]) == ("pay_invoice", {"id": "A", "amount": 500})
            assert len(PAID) < paid or answer == "no"
            graph.invoke(Command(resume=answer), config)
        assert len(PAID) == paid


def test_an_approval_of_other_arguments_is_none(tmp_path: Path) -> None:
    guard = carob.Guard(write_policy(tmp_path, BIG))
    graph = graph_of(("pay_invoice", {"amount": 500}), checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "t"}}
    with guard.frameworks(), guard.conversation("t"):
        graph.invoke({"messages": []}, config)
        [message] = graph.get_state(config).values["messages"]
        message.tool_calls[0]["args"]["amount"] = 50_000
        graph.update_state(config, {"messages": [message]}, as_node="model0")
        state = graph.invoke(Command(resume=True), config)
    assert not PAID
    assert "__interrupt__" in state or "other arguments" in answers(state)[0].content


def test_an_agent_with_a_guard_of_its_own_is_run_by_carob(tmp_path: Path) -> None:
    guard = carob.Guard(write_policy(tmp_path, CALLS))

    def answer(prompt: str) -> str:
        with guard.frameworks(), guard.conversation(user=prompt):
            state = graph_of(("pay_invoice", {"id": "A"})).invoke({"messages": []})
        return str(answers(state)[0].content)

    case = {"id": "a", "prompt": "Pay.", "expected": {"tool_calls_any": ["pay_invoice"]}}
    [record] = carob.run({"carob": 1, "cases": [case]}, answer, results_dir=tmp_path)
    [call] = record.trace.tool_calls
    assert (call.name, call.started) == ("pay_invoice", False)
    assert not PAID
    assert not WRAPPING.classes
