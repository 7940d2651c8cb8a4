"""The twelve cases that an agent of each framework is given, and what is right by the log of its tools."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection
from pathlib import Path
from typing import Any

from msgspec.json import encode

FOLDER = Path(__file__).parent / "frameworks"
CASES: list[dict[str, Any]] = json.loads((FOLDER / "cases.json").read_text())


def suite() -> dict[str, Any]:
    cases = []
    for row in CASES:
        *before, last = row.get("turns") or [row["prompt"]]
        turns = [*({"prompt": each, "expected": {"must_say_any": ["Hello"]}} for each in before)]
        asked = {"prompt": last, "expected": row["expected"]}
        cases.append({"id": row["id"], **({"turns": [*turns, asked]} if before else asked)})
    return {"carob": 1, "effects": {"issue_refund": ["refunded"]}, "cases": cases}


def log_of(row: dict[str, Any], lines: list[list[Any]]) -> list[list[Any]]:
    """What the tools wrote in a case: each has orders of its own."""
    orders = [call["arguments"]["order"] for calls in row["rounds"] or () for call in calls]
    return [line for line in lines if line[1]["order"] in orders]


def count(calls: list[list[Any]]) -> Counter[bytes]:
    return Counter(map(encode, calls))


def check_run(folder: Path, log: Path, unknown: Collection[str] = ()) -> None:
    """Hold the run in a folder against the log of the tools. `unknown`: cases with a check that cannot be decided."""
    journal = next(folder.glob("suite-*Z.jsonl")).read_text()
    assert " at 0x" not in journal
    records = {record["case"]["id"]: record for record in map(json.loads, journal.splitlines()) if "verdict" in record}
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    as_asked = 0
    for row in CASES:
        record, wrote = records[row["id"]], log_of(row, lines)
        calls = record["trace"].get("tool_calls") or ()
        ran = [[call["name"], call["arguments"], call.get("success")] for call in calls if call.get("started", True)]
        status = record["verdict"]["status"]
        entered, written = count([call[:2] for call in ran]), count([line[:2] for line in wrote])
        # Where one of two calls breaks the agent, the other is left in the middle.
        assert entered == written or (status == "ERROR" and entered <= written), (row["id"], calls)
        assert count([call for call in ran if call[2] is not None]) <= count(wrote), (row["id"], calls)
        if row["id"] in unknown:
            assert status == "PARTIAL", row["id"]
        elif count(wrote) == count(row["log"]):
            as_asked += bool(wrote)
            assert status in row["status"], (row["id"], record["trace"])
        else:
            assert status in ("FAIL", "ERROR"), (row["id"], record["trace"])
    assert as_asked >= 5, "the agent hardly does what its model asks for"
