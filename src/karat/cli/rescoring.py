"""Judging a journal again from the command line."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TextIO

import click

from karat.checks.catalog import CATALOG
from karat.cli.main import complain
from karat.cli.options import nearby
from karat.journal.reader import Journal
from karat.model.verdict import CaseStatus
from karat.reports.artifacts import results_dir_for
from karat.reports.catalog import wanted
from karat.reports.facts import case_name
from karat.reports.terminal import CaseLines, show_cases, show_summary, wants_colour
from karat.results import RunResult, rescore
from karat.suites import load as load_suite


def rescore_journal(
    journal: str,
    suite_file: str | None,
    results_dir: Path | None,
    reports: Sequence[str],
    out: TextIO,
    environ: Mapping[str, str],
) -> RunResult:
    """Judge again, show every case and the summary."""
    suite = load_suite(suite_file, CATALOG) if suite_file else None
    for warning in suite.warnings if suite else ():
        click.echo(warning, err=True)
    recorded = Journal(journal)
    judged_by = Path(suite.file if suite else recorded.header.suite)
    folder = results_dir_for(judged_by, results_dir or _configured())
    left_out: list[str] = []
    result = rescore(recorded, suite, folder, left_out.append, wanted(reports))
    if left_out:
        names = ", ".join(dict.fromkeys(left_out))
        click.echo(f"karat: recorded but not in the suite, left out: {names}", err=True)
    colour = wants_colour(out, environ)
    beside = os.path.dirname(result.journal.path)
    if result.journal.header.repeat > 1:
        show_cases(result.journal, out, folder=beside, colour=colour)
    else:
        lines = CaseLines(out, colour=colour)
        lines.folder = beside
        _show_cases(result.journal, lines)
    show_summary(result.journal, result.artifacts, out, colour=colour)
    for failure in result.failures:
        complain(f"karat: {failure}")
    return result


def _show_cases(journal: Journal, lines: CaseLines) -> None:
    for seen, record in journal.glimpses():
        if seen.verdict.status is CaseStatus.PASS:
            lines.passed(case_name(seen.case.id, seen.repeat), seen.case.category, seen.duration_ms)
        else:
            lines(record())


def _configured() -> Path | None:
    """The results folder of karat.toml; read only where none was given, because reading it loads what targets need."""
    from karat.targets.config import load as load_config

    return nearby(load_config(Path.cwd()).results_dir)
