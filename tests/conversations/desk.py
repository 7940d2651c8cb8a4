"""A refund desk: asks for the order number and the reason, then pays. The same agent as each kind of target.

As a program it reads one prompt per line and answers each. What the user says may plant a bug.
"""

from __future__ import annotations

import json
import re
import sys
from typing import Any

PRICES = {"A-17": 42, "B-04": 79}


def reply(prompts: list[str], *, wants_reason: bool = False) -> dict[str, Any]:
    """What the desk does once the user has said all of this."""
    text = " ".join(prompts)
    if "crash" in prompts[-1]:
        raise ValueError("the desk broke")
    order = re.search(r"[A-Z]-\d\d", text)
    if order is None:
        return {"final_message": "I am sorry to hear that. What is your order number?", "tool_calls": []}
    if wants_reason and "broke" not in text:
        return {"final_message": "Thank you. Please tell me the reason for your return.", "tool_calls": []}
    if any(re.search(r"[A-Z]-\d\d", earlier) for earlier in prompts[:-1]) and not wants_reason:
        return {"final_message": "Your money is on its way.", "tool_calls": []}
    price, number = PRICES[order[0]], {"order": order[0]}
    calls = [
        {"name": "verify_identity", "arguments": number, "result": {"status": "ok"}},
        {"name": "lookup_order", "arguments": number, "result": {"status": "ok", "price": price}},
        {
            "name": "issue_refund",
            "arguments": {**number, "amount": price},
            "result": {"status": "paid", "amount": price},
        },
    ]
    successful = [{**call, "success": True} for call in calls]
    return {"final_message": f"I have refunded ${price} for order {order[0]}.", "tool_calls": successful}


def remembers(prompt: str, conversation: Any) -> dict[str, Any]:
    """An agent that is given the conversation."""
    prompts = [message.content for message in conversation.messages if message.role == "user"]
    return reply([*prompts, prompt])


def thorough(prompt: str, conversation: Any) -> dict[str, Any]:
    """One that wants to know the reason, too."""
    prompts = [message.content for message in conversation.messages if message.role == "user"]
    return reply([*prompts, prompt], wants_reason=True)


def forgets(prompt: str) -> dict[str, Any]:
    """An agent that knows nothing but the prompt."""
    return reply([prompt])


def endless(prompt: str) -> str:
    """One that never has enough of it."""
    return "What is your order number?"


def graph() -> Any:
    """The desk as a graph that keeps what was said in its thread."""
    from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.graph import END, START, MessagesState, StateGraph

    def desk(state: MessagesState) -> dict[str, Any]:
        prompts = [str(message.content) for message in state["messages"] if isinstance(message, HumanMessage)]
        answer = reply(prompts)
        messages: list[Any] = []
        for number, call in enumerate(answer["tool_calls"]):
            key = f"{len(prompts)}-{number}"
            tool_call = {"name": call["name"], "args": call["arguments"], "id": key}
            messages += [
                AIMessage("", tool_calls=[tool_call]),
                ToolMessage(json.dumps(call["result"]), tool_call_id=key),
            ]
        return {"messages": [*messages, AIMessage(answer["final_message"])]}

    built = StateGraph(MessagesState)
    built.add_node("desk", desk)
    built.add_edge(START, "desk")
    built.add_edge("desk", END)
    return built.compile(checkpointer=InMemorySaver())


def program() -> None:
    """One prompt per line, answered before the next is read."""
    prompts: list[str] = []
    for line in sys.stdin:
        prompts.append(json.loads(line)["prompt"])
        if "leave" in prompts[-1]:
            return
        if "twice" in prompts[-1]:
            print(json.dumps({"final_message": "once"}))
        print(json.dumps(reply(prompts)), flush=True)


if __name__ == "__main__":
    program()
