"""The reference for judging: read recorded answers, try six checks on each, write one line of JSON per case."""

from __future__ import annotations

import json
import sys

from benchmarks.programs.canned import judged


def main(recording: str, results_file: str) -> None:
    passed = total = 0
    with open(recording, encoding="utf-8") as file, open(results_file, "w", encoding="utf-8") as out:
        for line in file:
            case = json.loads(line)
            checks = judged(case, case["text"], [call["name"] for call in case["tool_calls"]])
            ok = all(check["passed"] for check in checks)
            passed, total = passed + ok, total + 1
            out.write(json.dumps({"id": case["id"], "passed": ok, "checks": checks}) + "\n")
    print(f"{passed} passed, {total - passed} failed")


main(*sys.argv[1:])
