"""The end of a run in a terminal: the cases that did not pass, the verdict, the files, and what to do next."""

from __future__ import annotations

import io
import os
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import click

from carob.errors import ArtifactError
from carob.journal.views import RunView
from carob.model.run import CaseRecord, Summary
from carob.model.verdict import CaseStatus
from carob.redaction.named import without_secrets
from carob.reports.artifacts import explain_errors
from carob.reports.case_details import headline
from carob.reports.case_facts import BROKEN, by_case
from carob.reports.escaping import terminal
from carob.reports.run_facts import (
    counts,
    draft_words,
    guard_words,
    incomplete,
    repeats,
    replay_words,
    seconds,
    untested_words,
)
from carob.reports.run_result import RunResult
from carob.reports.writing import write_into
from carob.scoring.figures import run_words
from carob.terminal.screen import BOLD, GREEN, LINE, PLAIN, RED, YELLOW, CaseLines, Screen, Verbosity, show
from carob.text.wording import pluralize, visible

MOST: Final = 30


def show_ending(result: RunResult, screen: Screen) -> None:
    """The cases that did not pass, together; then the summary, and at last what else went wrong."""
    journal, folder = result.journal, str(Path(result.journal.path).parent)
    if journal.header.repeat > 1 and screen.verbosity > Verbosity.QUIET:
        show_repeated(journal.records(), screen, folder)
    elif any(
        (result.summary.failed, result.summary.partial, result.summary.error, screen.verbosity is Verbosity.WHOLE)
    ):
        show_details(_worth_reading(result, screen), screen, folder)
        if screen.verbosity > Verbosity.QUIET:
            show(screen.out, "\n")
    show_summary(journal, result.artifacts, screen)
    if os.environ.get("GITHUB_ACTIONS") == "true":
        _tell_github(result, screen)
    for failure in result.failures:
        click.echo(visible(f"carob: {failure}"), err=True)


def _tell_github(result: RunResult, screen: Screen) -> None:
    try:
        _write_for_github(result, screen, os.environ)
    except ArtifactError as error:
        result.failures += (error,)


def _write_for_github(result: RunResult, screen: Screen, environ: Mapping[str, str]) -> None:
    """Annotate the suite, and add to the job's summary. Raises ArtifactError where that has no room."""
    # most runs are not carried out by GitHub, and its reports need not be loaded for them
    from carob.reports.github import GithubReport, GithubSummary

    annotations = io.BytesIO()
    write_into([result.journal], GithubReport, annotations)
    show(screen.out, annotations.getvalue().decode())
    if path := environ.get("GITHUB_STEP_SUMMARY"):
        summary = io.BytesIO()
        write_into([result.journal], GithubSummary, summary)
        with explain_errors(Path(path), "set GITHUB_STEP_SUMMARY to another file"), open(path, "ab") as file:
            file.write(without_secrets(summary.getvalue()))


def _worth_reading(result: RunResult, screen: Screen) -> Iterator[CaseRecord]:
    """Full records of the cases that are shown, and of no others."""
    return result.journal.records() if screen.verbosity is Verbosity.WHOLE else result.journal.of_status(*BROKEN)


def show_details(records: Iterable[CaseRecord], screen: Screen, folder: str = "") -> None:
    """The cases that did not pass, together; with Verbosity.WHOLE all of them. `folder`: that of their journal."""
    all_cases = screen.verbosity is Verbosity.WHOLE
    lines, count, hidden = CaseLines(screen), 0, 0
    lines.folder = folder
    for record in records:
        if not all_cases and record.status not in BROKEN:
            continue
        if screen.verbosity is Verbosity.QUIET:
            show(screen.out, f"{record.status:<7}  {terminal(record.case.id, LINE)}  {headline(record)}\n")
        elif count < MOST or screen.verbosity >= Verbosity.VERBOSE:
            show(screen.out, "\n")
            lines.in_full(record)
            count += 1
        else:
            hidden += 1
    if hidden:
        show(screen.out, f"\nand {pluralize(hidden, 'case')} more that did not pass; -v shows all of them\n")


def show_repeated(records: Iterable[CaseRecord], screen: Screen, folder: str = "") -> None:
    """All runs of each case as one; those that always passed only where they are not folded away."""
    lines = CaseLines(screen)
    lines.folder = folder
    for runs in by_case(records):
        if not screen.folds or any(record.status is not CaseStatus.PASS for record in runs):
            lines.write_repeats(runs)


def show_summary(run: RunView, artifacts: Sequence[Path], screen: Screen) -> None:
    """The verdict of a run, where its files are, and commands to go on with."""
    summary = run.summary
    verdict = counts(summary)
    if (elapsed := seconds(run)) is not None:
        verdict += f" in {elapsed:.1f}s"
    if summary.avg_soft_score is not None:
        verdict += f", avg soft score {summary.avg_soft_score:.4f}"
    words = (
        incomplete(run),
        verdict,
        untested_words(summary),
        repeats(summary),
        *guard_words(summary),
        draft_words(run),
        replay_words(run.header),
    )
    lines = [terminal(line, LINE) for line in words if line]
    if screen.colour:
        lines = [f"{BOLD}{_paint(run)}{line}{PLAIN}" for line in lines]
    if screen.verbosity > Verbosity.QUIET:
        if summary.judged > 1 or summary.spent.counted or summary.spent.reported:
            lines.append(f"  {run_words(summary, run.prices)}")
        lines += [f"  {terminal(str(path))}" for path in artifacts]
    if screen.verbosity > Verbosity.QUIET or incomplete(run):
        lines += [f"  {purpose:<19}{command}" for purpose, command in next_steps(run)]
    show(screen.out, "".join(f"{line}\n" for line in lines))


def _paint(run: RunView) -> str:
    summary = run.summary
    good = summary.passed + summary.partial + summary.xfailed
    if summary.failed or summary.error or incomplete(run) or not good:
        return RED
    return YELLOW if summary.partial else GREEN


def next_steps(run: RunView) -> list[tuple[str, str]]:
    """What one may want to do now, and the command for it, fit to be copied."""
    journal = terminal(shlex.quote(run.path))
    steps = []
    if incomplete(run):
        steps.append(("run the rest", f"carob run --resume {journal}"))
    elif arguments := _to_rerun(run.summary):
        steps.append(("run these again", f"carob run --failed {journal}{arguments}".rstrip()))
    if run.summary.criteria is not None and run.summary.criteria.unjudged:
        steps.insert(0, ("label the criteria", f"carob label {journal}"))
    if steps:
        steps.append(("look at them", f"carob view {terminal(shlex.quote(os.path.dirname(run.path) or '.'))}"))
    return steps


def _to_rerun(summary: Summary) -> str:
    """The option for what did not pass, a blank if none is needed; nothing if everything did."""
    counts = {"error": summary.error, "fail": summary.failed, "partial": summary.partial}
    statuses = ",".join(name for name, count in counts.items() if count)
    return f" --status {statuses}" if summary.partial else " " if statuses else ""
