"""The page of the viewer on the latest audit of a run."""

from __future__ import annotations

from glob import escape
from pathlib import Path
from typing import Any, Final

from carob.features.audit.report import read_audit
from carob.reports.html.run_pages import PageRequest, read_next_to

MOST_AUDITED: Final = 200


def audit_page(request: PageRequest) -> dict[str, Any]:
    """The latest audit next to a journal, or why there is none to show."""
    path = Path(request.run.path)
    names = sorted(found.name for found in path.parent.glob(f"{escape(path.stem)}.audit*.json"))
    missing = "This run has not been audited yet."
    audit, why = read_next_to(request.run, names[-1] if names else "", read_audit, missing)
    return {"audit": audit, "why": why, "shown": audit.report.cases[:MOST_AUDITED] if audit else ()}
