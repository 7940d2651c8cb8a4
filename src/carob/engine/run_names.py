"""Which run is meant: a journal, a folder of them, `@last`, `@last-5`, `@last-green`, a commit or a tag."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from carob.errors import JournalError, UsageError
from carob.journal.reader import Journal, header_of
from carob.journal.run_kinds import is_same_kind
from carob.model.run import Header
from carob.plugins.project import Project
from carob.reports.artifacts import usual_results_dirs
from carob.targets.config import read_config
from carob.text.wording import did_you_mean

LAST, LAST_GREEN, BASELINE = "@last", "@last-green", "@baseline"
SEVERAL = re.compile(r"@last-([1-9][0-9]{0,2})")
COMMIT = 7
"""The fewest letters of a commit that name it."""


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


def results_folders(results_dir: str | Path | None, project: Project) -> list[Path]:
    """Where runs are looked for by name: in this folder, or in all where the command line may have left them."""
    if results_dir is not None:
        return [Path(results_dir)]
    configured = read_config(project).results_dir
    usual = usual_results_dirs()
    return usual if configured is None else [configured, *usual]


def is_named(name: str, run: RecordedRun) -> bool:
    """Whether a run is called so: the last, the last that was green, or one of this commit or tag."""
    if name == LAST:
        return True
    if name == LAST_GREEN:
        return Journal(run.path).summary.exit_code() == 0
    project = run.header.project
    return project is not None and (name in project.tags or (len(name) >= COMMIT and project.commit.startswith(name)))


def find_runs(name: str, project: Project) -> list[Path]:
    """The journals that a name means, the newest first. Raises UsageError where it means none.

    A file is itself, whatever it holds; `@last-5` are the last five runs of one kind.
    """
    path = Path(name)
    if path.is_dir():
        runs = list_runs([path])
        if not runs:
            fix = "Name a folder with journals of `carob run`, or a journal."
            raise UsageError("there is no run in this folder.", where=name, fix=fix, slug="no-run")
        return [run.path for run in runs]
    if not name.startswith("@") or path.exists():
        return [path]
    if name == BASELINE:
        fix = "Name the run that it was made of, or another one."
        raise UsageError("a baseline keeps no answers.", where=name, fix=fix, slug="no-run")
    folders = results_folders(None, project)
    runs = list_runs(folders)
    if several := SEVERAL.fullmatch(name):
        found = [run.path for run in runs if is_same_kind(run.header, runs[0].header)][: int(several[1])]
    else:
        found = [run.path for run in runs if is_named(name, run)][:1]
    if not found:
        raise no_such_run(name, folders, is_any=bool(runs))
    return found


def no_such_run(name: str, folders: Sequence[Path], *, is_any: bool) -> UsageError:
    """The error for a name that begins with @ and means no run."""
    fix = "" if name in (LAST, LAST_GREEN) else did_you_mean(name, (LAST, LAST_GREEN, BASELINE))
    fix = fix if is_any else "Run a suite first: carob run SUITE."
    where = " or ".join(map(str, folders))
    return UsageError(f"{name}: there is no such run here.", where=where, fix=fix, slug="no-run")
