"""`python -m benchmarks.audit`: what `carob audit` uses beside `carob rescore` of the same journal."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.compare import Files
from benchmarks.measure import Usage, measured
from benchmarks.ours import CAROB, carob_rescore, journal

SIZES = [1_000, 4_000]
MOST_TIMES_A_RESCORE = 25.0
MOST_GROWTH_MB = 20.0
LIMIT = 3_600


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.audit", description=__doc__)
    parser.add_argument("--sizes", type=lambda text: [int(part) for part in text.split(",")], default=SIZES)
    given = parser.parse_args(arguments)
    scratch = Path(tempfile.mkdtemp(prefix="carob-bench-"))
    try:
        figures = [_figures(Files(scratch, size), scratch / str(size)) for size in given.sizes]
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    print("| cases | mutants per case | rescore CPU s | audit CPU s | times | audit MB |")
    print("|---|---|---|---|---|---|")
    for size, (mutants, rescore, audit) in zip(given.sizes, figures, strict=True):
        times = audit.cpu / rescore.cpu
        print(f"| {size:,} | {mutants:.1f} | {rescore.cpu:.2f} | {audit.cpu:.2f} | {times:.1f} | {audit.rss_mb:.0f} |")
    first, last = figures[0], figures[-1]
    growth = last[2].rss_mb - first[2].rss_mb
    print(f"goal: at most {MOST_TIMES_A_RESCORE:.0f} times a rescore, found {first[2].cpu / first[1].cpu:.1f}")
    print(f"goal: memory grows by at most {MOST_GROWTH_MB:.0f} MB, found {growth:.1f}")
    return 0


def _figures(files: Files, folder: Path) -> tuple[float, Usage, Usage]:
    """Mutants per audited case, and what each command used."""
    command = list(carob_rescore("rescore", journal).command(files, folder / "rescored"))
    rescore = measured(command, folder / "rescore", limit=LIMIT)
    results = folder / "audited"
    audit = measured([CAROB, "audit", command[2], "--results-dir", str(results)], folder / "audit", limit=LIMIT)
    (report,) = results.glob("*.audit.json")
    summary = json.loads(report.read_bytes())["summary"]
    return summary["rate"]["tried"] / summary["audited"], rescore, audit


if __name__ == "__main__":
    sys.exit(main())
