"""A refund desk: it reads a message, looks the order up, and pays the money back."""

import re
from typing import Any

ORDERS: dict[str, dict[str, Any]] = {
    "A-17": {"item": "lamp", "amount": 40, "card": "valid"},
    "B-04": {"item": "chair", "amount": 120, "card": "expired"},
}


def lookup_order(order: str) -> dict[str, Any]:
    return ORDERS[order]


def issue_refund(order: str, amount: int) -> dict[str, Any]:
    if ORDERS[order]["card"] == "expired":
        return {"success": False, "error": "the card has expired"}
    return {"success": True, "paid": amount}


def answer(prompt: str) -> dict[str, Any]:
    calls: list[dict[str, Any]] = []

    def call(tool: Any, **arguments: Any) -> Any:
        result = tool(**arguments)
        calls.append({"name": tool.__name__, "arguments": arguments, "result": result})
        return result

    def say(text: str) -> dict[str, Any]:
        return {"final_message": text, "tool_calls": calls}

    number = re.search(r"[A-Z]-\d+", prompt)
    if not number:
        return say("I can help with that. What is your order number?")
    order = call(lookup_order, order=number[0])
    refund = call(issue_refund, order=number[0], amount=order["amount"])
    return say(f"I have refunded {refund.get('paid', order['amount'])} dollars for the {order['item']}.")
