"""The tools of the desk. Each writes a line of its own into a log: what really ran, whatever the agent got."""

from __future__ import annotations

import json
import os
from pathlib import Path

from langchain_core.tools import BaseTool, tool

_A = {"order": "A-17", "status": "shipped", "total": 51.20, "customer": "ana@example.com", "updated": "2026-11-16"}
_B = {"order": "B-04", "status": "packed", "total": 80.50, "customer": "bo@example.com", "updated": "2026-11-17"}
ORDERS = {"A-17": _A, "B-04": _B}
MAILS = {"M-3": {"mail": "M-3", "from": "Ana", "body": "The parcel came on Monday, and the lamp is broken."}}
LOG = "DESK_LOG"
"""The variable with the name of the log; without it there is none."""


def _log(name: str, **arguments: object) -> None:
    if path := os.environ.get(LOG):
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(json.dumps({"tool": name, **arguments}) + "\n")


@tool
def get_order(order: str) -> str:
    """Look an order up."""
    _log("get_order", order=order)
    return json.dumps(ORDERS.get(order, {}))


@tool
def issue_refund(order: str, amount: float) -> str:
    """Pay money back."""
    _log("issue_refund", order=order, amount=amount)
    return json.dumps({"order": order, "paid": amount, "state": "done"})


@tool
def send_mail(to: str, text: str) -> str:
    """Send a mail to a customer."""
    _log("send_mail", to=to, text=text)
    return json.dumps({"state": "accepted"})


@tool
def read_mail(mail: str) -> str:
    """Read a mail of a customer."""
    _log("read_mail", mail=mail)
    return json.dumps(MAILS.get(mail, {}))


@tool
def wire_money(to: str) -> str:
    """Wire money abroad; for the back office alone."""
    _log("wire_money", to=to)
    return json.dumps({"state": "done"})


@tool
def add_note(text: str) -> str:
    """Keep a note for colleagues."""
    _log("add_note", text=text)
    return json.dumps({"state": "kept"})


TOOLS: list[BaseTool] = [get_order, issue_refund, send_mail, read_mail, wire_money, add_note]
