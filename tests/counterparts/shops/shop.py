"""The tools of a shop, which agents of several frameworks have. A file `bug` next to this one plants a defect."""

import time
from pathlib import Path

ORDERS = {
    "A-17": {"item": "lamp", "status": "shipped", "amount": 40, "card": "valid"},
    "B-04": {"item": "chair", "status": "packed", "amount": 120, "card": "valid"},
    "C-08": {"item": "table", "status": "delivered", "amount": 310, "card": "expired"},
}


def _bug() -> str:
    file = Path(__file__).with_name("bug")
    return file.read_text() if file.is_file() else ""


def _has(bug: str) -> bool:
    return _bug() == bug


def lookup_order(order: str) -> dict:
    """Look an order up."""
    if _has("tool-raises"):
        raise ConnectionError("the warehouse does not answer")
    slow, _, seconds = _bug().partition(":")
    if order == "B-04" and slow == "tool-is-slow":
        time.sleep(float(seconds))
    if order not in ORDERS and not _has("tool-finds-what-is-not-there"):
        return {"error": f"there is no order {order}"}
    found = dict(ORDERS.get(order, ORDERS["A-17"]))
    if _has("tool-gives-another-amount"):
        found["amount"] += 5
    if _has("tool-leaves-a-field-out"):
        del found["amount"]
    return found


def list_orders() -> list:
    """List the orders of the customer."""
    return (
        [] if _has("tool-gives-nothing") else [{"order": order, "item": one["item"]} for order, one in ORDERS.items()]
    )


def issue_refund(order: str, amount: int) -> dict:
    """Pay money back to the card of an order."""
    if ORDERS.get(order, {}).get("card") != "valid" and not _has("tool-pays-to-an-expired-card"):
        return {"status": "declined", "reason": "the card has expired"}
    if _has("tool-declines"):
        return {"status": "declined", "reason": "the limit is reached"}
    return {"status": "paid", "amount": amount}


def send_mail(to: str, text: str) -> dict:
    """Send a mail to a customer."""
    return {"status": "sent", "to": to}


TOOLS = [lookup_order, list_orders, issue_refund, send_mail]
SYSTEM = "You are the desk of a shop. Use the tools."
