"""Twenty checks per case: calls with matchers, order, budgets, a JSON Schema, JSONPath, words and grounded numbers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.programs.order_desk import SCHEMA, turn
from benchmarks.workload import POOL, Case, planted, write_json

BROKEN: dict[str, object] = {
    "finds": "^B-",
    "reserves": 900,
    "charges": [0, 1],
    "none": "charge",
    "order_of": ["charge", "find_order"],
    "max_calls": 3,
    "schema": "USD",
    "at_total": 900,
    "at_sku": "sofa",
    "says": "nowhere to be found",
    "matches": "refunded [0-9]+",
    "min_words": 900,
}
"""A planted failure for each of twelve checks: what is asked for there."""


def cases(count: int) -> Iterator[Case]:
    """The cases, with planted failures spread evenly over them."""
    failures = planted(count)
    breaks = dict(zip((number * count // failures for number in range(failures)), BROKEN.items(), strict=False))
    for index in range(count):
        checks: dict[str, Any] = {
            "finds": f"^A-[0-9]{{6}}$|^variant-{index % POOL}$",
            "reserves": 2,
            "also": "bulb",
            "charges": [40, 90],
            "never": "refund",
            "none": "delete_order",
            "order_of": ["find_order", "charge"],
            "requires": "reserve",
            "max_calls": 6,
            "max_reserves": 2,
            "schema": "EUR",
            "at_total": 40,
            "at_items": 2,
            "at_sku": "bulb",
            "says": "the PARCEL leaves",
            "does_not_say": "as a large language model",
            "matches": r"[0-9]+ EUR were charged",
            "min_words": 10,
            "max_words": 80,
        }
        checks.update([breaks[index]] if index in breaks else [])
        yield {"id": f"order-{index:06d}", "input": f"Order {index}: reserve and charge it.", "checks": checks}


def write_recording(path: Path, count: int) -> None:
    """The cases with what the agent answered and called, a line of JSON per case."""
    with path.open("w", encoding="utf-8") as out:
        for case in cases(count):
            answer, calls = turn(case["input"])
            out.write(json.dumps({**case, "answer": answer, "tool_calls": calls}) + "\n")


def write_suite(path: Path, count: int) -> None:
    """The same in Carob 1."""
    write_json(path, '{"carob": 1, "name": "orders", "cases": [\n', map(_as_carob, cases(count)))


def _as_carob(case: Case) -> Case:
    checks = case["checks"]
    low, high = checks["charges"]
    properties = {**SCHEMA["properties"], "currency": {"const": checks["schema"]}}
    expected = {
        "tool_calls": [
            {"tool": "find_order", "arguments": {"order": {"$regex": checks["finds"]}}},
            {"tool": "reserve", "arguments": {"count": {"$gte": checks["reserves"]}}},
            {"tool": "reserve", "arguments": {"sku": checks["also"]}},
            {"tool": "charge", "arguments": {"amount": {"$gte": low, "$lte": high}}, "result": {"status": "paid"}},
            {"tool": checks["never"], "never": True},
        ],
        "tool_calls_none": [checks["none"]],
        "tool_order": checks["order_of"],
        "tool_requires": {"charge": [checks["requires"]]},
        "max_tool_calls": checks["max_calls"],
        "max_calls": {"reserve": checks["max_reserves"]},
        "answer_json": {**SCHEMA, "properties": properties},
        "answer_at": {
            "$.total": {"$gte": checks["at_total"]},
            "$.items": {"$length": checks["at_items"]},
            "$.items[1].sku": checks["at_sku"],
        },
        "expected_contains": [checks["says"]],
        "must_not_say": [checks["does_not_say"]],
        "must_match_regex": [checks["matches"]],
        "min_words": checks["min_words"],
        "max_words": checks["max_words"],
        "grounded_numbers": True,
    }
    return {"id": case["id"], "prompt": case["input"], "expected": expected}
