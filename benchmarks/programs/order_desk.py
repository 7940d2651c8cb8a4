"""An agent that takes orders and answers in JSON, and the plainest way to try twenty checks on what it did."""

from __future__ import annotations

import json
import re
from typing import Any

SCHEMA = {
    "type": "object",
    "required": ["order", "total", "currency", "items", "note"],
    "properties": {
        "order": {"type": "string", "pattern": "^A-[0-9]{6}$"},
        "total": {"type": "number", "minimum": 0},
        "currency": {"enum": ["EUR", "USD"]},
        "items": {"type": "array", "minItems": 1, "items": {"type": "object", "required": ["sku", "count"]}},
        "note": {"type": "string"},
    },
    "additionalProperties": False,
}
Call = dict[str, Any]


def turn(prompt: str) -> tuple[str, list[Call]]:
    """What is answered to `Order 12: ...`, and what was called for it."""
    number = int(prompt[6 : prompt.index(":")])
    order, count, total = f"A-{number:06d}", 2 + number % 5, 40 + number % 50
    items = [{"sku": f"lamp-{number % 9}", "count": count}, {"sku": "bulb", "count": 1}]
    calls: list[Call] = [
        {"name": "find_order", "arguments": {"order": order}, "result": {"order": order, "items": items}},
        {"name": "reserve", "arguments": items[0], "result": {"ok": True, "left": 100 - count}},
        {"name": "reserve", "arguments": items[1], "result": {"ok": True, "left": 99}},
        {
            "name": "charge",
            "arguments": {"order": order, "amount": total, "currency": "EUR"},
            "result": {"status": "paid", "amount": total},
        },
    ]
    note = (
        f"Both items of order {order} are reserved and {total} EUR were charged. The parcel leaves the depot tonight."
    )
    answer = {"order": order, "total": total, "currency": "EUR", "items": items, "note": note}
    return json.dumps(answer), [{**call, "success": True} for call in calls]


def ask(prompt: str) -> dict[str, Any]:
    answer, calls = turn(prompt)
    return {"final_message": answer, "tool_calls": calls}


def judged(checks: dict[str, Any], answer: str, calls: list[Call], fits: Any) -> dict[str, bool]:
    """Each check with its outcome, as directly as Python can say it; `fits` tries the schema."""
    said, names = answer.lower(), [call["name"] for call in calls]
    found, (low, high) = json.loads(answer), checks["charges"]
    words = len(re.findall(r"\w+", answer))
    seen = json.dumps([[call["arguments"], call["result"]] for call in calls])
    return {
        "finds": any(c["name"] == "find_order" and re.search(checks["finds"], c["arguments"]["order"]) for c in calls),
        "reserves": any(c["name"] == "reserve" and c["arguments"]["count"] >= checks["reserves"] for c in calls),
        "also": any(c["name"] == "reserve" and c["arguments"]["sku"] == checks["also"] for c in calls),
        "charges": any(
            c["name"] == "charge" and low <= c["arguments"]["amount"] <= high and c["result"]["status"] == "paid"
            for c in calls
        ),
        "never": not any(c["name"] == checks["never"] for c in calls),
        "none": checks["none"] not in names,
        "order_of": [names.index(name) for name in checks["order_of"]]
        == sorted(names.index(name) for name in checks["order_of"]),
        "requires": names.index(checks["requires"]) < names.index("charge"),
        "max_calls": len(calls) <= checks["max_calls"],
        "max_reserves": names.count("reserve") <= checks["max_reserves"],
        "schema": fits(answer) and found["currency"] == checks["schema"],
        "at_total": checks["at_total"] <= found["total"],
        "at_items": len(found["items"]) == checks["at_items"],
        "at_sku": found["items"][1]["sku"] == checks["at_sku"],
        "says": checks["says"].lower() in said,
        "does_not_say": checks["does_not_say"].lower() not in said,
        "matches": re.search(checks["matches"], answer) is not None,
        "min_words": words >= checks["min_words"],
        "max_words": words <= checks["max_words"],
        "grounded": {*map(int, re.findall(r"\d+", answer))} <= {*map(int, re.findall(r"\d+", seen))},
    }
