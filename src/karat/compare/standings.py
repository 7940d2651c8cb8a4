"""How each case of a run stands: as much of its records as comparing needs, read once, one case at a time."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

import msgspec
from msgspec import Raw, Struct, field

from karat.journal.integrity import Derived, SeenTrace, agrees, verdict_of
from karat.journal.reader import Journal
from karat.model.comparison import RunSide
from karat.model.cost import cost_usd
from karat.model.keys import content
from karat.model.run import Header, Summary
from karat.model.suite import Case
from karat.model.trace import Tokens, ToolCall
from karat.model.verdict import CaseStatus, GroupScore, Status, Verdict
from karat.plugins.project import Prices
from karat.scoring import all_passed

KNOWN = 64
"""Cases that are remembered as they were read: both runs have most at one place, and repeats have one in a row."""
_PASS: Final = CaseStatus.PASS  # looked up once: members of an enum are slow to reach
_PASSED: Final = Status.PASSED
_ERROR: Final = CaseStatus.ERROR
_NOT_PASSED: Final = (CaseStatus.FAIL, CaseStatus.PARTIAL)
_pack = msgspec.json.Encoder(order="deterministic").encode


class TimedTrace(SeenTrace, frozen=True):
    """What a comparison needs of a trace beside what its verdict is held against."""

    duration_ms: float | None = None
    tokens: Tokens | None = None
    metadata: dict[str, object] = field(default_factory=dict)


class ScoredCheck(Struct, frozen=True, gc=False):
    """What a check counts for."""

    group: str
    status: Status


class ScoredVerdict(Struct, frozen=True):
    """A verdict without its evidence."""

    status: CaseStatus
    checks: tuple[ScoredCheck, ...] = ()
    groups: dict[str, GroupScore] = {}

    @property
    def all_passed(self) -> bool:
        for check in self.checks:
            if check.status is not _PASSED:
                return False
        return bool(self.checks)


class TimedRecord(Struct, frozen=True):
    """A record with its quantities, its case as it stands there."""

    index: int
    case: Raw
    verdict: ScoredVerdict
    trace: TimedTrace
    repeat: int = 0
    key: str = ""
    duration_ms: float = 0.0


class EvidencedRecord(Struct, frozen=True):
    """A record with all that was found."""

    verdict: Verdict


class SaidTrace(Struct, frozen=True):
    """What the agent said and called."""

    final_message: str = ""
    tool_calls: tuple[ToolCall, ...] = ()


class SaidRecord(Struct, frozen=True):
    """What is shown of a record side by side with another."""

    case: Case
    verdict: Verdict
    trace: SaidTrace


_timed = msgspec.json.Decoder(TimedRecord).decode
_said = msgspec.json.Decoder(SaidRecord).decode
_evidenced = msgspec.json.Decoder(EvidencedRecord).decode
_case = msgspec.json.Decoder(Case).decode


class KnownCase(NamedTuple):
    """A case, what its key is made of, and what tells whether another run puts and expects the same."""

    case: Case
    content: bytes
    asks: str
    expects: str
    plain: int
    """How many checks must have passed for it to pass, where that is all that it takes; else 0."""


@lru_cache(KNOWN)
def known(written: bytes) -> KnownCase:
    """A case as a record holds it."""
    case = _case(written)
    unscored = case.scoring.weights is None and case.scoring.threshold is None
    plain = unscored and not (case.turns or case.skip or case.xfail)
    return KnownCase(case, content(case), asks(case), expects(case), len(case.checks) if plain else 0)


class JudgedRun(NamedTuple):
    """One run of a case, with the verdict that its checks add up to."""

    record: TimedRecord
    known: KnownCase
    verdict: Verdict


class Standing(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """How one case stands in one run: `asks` and `expects` tell whether it is the same case in another.

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
        errors = f", {self.errors} erred" if self.errors else ""
        return rate + errors


