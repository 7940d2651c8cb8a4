"""The checker of WorkBench itself, in a Python that has pandas: what was called and gold in, a line of verdicts out.

Run by `workbench.py` in a clone, never imported. As there, calls are made with the clone's own tools, and the tables
after them are compared, most of them without regard to case. Calls are read, not evaluated.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import sys
import types
from collections.abc import Callable
from typing import Any

TABLES = {
    "calendar": "CALENDAR_EVENTS",
    "email": "EMAILS",
    "analytics": "PLOTS_DATA",
    "project_management": "PROJECT_TASKS",
    "customer_relationship_manager": "CRM_DATA",
}
CASE_MATTERS = ("status", "list_name", "board")


def main() -> None:
    langchain, tools = types.ModuleType("langchain"), types.ModuleType("langchain.tools")
    tools.tool = _tool  # type: ignore[attr-defined]
    sys.modules |= {"langchain": langchain, "langchain.tools": tools}
    sys.path.insert(0, ".")
    domains = {name: importlib.import_module(f"src.tools.{name}") for name in (*TABLES, "company_directory")}
    originals = {name: getattr(domains[name], table) for name, table in TABLES.items()}
    states: dict[str, Any] = {}

    def play(calls: list[tuple[str, dict[str, str]]]) -> Any:
        key = json.dumps(calls)
        if key not in states:
            for name, table in TABLES.items():
                setattr(domains[name], table, originals[name].copy())
            for tool, arguments in calls:
                _call(domains, tool, arguments)
            states[key] = [_lower(getattr(domains[name], table).copy()) for name, table in TABLES.items()]
        return states[key]

    for line in sys.stdin:
        asked = json.loads(line)
        pairs = zip(play(asked["calls"]), play(asked["gold"]), strict=True)
        print(json.dumps(all(one.equals(other) for one, other in pairs)), flush=True)


def _tool(name: str, **_: Any) -> Callable[[Any], Any]:
    return lambda function: types.SimpleNamespace(name=name, func=function)


def _call(domains: dict[str, Any], tool: str, arguments: dict[str, str]) -> None:
    """Make a call. As there, one that the tools cannot take changes nothing."""
    domain, _, name = tool.partition(".")
    with contextlib.suppress(Exception):  # what WorkBench does
        getattr(domains[domain], name).func(**arguments)


def _lower(table: Any) -> Any:
    for column in table.columns:
        if column not in CASE_MATTERS:
            table[column] = table[column].str.lower()
    return table


if __name__ == "__main__":
    main()
