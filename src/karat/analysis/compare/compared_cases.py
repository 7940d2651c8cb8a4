"""Cases of a run as a comparison sees them: as much of their records as it needs, read once, one case at a time.

What was read of a journal is kept in the index, and read anew only where the journal changed.
"""

from __future__ import annotations

import hashlib
import math
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
from msgspec import Struct, structs

from karat.analysis.compare.model import RunSide
from karat.analysis.compare.run_differences import settings
from karat.journal.index import Index, file_state
from karat.journal.integrity import Derived, agrees, verdict_of
from karat.journal.reader import Journal, header_of
from karat.journal.views import (
    RecordExcerpt,
    RecordToCompare,
    RecordVerdict,
    TraceToCompare,
)
from karat.model.cost import TokenPrices
from karat.model.keys import content
from karat.model.run import Header, Summary
from karat.model.suite import Case
from karat.model.verdict import CaseStatus, Status, Verdict
from karat.plugins.project import Project, token_prices
from karat.scoring.figures import run_words
from karat.scoring.verdicts import all_passed

KNOWN = 64
"""Cases that are remembered as they were read: both runs have most at one place, and repeats have one in a row."""
_PASS: Final = CaseStatus.PASS  # looked up once: members of an enum are slow to reach
_PASSED: Final = Status.PASSED
_ERROR: Final = CaseStatus.ERROR
_NOT_PASSED: Final = (CaseStatus.FAIL, CaseStatus.PARTIAL)
_pack = msgspec.json.Encoder(order="deterministic").encode


_to_compare = msgspec.json.Decoder(RecordToCompare).decode
_excerpt = msgspec.json.Decoder(RecordExcerpt).decode
_with_evidence = msgspec.json.Decoder(RecordVerdict).decode
_case = msgspec.json.Decoder(Case).decode
NAME: Final = "standings 2"
"""The name of the cached results; raise its number when they are computed differently."""


class KnownCase(NamedTuple):
    """A case, what its key is made of, and what identifies its prompts and expectations across runs."""

    case: Case
    content: bytes
    asks: str
    expects: str
    plain: int
    """How many checks must have passed for it to pass, where that is all that it takes; else 0."""


@lru_cache(KNOWN)
def read_case(written: bytes) -> KnownCase:
    """A case as a record holds it."""
    case = _case(written)
    unscored = case.scoring.weights is None and case.scoring.threshold is None
    plain = unscored and not (case.turns or case.skip or case.xfail)
    return KnownCase(case, content(case), asks(case), expects(case), len(case.checks) if plain else 0)


class JudgedRun(NamedTuple):
    """One run of a case, with the verdict that its checks add up to."""

    record: RecordToCompare
    known: KnownCase
    verdict: Verdict


