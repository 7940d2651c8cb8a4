"""`python -m benchmarks.published.gsm8k --from CLONE`: published solutions of GSM8K by four models, judged by Carob.

CLONE is a clone of openai/grade-school-math. A case asks for the right number in the line of the answer
(`must_ground_numbers` with `within: line`), and its verdict is held against the published one. Every difference has a
class, or the exit code is 1.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from carob.checks.numbers.required import MustGroundNumber
from carob.model.trace import Trace
from carob.model.verdict import Status
from carob.scoring.verdicts import run_check

FILE = "grade_school_math/data/example_model_solutions.jsonl"
MODELS = ("6b_finetuning", "6b_verification", "175b_finetuning", "175b_verification")
_ANSWER = re.compile(r"^A: *(.*)$", re.MULTILINE)


class Solution(NamedTuple):
    """One answer of one model: what is right, what was said, the published verdict and ours."""

    model: str
    right: str
    text: str
    published: bool
    status: Status

    @property
    def agrees(self) -> bool:
        return self.published is (self.status is Status.PASSED)

    @property
    def why(self) -> str:
        """The class of a difference; empty where there is none that is known."""
        answers = _ANSWER.findall(self.text)
        if self.status is Status.UNKNOWN:
            return "the number is written so that Carob is not sure of it"
        if not answers or len(answers) > 1:
            return "there is no line of the answer, or several"
        said = re.sub(r"[^\d.-]", "", answers[0])
        if said and re.fullmatch(r"-?\d+(\.\d+)?", said) and float(said) == float(self.right.replace(",", "")):
            return "the same number, spelled otherwise: the published verdict compares texts"
        return ""


def solutions(clone: Path) -> Iterator[Solution]:
    for line in (clone / FILE).read_text().splitlines():
        row = json.loads(line)
        right = _ANSWER.findall(row["ground_truth"])[-1].strip()
        check = MustGroundNumber(value=right, context_any=("A:",), within="line")
        for model in MODELS:
            text = row[model]["solution"]
            status = run_check(check, Trace(case_id="x", final_message=text, tool_calls=())).status
            yield Solution(model, right, text, row[model]["is_correct"], status)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--from", dest="clone", type=Path, required=True, help="A clone of openai/grade-school-math.")
    found = list(solutions(parser.parse_args(arguments).clone))
    for model in (*MODELS, ""):
        own = [one for one in found if model in ("", one.model)]
        agreed = sum(one.agrees for one in own)
        wrong = sum(one.status is Status.PASSED and not one.published for one in own)
        share = f"{agreed:,} of {len(own):,} agree ({agreed / len(own):.2%})"
        print(f"{model or 'all':20} {share}, {wrong} pass that are published as wrong")
    differ = [one for one in found if not one.agrees]
    for why, count in Counter(one.why or "UNEXPLAINED" for one in differ).most_common():
        print(f"{count:>6}  {why}")
    for one in [one for one in differ if not one.why][:20]:
        print(f"  {one.model}: {one.right} in {one.text[-120:]!r}: {one.status}, published {one.published}")
    return int(any(not one.why for one in differ))


if __name__ == "__main__":
    sys.exit(main())
