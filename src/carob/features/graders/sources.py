"""Recorded traces for the audit of a grader: journals, recordings, exports, results of other tools."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import chain, groupby

from carob.engine.recorded_runs import open_runs
from carob.errors import UsageError
from carob.features.audit.operators.base import Subject
from carob.features.graders.mutants import bare_subject
from carob.journal.reader import Journal
from carob.model.suite import judged_part
from carob.model.verdict import CaseStatus
from carob.plugins.project import Project
from carob.text.file_names import suggest_file


def read_subjects(paths: Sequence[str], project: Project, seed: int) -> Iterator[Subject]:
    """The traces of all sources. Those of a journal know their cases, which sharpens what is made of them.

    Raises UsageError at once where nothing is named or a file is not there.
    """
    if not paths:
        fix = "Name journals, recordings or exports after the grader."
        raise UsageError("there is no trace to audit the grader on.", fix=fix, slug="no-traces")
    for path in paths:
        if not os.path.exists(path):
            raise UsageError("no such file or folder.", where=path, fix=suggest_file(path), slug="no-traces")
    return chain.from_iterable(_read(path, project, seed) for path in paths)


def _read(path: str, project: Project, seed: int) -> Iterator[Subject]:
    journals, others = open_runs(path, project)
    for journal in journals:
        yield from _of_journal(journal, seed)
    for number, trace in enumerate(chain.from_iterable(others), 1):
        yield bare_subject(trace, number, seed)


def _of_journal(journal: Journal, seed: int) -> Iterator[Subject]:
    """Of each case the first repeat that passed, else the first."""
    for _, group in groupby(journal.records(), key=lambda record: record.index):
        first = None
        for record in group:
            if first is None or (first.status is not CaseStatus.PASS and record.status is CaseStatus.PASS):
                first = record
        if first is not None and not first.case.skip:
            yield Subject(judged_part(first.case), first.trace, seed)
