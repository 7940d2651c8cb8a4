"""Figures as Markdown tables, and the goals that they are held against."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from benchmarks.compare import Figure, named
from benchmarks.measure import Runs

WORTH_A_GOAL = 10_000
"""Below this many cases the cost of starting hides that of a case."""
FLAT = 1.25
"""How much more memory many times the cases may take."""


class Goal(NamedTuple):
    """What was measured, and the most that it may be."""

    what: str
    measured: float
    most: float

    @property
    def met(self) -> bool:
        return self.measured <= self.most


class Section(NamedTuple):
    """One comparison."""

    title: str
    reference: str
    figures: Sequence[Figure]
    goals: list[Goal]
    skipped: Sequence[str] = ()

    @property
    def judged(self) -> bool:
        """Whether every program that came to an end found the planted failures."""
        return all(figure.judged for figure in self.figures if not figure.stopped)

    def markdown(self) -> str:
        head = (
            "program",
            "cases",
            "CPU s",
            "times the first",
            "CPU µs per case",
            "per added case",
            "wall s",
            "peak MB",
            "found the planted failures",
        )
        text = table(self.title, head, [self._row(figure) for figure in self.figures])
        return text + "".join(f"\nSkipped {line}.\n" for line in self.skipped)

    def as_json(self) -> list[dict[str, Any]]:
        return [
            {"program": figure.program, "cases": figure.cases, "runs": [run._asdict() for run in figure.runs]}
            for figure in self.figures
        ]

    def _row(self, figure: Figure) -> tuple[str, ...]:
        if figure.stopped:
            return (figure.program, f"{figure.cases:,}", "stopped", "", "", "", f"{figure.runs.wall:.0f}", "", "")
        reference = next(f for f in named(self.figures, self.reference) if f.cases == figure.cases)
        runs = figure.runs
        return (
            figure.program,
            f"{figure.cases:,}",
            f"{runs.cpu:.2f}",
            f"{runs.cpu_times(reference.runs):.2f}",
            f"{runs.cpu / figure.cases * 1e6:.0f}",
            self._added(figure),
            f"{runs.wall:.2f}",
            f"{runs.rss_mb:.0f}",
            "yes" if figure.judged else f"no: {runs[-1].tally}",
        )

    def _added(self, figure: Figure) -> str:
        smaller = [f for f in named(self.figures, figure.program) if f.cases < figure.cases]
        return f"{added(smaller[-1], figure) * 1e6:.0f}" if smaller else ""


class Commands(NamedTuple):
    """Commands beside each other, the first of them the reference: what each used, and the goals."""

    title: str
    rows: Mapping[str, Runs]
    goals: list[Goal]

    @property
    def judged(self) -> bool:
        return True

    def markdown(self) -> str:
        first = next(iter(self.rows.values()))
        head = ("command", "CPU ms", "times the first", "wall ms", "peak MB")
        rows = [
            (name, f"{u.cpu * 1000:.1f}", f"{u.cpu_times(first):.2f}", f"{u.wall * 1000:.0f}", f"{u.rss_mb:.0f}")
            for name, u in self.rows.items()
        ]
        return table(self.title, head, rows)

    def as_json(self) -> list[dict[str, Any]]:
        return [{"command": name, "runs": [run._asdict() for run in runs]} for name, runs in self.rows.items()]


def added(smaller: Figure, larger: Figure) -> float:
    """CPU seconds for one more case between two sizes, so that the cost of starting does not hide it."""
    return (larger.runs.cpu - smaller.runs.cpu) / (larger.cases - smaller.cases)


def linear(figures: Sequence[Figure], program: str) -> Iterator[Goal]:
    """Linear means: ten times the cases take at most ten times the CPU."""
    for smaller, larger in pairwise(named(figures, program)):
        yield Goal(
            f"CPU of {larger.cases:,} cases, times that of as many in runs of {smaller.cases:,}",
            larger.runs.cpu_times(smaller.runs) * smaller.cases / larger.cases,
            1.0,
        )


def growth(figures: Sequence[Figure], program: str) -> Iterator[Goal]:
    """How much more memory the larger workloads take than the smallest."""
    first, *rest = named(figures, program)
    for figure in rest:
        what = f"peak memory of {figure.cases:,} cases, times that of {first.cases:,}"
        yield Goal(what, figure.runs.rss_mb / first.runs.rss_mb, FLAT)


def large(figures: Iterable[Figure]) -> list[Figure]:
    """The figures that goals are about: those of large workloads, or of the largest that there is."""
    found = list(figures)
    return [figure for figure in found if figure.cases >= WORTH_A_GOAL] or found[-1:]


def goals_table(goals: Sequence[Goal]) -> str:
    rows = [(goal.what, f"{goal.most:g}", f"{goal.measured:.2f}", "yes" if goal.met else "**no**") for goal in goals]
    return table("Goals", ("what", "at most", "measured", "met"), rows)


def table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(cells)} |" for cells in (head, *rows)]
    lines.insert(1, "|" + "---|" * len(head))
    return f"\n### {title}\n\n" + "\n".join(lines) + "\n"
