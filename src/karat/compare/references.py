"""Which run somebody means: a journal, a baseline, a folder, `@last`, `@last-green`, `@baseline`, a commit or a tag."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from karat.compare.baseline import BaselineFile, baseline_of, is_baseline
from karat.compare.compared_cases import JournalCases
from karat.errors import JournalError, UsageError
from karat.journal.reader import Journal, header_of
from karat.model.run import Header
from karat.plugins.project import Project
from karat.text.wording import did_you_mean

LAST, LAST_GREEN, BASELINE = "@last", "@last-green", "@baseline"
COMMIT = 7
"""The fewest letters of a commit that name it."""


class RecordedRun(NamedTuple):
    """A journal in a folder of results, by its header alone."""

    path: Path
    header: Header


def recorded(folders: Sequence[Path]) -> list[RecordedRun]:
    """Every journal in these folders, the newest first; other files are skipped."""
    return sorted(_journals(folders), key=lambda run: (run.header.started_at, run.path.name), reverse=True)


def _journals(folders: Sequence[Path]) -> Iterator[RecordedRun]:
    for folder in dict.fromkeys(folders):
        for path in folder.glob("*.jsonl") if folder.is_dir() else ():
            try:
                yield RecordedRun(path, header_of(path))
            except JournalError:
                continue


class References:
    """Finds runs in the folders where they are kept."""

    def __init__(self, folders: Sequence[Path], project: Project) -> None:
        self._project = project
        self._folders = folders

    def new(self, name: str) -> JournalCases:
        """The newer side of a comparison: a run of which every record is there."""
        found = self._find(name, None)
        if isinstance(found, BaselineFile):
            raise UsageError("a baseline is the older side of a comparison.", where=name, fix="Name it first.")
        return found

    def base(self, name: str, new: Journal) -> JournalCases | BaselineFile:
        """The older side: of what was run of the same suite, never the newer run itself."""
        return self._find(name, new)

    def _cases(self, path: Path) -> JournalCases:
        return JournalCases(Journal(path, project=self._project))

    def _find(self, name: str, other: Journal | None) -> JournalCases | BaselineFile:
        path = Path(name)
        if name == BASELINE and other is not None:
            path = baseline_of(other.header.suite)
            if not path.is_file():
                fix = f"Make one: karat baseline set {other.path}"
                raise UsageError("no baseline exists yet.", where=str(path), fix=fix, slug="no-baseline")
        if path.is_file():
            return BaselineFile(path) if is_baseline(path) else self._cases(path)
        if path.is_dir():
            return self._cases(self._chosen(name, recorded([path]), other).path)
        return self._cases(self._chosen(name, recorded(self._folders), other).path)

    def _chosen(self, name: str, runs: list[RecordedRun], other: Journal | None) -> RecordedRun:
        if other is not None:
            mine = os.path.realpath(other.path)
            runs = [
                run
                for run in runs
                if os.path.realpath(run.path) != mine and Path(run.header.suite).name == Path(other.header.suite).name
            ]
        for run in runs:
            if Path(name).is_dir() or _is_meant(name, run):
                return run
        raise self._not_found(name, other)

    def _not_found(self, name: str, other: Journal | None) -> UsageError:
        of_suite = f" of {other.header.suite}" if other else ""
        folders = ", ".join(map(str, self._folders))
        if name.startswith("@"):
            fix = did_you_mean(name, (LAST, LAST_GREEN, BASELINE)) if name not in (LAST, LAST_GREEN) else ""
            return UsageError(f"{name}: no such run{of_suite} in {folders}.", fix=fix, slug="no-run")
        fix = f"Name a journal, a folder, {LAST}, {LAST_GREEN}, {BASELINE}, or a commit or tag that was run."
        return UsageError(f"{name!r} is neither a file nor a run{of_suite} in {folders}.", fix=fix, slug="no-run")


def _is_meant(name: str, run: RecordedRun) -> bool:
    if name == LAST:
        return True
    if name == LAST_GREEN:
        return Journal(run.path).summary.exit_code() == 0
    project = run.header.project
    if project is None:
        return False
    return name in project.tags or (len(name) >= COMMIT and project.commit.startswith(name))
