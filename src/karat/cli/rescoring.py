"""Judging a journal again from the command line."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TextIO

import click

from karat.checks.catalog import CATALOG
from karat.model.run import Summary
from karat.reports.artifacts import results_dir_for
from karat.reports.terminal import CaseLines, show_summary, wants_colour
from karat.results import rescore
from karat.runs.journal import Journal
from karat.suites import load as load_suite
from karat.targets.config import load as load_config


def rescore_journal(
    journal: str, suite_file: str | None, results_dir: Path | None, out: TextIO, environ: Mapping[str, str]
) -> Summary:
    """Judge again, show every case and the summary."""
    suite = load_suite(suite_file, CATALOG) if suite_file else None
    for warning in suite.warnings if suite else ():
        click.echo(warning, err=True)
    recorded = Journal(journal)
    judged_by = Path(suite.file if suite else recorded.header.suite)
    folder = results_dir_for(judged_by, results_dir or load_config(Path.cwd()).results_dir)
    left_out: list[str] = []
    result = rescore(recorded, suite, folder, left_out.append)
    if left_out:
        names = ", ".join(dict.fromkeys(left_out))
        click.echo(f"karat: recorded but not in the suite, left out: {names}", err=True)
    colour = wants_colour(out, environ)
    lines = CaseLines(out, colour=colour)
    for record in result.journal.records():
        lines(record)
    show_summary(result.journal, result.artifacts, out, colour=colour)
    return result.summary
