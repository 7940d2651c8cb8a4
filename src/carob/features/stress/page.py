"""The page of the viewer on a stress run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from carob.features.stress.report import read_stress, template_values
from carob.reports.html.run_pages import PageRequest, read_next_to


def stress_page(request: PageRequest) -> dict[str, Any]:
    """The report next to a journal, or why there is none to show."""
    name = f"{Path(request.run.path).stem}.stress.json"
    report, why = read_next_to(request.run, name, read_stress, "This is not a stress run.")
    if report is None:
        return {"report": None, "why": why}
    return template_values(report, lambda cell: f"{request.home}run/{request.key}/case/{cell.index}/0")
