"""The reference for twenty checks: read recorded answers, try them all on each, write one line of JSON per case."""

from __future__ import annotations

import json
import sys

import jsonschema_rs

from benchmarks.programs.order_desk import SCHEMA, judged


def main(recording: str, results_file: str) -> None:
    valid = jsonschema_rs.validator_for(SCHEMA).is_valid
    passed = total = 0
    with open(recording, encoding="utf-8") as file, open(results_file, "w", encoding="utf-8") as out:
        for line in file:
            case = json.loads(line)
            checks = judged(case["checks"], case["answer"], case["tool_calls"], lambda text: valid(json.loads(text)))
            ok = all(checks.values())
            passed, total = passed + ok, total + 1
            out.write(json.dumps({"id": case["id"], "passed": ok, "checks": checks}) + "\n")
    print(f"{passed} passed, {total - passed} failed")


main(*sys.argv[1:])
