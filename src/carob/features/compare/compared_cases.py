"""Cases of a run as a comparison sees them: as much of their records as it needs, read once, one case at a time.

What was read of a journal is kept in the index, and read anew only where the journal changed. Several runs of one kind
can be one run.
"""

from __future__ import annotations

import hashlib
import math
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Final, NamedTuple, Protocol

import msgspec
from msgspec import Struct, structs

from carob.features.compare.model import RunSide
from carob.journal.index import Index, file_state
from carob.journal.integrity import Derived, agrees, verdict_of
from carob.journal.reader import Journal, header_of
from carob.journal.run_kinds import settings
from carob.journal.views import (
    RecordExcerpt,
    RecordToCompare,
    RecordVerdict,
)
from carob.model.cost import TokenPrices
from carob.model.run import Header, Summary, content
from carob.model.suite import Case
from carob.model.verdict import ACCEPTED, CaseStatus, Verdict
from carob.plugins.project import Project, token_prices
from carob.scoring.figures import run_words
from carob.scoring.verdicts import all_passed
from carob.text.wording import pluralize

REMEMBERED = 64
"""Cases that are remembered as they were read: both runs have most at one place, and repeats have one in a row."""
_PASS: Final = CaseStatus.PASS  # looked up once: members of an enum are slow to reach
_ERROR: Final = CaseStatus.ERROR
_NOT_PASSED: Final = (CaseStatus.FAIL, CaseStatus.PARTIAL)
_pack = msgspec.json.Encoder(order="deterministic").encode

_to_compare = msgspec.json.Decoder(RecordToCompare).decode
_excerpt = msgspec.json.Decoder(RecordExcerpt).decode
_with_evidence = msgspec.json.Decoder(RecordVerdict).decode
_case = msgspec.json.Decoder(Case).decode
NAME: Final = "standings 3"
"""The name of the cached results; raise its number when they are computed differently."""


class DecodedCase(NamedTuple):
    """A case, what its key is made of, and what identifies its prompts and expectations across runs."""

    case: Case
    content: bytes
    asks: str
    expects: str
    plain_checks: int
    """How many checks must have passed for it to pass, where that is all that it takes; else 0."""


@lru_cache(REMEMBERED)
def read_case(data: bytes) -> DecodedCase:
    """A case as a record holds it."""
    case = _case(data)
    unscored = case.scoring.weights is None and case.scoring.threshold is None
    is_plain = unscored and not (case.turns or case.skip or case.xfail)
    return DecodedCase(case, content(case), asks(case), expects(case), len(case.checks) if is_plain else 0)


class JudgedRun(NamedTuple):
    """One run of a case, with the verdict that its checks add up to."""

    record: RecordToCompare
    case: DecodedCase
    verdict: Verdict