class ComparedCase(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Results of one case in one run. `asks` and `expects` identify the case across runs.

    `passed` of `judged` runs; `errors` and what was set `apart` are not judged. `lacks` counts, for each expectation
    that did not always hold, the runs in which it did. The quantities are means over judged runs.
    """

    id: str
    asks: str
    expects: str
    passed: int
    judged: int
    errors: int = 0
    apart: int = 0
    category: str = ""
    tags: tuple[str, ...] = ()
    cluster: str = ""
    min_pass_rate: float | None = None
    lacks: dict[str, int] = {}
    measures: dict[str, float] = {}
    place: int = -1

    @property
    def runs(self) -> tuple[int, int]:
        return self.passed, self.judged

    @property
    def flickers(self) -> bool:
        return 0 < self.passed < self.judged

    def __str__(self) -> str:
        rate = f"{self.passed} of {self.judged} passed" if self.judged else "not judged"
        errors = f", {self.errors} ended in an error" if self.errors else ""
        return rate + errors


class JournalCases:
    """The compared cases of a journal, in suite order. `summary` is known once all were read: it includes changes."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self._derived = Derived(journal.header)

    def __iter__(self) -> Iterator[ComparedCase]:
        runs: list[JudgedRun] = []
        place, prices = 0, self.journal.prices
        for run in self._judged_runs():
            if runs and run.record.index != runs[0].record.index:
                yield add_up(runs, place, prices)
                place += len(runs)
                runs = []
            runs.append(run)
        if runs:
            yield add_up(runs, place, prices)

    def _judged_runs(self) -> Iterator[JudgedRun]:
        journal, derived = self.journal, self._derived
        for line in journal.lines():
            record = journal.decode(line, _to_compare)
            case = journal.decode(bytes(record.case), read_case)
            verdict = self._verdict(line, record, case)
            own = agrees(verdict, record.verdict) and derived.identity.is_of(
                record.key, record.trace.cuts, case.content
            )
            derived.count(record.index, case.case, verdict, record.trace.spent, own=own)
            yield JudgedRun(record, case, verdict)

    def _verdict(self, line: bytes, record: RecordToCompare, known: KnownCase) -> Verdict:
        """What the checks of a record add up to; what they found is read only where not all passed."""
        checks, error = record.verdict.checks, record.trace.error
        if error is None and len(checks) == known.plain and record.verdict.all_passed:
            return all_passed(tuple([check.group for check in checks]))
        return verdict_of(known.case, self.journal.decode(line, _with_evidence).verdict.checks, error)

    @property
    def summary(self) -> Summary:
        return self._derived.summary(self.journal.faults, self.journal.footer)

    @property
    def incomplete(self) -> str:
        """Why cases are missing, once all were read."""
        return self.summary.incomplete or ("interrupted" if self.summary.interrupted else "")

    def side(self, cases: int, runs: int, errors: int) -> RunSide:
        """What this run is, once its cases were read."""
        side = run_side(self.journal.path, self.journal.header, self.incomplete, cases, runs, errors)
        return structs.replace(side, figures=run_words(self.summary, self.journal.prices))

    def find_record(self, result: ComparedCase, *, passed: bool) -> RecordExcerpt | None:
        """A run of the case that came out this way, or else its first."""
        count = result.judged + result.errors + result.apart
        found = [self.journal.decode(line, _excerpt) for line in self.journal.lines(result.place, count)]
        wanted = (record for record in found if (record.verdict.status is CaseStatus.PASS) is passed)
        return next(wanted, found[0] if found else None)


def run_side(path: str, header: Header, incomplete: str, cases: int, runs: int, errors: int) -> RunSide:
    """One of the two runs of a comparison."""
    return RunSide(
        path=path,
        suite=header.suite,
        target=header.target,
        started_at=header.started_at,
        version=header.target_version,
        commit=header.project.commit if header.project else "",
        dirty=bool(header.project and header.project.dirty),
        cases=cases,
        runs=runs,
        errors=errors,
        incomplete=incomplete,
        settings=settings(header),
        deterministic=header.deterministic,
    )


def add_up(runs: Sequence[JudgedRun], place: int, prices: TokenPrices | None) -> ComparedCase:
    """Add up the runs of one case: errors, skipped and expected failures say nothing about the agent."""
    first = runs[0].known
    case = first.case
    judged = [run for run in runs if run.verdict.status is _PASS or run.verdict.status in _NOT_PASSED]
    passed = len([run for run in judged if run.verdict.status is _PASS])
    errors = len([run for run in runs if run.verdict.status is _ERROR]) if len(judged) < len(runs) else 0
    return ComparedCase(
        id=case.id,
        asks=first.asks,
        expects=first.expects,
        passed=passed,
        judged=len(judged),
        errors=errors,
        apart=len(runs) - len(judged) - errors,
        category=case.category,
        tags=case.tags,
        cluster=case.cluster,
        min_pass_rate=case.min_pass_rate,
        lacks=_lacks(case, [run.verdict for run in judged]) if passed < len(judged) else {},
        measures=_quantities(judged[0], prices) if len(judged) == 1 else _means(judged, prices),
        place=place,
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
    held: Counter[str] = Counter()
    names = check_names(case)
    for verdict in verdicts:
        if verdict.status is _PASS:
            held.update(names)
            continue
        held.update(name for name, check in zip(names, verdict.checks, strict=False) if check.status is _PASSED)
    return {name: held[name] for name in names if held[name] < len(verdicts)}


def check_names(case: Case) -> list[str]:
    """The expectations of a case as its author wrote them, each with its turn where it has turns."""
    return [
        f"turn {turn}: {spec.path or spec.name}" if turn else spec.path or spec.name for turn, spec in case.all_checks
    ]


def _means(judged: Sequence[JudgedRun], prices: TokenPrices | None) -> dict[str, float]:
    """The mean of each quantity over the runs that know it."""
    found = [_quantities(run, prices) for run in judged]
    names = dict.fromkeys(name for quantities in found for name in quantities)
    values = {name: [quantities[name] for quantities in found if name in quantities] for name in names}
    return {name: sum(each) / len(each) for name, each in values.items()}


def _quantities(run: JudgedRun, prices: TokenPrices | None) -> dict[str, float]:
    """What is known of a run, without invalid seconds, tokens or dollars."""
    trace, score = run.record.trace, run.verdict.soft.value
    taken = trace.duration_ms if trace.duration_ms is not None else run.record.duration_ms or None
    found: dict[str, float] = {}
    if taken is not None and 0 <= taken < math.inf:
        found["seconds"] = taken / 1000
    if trace.tokens is not None or trace.metadata.cost_usd is not None:
        found.update(_amounts_spent(trace, prices))
    if score is not None:
        found["score"] = score
    return found


def _amounts_spent(trace: TraceToCompare, prices: TokenPrices | None) -> Iterator[tuple[str, float]]:
    tokens = trace.tokens
    if tokens is not None and tokens.input is not None and tokens.output is not None:
        counted = float(tokens.input + tokens.output)
        if counted >= 0:
            yield "tokens", counted
    cost = trace.spent.cost_usd(prices)
    if cost is not None and 0 <= cost < math.inf:
        yield "cost", cost


class CachedRun(Struct, frozen=True):
    """What the index keeps of a run for comparisons and histories."""

    results: tuple[ComparedCase, ...] = msgspec.field(name="standings")
    incomplete: str = ""
    summary: Summary = Summary()


_unpacked = msgspec.msgpack.Decoder(CachedRun).decode


class CachedCases:
    """The compared cases of one journal, as `JournalCases` gives them."""

    def __init__(self, path: Path, index: Index, project: Project) -> None:
        self._project = project
        self._path = path
        self._index = index

    @cached_property
    def journal(self) -> Journal:
        return Journal(self._path, project=self._project)

    @cached_property
    def _run(self) -> CachedRun:
        data = self._index.get_cached(self._path, NAME)
        if data is not None:
            return _unpacked(zlib.decompress(data))
        state = file_state(self._path)
        source = JournalCases(self.journal)
        results = tuple(source)
        run = CachedRun(results, source.incomplete, source.summary)
        self._index.set_cached(self._path, NAME, zlib.compress(msgspec.msgpack.encode(run), 1), state)
        return run

    def __iter__(self) -> Iterator[ComparedCase]:
        return iter(self._run.results)

    def side(self, cases: int, runs: int, errors: int) -> RunSide:
        """What this run is."""
        side = run_side(str(self._path), header_of(self._path), self._run.incomplete, cases, runs, errors)
        return structs.replace(side, figures=self.figures)

    @property
    def figures(self) -> str:
        """The figures of the run as a whole."""
        return run_words(self._run.summary, token_prices(self._project))

    def find_record(self, result: ComparedCase, *, passed: bool) -> RecordExcerpt | None:
        """A run of the case that came out this way, or else its first."""
        return JournalCases(self.journal).find_record(result, passed=passed)
