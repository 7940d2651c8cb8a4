"""Compare two recorded runs, gates included, and read what the cases of a new run came to in an earlier one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import structs

from karat.analysis.compare.builder import ComparisonBuilder
from karat.analysis.compare.compared_cases import Source, asks, expects
from karat.analysis.compare.gates import Gates, correction_note, gate_verdicts, read_gates
from karat.analysis.compare.model import Comparison
from karat.analysis.compare.references import LAST_GREEN, RecordedRun, References, results_folders
from karat.analysis.compare.run_differences import TAPE
from karat.errors import UsageError
from karat.model.run import Header
from karat.model.suite import Case
from karat.plugins.project import Project
from karat.scoring.intervals import Runs

LUCKY = (
    "a run that was chosen because it passed may have been lucky, so later runs look worse: compare with several runs, "
    "@last-5, or save them as a baseline: karat baseline set @last-5"
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
