"""`python -m benchmarks.graders`: what `carob audit --grader` itself uses per mutant, for a grader that does nothing.

The grader's own time is what its process measures; everything else of both processes is Carob's.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.measure import Usage, complaint, measured
from benchmarks.ours import CAROB

SIZES = (250, 1_000)
MOST_MS = 0.3
MORE_MB = 10.0
"""By so much the memory may grow from the small size to the large one."""
LIMIT = 1_800
GRADER = "def accept(trace):\n    return bool(trace.tool_calls)\n"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.graders", description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="recorded traces, no two alike")
    given = parser.parse_args(arguments)
    print("| traces | questions | CPU s | ms each | wall s | peak MB |\n|---|---|---|---|---|---|")
    worst, peaks = 0.0, []
    for size in given.sizes:
        scratch = Path(tempfile.mkdtemp(prefix="carob-bench-"))
        try:
            used, questions, of_grader = _audit(scratch, size)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
        each = (used.cpu - of_grader) / questions * 1000
        worst = max(worst, each)
        peaks.append(used.rss_mb)
        print(
            f"| {size:,} | {questions:,} | {used.cpu:.1f} | {each:.3f} | {used.wall:.1f} | {used.rss_mb:.0f} |",
            flush=True,
        )
    growth = peaks[-1] - peaks[0]
    print(f"goal: at most {MOST_MS} ms each and {MORE_MB:.0f} MB more, found {worst:.3f} ms and {growth:.0f} MB more")
    return 0


def _audit(scratch: Path, size: int) -> tuple[Usage, int, float]:
    """Audit so many traces. Gives what it used, how many questions were asked, and the seconds of the grader."""
    lines = [json.dumps(_trace(number)) + "\n" for number in range(size)]
    (scratch / "recorded.jsonl").write_text("".join(lines), encoding="utf-8")
    (scratch / "judge.py").write_text(GRADER, encoding="utf-8")
    command = [CAROB, "audit", "--grader", f"python:{scratch / 'judge.py'}:accept", str(scratch / "recorded.jsonl")]
    used = measured([*command, "--results-dir", str(scratch / "out")], scratch / "run", limit=LIMIT)
    if used.exit_code:
        raise RuntimeError(complaint(scratch / "run" / "console.txt"))
    (report,) = (scratch / "out").glob("*.json")
    audit = json.loads(report.read_bytes())
    if audit["audited"] != size or audit["faults"]:
        raise RuntimeError(
            f"{audit['audited']} of {size} traces were audited, {audit['faults']} questions got no verdict"
        )
    return used, audit["calls"], audit["seconds"]


def _trace(number: int) -> dict[str, object]:
    order = f"A{number}"
    calls = [
        {"name": "get_order", "arguments": {"order": order}, "result": {"total": number + 0.5, "state": "open"}},
        {"name": "get_customer", "arguments": {"order": order}, "result": {"name": "Ada", "tier": "gold"}},
        {"name": "cancel_order", "arguments": {"order": order, "note": "as asked"}, "result": {"id": number}},
    ]
    return {
        "case_id": f"c{number}",
        "input": f"Cancel order {order}, please.",
        "final_message": f"Your order {order} is cancelled. You get {number}.50 EUR back.",
        "tool_calls": [{**call, "success": True} for call in calls],
    }


if __name__ == "__main__":
    sys.exit(main())
