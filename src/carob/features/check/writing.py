"""The report of a check as a file, in the format of its suffix."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from carob.features.check.model import CheckReport
from carob.features.check.report import check_csv, check_json
from carob.reports.artifacts import open_atomic

FORMATS: Final = (".html", ".json", ".csv")


def write_report(report: CheckReport, path: Path) -> None:
    """Write a report in the format of its suffix."""
    data = render_report(report, path)
    with open_atomic(path, replace=True, elsewhere="choose another file") as out:
        out.write(data)


def render_report(report: CheckReport, path: Path) -> bytes:
    if path.suffix == ".html":
        from carob.features.check.page import check_page  # late: templates take time to load

        return check_page(report)
    return check_csv(report) if path.suffix == ".csv" else check_json(report)
