"""Judging a journal again from the command line."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TextIO

import click
from msgspec import structs

from karat.api import load_suite, rescore
from karat.checks.ui import resolve as resolve_ui
from karat.model.run import Summary
from karat.model.suite import Suite
from karat.reports.terminal import CaseLines, show_summary, wants_colour
from karat.runs.journal import Journal


def rescore_journal(
    journal: str, suite_file: str | None, results_dir: Path | None, out: TextIO, environ: Mapping[str, str]
) -> Summary:
    """Judge again, show every case and the summary."""
    colour = wants_colour(out, environ)
    suite = _suite(suite_file, Journal(journal).header.options) if suite_file else None
    left_out: list[str] = []
    result = rescore(journal, suite, results_dir=results_dir, dropped=left_out.append)
    if left_out:
        click.echo(f"karat: recorded but not in the suite, left out: {', '.join(left_out)}", err=True)
    lines = CaseLines(out, colour=colour)
    for record in result.journal.records():
        lines(record)
    show_summary(result.journal, result.artifacts, out, colour=colour)
    return result.summary


def _suite(file: str, options: Mapping[str, Any]) -> Suite:
    """The suite, its UI sentences read by the vocabulary of the target that was recorded."""
    suite = load_suite(file)
    for warning in suite.warnings:
        click.echo(warning, err=True)
    vocabulary = options.get("target", {}).get("ui_vocabulary", {})
    return structs.replace(suite, cases=tuple(resolve_ui(case, vocabulary) for case in suite.cases))
