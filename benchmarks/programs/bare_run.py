"""The reference for overhead: await the agent, try six checks, write one line of JSON per case. No framework."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any, TextIO

from benchmarks.programs.canned import ask, judged


async def run(cases: list[dict[str, Any]], out: TextIO) -> int:
    passed = 0
    for case in cases:
        answer = await ask(case["input"])
        text, calls = answer["text"], answer["tool_calls"]
        checks = judged(case, text, [call["name"] for call in calls])
        ok = all(check["passed"] for check in checks)
        passed += ok
        record = {"id": case["id"], "input": case["input"], "text": text, "tool_calls": calls}
        out.write(json.dumps({**record, "passed": ok, "checks": checks}) + "\n")
    return passed


def main(cases_file: str, results_file: str) -> None:
    with open(cases_file, encoding="utf-8") as file:
        cases = json.load(file)["cases"]
    with open(results_file, "w", encoding="utf-8") as out:
        passed = asyncio.run(run(cases, out))
    print(f"{passed} passed, {len(cases) - passed} failed")


main(*sys.argv[1:])
