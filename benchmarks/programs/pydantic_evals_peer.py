"""pydantic-evals: a Dataset with six evaluators on each case, `evaluate_sync`, and its report as text."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from typing import Any

from pydantic_evals import Case, Dataset  # type: ignore[import-not-found]
from pydantic_evals.evaluators import Evaluator, EvaluatorContext  # type: ignore[import-not-found]

from benchmarks.programs.canned import ask, holds


@dataclass
class Holds(Evaluator[str, dict[str, Any], None]):  # type: ignore[misc]
    kind: str
    value: str

    def evaluate(self, ctx: EvaluatorContext[str, dict[str, Any], None]) -> bool:
        return holds(self.kind, self.value, ctx.output["text"], [call["name"] for call in ctx.output["tool_calls"]])


def main(cases_file: str, report_file: str) -> None:
    with open(cases_file, encoding="utf-8") as file:
        cases = json.load(file)["cases"]
    dataset: Dataset[str, dict[str, Any], None] = Dataset(
        name="benchmark",
        cases=[
            Case(name=case["id"], inputs=case["input"], evaluators=tuple(Holds(*check) for check in case["checks"]))
            for case in cases
        ],
    )
    report = dataset.evaluate_sync(ask, progress=False)
    with open(report_file, "w", encoding="utf-8") as out:
        out.write(report.render(width=160))
    passed = sum(all(result.value for result in case.assertions.values()) for case in report.cases)
    print(f"{passed} passed, {len(cases) - passed} failed")


main(*sys.argv[1:])
