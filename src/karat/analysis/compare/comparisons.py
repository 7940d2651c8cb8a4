"""What is done with several recorded runs: compared, gated, kept as a baseline, listed as a history."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

from karat.analysis.compare.baseline import BaselineFile, baseline_lines, baseline_of, in_order
from karat.analysis.compare.compared_cases import asks, expects
from karat.analysis.compare.gates import compare, gates
from karat.analysis.compare.history import history
from karat.analysis.compare.history_model import History
from karat.analysis.compare.model import Comparison
from karat.analysis.compare.references import LAST_GREEN, RecordedRun, References
from karat.analysis.compare.run_differences import TAPE
from karat.errors import UsageError
from karat.journal.index import Index, usual_place
from karat.model.run import Header
from karat.model.suite import Case
from karat.plugins.project import Project
from karat.reports.artifacts import open_atomic, usual_results_dirs
from karat.scoring.intervals import Runs
from karat.targets.config import read_config

LUCKY = (
    "a run that was chosen because it passed may have been lucky, so later runs look worse: compare with several runs, "
    "@last-5, or save them as a baseline: karat baseline set @last-5"
)


def compare_runs(
    base: str | Path,
    new: str | Path,
    results_dir: str | Path | None,
    asked: Mapping[str, float | None],
    confidence: float | None,
    project: Project,
    *,
    mix_tapes: bool = False,
    together: int = 1,
) -> Comparison:
    """Weigh one run against another, and ask the gates of the configuration and of the caller."""
    wanted = gates(project, asked, confidence)._replace(together=together)
    references = References(_results_folders(results_dir, project), project)
    newer = references.new(str(new))
    older = references.base(str(base), RecordedRun(Path(newer.journal.path), newer.journal.header))
    found = compare(older, newer, wanted, notes=[LUCKY] if str(base) == LAST_GREEN else [])
    live = [side.settings.get(TAPE, "live") for side in (found.base, found.new)]
    if found.base.settings and live[0] != live[1] and not mix_tapes:
        raise UsageError(
            f"the base is a {_mode_word(live[0])} run and the new one a {_mode_word(live[1])} run.",
            where=found.new.path,
            fix="Compare runs of one kind, or accept it with --mix-tapes.",
            slug="mixed-tapes",
        )
    return found


def _mode_word(mode: str) -> str:
    return {"replay": "replayed", "follow": "followed", "extend": "partly replayed"}.get(mode, mode)


def read_base(
    name: str, header: Header, path: str, cases: Sequence[Case], folder: Path, project: Project
) -> dict[int, Runs]:
    """What the cases of a run that is to begin came to in its base, by their place; those that ask the same now."""
    found = References([folder], project).base(name, RecordedRun(Path(path), header))
    base = {case.id: case for case in found if case.judged}
    return {
        index: before.runs
        for index, case in enumerate(cases)
        if (before := base.get(case.id)) and (before.asks, before.expects) == (asks(case), expects(case))
    }


def build_history(
    results_dir: str | Path | None, project: Project, *, most: int, since: str, suite: str, target: str
) -> History:
    """The last runs of a suite, case by case."""
    folders = _results_folders(results_dir, project)
    with closing(Index(folders, usual_place(folders, os.environ))) as index:
        return history(folders, index, project, most=most, since=since, suite=suite, target=target)


def set_baseline(run: str | Path, file: Path | None, results_dir: str | Path | None, project: Project) -> BaselineFile:
    """Keep a run as the baseline of its suite; an older one is replaced, whole or not at all."""
    source = References(_results_folders(results_dir, project), project).find_run(str(run))
    place = baseline_of(source.journal.header.suite) if file is None else file
    with open_atomic(place, replace=True) as out:
        for line in in_order(baseline_lines(source)):
            out.write(line + b"\n")
    place.chmod(0o644)
    return BaselineFile(place)


def load_baseline(file: Path) -> BaselineFile:
    """A baseline that is there: its own file, or that of a suite."""
    place = file if file.suffix == ".jsonl" else baseline_of(str(file))
    if not place.is_file():
        raise UsageError(
            "no baseline exists.", where=str(place), fix="Make one: karat baseline set", slug="no-baseline"
        )
    return BaselineFile(place)


def _results_folders(given: str | Path | None, project: Project) -> list[Path]:
    """Where runs are looked for by name: in this folder, or in all where the command line may have left them."""
    if given is not None:
        return [Path(given)]
    configured = read_config(project).results_dir
    usual = usual_results_dirs()
    return usual if configured is None else [configured, *usual]
