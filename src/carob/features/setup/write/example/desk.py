"""A refund desk, the agent of this project. It reads a message by rules, or by a model if OPENAI_BASE_URL names one."""

import json
import os
import random
import re
import urllib.request
from typing import Any

ORDERS = {
    "A-17": {"item": "lamp", "amount": 40, "card": "valid"},
    "B-04": {"item": "chair", "amount": 120, "card": "expired"},
}


def lookup_order(order: str) -> dict[str, Any]:
    """Look an order up."""
    return ORDERS.get(order, {"error": f"there is no order {order}"})


def issue_refund(order: str, amount: int) -> dict[str, Any]:
    """Pay money back to the card of an order."""
    if ORDERS[order]["card"] == "expired":
        return {"status": "declined", "reason": "the card has expired"}
    return {"status": "paid", "amount": amount}


def answer(prompt: str, conversation: Any) -> dict[str, Any]:
    """Answer one message of a customer, and report which tools were called for it."""
    calls: list[dict[str, Any]] = []
    conversation.state.update(understand(prompt))
    return {"final_message": reply(conversation, calls), "tool_calls": calls}


def reply(conversation: Any, calls: list[dict[str, Any]]) -> str:
    """What the desk says, once it has done what is wanted."""
    wish = conversation.state
    number = wish.get("order")
    if not number:
        return "I can help with orders and refunds. What is your order number?"
    order = call(conversation, calls, lookup_order, order=number)
    if "error" in order:
        return f"Sorry, I cannot find the order {number}."
    if not wish.get("refund"):
        return f"Order {number} is a {order['item']} for {order['amount']} dollars."
    refund = call(conversation, calls, issue_refund, order=number, amount=order["amount"])
    if "error" in refund:
        return f"Sorry, I could not refund the {order['item']}: {refund['reason']}."
    return f"I have refunded {order['amount']} dollars for the {order['item']}."


def call(conversation: Any, calls: list[dict[str, Any]], tool: Any, **arguments: Any) -> Any:
    """Call a tool through Carob, which may break it on purpose, and keep what was called for the report."""
    result = conversation.tool(tool)(**arguments)
    calls.append({"name": tool.__name__, "arguments": arguments, "result": result})
    return result


def understand(prompt: str) -> dict[str, Any]:
    """What a message says: the order that it names, and whether money is wanted back."""
    if address := os.environ.get("OPENAI_BASE_URL"):
        return ask_model(address, prompt)
    if random.random() < float(os.environ.get("DESK_FLAKY", "0")):
        return {}
    found: dict[str, Any] = {}
    if order := re.search(r"\b[A-Z]-\d+\b", prompt):
        found["order"] = order[0]
    if re.search(r"(?i)refund|money back", prompt):
        found["refund"] = True
    return found


def ask_model(address: str, prompt: str) -> dict[str, Any]:
    """What a model reads in a message, as JSON: `python model.py` serves one that needs no key."""
    system = 'Reply with JSON alone: {"order": the order number, "refund": true if money is wanted back}.'
    messages = [{"role": "system", "content": system}, {"role": "user", "content": prompt}]
    body = json.dumps({"model": "desk", "messages": messages}).encode()
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {os.environ.get('OPENAI_API_KEY', '')}"}
    request = urllib.request.Request(f"{address}/chat/completions", body, headers)
    with urllib.request.urlopen(request, timeout=30) as response:
        return dict(json.loads(json.load(response)["choices"][0]["message"]["content"]))
