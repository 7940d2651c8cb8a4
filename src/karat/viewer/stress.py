"""The page of a stress run: its table, with each cell leading to its case."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from karat.analysis.stress.report import read_stress, table_of
from karat.journal.index import IndexedRun
from karat.reports.html.files import find_own_file

LARGEST = 1 << 24
NONE = "This is not a stress run."


def stress_page(run: IndexedRun, home: str) -> dict[str, Any]:
    """What the template needs: the report next to a journal, or why there is none to show."""
    name = f"{Path(run.path).stem}.stress.json"
    file = find_own_file(run.path, name)
    if file is None or file.size > LARGEST:
        return {"report": None, "why": NONE}
    try:
        report = read_stress(file.path.read_bytes())
    except (msgspec.DecodeError, UnicodeDecodeError, OSError):
        return {"report": None, "why": f"{name} cannot be read."}
    return {"report": report, "why": "", **table_of(report, lambda cell: f"{home}run/{run.key}/case/{cell.index}/0")}
