"""What a comparison found, in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karat.model.comparison import Bounds, Change, Comparison, Measure, RunSide, Weighed

VERDICTS: Final = {"met": "met", "broken": "BROKEN", "undecided": "UNDECIDED"}
SECTIONS: Final = (
    (Change.BROKE, "Broke"),
    (Change.MENDED, "Mended"),
    (Change.FLICKERS, "Flickers: passed in some runs and not in others, and chance may explain the rest"),
    (Change.RED, "Stayed red"),
    (Change.ERRED, "Erred in one of the runs, not weighed"),
    (Change.ASKS_OTHER, "Asks otherwise now, not compared"),
    (Change.EXPECTS_OTHER, "Expects otherwise now, not compared"),
    (Change.APART, "Skipped or known to fail, not weighed"),
    (Change.NEW, "New, not in the base"),
    (Change.GONE, "Gone, only in the base"),
)


def headline(found: Comparison) -> str:
    """`3 of 120 cases broke, 9 were mended; the pass rate rose by 5 points (1 to 9); sure enough at 95 %`."""
    broke, mended = found.count(Change.BROKE), found.count(Change.MENDED)
    cases = f"{found.compared} case{'s' * (found.compared != 1)}"
    moved = f"{broke} of {cases} broke, {mended} {'was' if mended == 1 else 'were'} mended"
    return f"{moved}; {risen(found.overall)}; {certainty(found.overall)}"


def risen(weighed: Weighed) -> str:
    """How the pass rate moved, with its interval."""
    change = weighed.difference
    if not change.value:
        return f"the pass rate stayed the same ({points(change.low)} to {points(change.high)} points)"
    if change.value > 0:
        return f"the pass rate rose by {_points(change.value)} ({points(change.low)} to {points(change.high)})"
    return f"the pass rate fell by {_points(-change.value)} ({points(-change.high)} to {points(-change.low)})"


def certainty(weighed: Weighed) -> str:
    at = f"{weighed.confidence * 100:g} %"
    return f"sure enough at {at}" if weighed.sure else f"not sure at {at}, it may be chance"


def points(value: float) -> str:
    """A share in hundredths, without a digit that says nothing."""
    text = f"{value * 100:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


def _points(value: float) -> str:
    text = points(value)
    return f"{text} point{'s' * (text != '1')}"


def apart(found: Comparison) -> str:
    """What was not compared, in one line; nothing if everything was."""
    words = (
        (Change.FLICKERS, "flicker"),
        (Change.RED, "stayed red"),
        (Change.ERRED, "erred"),
        (Change.ASKS_OTHER, "ask otherwise now"),
        (Change.EXPECTS_OTHER, "expect otherwise now"),
        (Change.APART, "were skipped or known to fail"),
        (Change.NEW, "are new"),
        (Change.GONE, "are gone"),
    )
    return ", ".join(f"{count} {word}" for change, word in words if (count := found.count(change)))


def side(name: str, run: RunSide) -> str:
    """One of the runs in a line."""
    parts = [run.path, run.started_at[:19]]
    if run.commit:
        parts.append(f"commit {run.commit[:10]}{' with changes' if run.dirty else ''}")
    if run.version:
        parts.append(f"version {run.version}")
    errors = f", {run.errors} erred" if run.errors else ""
    parts.append(f"{run.cases} cases, {run.runs} runs judged{errors}")
    return f"{name}: " + ", ".join(filter(None, parts))


def percent(bounds: Bounds) -> str:
    return f"{bounds.value:.1%} ({bounds.low:.1%} to {bounds.high:.1%})"


def rates(weighed: Weighed) -> str:
    return (
        f"pass rate {percent(weighed.base)} before, {percent(weighed.new)} now; {weighed.test} p = {p_value(weighed.p)}"
    )


def p_value(p: float) -> str:
    return "under 0.0001" if p < 0.0001 else f"{p:.4f}".rstrip("0").rstrip(".")


def of_group(group: Weighed) -> str:
    moved = f"{group.broke} broke, {group.mended} mended"
    sure = f"; {group.sure}, sure enough" if group.sure else ""
    return f"{moved} of {group.cases}; {risen(group)}; p = {p_value(group.p)} after Holm's correction{sure}"


def of_measure(measure: Measure) -> str:
    """`seconds: 1.20 before, 1.50 now, 1.25 times (1.10 to 1.42) over 120 cases`."""
    ratio = measure.ratio
    times = f", {ratio.value:.2f} times ({ratio.low:.2f} to {ratio.high:.2f})" if ratio else ""
    return f"{measure.name}: {measure.base:.4g} before, {measure.new:.4g} now{times} over {measure.cases} cases"


def gate_lines(found: Comparison) -> Iterator[tuple[str, str]]:
    """Each gate's verdict, and what it says."""
    for gate in found.gates:
        decides = f"; would decide: {gate.decides}" if gate.decides else ""
        yield VERDICTS[gate.verdict], f"{gate.gate}: {gate.says}{decides}"
