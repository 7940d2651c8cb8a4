"""A coverage report in a terminal: the figure, the two lists to act on, then the tables."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from carob.features.coverage import report
from carob.features.coverage.model import Coverage
from carob.reports.escaping import terminal
from carob.terminal.formats import show_as
from carob.terminal.screen import BOLD, GREEN, RED, paint
from carob.terminal.sections import section_lines


def show_coverage(coverage: Coverage, form: str, output: Path | None, min_asserted: float | None) -> None:
    """Print a report in this format; or write that into a file, and print the words."""
    writers = {"json": report.coverage_json, "markdown": report.coverage_markdown, "html": report.coverage_html}
    show_as(
        form,
        output,
        {name: partial(write, coverage, min_asserted) for name, write in writers.items()},
        lambda colour: coverage_lines(coverage, min_asserted, colour=colour),
    )


def coverage_lines(coverage: Coverage, min_asserted: float | None = None, *, colour: bool = False) -> Iterator[str]:
    """The whole report, line by line."""
    yield paint(f"Coverage of {terminal(coverage.suite)}", BOLD, colour)
    yield f"  {report.basis(coverage)}"
    yield from section_lines(report.coverage_sections(coverage), "--format json", colour=colour)
    yield ""
    yield report.headline(coverage)
    if gate := report.verdict(coverage, min_asserted):
        yield paint(gate, BOLD + (RED if coverage.unmet(min_asserted) else GREEN), colour)
