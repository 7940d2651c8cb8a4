"""Which run somebody means: a journal, a baseline, a folder, `@last`, `@last-green`, `@baseline`, a commit or a tag.

`@last-5` means the last five runs of one kind as one: a single run is a lucky or an unlucky one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

from karat.analysis.compare.baseline import BaselineFile, baseline_of, is_baseline
from karat.analysis.compare.compared_cases import JournalCases
from karat.analysis.compare.pooled_runs import PooledRuns
from karat.analysis.compare.run_differences import is_same_kind, is_same_suite, is_same_target
from karat.errors import JournalError, UsageError
from karat.journal.reader import Journal, header_of
from karat.model.run import Header
from karat.plugins.project import Project
from karat.text.wording import did_you_mean

LAST, LAST_GREEN, BASELINE = "@last", "@last-green", "@baseline"
SEVERAL = re.compile(r"@last-([1-9][0-9]{0,2})")
OTHERS = "Name the journal, to compare with a run against another target."
COMMIT = 7
"""The fewest letters of a commit that name it."""


AnyBase: TypeAlias = JournalCases | PooledRuns | BaselineFile


class RecordedRun(NamedTuple):
    """A journal in a folder of results, by its header alone."""

    path: Path
    header: Header


def list_runs(folders: Sequence[Path]) -> list[RecordedRun]:
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
        if not isinstance(found, JournalCases):
            what = "a baseline is" if isinstance(found, BaselineFile) else "several runs are"
            raise UsageError(f"{what} the older side of a comparison.", where=name, fix="Name it first.")
        return found

    def base(self, name: str, new: RecordedRun) -> AnyBase:
        """The older side: of what was run of the same suite and target, never the newer run itself."""
        return self._find(name, new)

    def find_run(self, name: str) -> JournalCases | PooledRuns:
        """What a baseline is made of."""
        found = self._find(name, None)
        if isinstance(found, BaselineFile):
            raise UsageError("it is a baseline already.", where=name, fix="Name a run.")
        return found

    def _cases(self, path: Path) -> JournalCases:
        return JournalCases(Journal(path, project=self._project))

    def _find(self, name: str, other: RecordedRun | None) -> AnyBase:
        path = Path(name)
        if name == BASELINE and other is not None:
            path = baseline_of(other.header.suite)
            if not path.is_file():
                fix = f"Make one: karat baseline set {other.path}"
                raise UsageError("no baseline exists yet.", where=str(path), fix=fix, slug="no-baseline")
        if path.is_file():
            return BaselineFile(path) if is_baseline(path) else self._cases(path)
        if several := SEVERAL.fullmatch(name):
            return self._pool(name, int(several[1]), other)
        runs = list_runs([path] if path.is_dir() else self._folders)
        return self._cases(self._choose(name, runs, other).path)

    def _pool(self, name: str, most: int, other: RecordedRun | None) -> PooledRuns:
        """The last runs that are of one kind with the newer one, or else with the last."""
        runs = self._earlier(list_runs(self._folders), other)
        kind = other.header if other is not None else runs[0].header if runs else None
        alike = [run for run in runs if kind is not None and is_same_kind(run.header, kind)][:most]
        if not alike:
            raise self._not_found(name, other)
        return PooledRuns([self._cases(run.path) for run in alike])

    def _earlier(self, runs: list[RecordedRun], other: RecordedRun | None) -> list[RecordedRun]:
        """Runs of the suite and target of the newer run, that run itself left out; those with its settings first."""
        if other is None:
            return runs
        mine, header = os.path.realpath(other.path), other.header
        found = [
            run
            for run in runs
            if os.path.realpath(run.path) != mine
            and is_same_suite(run.header.suite, header.suite)
            and is_same_target(run.header, header)
        ]
        return sorted(found, key=lambda run: not is_same_kind(run.header, header))

    def _choose(self, name: str, runs: list[RecordedRun], other: RecordedRun | None) -> RecordedRun:
        named = Path(name).is_dir()
        for run in self._earlier(runs, other):
            if named or _is_meant(name, run):
                return run
        raise self._not_found(name, other)

    def _not_found(self, name: str, other: RecordedRun | None) -> UsageError:
        of_suite = f" of {other.header.suite} against {other.header.target}" if other else ""
        folders = ", ".join(map(str, self._folders))
        if name.startswith("@"):
            fix = did_you_mean(name, (LAST, LAST_GREEN, BASELINE)) if name not in (LAST, LAST_GREEN) else OTHERS
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
