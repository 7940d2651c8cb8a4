"""The reference for HTTP: one client, a request after another, six checks, a line of JSON per case. No framework."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any, TextIO

import httpx2

from benchmarks.programs.canned import judged


async def run(url: str, cases: list[dict[str, Any]], out: TextIO) -> int:
    passed = 0
    async with httpx2.AsyncClient(trust_env=False, verify=False) as client:
        for case in cases:
            answer = (await client.post(url, json={"message": case["input"]})).json()
            text, calls = answer["text"], answer["tool_calls"]
            checks = judged(case, text, [call["name"] for call in calls])
            ok = all(check["passed"] for check in checks)
            passed += ok
            record = {"id": case["id"], "input": case["input"], "text": text, "tool_calls": calls}
            out.write(json.dumps({**record, "passed": ok, "checks": checks}) + "\n")
    return passed


def main(url: str, cases_file: str, results_file: str) -> None:
    with open(cases_file, encoding="utf-8") as file:
        cases = json.load(file)["cases"]
    with open(results_file, "w", encoding="utf-8") as out:
        passed = asyncio.run(run(url, cases, out))
    print(f"{passed} passed, {len(cases) - passed} failed")


main(*sys.argv[1:])
