"""`python -m benchmarks.checking`: what `carob check` uses for conversations of 2 KB and ten rules, by source.

`--repeat-file` reads the Parquet file so many times under other names, for sizes that would take long to make.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.measure import REPOSITORY, Usage, complaint, measured
from benchmarks.ours import CAROB
from benchmarks.programs.conversations import BROKEN_EVERY, REFUNDED_EVERY

SIZE = 50_000
MOST_MS = 0.22
MOST_MB = 300.0
LIMIT = 7_200
SOURCES = ("parquet", "jsonl", "otlp")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.checking", description=__doc__)
    parser.add_argument("--size", type=int, default=SIZE, help="conversations, no two alike")
    parser.add_argument("--repeat-file", type=int, default=1, metavar="N")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--only", default=",".join(SOURCES), help="of parquet,jsonl,otlp")
    given = parser.parse_args(arguments)
    names = given.only.split(",")
    scratch = Path(tempfile.mkdtemp(prefix="carob-bench-"))
    try:
        make = [sys.executable, "-m", "benchmarks.programs.conversations", str(given.size), str(scratch), *names]
        subprocess.run(make, cwd=REPOSITORY, check=True)
        print("| source | conversations | CPU s | ms each | wall s | peak MB |\n|---|---|---|---|---|---|")
        for name in names:
            count = given.size * (given.repeat_file if name == "parquet" else 1)
            used = _check(name, scratch, given.repeat_file, given.workers, count)
            each = used.cpu / count * 1000
            print(
                f"| {name} | {count:,} | {used.cpu:.1f} | {each:.3f} | {used.wall:.1f} | {used.rss_mb:.0f} |",
                flush=True,
            )
            if name == "parquet":
                print(f"goal: at most {MOST_MS} ms and {MOST_MB:.0f} MB, found {each:.3f} ms and {used.rss_mb:.0f} MB")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return 0


def _check(name: str, scratch: Path, times: int, workers: int, count: int) -> Usage:
    """Check one source. Raises RuntimeError if the planted failures were not found."""
    suffix = "jsonl" if name == "otlp" else name
    sources = [scratch / f"{name}.{suffix}"]
    for number in range(1, times if name == "parquet" else 1):
        link = scratch / f"{name}-{number}.{suffix}"
        link.unlink(missing_ok=True)
        link.symlink_to(sources[0])
        sources.append(link)
    options = ["--rules", str(scratch / "policy.carob.yaml"), "--by", "day", "--workers", str(workers)]
    used = measured([CAROB, "check", *map(str, sources), *options], scratch / "run", limit=LIMIT)
    console = scratch / "run" / "console.txt"
    broken = len(range(0, count // (times if name == "parquet" else 1), BROKEN_EVERY * REFUNDED_EVERY))
    expected = f"{broken * (times if name == 'parquet' else 1):,} broke a rule"
    if used.exit_code != 1 or expected not in console.read_text():
        raise RuntimeError(f"{name}: expected {expected!r}, exit code {used.exit_code}: {complaint(console)}")
    return used


if __name__ == "__main__":
    sys.exit(main())
