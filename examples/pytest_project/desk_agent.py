"""The agent of this project: a refund desk that follows rules. Yours asks a model."""

import re

ORDERS = {"A-17": 40, "B-04": 120}
LIMIT = 100


def reply(prompt):
    """Answer one prompt, and say which tools were called for it: an empty list says that there were none."""
    calls = []
    return {"final_message": _answer(prompt, calls), "tool_calls": calls}


def _answer(prompt, calls):
    found = re.search(r"\b[A-Z]-\d+\b", prompt)
    if found is None:
        return "Please give me the order number." if "refund" in prompt.lower() else "I can help you with refunds."
    order = found[0]
    amount = ORDERS.get(order)
    if amount is None:
        calls.append({"name": "lookup_order", "arguments": {"order": order}, "error": "no such order"})
        return f"I cannot find the order {order}."
    calls.append({"name": "lookup_order", "arguments": {"order": order}, "result": {"amount": amount}})
    if amount > LIMIT:
        return f"Sorry, I cannot refund {amount} dollars. A colleague will look at it."
    refund = {"order": order, "amount": amount}
    calls.append({"name": "issue_refund", "arguments": refund, "result": {"status": "paid"}})
    return f"I have refunded {amount} dollars for {order}."
