"""A coverage report in a terminal: the figure, the two lists to act on, then the tables."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from carob.features.coverage import report
from carob.features.coverage.model import Coverage
from carob.reports.artifacts import open_atomic
from carob.reports.escaping import terminal
from carob.terminal.screen import BOLD, GREEN, RED, paint, show, wants_colour
from carob.terminal.sections import section_lines


def show_coverage(coverage: Coverage, form: str, output: Path | None, min_asserted: float | None) -> None:
    """Print a report in this format; or write that into a file, and print the words."""
    if output is not None:
        with open_atomic(output, replace=True) as out:
            out.write(_format_as(coverage, form, min_asserted))
    elif form != "terminal":
        click.echo(_format_as(coverage, form, min_asserted).decode(), nl=False)
        return
    colour = wants_colour(sys.stdout, os.environ)
    show(sys.stdout, "".join(f"{line}\n" for line in coverage_lines(coverage, min_asserted, colour=colour)))


def _format_as(coverage: Coverage, form: str, min_asserted: float | None) -> bytes:
    if form == "terminal":
        return "".join(f"{line}\n" for line in coverage_lines(coverage, min_asserted)).encode()
    writers = {"json": report.coverage_json, "markdown": report.coverage_markdown, "html": report.coverage_html}
    return writers[form](coverage, min_asserted)


def coverage_lines(coverage: Coverage, min_asserted: float | None = None, *, colour: bool = False) -> Iterator[str]:
    """The whole report, line by line."""
    yield paint(f"Coverage of {terminal(coverage.suite)}", BOLD, colour)
    yield f"  {report.basis(coverage)}"
    yield from section_lines(report.coverage_sections(coverage), "--format json", colour=colour)
    yield ""
    yield report.headline(coverage)
    if gate := report.verdict(coverage, min_asserted):
        yield paint(gate, BOLD + (RED if coverage.unmet(min_asserted) else GREEN), colour)
