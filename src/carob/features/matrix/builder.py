"""Reads runs and puts their cases side by side; the whole ones are compared with the first whole one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct, structs

from carob.engine.columns import MOST_RUNS
from carob.engine.run_names import results_folders
from carob.errors import UsageError
from carob.features.compare.builder import Scope, classify, excerpt_of, pair_cases
from carob.features.compare.compared_cases import JournalCases
from carob.features.compare.model import COMPARED, RunExcerpt, ScopeComparison
from carob.features.compare.references import References
from carob.features.compare.stats import holm
from carob.features.matrix.model import Matrix, MatrixCell, MatrixColumn, MatrixRow, RowKind
from carob.journal.run_kinds import differing
from carob.journal.views import RecordExcerpt
from carob.model.run import MATRIX, Header
from carob.model.verdict import ACCEPTED
from carob.plugins.project import Project
from carob.scoring.figures import cost_words, rate_words, token_words
from carob.text.wording import shorten

CONFIDENCE: Final = 0.95
MOST_MODELS: Final = 5
MODEL_RECORDS: Final = 200
"""Records in which names of models are looked for."""
LACKS: Final = 5
WHY: Final = 160
OWN_NAMES: Final = ("use", "name")
"""Settings that the name of the target says already."""


class _ModelSpan(Struct, frozen=True):
    model: str = ""


class _Turn(Struct, frozen=True):
    spans: tuple[_ModelSpan, ...] = ()


class _TraceModels(_Turn, frozen=True):
    turns: tuple[_Turn, ...] = ()


class _RecordModels(Struct, frozen=True):
    """The models that a record names."""

    trace: _TraceModels


_models = msgspec.json.Decoder(_RecordModels).decode


class MatrixRun:
    """A run with its cases by id, read once."""

    def __init__(self, source: JournalCases) -> None:
        self.source = source
        self.header: Header = source.journal.header
        self.cases = {case.id: case for case in source}
        summary = source.summary
        self.summary = summary
        self.trouble = summary.incomplete or ("interrupted" if summary.interrupted else "")

    @property
    def assignments(self) -> Mapping[str, str]:
        """What made this run a column of its own."""
        values: dict[str, str] = self.header.options.get(MATRIX, {})
        return values

    def models(self) -> tuple[str, ...]:
        """The models that answered, the most frequent first."""
        seen: Counter[str] = Counter()
        for line in self.source.journal.lines(0, MODEL_RECORDS):
            trace = self.source.journal.decode(line, _models).trace
            seen.update(span.model for turn in (trace, *trace.turns) for span in turn.spans if span.model)
        return tuple(name for name, _ in seen.most_common(MOST_MODELS))

    def cell(self, case_id: str, asks: str) -> MatrixCell | None:
        """What became of a case; `asks` identifies the prompt that the others are compared by."""
        case = self.cases.get(case_id)
        if case is None:
            return None
        record = self.source.find_record(case, passed=case.judged > 0 and case.passed == case.judged)
        return MatrixCell(
            status=record.verdict.status if record else "",
            passed=case.passed,
            judged=case.judged,
            errors=case.errors,
            excerpt=excerpt_of(record) or RunExcerpt(),
            lacks=tuple(case.lacks)[:LACKS],
            why=_why(record),
            asks_otherwise=case.asks != asks,
        )


def _why(record: RecordExcerpt | None) -> str:
    """What the first expectation that did not hold wanted and found."""
    for check in record.verdict.checks if record else ():
        if check.status not in ACCEPTED:
            return shorten(f"expected: {check.expected}" + (f"; found: {check.found}" if check.found else ""), WHY)
    return shorten(record.verdict.reason, WHY) if record else ""


def read_matrix(names: Sequence[str | Path], results_dir: str | Path | None, project: Project) -> Matrix:
    """The recorded runs of these names side by side."""
    references = References(results_folders(results_dir, project), project)
    return build_matrix([references.new(str(name)) for name in names])


def build_matrix(sources: Sequence[JournalCases], confidence: float = CONFIDENCE) -> Matrix:
    if not 2 <= len(sources) <= MOST_RUNS:
        fix = f"Name 2 to {MOST_RUNS} journals, or run one: carob run SUITE -t A -t B"
        raise UsageError(f"a matrix has several runs, not {len(sources)}.", fix=fix, slug="bad-option")
    runs = [MatrixRun(source) for source in sources]
    reference = next((number for number, run in enumerate(runs) if not run.trouble), None)
    ids = dict.fromkeys(case_id for run in runs for case_id in run.cases)
    if not any(sum(case_id in run.cases for run in runs) > 1 for case_id in ids):
        fix = "Name runs of one suite."
        where = runs[1].source.journal.path
        raise UsageError("the runs have no case in common.", where=where, fix=fix, slug="nothing-common")
    rows = [_row(case_id, runs) for case_id in ids]
    order = {category: number for number, category in enumerate(dict.fromkeys(row.category for row in rows))}
    return Matrix(
        suite=runs[0].header.suite,
        name=runs[0].header.suite_name or "",
        columns=tuple(_columns(runs, reference, confidence)),
        rows=tuple(sorted(rows, key=lambda row: (order[row.category], row.kind is not RowKind.OUTCOME))),
        reference=reference,
        confidence=confidence,
        notes=tuple(_notes(runs)),
    )


def _row(case_id: str, runs: Sequence[MatrixRun]) -> MatrixRow:
    first = next(run.cases[case_id] for run in runs if case_id in run.cases)
    cells = tuple(run.cell(case_id, first.asks) for run in runs)
    whole = [cell for run, cell in zip(runs, cells, strict=True) if cell and not (run.trouble or cell.asks_otherwise)]
    return MatrixRow(id=case_id, category=first.category, kind=_kind(whole), cells=cells)


def _kind(cells: Sequence[MatrixCell]) -> RowKind:
    if (
        len({cell.status if cell.judged + cell.errors <= 1 else cell.passed / max(cell.judged, 1) for cell in cells})
        > 1
    ):
        return RowKind.OUTCOME
    return RowKind.WORDS if len({cell.excerpt for cell in cells}) > 1 else RowKind.SAME


def _columns(runs: Sequence[MatrixRun], reference: int | None, confidence: float) -> Iterator[MatrixColumn]:
    own_settings = [
        {name: value for name, value in table.items() if name not in OWN_NAMES and not name.startswith("env.")}
        for table in differing([run.header for run in runs])
    ]
    against, labels = _compare_with(runs, reference, confidence), _labels(runs)
    for number, (run, settings) in enumerate(zip(runs, own_settings, strict=True)):
        header, summary, prices = run.header, run.summary, run.source.journal.prices
        seconds = [case.measures["seconds"] for case in run.cases.values() if "seconds" in case.measures]
        yield MatrixColumn(
            label=labels[number],
            path=run.source.journal.path,
            started_at=header.started_at,
            models=run.models(),
            settings={
                name: value for name, value in settings.items() if name.partition("options.")[2] not in run.assignments
            },
            trouble=run.trouble,
            rate=rate_words(summary),
            cost=cost_words(summary.spent, prices),
            tokens=token_words(summary.spent),
            seconds=sum(seconds) / len(seconds) if seconds else None,
            against=against.get(number),
        )


def _labels(runs: Sequence[MatrixRun]) -> list[str]:
    """What each column is called: its target, and what was set for it; by a number where that is not enough."""
    given = [" ".join(f"{key}={value}" for key, value in run.assignments.items()) for run in runs]
    if len({run.header.target for run in runs}) > 1 or not all(given):
        given = [f"{run.header.target} {words}".rstrip() for run, words in zip(runs, given, strict=True)]
    if len(set(given)) == len(given):
        return given
    return [f"{words}, run {number}" for number, words in enumerate(given, 1)]


def _compare_with(runs: Sequence[MatrixRun], reference: int | None, confidence: float) -> dict[int, ScopeComparison]:
    """How each whole run came out against the reference, by its place; p-values are corrected for their number."""
    if reference is None:
        return {}
    base = runs[reference]
    scopes = {}
    for number, run in enumerate(runs):
        if number == reference or run.trouble:
            continue
        scope = Scope()
        for before, after in pair_cases(base.cases.values(), run.cases.values()):
            if before and after and classify(before, after, confidence) in COMPARED:
                scope.add(before, after)
        if scope.cases:
            scopes[number] = scope.compare("", confidence)
    p_values = holm([scope.p for scope in scopes.values()])
    return {number: structs.replace(scope, p=p) for (number, scope), p in zip(scopes.items(), p_values, strict=True)}


def _notes(runs: Sequence[MatrixRun]) -> Iterator[str]:
    for run in runs:
        if run.trouble:
            yield f"{run.source.journal.path} is not whole, so it is shown and not compared: {run.trouble}"
    if len({run.header.suite_sha256 for run in runs}) > 1:
        yield "the suite was not the same in all runs: only cases with the same prompt and expectations are compared"