class Standings:
    """The standings of a journal, in suite order. `summary` is known once all were read: it tells what was changed."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self._derived = Derived(journal.header)

    def __iter__(self) -> Iterator[Standing]:
        runs: list[JudgedRun] = []
        place, prices = 0, self.journal.project.prices
        for run in self._judged():
            if runs and run.record.index != runs[0].record.index:
                yield standing(runs, place, prices)
                place += len(runs)
                runs = []
            runs.append(run)
        if runs:
            yield standing(runs, place, prices)

    def _judged(self) -> Iterator[JudgedRun]:
        journal, derived = self.journal, self._derived
        for line in journal.lines():
            record = journal.decoded(line, _timed)
            case = journal.decoded(bytes(record.case), known)
            verdict = self._verdict(line, record, case)
            own = agrees(verdict, record.verdict) and derived.identity.is_of(
                record.key, record.trace.cuts, case.content
            )
            derived.count(record.index, case.case, verdict, own=own)
            yield JudgedRun(record, case, verdict)

    def _verdict(self, line: bytes, record: TimedRecord, known: KnownCase) -> Verdict:
        """What the checks of a record add up to; what they found is read only where not all passed."""
        checks, error = record.verdict.checks, record.trace.error
        if error is None and len(checks) == known.plain and record.verdict.all_passed:
            return all_passed(tuple([check.group for check in checks]))
        return verdict_of(known.case, self.journal.decoded(line, _evidenced).verdict.checks, error)

    @property
    def summary(self) -> Summary:
        return self._derived.summary(self.journal.faults, self.journal.footer)

    @property
    def incomplete(self) -> str:
        """Why cases are missing, once all were read."""
        return self.summary.incomplete or ("interrupted" if self.summary.interrupted else "")

    def side(self, cases: int, runs: int, errors: int) -> RunSide:
        """What this run is, once its standings were read."""
        return run_side(self.journal.path, self.journal.header, self.incomplete, cases, runs, errors)

    def seen(self, standing: Standing, *, passed: bool) -> SaidRecord | None:
        """A run of the case that came out this way, or else its first."""
        count = standing.judged + standing.errors + standing.apart
        found = [self.journal.decoded(line, _said) for line in self.journal.lines(standing.place, count)]
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
    )


def standing(runs: Sequence[JudgedRun], place: int, prices: Prices | None) -> Standing:
    """Add up the runs of one case: what erred or was skipped does not tell of the agent, nor what was known to fail."""
    first = runs[0].known
    case = first.case
    judged = [run for run in runs if run.verdict.status is _PASS or run.verdict.status in _NOT_PASSED]
    passed = len([run for run in judged if run.verdict.status is _PASS])
    errors = len([run for run in runs if run.verdict.status is _ERROR]) if len(judged) < len(runs) else 0
    return Standing(
        id=case.id,
        asks=first.asks,
        expects=first.expects,
        passed=passed,
        judged=len(judged),
        errors=errors,
        apart=len(runs) - len(judged) - errors,
        category=case.category,
        tags=case.tags,
        min_pass_rate=case.min_pass_rate,
        lacks=_lacks(case, [run.verdict for run in judged]) if passed < len(judged) else {},
        measures=_quantities(judged[0], prices) if len(judged) == 1 else _means(judged, prices),
        place=place,
    )


def asks(case: Case) -> str:
    """What tells whether a case puts the same to the agent."""
    return _digest((case.said, case.preconditions, case.replies, case.max_turns))


def expects(case: Case) -> str:
    """What tells whether a case is judged by the same expectations."""
    return _digest((case.asked, case.scoring, case.min_pass_rate, case.skip, case.xfail))


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
    return [f"turn {turn}: {spec.path or spec.name}" if turn else spec.path or spec.name for turn, spec in case.asked]


def _means(judged: Sequence[JudgedRun], prices: Prices | None) -> dict[str, float]:
    """The mean of each quantity over the runs that know it."""
    found = [_quantities(run, prices) for run in judged]
    names = dict.fromkeys(name for quantities in found for name in quantities)
    values = {name: [quantities[name] for quantities in found if name in quantities] for name in names}
    return {name: sum(each) / len(each) for name, each in values.items()}


def _quantities(run: JudgedRun, prices: Prices | None) -> dict[str, float]:
    """What is known of a run; what is no number of seconds, tokens or dollars is not."""
    trace, score = run.record.trace, run.verdict.soft.value
    taken = trace.duration_ms if trace.duration_ms is not None else run.record.duration_ms or None
    found: dict[str, float] = {}
    if taken is not None and 0 <= taken < math.inf:
        found["seconds"] = taken / 1000
    if trace.tokens is not None or trace.metadata:
        found.update(_spent(trace, prices))
    if score is not None:
        found["score"] = score
    return found


def _spent(trace: TimedTrace, prices: Prices | None) -> Iterator[tuple[str, float]]:
    tokens = trace.tokens
    if tokens is not None and tokens.input is not None and tokens.output is not None:
        counted = float(tokens.input + tokens.output)
        if counted >= 0:
            yield "tokens", counted
    cost = cost_usd(trace.metadata, tokens, None if prices is None else (prices.input, prices.output))
    if cost is not None and 0 <= cost < math.inf:
        yield "cost", cost
