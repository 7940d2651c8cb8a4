"""`carob audit`"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from carob.cli.options import PATH, RUNS, Share
from carob.errors import UsageError

OF_SUITES = ("min_kill", "suite")
OF_GRADERS = ("min_caught", "purposes", "threshold", "timeout", "asks", "verdicts", "reviews")


@click.command()
@RUNS
@click.option(
    "--min-kill",
    type=Share(),
    default=0.9,
    metavar="R",
    help="Exit with 1 if the suite catches a smaller share of wrong traces.",
)
@click.option("--seed", type=int, default=0, help="Seed for random choices.")
@click.option("--suite", metavar="SUITE", help="Refuse the journal unless it belongs to this suite, unchanged.")
@click.option("--results-dir", type=PATH, metavar="D", help="Folder for the reports (default: next to the journal).")
@click.option("--grader", metavar="SPEC", help="Audit this grader instead, on recorded traces that it accepts.")
@click.option(
    "--min-caught",
    multiple=True,
    metavar="[CLAIM=]R",
    help="Gate: the grader must catch at least this share of wrong traces, at 95% confidence, of every kind of claim"
    " or of one (calls, answer, numbers, cost, surroundings, rules). Repeatable.",
)
@click.option(
    "--for",
    "purposes",
    multiple=True,
    metavar="WHAT",
    help="What the grader is for: tools, arguments, order, often, outcomes, amounts, phrases, sources, doubts, length,"
    " or a kind of claim. Only that is made wrong. Repeatable, or with commas.",
)
@click.option("--threshold", type=float, metavar="S", help="The score from which on the grader accepts (default: 0.5).")
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), default=60.0, help="Seconds for one verdict.")
@click.option("--asks", type=click.IntRange(1, 100), default=3, help="How often the same input is asked about.")
@click.option(
    "--verdicts", type=PATH, metavar="FILE", help="Keep the verdicts of the grader there, and use them again."
)
@click.option("--reviews", type=PATH, metavar="FILE", help="Which mutants are right, as reviewed by a person.")
def command(
    runs: tuple[str, ...],
    min_kill: float,
    seed: int,
    suite: str | None,
    results_dir: Path | None,
    grader: str | None,
    **of_grader: Any,
) -> int:
    """Measure how much a suite catches: make recorded traces wrong, one change at a time, and judge them again.

    Wrong traces that still pass are survivors; each is shown with the field that would catch it. Agents that do
    nothing, repeat the prompt or answer another case must not pass. Changes that leave a trace right must still pass.

    RUN is a journal, a folder of them, @last (the default), @last-5 or @last-green. With --grader it may be any
    recording or export, and the same wrong traces are given to a grader of yours:

    \b
      python:module:function         its parameters say what it gets: trace, messages, answer, ...
      command:./judge                JSON on its standard input, JSON on its standard output
      carob:suite.yaml               the checks of a suite
      deepeval:module:metric         inspect:module:scorer
      pydantic-evals:module:evaluator   agentevals:module:evaluator
      pytest:tests/test_it.py::test     a test that takes the fixture `trace` or `messages`

    It returns a bool, a score, or an object with `passed` or `score`. The report says what it accepted although it is
    wrong, what it refused although it is right, and what sways it. See `carob help audit-a-grader`.

    \b
    Examples:
      carob audit carob-results/checkout-20260101T090000Z.jsonl
      carob audit carob-results/checkout-20260101T090000Z.jsonl --min-kill 0.95 --seed 7
      carob audit --grader python:judge.py:is_right recorded.jsonl
      carob audit --grader python:order.py:in_order recorded.jsonl --for order,arguments
      carob audit --grader command:./judge recorded.jsonl --min-caught calls=0.9 --verdicts judge.db
    """
    from carob import api
    from carob.features.audit import library as audit_library
    from carob.features.audit.terminal import show_audit

    _refuse_others(grader)
    project = api.find_project()
    if grader is not None:
        traces = [str(api.find_run(run, project)) if run.startswith("@") else run for run in runs]
        return _audit_grader(grader, traces, results_dir or Path(traces[0]).parent, seed=seed, **of_grader)
    by = api.load_file(suite, project) if suite else None
    codes = []
    for run in runs:
        for journal in api.find_journals(run, project):
            path = Path(journal.path)
            auditor = audit_library.auditor(journal, by, seed=seed)
            codes.append(show_audit(auditor, (results_dir or path.parent) / path.stem, min_kill))
    return max(codes)


def _audit_grader(grader: str, traces: Sequence[str], folder: Path, **how: Any) -> int:
    from carob.features.graders import library as graders_library
    from carob.features.graders.terminal import AuditProgress, show_grader_audit

    progress = AuditProgress(sys.stderr) if sys.stderr.isatty() else None
    try:
        audit = graders_library.audit_grader(grader, traces, on_progress=progress, **how)
    finally:
        if progress is not None:
            progress.end()
    return show_grader_audit(audit, folder)


def _refuse_others(grader: str | None) -> None:
    """Refuse options of the other audit."""
    context = click.get_current_context()
    for name in OF_SUITES if grader is not None else OF_GRADERS:
        if context.get_parameter_source(name) is not ParameterSource.DEFAULT:
            option = "--for" if name == "purposes" else f"--{name.replace('_', '-')}"
            fix = "Leave it out: --min-caught is the gate." if grader is not None else "Name one with --grader."
            whose = "a grader has none of it" if grader is not None else "it can only be given for a grader"
            raise UsageError(f"{option}: {whose}.", fix=fix, slug="bad-option")
