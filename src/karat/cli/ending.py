"""What the command line says once a run is there: why cases did not pass, the verdict, what could not be written."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from karat.cli.main import COMMANDS, complain
from karat.errors import ArtifactError
from karat.model.run import CaseRecord
from karat.reports.ending import show_details, show_repeated, show_summary
from karat.reports.facts import BROKEN
from karat.reports.run_result import RunResult
from karat.reports.terminal import Loudness, Screen, show


def show_ending(result: RunResult, screen: Screen) -> None:
    """The cases that did not pass, together; then the summary, and at last what went wrong beside."""
    journal, folder = result.journal, str(Path(result.journal.path).parent)
    if journal.header.repeat > 1 and screen.loudness > Loudness.QUIET:
        show_repeated(journal.records(), screen, folder)
    elif any((result.summary.failed, result.summary.partial, result.summary.error, screen.loudness is Loudness.WHOLE)):
        show_details(_worth_reading(result, screen), screen, folder)
        if screen.loudness > Loudness.QUIET:
            show(screen.out, "\n")
    show_summary(journal, result.artifacts, screen, viewer="view" in COMMANDS)
    if os.environ.get("GITHUB_ACTIONS") == "true":
        _tell_github(result, screen)
    for failure in result.failures:
        complain(f"karat: {failure}")


def _tell_github(result: RunResult, screen: Screen) -> None:
    from karat.cli.forge import tell_github

    try:
        tell_github(result, screen, os.environ)
    except ArtifactError as error:
        result.failures += (error,)


def _worth_reading(result: RunResult, screen: Screen) -> Iterator[CaseRecord]:
    """Whole records of those cases alone that something is to be told of."""
    return result.journal.records() if screen.loudness is Loudness.WHOLE else result.journal.of_status(*BROKEN)
