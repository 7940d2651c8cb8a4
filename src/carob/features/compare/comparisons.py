"""Compare two recorded runs, gates included, and show what became of each case over the last runs."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

import msgspec
from msgspec import structs

from carob.engine.run_names import LAST_GREEN, RecordedRun, list_runs, results_folders
from carob.errors import JournalError, UsageError
from carob.features.compare.builder import ComparisonBuilder
from carob.features.compare.compared_cases import CachedCases, ComparedCase, Source, asks, expects
from carob.features.compare.gates import Gates, correction_note, gate_verdicts, read_gates
from carob.features.compare.model import STRIP, Bounds, CaseHistory, Comparison, History, RunPoint
from carob.features.compare.references import References
from carob.journal.index import Index, cache_file
from carob.journal.run_kinds import TAPE, is_same_kind, is_same_suite
from carob.model.run import Header
from carob.model.suite import Case
from carob.plugins.project import Project
from carob.scoring.intervals import Runs, share

LUCKY = (
    "a run that was chosen because it passed may have been lucky, so later runs look worse: compare with several runs, "
    "@last-5, or save them as a baseline: carob compare --save @last-5"
)
MODES = {"replay": "replayed", "follow": "followed", "extend": "partly replayed"}


def compare_runs(
    base: str | Path,
    new: str | Path,
    results_dir: str | Path | None,
    bounds: Mapping[str, float | None],
    confidence: float | None,
    project: Project,
    *,
    mix_tapes: bool = False,
    together: int = 1,
) -> Comparison:
    """Compare one run with another, by the gates of the configuration and of the caller."""
    gates = read_gates(project, bounds, confidence)._replace(together=together)
    references = References(results_folders(results_dir, project), project)
    newer = references.new(str(new))
    older = references.base(str(base), RecordedRun(Path(newer.journal.path), newer.journal.header))
    comparison = compare(older, newer, gates, notes=[LUCKY] if str(base) == LAST_GREEN else [])
    modes = [side.settings.get(TAPE, "live") for side in (comparison.base, comparison.new)]
    if comparison.base.settings and modes[0] != modes[1] and not mix_tapes:
        words = [MODES.get(mode, mode) for mode in modes]
        raise UsageError(
            f"the base is a {words[0]} run and the new one a {words[1]} run.",
            where=comparison.new.path,
            fix="Compare runs of one kind, or accept it with --mix-tapes.",
            slug="mixed-tapes",
        )
    return comparison


def compare(base: Source, new: Source, gates: Gates, notes: Sequence[str] = ()) -> Comparison:
    """Compare two runs, and hold the result against the gates."""
    builder = ComparisonBuilder(base, new, gates.of_each_run)
    comparison = builder.comparison(notes)
    incomplete = comparison.new.incomplete or comparison.base.incomplete
    verdicts = tuple(gate_verdicts(gates, builder, incomplete))
    return structs.replace(comparison, gates=verdicts, notes=(*comparison.notes, *correction_note(gates)))


def read_base(
    name: str, header: Header, path: str, cases: Sequence[Case], folder: Path, project: Project
) -> dict[int, Runs]:
    """What the cases of a run that is to begin came to in its base, by index; those that ask the same now."""
    base = References([folder], project).base(name, RecordedRun(Path(path), header))
    results = {result.id: result for result in base if result.judged}
    return {
        index: result.runs
        for index, case in enumerate(cases)
        if (result := results.get(case.id)) and (result.asks, result.expects) == (asks(case), expects(case))
    }


class CaseLine:
    """One case as the runs go by, from the oldest to the newest."""

    def __init__(self, first: ComparedCase, absent: int) -> None:
        self._last = first
        self._strip = STRIP["absent"] * absent
        self._passed = self._judged = self._changed = 0
        self._green: bool | None = None
        self._broke: RunPoint | None = None
        self._first: dict[str, float] = {}
        self._newest: dict[str, float] = {}

    def add(self, result: ComparedCase | None, run: RunPoint) -> None:
        self._strip += STRIP[_outcome_word(result)]
        if result is None:
            return
        if result.asks != self._last.asks or result.expects != self._last.expects:
            self._passed = self._judged = 0  # another case under the same name: its earlier results do not count
            self._green = None
        self._last = result
        self._passed += result.passed
        self._judged += result.judged
        self._first = {**result.measures, **self._first}
        self._newest |= result.measures
        if not result.judged:
            return
        green = result.passed == result.judged
        if self._green is not None and green is not self._green:
            self._changed += 1
            if not green and self._broke is None:
                self._broke = run
        self._green = green

    def summarize(self) -> CaseHistory:
        last = self._last
        # A case flakes that came back after it failed, or both passed and failed in one run.
        is_flaky = self._judged and (self._changed >= 2 or STRIP["flickered"] in self._strip)
        return CaseHistory(
            id=last.id,
            category=last.category,
            tags=last.tags,
            strip=self._strip,
            passed=self._passed,
            judged=self._judged,
            changed=self._changed,
            broke=self._broke,
            flake=Bounds(*share(self._judged - self._passed, self._judged)) if is_flaky else None,
            seconds=self._newest.get("seconds"),
            seconds_ratio=self._ratio("seconds"),
            cost=self._newest.get("cost"),
            cost_ratio=self._ratio("cost"),
        )

    def _ratio(self, name: str) -> float | None:
        first = self._first.get(name)
        return self._newest[name] / first if first else None


def build_history(
    results_dir: str | Path | None, project: Project, *, most: int, since: str, suite: str, target: str
) -> History:
    """The last runs of one suite against one target with its settings; those of the last such run, if none is named."""
    folders = results_folders(results_dir, project)
    where = ", ".join(map(str, folders))
    runs = [run for run in list_runs(folders) if run.header.started_at >= since]
    if not runs:
        period = f" since {since}" if since else ""
        raise UsageError(
            f"no run found{period}.", where=where, fix="Run a suite first: carob run SUITE.", slug="no-run"
        )
    suite = suite or runs[0].header.suite
    of_suite = [run for run in runs if is_same_suite(run.header.suite, suite)]
    of_target = [run for run in of_suite if not target or run.header.target == target]
    if not of_target:
        against = f" against {target}" if target else ""
        raise UsageError(f"no run of {suite}{against} is here.", where=where, slug="no-run")
    newest = of_target[0].header
    chosen = [run for run in of_target if is_same_kind(run.header, newest)]
    other_kinds = [run.header for run in of_suite if not is_same_kind(run.header, newest)]
    # The index keeps what was read before.
    with closing(Index(folders, cache_file(folders, os.environ))) as index:
        history = _read_runs(newest.suite, list(reversed(chosen[:most])), index, project)
    return structs.replace(
        history,
        target=newest.target,
        left_out=len(other_kinds),
        other_targets=tuple(dict.fromkeys(header.target for header in other_kinds)),
    )


def _read_runs(suite: str, runs: Sequence[RecordedRun], index: Index, project: Project) -> History:
    cases: dict[str, CaseLine] = {}
    points: list[RunPoint] = []
    unreadable: list[str] = []
    for run in runs:
        try:
            source = CachedCases(run.path, index, project)
            results = {result.id: result for result in source}
        except JournalError as error:
            unreadable.append(str(error))
            continue
        point = msgspec.convert(source.side(), RunPoint, from_attributes=True)
        point = structs.replace(point, flaky=sum(result.is_flaky for result in results.values()))
        for result in results.values():
            if result.id not in cases:
                cases[result.id] = CaseLine(result, len(points))
        for case_id, line in cases.items():
            line.add(results.get(case_id), point)
        points.append(point)
    lines = tuple(line.summarize() for line in cases.values())
    return History(suite=suite, runs=tuple(points), cases=lines, unreadable=tuple(unreadable))


def _outcome_word(result: ComparedCase | None) -> str:
    if result is None:
        return "absent"
    if result.errors:
        return "erred"
    if not result.judged:
        return "set apart"
    if result.is_flaky:
        return "flickered"
    return "passed" if result.passed else "failed"
