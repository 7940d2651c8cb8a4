"""What Carob adds to a call of a tool in its own process: `python -m benchmarks.seam`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from statistics import median
from time import process_time_ns

from langchain_core.tools import tool

from carob.evidence.recorder import Recorder
from carob.targets.in_process.cases import RunningCase
from carob.targets.in_process.wrapping import WRAPPING

LIMIT = 20
"""Microseconds that a call may take longer."""


@tool
def look_up(order: str) -> str:
    """Look an order up."""
    return order


def time_calls(calls: int) -> float:
    """Microseconds of processor time that one call takes."""
    began = process_time_ns()
    for _ in range(calls):
        look_up.invoke({"order": "A-17"})
    return (process_time_ns() - began) / calls / 1000


def compare(rounds: int, calls: int) -> list[tuple[float, float]]:
    """The cost of a call without Carob and in a case, measured in turn, since a machine is not always as fast."""
    return [(time_calls(calls), _in_a_case(lambda: time_calls(calls))) for _ in range(rounds)]


def _in_a_case(measure: Callable[[], float]) -> float:
    WRAPPING.open()
    recorder = Recorder()
    try:
        with RunningCase(recorder, None):
            cost = measure()
    finally:
        WRAPPING.close()
    assert recorder.ran_calls, "no call was seen"
    return cost


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--calls", type=int, default=100)
    options = parser.parse_args()
    pairs = compare(options.rounds, options.calls)
    bare, more = median(bare for bare, _ in pairs), median(seen - bare for bare, seen in pairs)
    print(f"A call takes {bare:.1f} µs, and {more:.1f} µs more in a case (medians of {len(pairs)} rounds).")
    print(f"The limit is {LIMIT} µs: {'met' if more < LIMIT else 'not met'}.")


if __name__ == "__main__":
    main()
