"""`python -m benchmarks`: measure, print Markdown tables, and say which goals are met.

The exit code is 1 if a program did not find the planted failures, and never depends on a time.
"""

from __future__ import annotations

import argparse
import json
import platform
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from benchmarks import comparing, http, judging, overhead, reading, start_up
from benchmarks.compare import Plan
from benchmarks.tables import Commands, Section, goals_table

SECTIONS: dict[str, tuple[Callable[[Plan], Section | Commands], ...]] = {
    "judging": (judging.section, judging.twenty),
    "overhead": (overhead.section, overhead.burning),
    "http": (http.section,),
    "reading": (reading.section,),
    "comparing": (comparing.section, comparing.workers),
    "start-up": (start_up.section,),
}
SIZES = [1_000, 10_000]
FULL = 100_000
AT_SCALE = "comparing"
"""The part whose goals are about so many cases."""


def main(arguments: Sequence[str] | None = None) -> int:
    given = _parsed(arguments)
    scratch = Path(tempfile.mkdtemp(prefix="carob-bench-"))
    try:
        sections = list(_measured(given, scratch))
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    print(goals_table([goal for section in sections for goal in section.goals]))
    if given.json:
        given.json.write_text(json.dumps([section.as_json() for section in sections], indent=1) + "\n")
    return 0 if all(section.judged for section in sections) else 1


def _measured(given: argparse.Namespace, scratch: Path) -> Iterator[Section | Commands]:
    print(f"CPython {platform.python_version()}, {platform.system()} {platform.machine()}", flush=True)
    for name in [given.only] if given.only else SECTIONS:
        plan = Plan(_sizes_of(name, given), given.repeat, given.limit, scratch)
        for measure in SECTIONS[name]:
            section = measure(plan)
            print(section.markdown(), flush=True)
            yield section


def _sizes_of(name: str, given: argparse.Namespace) -> list[int]:
    if name == AT_SCALE and given.sizes is None:
        return [FULL]
    sizes = given.sizes or SIZES
    return [*sizes, FULL] if given.full and name == "judging" else sizes


def _parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=SECTIONS, help="one part of it")
    parser.add_argument(
        "--sizes", type=_sizes, metavar="N,M", help=f"cases (default 1000,10000; for {AT_SCALE} {FULL:,})"
    )
    parser.add_argument("--full", action="store_true", help=f"judge {FULL:,} recorded cases too")
    parser.add_argument("--repeat", type=int, default=3, metavar="N", help="runs of each program (default 3)")
    parser.add_argument("--limit", type=float, default=600, metavar="S", help="seconds until a run is stopped")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every single run there")
    return parser.parse_args(arguments)


def _sizes(text: str) -> list[int]:
    return sorted({int(part) for part in text.split(",")})


if __name__ == "__main__":
    sys.exit(main())
