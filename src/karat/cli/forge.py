"""What a forge that carries out the run is told: GitHub's annotations, and the summary of its job."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path

from karat.reports.artifacts import explained
from karat.reports.github.annotations import GithubReport
from karat.reports.github.summary import GithubSummary
from karat.reports.run_result import RunResult
from karat.reports.terminal import Screen, show
from karat.reports.writing import write_into


def tell_github(result: RunResult, screen: Screen, environ: Mapping[str, str]) -> None:
    """Annotate the suite, and add to the job's summary. Raises ArtifactError where that has no room."""
    told = io.BytesIO()
    write_into([result.journal], GithubReport, told)
    show(screen.out, told.getvalue().decode())
    if place := environ.get("GITHUB_STEP_SUMMARY"):
        summary = io.BytesIO()
        write_into([result.journal], GithubSummary, summary)
        with explained(Path(place), "set GITHUB_STEP_SUMMARY to another file"), open(place, "ab") as file:
            file.write(summary.getvalue())
