"""Plain pytest: one parametrized test with six asserts, no fixture, no plugin. BENCH_CASES names the workload."""

from __future__ import annotations

import asyncio
import json
import os
import re
from typing import Any

import pytest

from benchmarks.programs.canned import ask

with open(os.environ["BENCH_CASES"], encoding="utf-8") as file:
    CASES = json.load(file)["cases"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_case(case: dict[str, Any]) -> None:
    answer = asyncio.run(ask(case["input"]))
    text, tools = answer["text"], [call["name"] for call in answer["tool_calls"]]
    first, second, never, pattern, other_pattern, tool = (value for _, value in case["checks"])
    assert first.lower() in text.lower()
    assert second.lower() in text.lower()
    assert never.lower() not in text.lower()
    assert re.search(pattern, text)
    assert re.search(other_pattern, text)
    assert tool in tools
