"""Several runs of one kind as one: what each case came to in all of them together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import structs

from karat.analysis.compare.compared_cases import ComparedCase, JournalCases
from karat.analysis.compare.model import RunSide
from karat.journal.views import RecordExcerpt
from karat.text.wording import pluralize


class PooledRuns:
    """The newest run first: its cases, with the results of all runs that asked and expected the same."""

    def __init__(self, runs: Sequence[JournalCases]) -> None:
        self._runs = runs
        self.journal = runs[0].journal

    def __iter__(self) -> Iterator[ComparedCase]:
        newest, *older = [{case.id: case for case in run} for run in self._runs]
        for case in newest.values():
            yield pool_cases([case, *(run[case.id] for run in older if case.id in run)])

    def side(self, cases: int, runs: int, errors: int) -> RunSide:
        """What these runs are, once their cases were read."""
        sides = [run.side(cases, runs, errors) for run in self._runs]
        broken = next((side.incomplete for side in sides if side.incomplete), "")
        newest, oldest = sides[0], sides[-1]
        path = newest.path if len(sides) == 1 else f"{pluralize(len(sides), 'run')}, {oldest.path} to {newest.path}"
        return structs.replace(newest, path=path, incomplete=broken, pooled=len(sides), figures="")

    def find_record(self, result: ComparedCase, *, passed: bool) -> RecordExcerpt | None:
        """A run of the case in the newest of the runs."""
        return self._runs[0].find_record(result, passed=passed)


def pool_cases(found: Sequence[ComparedCase]) -> ComparedCase:
    """One case over several runs, as far as they asked and expected the same of it."""
    first = found[0]
    alike = [case for case in found if (case.asks, case.expects) == (first.asks, first.expects)]
    names = dict.fromkeys(name for case in alike for name in case.lacks)
    return structs.replace(
        first,
        passed=sum(case.passed for case in alike),
        judged=sum(case.judged for case in alike),
        errors=sum(case.errors for case in alike),
        apart=sum(case.apart for case in alike),
        lacks={name: sum(case.lacks.get(name, case.judged) for case in alike) for name in names},
        measures=_means(alike),
    )


def _means(alike: Sequence[ComparedCase]) -> dict[str, float]:
    """The mean of each quantity over the judged runs that know it."""
    found: dict[str, float] = {}
    for name in dict.fromkeys(name for case in alike for name in case.measures):
        known = [(case.measures[name], case.judged) for case in alike if name in case.measures]
        found[name] = sum(value * runs for value, runs in known) / max(sum(runs for _, runs in known), 1)
    return found
