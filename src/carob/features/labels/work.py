"""What `carob label` does: the runs, the labels of their project, and what the labels make of the runs."""

from __future__ import annotations

import getpass
from collections.abc import Iterator, Sequence
from typing import Any

import click

from carob.checks.catalog import catalog_for
from carob.criteria.decide import LabelReader
from carob.criteria.files import LABELS
from carob.criteria.settings import label_settings
from carob.engine.rescoring import find_journals
from carob.errors import ExitCode
from carob.features.labels.items import read_items
from carob.features.labels.reviews import read_reviews, reviews_csv
from carob.features.labels.session import LabelSession
from carob.features.labels.status import status_lines
from carob.features.labels.terminal import ask_all, ask_to_keep, show_end
from carob.journal.reader import Journal
from carob.journal.rescore import OwnCases
from carob.plugins.project import Project, find_project
from carob.reports.escaping import terminal
from carob.reports.run_facts import counts
from carob.scoring.tally import Tally
from carob.targets.catalog import agent_name


def open_runs(journals: Sequence[str], project: Project) -> list[Journal]:
    """The runs that are named, or the last one."""
    return [journal for name in journals or ("@last",) for journal in find_journals(name, project)]


def project_of(run: Journal, project: Project) -> Project:
    """The project while the answers of this run are judged."""
    return project.judging(agent_name(run.header.target, run.header.options.get("target", {})), run.header.suite)


def label_runs(journals: Sequence[str], by: str | None, queue: Any, yes: bool) -> int:
    """Let a person label what these runs hold."""
    project = find_project()
    runs = open_runs(journals, project)
    items = read_items(runs)
    if not items:
        click.echo(
            f"{terminal(runs[0].path)} holds no criterion: write some under `meets`, and run the suite.", err=True
        )
        return ExitCode.OK
    labels = LabelReader(project_of(runs[0], project))
    session = LabelSession(items, labels, by or getpass.getuser(), queue, label_settings(project).evidence)
    is_first = not (session.folder / LABELS).exists()
    if session.keep and is_first and not yes and session.next() is not None and not ask_to_keep(session):
        return ExitCode.OK
    ask_all(session)
    show_end(session, "\n".join(_words(run, project) for run in runs))
    return ExitCode.OK


def _words(run: Journal, project: Project) -> str:
    """What a run comes to with the labels that there are now."""
    judge, tally = OwnCases(run, catalog_for(project_of(run, project))), Tally.of(run.header)
    for record in run.records():
        tally.add_record(judge.rejudge(record))
    return f"{counts(tally.summary())}; carob rescore {run.path} keeps that"


def _find_labels(journals: Sequence[str]) -> LabelReader:
    """The labels of this project; without one, those next to the suite of a run."""
    project = find_project()
    if journals or not project.file:
        project = project_of(open_runs(journals, project)[0], project)
    return LabelReader(project)


def read_status(journals: Sequence[str]) -> Iterator[str]:
    """The lines of `--status`."""
    for line in status_lines(_find_labels(journals).index()):
        yield terminal(line)


def read_reviews_csv(journals: Sequence[str]) -> str:
    """The reviews as a table."""
    rows = reviews_csv(read_reviews(_find_labels(journals).folder))
    return "\r\n".join(terminal(row) for row in rows.split("\r\n"))
