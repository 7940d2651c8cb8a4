"""The tool of `carob mcp` that audits."""

from __future__ import annotations

import io

from carob.features.audit.library import auditor
from carob.features.audit.terminal import AuditLines

MIN_KILL = 0.9


def audit(journal: str = "") -> list[str]:
    """Find out whether a suite can fail: make recorded answers wrong on purpose, one change at a time, judge them
    again without the agent, and show what the suite did not notice, with the line that would catch it.

    journal: the journal of a run, relative to the project; without it, the last run.
    """
    out = io.StringIO()
    lines, audited = AuditLines(out, MIN_KILL), auditor(journal)
    for entry in audited.cases():
        lines.case(entry)
    lines.end(audited.summary(), [])
    return out.getvalue().splitlines()