class ComparedCase(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Results of one case in one run. `asks` and `expects` identify the case across runs.

    `passed` of `judged` runs; `errors` and what was `skipped` are not judged. `lacks` counts, for each expectation
    that did not always hold, the runs in which it did. The quantities are means over judged runs.
    """

    id: str
    asks: str
    expects: str
    passed: int
    judged: int
    errors: int = 0
    skipped: int = msgspec.field(name="apart", default=0)
    category: str = ""
    tags: tuple[str, ...] = ()
    cluster: str = ""
    min_pass_rate: float | None = None
    lacks: dict[str, int] = {}
    judges: tuple[str, ...] = ()
    """The judges that decided criteria of it."""
    measures: dict[str, float] = {}
    first_record: int = msgspec.field(name="place", default=-1)
    """Which record of the journal is the first of the case."""

    @property
    def runs(self) -> tuple[int, int]:
        return self.passed, self.judged

    @property
    def is_flaky(self) -> bool:
        return 0 < self.passed < self.judged

    @property
    def size(self) -> dict[str, int]:
        """What it adds to the totals of its run: a case, its judged runs and those that ended in an error."""
        return {"cases": 1, "runs": self.judged, "errors": self.errors}

    def __str__(self) -> str:
        rate = f"{self.passed} of {self.judged} passed" if self.judged else "not judged"
        errors = f", {self.errors} ended in an error" if self.errors else ""
        return rate + errors


class Source(Protocol):
    """A run, or what is kept of one, to compare with another."""

    def __iter__(self) -> Iterator[ComparedCase]: ...

    def side(self) -> RunSide:
        """What this run is, once its cases were read; who reads them counts them."""

    def find_record(self, result: ComparedCase, *, passed: bool) -> RecordExcerpt | None:
        """A run of the case that came out this way, or else its first."""


class JournalCases:
    """The compared cases of a journal, in suite order. `summary` is known once all were read: it includes changes."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self._derived = Derived(journal.header)

    def __iter__(self) -> Iterator[ComparedCase]:
        runs: list[JudgedRun] = []
        first_record, prices = 0, self.journal.prices
        for run in self._judged_runs():
            if runs and run.record.index != runs[0].record.index:
                yield add_up(runs, first_record, prices)
                first_record += len(runs)
                runs = []
            runs.append(run)
        if runs:
            yield add_up(runs, first_record, prices)

    def _judged_runs(self) -> Iterator[JudgedRun]:
        journal, derived = self.journal, self._derived
        for line in journal.lines():
            record = journal.decode(line, _to_compare)
            case = journal.decode(bytes(record.case), read_case)
            verdict = self._verdict(line, record, case)
            is_intact = agrees(verdict, record.verdict) and derived.identity.is_of(
                record.key, record.trace.cuts, case.content
            )
            derived.count(record.index, case.case, verdict, record.trace.spent, intact=is_intact)
            yield JudgedRun(record, case, verdict)

    def _verdict(self, line: bytes, record: RecordToCompare, case: DecodedCase) -> Verdict:
        """What the checks of a record add up to; what they found is read only where not all passed."""
        checks, error = record.verdict.checks, record.trace.error
        if error is None and len(checks) == case.plain_checks and record.verdict.all_passed:
            return all_passed(tuple([check.group for check in checks]))
        return verdict_of(case.case, self.journal.decode(line, _with_evidence).verdict.checks, error)

    @property
    def summary(self) -> Summary:
        return self._derived.summary(self.journal.faults, self.journal.footer)

    def side(self) -> RunSide:
        return _run_side(self.journal.path, self.journal.header, self.summary, self.journal.prices)

    def find_record(self, result: ComparedCase, *, passed: bool) -> RecordExcerpt | None:
        count = result.judged + result.errors + result.skipped
        records = [self.journal.decode(line, _excerpt) for line in self.journal.lines(result.first_record, count)]
        matching = (record for record in records if (record.verdict.status is CaseStatus.PASS) is passed)
        return next(matching, records[0] if records else None)


class CachedRun(Struct, frozen=True):
    """What the index keeps of a run for comparisons and histories."""

    results: tuple[ComparedCase, ...] = msgspec.field(name="standings")
    summary: Summary = Summary()


_cached_run = msgspec.msgpack.Decoder(CachedRun).decode


class CachedCases:
    """The compared cases of one journal, as `JournalCases` gives them; read only where the index has not kept them."""

    def __init__(self, path: Path, index: Index, project: Project) -> None:
        self._path = path
        self._index = index
        self._project = project

    @cached_property
    def _source(self) -> JournalCases:
        return JournalCases(Journal(self._path, project=self._project))

    @cached_property
    def _run(self) -> CachedRun:
        data = self._index.get_cached(self._path, NAME)
        if data is not None:
            return _cached_run(zlib.decompress(data))
        state = file_state(self._path)
        results = tuple(self._source)
        run = CachedRun(results, self._source.summary)
        self._index.set_cached(self._path, NAME, zlib.compress(msgspec.msgpack.encode(run), 1), state)
        return run

    def __iter__(self) -> Iterator[ComparedCase]:
        return iter(self._run.results)

    def side(self) -> RunSide:
        prices = token_prices(self._project)
        return _run_side(str(self._path), header_of(self._path), self._run.summary, prices)

    def find_record(self, result: ComparedCase, *, passed: bool) -> RecordExcerpt | None:
        return self._source.find_record(result, passed=passed)


class PooledRuns:
    """Several runs of one kind as one, the newest first: its cases, with the results of all that asked the same."""

    def __init__(self, runs: Sequence[JournalCases]) -> None:
        self._runs = runs
        self.journal = runs[0].journal

    def __iter__(self) -> Iterator[ComparedCase]:
        newest, *older = [{case.id: case for case in run} for run in self._runs]
        for case in newest.values():
            yield pool_cases([case, *(run[case.id] for run in older if case.id in run)])

    def side(self) -> RunSide:
        sides = [run.side() for run in self._runs]
        incomplete = next((side.incomplete for side in sides if side.incomplete), "")
        newest, oldest = sides[0], sides[-1]
        path = newest.path if len(sides) == 1 else f"{pluralize(len(sides), 'run')}, {oldest.path} to {newest.path}"
        return structs.replace(newest, path=path, incomplete=incomplete, pooled=len(sides), figures="")

    def find_record(self, result: ComparedCase, *, passed: bool) -> RecordExcerpt | None:
        return self._runs[0].find_record(result, passed=passed)


def pool_cases(results: Sequence[ComparedCase]) -> ComparedCase:
    """One case over several runs, as far as they asked and expected the same of it."""
    first = results[0]
    alike = [
        case for case in results if (case.asks, case.expects, case.judges) == (first.asks, first.expects, first.judges)
    ]
    names = dict.fromkeys(name for case in alike for name in case.lacks)
    return structs.replace(
        first,
        passed=sum(case.passed for case in alike),
        judged=sum(case.judged for case in alike),
        errors=sum(case.errors for case in alike),
        skipped=sum(case.skipped for case in alike),
        lacks={name: sum(case.lacks.get(name, case.judged) for case in alike) for name in names},
        measures=_mean_measures([(case.measures, case.judged) for case in alike]),
    )


def _run_side(path: str, header: Header, summary: Summary, prices: TokenPrices | None) -> RunSide:
    project = header.project
    return RunSide(
        path=path,
        suite=header.suite,
        target=header.target,
        started_at=header.started_at,
        version=header.target_version,
        commit=project.commit if project else "",
        dirty=bool(project and project.dirty),
        incomplete=summary.incomplete or ("interrupted" if summary.interrupted else ""),
        figures=run_words(summary, prices),
        settings=settings(header),
        deterministic=header.deterministic,
    )


def add_up(runs: Sequence[JudgedRun], first_record: int, prices: TokenPrices | None) -> ComparedCase:
    """Add up the runs of one case: errors, skipped and expected failures say nothing about the agent."""
    first = runs[0].case
    case = first.case
    judged = [run for run in runs if run.verdict.status is _PASS or run.verdict.status in _NOT_PASSED]
    passed = len([run for run in judged if run.verdict.status is _PASS])
    measures = [_measures(run, prices) for run in judged]
    errors = len([run for run in runs if run.verdict.status is _ERROR]) if len(judged) < len(runs) else 0
    return ComparedCase(
        id=case.id,
        asks=first.asks,
        expects=first.expects,
        passed=passed,
        judged=len(judged),
        errors=errors,
        skipped=len(runs) - len(judged) - errors,
        category=case.category,
        tags=case.tags,
        cluster=case.cluster,
        min_pass_rate=case.min_pass_rate,
        judges=tuple(
            sorted({check.reading.judge for run in runs for check in run.record.verdict.checks if check.reading} - {""})
        ),
        lacks=_lacks(case, [run.verdict for run in judged]) if passed < len(judged) else {},
        measures=measures[0] if len(measures) == 1 else _mean_measures([(each, 1) for each in measures]),
        first_record=first_record,
    )


def asks(case: Case) -> str:
    """Identifies what a case sends to the agent."""
    return _digest((case.user_texts, case.preconditions, case.replies, case.max_turns))


def expects(case: Case) -> str:
    """Identifies the expectations of a case."""
    return _digest((case.all_checks, case.scoring, case.min_pass_rate, case.skip, case.xfail))


def _digest(value: object) -> str:
    return hashlib.blake2b(_pack(value), digest_size=8).hexdigest()


def _lacks(case: Case, verdicts: Sequence[Verdict]) -> dict[str, int]:
    passes: Counter[str] = Counter()
    names = check_names(case)
    for verdict in verdicts:
        if verdict.status is _PASS:
            passes.update(names)
            continue
        passes.update(name for name, check in zip(names, verdict.checks, strict=False) if check.status in ACCEPTED)
    return {name: passes[name] for name in names if passes[name] < len(verdicts)}


def check_names(case: Case) -> list[str]:
    """The expectations of a case as its author wrote them, each with its turn where it has turns."""
    return [
        f"turn {turn}: {spec.path or spec.name}" if turn else spec.path or spec.name for turn, spec in case.all_checks
    ]


def _mean_measures(weighted: Sequence[tuple[dict[str, float], int]]) -> dict[str, float]:
    """The mean of each quantity over the runs that know it; each entry counts as many runs as its weight."""
    means: dict[str, float] = {}
    for name in dict.fromkeys(name for measures, _ in weighted for name in measures):
        values = [(measures[name], runs) for measures, runs in weighted if name in measures]
        means[name] = sum(value * runs for value, runs in values) / max(sum(runs for _, runs in values), 1)
    return means


def _measures(run: JudgedRun, prices: TokenPrices | None) -> dict[str, float]:
    """What is known of a run, without invalid seconds, tokens or dollars."""
    trace, score = run.record.trace, run.verdict.soft.value
    duration = trace.duration_ms if trace.duration_ms is not None else run.record.duration_ms or None
    measures: dict[str, float] = {}
    if duration is not None and 0 <= duration < math.inf:
        measures["seconds"] = duration / 1000
    tokens = trace.tokens
    if tokens is not None and tokens.input is not None and tokens.output is not None:
        total = float(tokens.input + tokens.output)
        if total >= 0:
            measures["tokens"] = total
    if tokens is not None or trace.metadata.cost_usd is not None:
        cost = trace.spent.cost_usd(prices)
        if cost is not None and 0 <= cost < math.inf:
            measures["cost"] = cost
    if score is not None:
        measures["score"] = score
    return measures
