"""An audit of a grader in a terminal, and its reports as files."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from time import monotonic
from typing import Final, TextIO

from carob.features.graders import report
from carob.features.graders.model import GraderAudit
from carob.reports.artifacts import open_atomic, safe_stem
from carob.reports.escaping import terminal
from carob.terminal.screen import BOLD, GREEN, RED, paint, show, wants_colour
from carob.terminal.sections import section_lines
from carob.text.wording import pluralize

STEM: Final = 60
EVERY: Final = 0.5


class AuditProgress:
    """One line that is redrawn while a grader is asked."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._shown = monotonic()

    def __call__(self, traces: int, calls: int) -> None:
        if monotonic() - self._shown >= EVERY:
            self._shown = monotonic()
            self._out.write(f"\r\x1b[2K{pluralize(traces, 'trace')}, {pluralize(calls, 'call')} of the grader")
            self._out.flush()

    def end(self) -> None:
        self._out.write("\r\x1b[2K")
        self._out.flush()


def show_grader_audit(audit: GraderAudit, folder: Path) -> int:
    """Write the reports, print what the audit shows, and give the exit code."""
    folder.mkdir(parents=True, exist_ok=True)
    stem = f"{safe_stem(audit.grader)[:STEM]}.grader-audit"
    writers = {"json": report.grader_json, "md": report.grader_markdown, "html": report.grader_html}
    with ExitStack() as stack:
        files = [stack.enter_context(open_atomic(folder / f"{stem}.{end}")) for end in writers]
        for file, write in zip(files, writers.values(), strict=True):
            file.write(write(audit))
    colour = wants_colour(sys.stdout, os.environ)
    lines = [*grader_lines(audit, colour=colour), *(f"  {terminal(str(file.path))}" for file in files)]
    show(sys.stdout, "".join(f"{line}\n" for line in lines))
    return audit.exit_code


def grader_lines(audit: GraderAudit, *, colour: bool = False) -> Iterator[str]:
    """The whole report, line by line."""
    yield paint(f"Audit of the grader {terminal(audit.grader)}", BOLD, colour)
    yield f"  {report.basis(audit)}"
    yield from section_lines(report.grader_sections(audit), "the reports", colour=colour)
    yield ""
    yield report.headline(audit)
    yield from report.remarks(audit)
    if gate := report.verdict(audit):
        yield paint(terminal(gate), BOLD + (RED if audit.unmet else GREEN), colour)
