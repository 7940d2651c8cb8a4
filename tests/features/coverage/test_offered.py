"""What an agent is offered, as lists of tools have it: a tool that no case calls is a gap, whoever lists it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

import carob
from cli.support import Carob, write

ORDER = {"type": "object", "properties": {"order": {"type": "integer"}}, "required": ["order"]}
DEFINED = [{"name": name, "inputSchema": ORDER} for name in ("get_order", "issue_refund")]
PARAMETER = {"name": "order", "in": "path", "required": True, "schema": {"type": "integer"}}
BODY = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Order"}}}}
OPENAPI: dict[str, Any] = {
    "openapi": "3.1.0",
    "paths": {
        "/orders/{order}": {"parameters": [PARAMETER], "get": {"operationId": "get_order"}},
        "/refunds": {"post": {"operationId": "issue_refund", "requestBody": BODY}},
    },
    "components": {"schemas": {"Order": ORDER}},
}
FUNCTIONS = [{"type": "function", "function": {"name": tool["name"], "parameters": ORDER}} for tool in DEFINED]
LISTS: dict[str, str] = {
    "tools.json": json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"tools": DEFINED}}),
    "functions.json": json.dumps(FUNCTIONS),
    "openapi.json": json.dumps(OPENAPI),
    "openapi.yaml": yaml.safe_dump(OPENAPI),
    "names.json": '["get_order", "issue_refund"]',
    "tools.py": "def get_order(order): ...\ndef issue_refund(order): ...\nTOOLS = [get_order, issue_refund]\n",
}
SUITE = {"carob": 1, "cases": [{"id": "a", "prompt": "p", "expected": {"tool_calls_any": ["get_order"]}}]}
RUN = {"case_id": "a", "final_message": "Here.", "tool_calls": [{"name": "get_order", "arguments": {"order": 7}}]}


@pytest.mark.parametrize("name", LISTS)
def test_a_list_of_tools_is_what_is_offered(name: str, here: Path, carob: Carob) -> None:
    Path(name).write_text(LISTS[name])
    write("suite.json", SUITE)
    write("run.jsonl", RUN)
    source = "tools.py:TOOLS" if name == "tools.py" else name
    ran = carob("coverage", "suite.json", "run.jsonl", "--offered", source, "--format", "json")
    tools = {tool["name"]: tool for tool in json.loads(ran.out)["tools"]}
    assert {tool: row["offered"] for tool, row in tools.items()} == {"get_order": True, "issue_refund": True}
    assert tools["issue_refund"]["called"] == 0
    with_schema = not name.startswith(("names", "tools.py"))
    assert [each["name"] for each in tools["get_order"]["arguments"]] == (["order"] if with_schema else [])
    assert [each["name"] for each in tools["issue_refund"]["arguments"]] == (["order"] if with_schema else [])


def test_what_lists_no_tools_is_refused(here: Path) -> None:
    Path("empty.json").write_text('{"tools": []}')
    with pytest.raises(carob.CarobError, match=r"empty\.json"):
        carob.coverage(SUITE, offered="empty.json")
