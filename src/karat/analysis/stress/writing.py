"""Cells as cases of a Karat 1 suite: the fault in `faults`, and what must hold in `expected`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from karat.analysis.stress.expectations import DECLARED
from karat.analysis.stress.planning import Cell
from karat.suites.documents.yaml_text import block, item

COPIED = ("category", "tags", "setup_prompts", "preconditions", "max_turns")


def spell_cells(cells: Sequence[Cell], origin: str) -> str:
    """A suite of these cells in YAML."""
    declared: dict[str, Any] = {}
    for cell in cells:
        declared |= {key: cell.expected[key] for key in DECLARED if key in cell.expected}
    lines = [f"# {origin}", *block({"karat": 1, **_plain_value(declared)}), "cases:"]
    for cell in cells:
        lines += item(_plain_value(_case(cell)), 2)
    return "\n".join([*lines, ""])


def _case(cell: Cell) -> dict[str, Any]:
    case = cell.case
    value: dict[str, Any] = {"id": case.id, **{key: given for key in COPIED if (given := getattr(case, key))}}
    if case.turns:
        value["turns"] = [
            {"prompt": turn.prompt, **({"expected": asked} if (asked := _without_declared(expected)) else {})}
            for turn, expected in zip(case.turns, cell.turns, strict=True)
        ]
    else:
        value["prompt"] = case.prompt
    if case.replies:
        value["replies"] = [{"asks_for": reply.asks_for, "say": reply.say} for reply in case.replies]
    if case.stubs:
        value["stubs"] = {
            stub.tool: {"error": stub.error} if stub.error else {"result": stub.result} for stub in case.stubs
        }
    value["faults"] = [fault.spelled for fault in case.faults]
    return {**value, "expected": _without_declared(cell.expected)}


def _without_declared(expected: Mapping[str, Any]) -> dict[str, Any]:
    """What a suite says: texts of files by the names of their files, and what it declares at its top."""
    return {key: value for key, value in expected.items() if key not in DECLARED}


def _plain_value(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain_value(one) for key, one in value.items()}
    return [_plain_value(one) for one in value] if isinstance(value, list | tuple) else value
