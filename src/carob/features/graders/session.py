"""Auditing a grader that a spec names, on the traces of files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby
from pathlib import Path

from msgspec import Struct

from carob.checks.catalog import catalog_for
from carob.engine import rescoring
from carob.engine.recorded_runs import open_runs
from carob.errors import UsageError
from carob.features.audit.judging import Allowance
from carob.features.audit.operators.base import Subject
from carob.features.graders.calling import GraderSettings, open_grader
from carob.features.graders.model import GraderAudit
from carob.features.graders.mutants import CLAIMS, PURPOSES, bare_subject
from carob.features.graders.run_audit import ABOUT, GraderAuditOptions, OnProgress, audit_grader
from carob.journal.reader import Journal
from carob.model.suite import judged_part
from carob.model.verdict import CaseStatus
from carob.plugins.project import Project
from carob.redaction.redactor import Redactor
from carob.targets.config import Config
from carob.text.file_names import suggest_file
from carob.text.wording import did_you_mean, join_words

ALL = "all"


class GraderRequestOptions(Struct, frozen=True, kw_only=True):
    """What the command line and the library say of an audit of a grader."""

    seed: int = 0
    asks: int = 3
    threshold: float | None = None
    timeout: float = 60.0
    min_caught: Sequence[str | float] = ()
    purposes: Sequence[str] = ()
    verdicts: Path | None = None
    reviews: Path | None = None


def audit_grader_of(
    spec: str,
    traces: Sequence[str],
    options: GraderRequestOptions,
    config: Config,
    on_progress: OnProgress | None = None,
) -> GraderAudit:
    """Read what is asked for, open the grader, and audit it."""
    project = config.project
    min_caught = parse_min_caught(options.min_caught)
    redactor = rescoring.configured_redactor(config)
    subjects = read_subjects(traces, project, options.seed, redactor)
    allowance = Allowance(*rescoring.resolve_allowances(None, None, None, config)[:2])
    settings = GraderSettings(options.timeout, options.threshold)
    audit_options = GraderAuditOptions(
        seed=options.seed,
        asks=options.asks,
        min_caught=min_caught,
        store=options.verdicts,
        reviews=options.reviews,
        purposes=read_purposes(options.purposes),
    )
    grader = open_grader(spec, settings, project, [Path(project.folder), Path.cwd()], allowance)
    declared = {tool: tuple(words) for tool, words in catalog_for(project).declared.effects.items()}
    return audit_grader(grader, spec, subjects, traces, declared, audit_options, redactor, on_progress)


def read_purposes(purposes: Iterable[str]) -> tuple[str, ...]:
    """What a grader is for; each may be several, with commas. Raises UsageError for what is not known."""
    named = tuple(name.strip() for entry in purposes for name in entry.split(",") if name.strip())
    for name in named:
        if name not in (*PURPOSES, *CLAIMS, *ABOUT):
            fix = (
                did_you_mean(name, [*PURPOSES, *CLAIMS, *ABOUT]) or f"Known: {join_words([*PURPOSES, *CLAIMS], 'and')}."
            )
            raise UsageError(f"--for: a grader cannot be for {name!r}.", fix=fix, slug="bad-option")
    return named


def parse_min_caught(bounds: Iterable[str | float]) -> dict[str, float]:
    """`0.9`, or `calls=0.9`: the bound of a gate by the claim that it is about, or for all of them."""
    parsed: dict[str, float] = {}
    for bound in bounds:
        name, equals, number = str(bound).rpartition("=")
        name = name.strip() if equals else ALL
        if name not in (*CLAIMS, ALL):
            fix = did_you_mean(name, CLAIMS) or f"Claims are about {join_words([*CLAIMS], 'or')}."
            raise UsageError(f"--min-caught: there is no kind of claim {name!r}.", fix=fix, slug="bad-option")
        try:
            share = float(number)
        except ValueError:
            share = -1.0
        if not 0 <= share <= 1:
            fix = "Write --min-caught 0.9, or --min-caught calls=0.9."
            raise UsageError(f"--min-caught: {number!r} is not a share.", fix=fix, slug="bad-option")
        parsed[name] = share
    return parsed


def read_subjects(paths: Sequence[str], project: Project, seed: int, redactor: Redactor) -> Iterator[Subject]:
    """The traces of all sources. Those of a journal know their cases, which sharpens what is made of them.

    Secrets are removed before a trace is changed: of a secret that was changed, none would be found.
    Raises UsageError at once where nothing is named or a file is not there.
    """
    if not paths:
        fix = "Name journals, recordings or exports after the grader."
        raise UsageError("there is no trace to audit the grader on.", fix=fix, slug="no-traces")
    for path in paths:
        if not os.path.exists(path):
            raise UsageError("no such file or folder.", where=path, fix=suggest_file(path), slug="no-traces")
    return chain.from_iterable(_read(path, project, seed, redactor) for path in paths)


def _read(path: str, project: Project, seed: int, redactor: Redactor) -> Iterator[Subject]:
    journals, others = open_runs(path, project)
    for journal in journals:
        yield from _of_journal(journal, seed)
    for number, trace in enumerate(chain.from_iterable(others), 1):
        yield bare_subject(redactor.trace(trace), number, seed)


def _of_journal(journal: Journal, seed: int) -> Iterator[Subject]:
    """Of each case the first repeat that passed, else the first."""
    for _, group in groupby(journal.records(), key=lambda record: record.index):
        first = None
        for record in group:
            if first is None or (first.status is not CaseStatus.PASS and record.status is CaseStatus.PASS):
                first = record
        if first is not None and not first.case.skip:
            yield Subject(judged_part(first.case), first.trace, seed)
