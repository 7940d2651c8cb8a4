"""What an audit looks like in a terminal: figures, the matrix, what survived and how to catch it, the verdict."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO

from carob.features.audit.model import AuditSummary, CaseAudit, UnauditedCase
from carob.features.audit.report import AuditJson, AuditMarkdown, AuditRows, headline, remarks, verdict
from carob.reports.artifacts import open_atomic
from carob.reports.escaping import terminal
from carob.reports.sections import TERMINAL_ROWS
from carob.terminal.screen import BOLD, GREEN, RED, paint, show, wants_colour
from carob.terminal.sections import section_lines
from carob.text.wording import pluralize

if TYPE_CHECKING:
    from carob.features.audit.run_audit import Auditor

LINES: Final = 20
LISTED: Final = 6
OF_A_CASE: Final = 8


def show_audit(auditor: Auditor, path: Path, min_kill: float) -> int:
    """Audit one case after the other, write the reports to `place`, and print what was found; the exit code."""
    lines = AuditLines(sys.stdout, min_kill, colour=wants_colour(sys.stdout, os.environ))
    with ExitStack() as stack:
        files = [stack.enter_context(open_atomic(path.with_name(f"{path.name}.audit.{end}"))) for end in ("json", "md")]
        json, markdown = AuditJson(files[0], min_kill), AuditMarkdown(files[1], min_kill)
        for entry in auditor.cases():
            json.case(entry)
            markdown.case(entry)
            lines.case(entry)
        summary = auditor.summary()
        json.end(summary)
        markdown.end(summary)
    lines.end(summary, [file.path for file in files])
    return summary.exit_code(min_kill)


class AuditLines:
    """Keeps what is to be shown, and shows it at the end."""

    def __init__(self, out: TextIO, min_kill: float, *, colour: bool = False) -> None:
        self._out = out
        self._min_kill = min_kill
        self._colour = colour
        self._rows = AuditRows(TERMINAL_ROWS, LINES, OF_A_CASE, LISTED, is_narrow=True)

    def case(self, entry: CaseAudit | UnauditedCase) -> None:
        self._rows.add(entry)

    def end(self, summary: AuditSummary, artifacts: Sequence[Path]) -> None:
        lines = [*self._lines(summary), *(f"  {terminal(str(artifact))}" for artifact in artifacts)]
        show(self._out, "".join(f"{line}\n" for line in lines))

    def _lines(self, summary: AuditSummary) -> Iterator[str]:
        yield paint(f"Audit of {terminal(summary.suite)}", BOLD, self._colour)
        yield f"  {terminal(summary.journal)}, {pluralize(summary.audited, 'case')} audited, seed {summary.seed}"
        yield from section_lines(self._rows.sections(summary), "the reports", colour=self._colour)
        yield ""
        yield headline(summary)
        yield from remarks(summary)
        colour = RED if summary.unmet(self._min_kill) else GREEN
        yield paint(verdict(summary, self._min_kill), BOLD + colour, self._colour)
