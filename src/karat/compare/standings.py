"""How each case of a run stands: as much of its records as comparing needs, read once, one case at a time."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TypeAlias

import msgspec
from msgspec import Struct, field

from karat.journal.integrity import Derived, SeenRecord, SeenTrace
from karat.journal.reader import Journal
from karat.model.comparison import RunSide
from karat.model.cost import cost_usd
from karat.model.run import Header, Summary
from karat.model.suite import Case
from karat.model.trace import Tokens, ToolCall
from karat.model.verdict import CaseStatus, Status, Verdict
from karat.plugins.project import current

JUDGED = frozenset({CaseStatus.PASS, CaseStatus.FAIL, CaseStatus.PARTIAL})
"""Runs that tell of the agent: what erred or was skipped does not, nor what was known to fail."""
_pack = msgspec.json.Encoder(order="deterministic").encode


class TimedTrace(SeenTrace, frozen=True):
    """What a comparison needs of a trace beside what its verdict is held against."""

    duration_ms: float | None = None
    tokens: Tokens | None = None
    metadata: dict[str, object] = field(default_factory=dict)


class TimedRecord(SeenRecord, frozen=True, kw_only=True):
    """A record with its quantities."""

    trace: TimedTrace
    duration_ms: float = 0.0


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


JudgedRun: TypeAlias = tuple[TimedRecord, Verdict]


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
        place = 0
        for _, group in groupby(self._judged(), key=lambda judged: judged[0].index):
            runs = list(group)
            yield standing(runs, place)
            place += len(runs)

    def _judged(self) -> Iterator[JudgedRun]:
        for line in self.journal.lines():
            record = self.journal.decoded(line, _timed)
            yield record, self._derived.add(record)

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


def standing(runs: Sequence[JudgedRun], place: int) -> Standing:
    """Add up the runs of one case, each with the verdict that its checks add up to."""
    case = runs[0][0].case
    statuses = Counter(verdict.status for _, verdict in runs)
    judged = [(record, verdict) for record, verdict in runs if verdict.status in JUDGED]
    return Standing(
        id=case.id,
        asks=asks(case),
        expects=expects(case),
        passed=statuses[CaseStatus.PASS],
        judged=len(judged),
        errors=statuses[CaseStatus.ERROR],
        apart=len(runs) - len(judged) - statuses[CaseStatus.ERROR],
        category=case.category,
        tags=case.tags,
        min_pass_rate=case.min_pass_rate,
        lacks=_lacks(case, [verdict for _, verdict in judged]),
        measures=_means(judged),
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
    if all(verdict.status is CaseStatus.PASS for verdict in verdicts):
        return {}
    held: Counter[str] = Counter()
    names = check_names(case)
    for verdict in verdicts:
        held.update(name for name, check in zip(names, verdict.checks, strict=False) if check.status is Status.PASSED)
    return {name: held[name] for name in names if held[name] < len(verdicts)}


def check_names(case: Case) -> list[str]:
    """The expectations of a case as its author wrote them, each with its turn where it has turns."""
    return [f"turn {turn}: {spec.path or spec.name}" if turn else spec.path or spec.name for turn, spec in case.asked]


def _means(judged: Sequence[JudgedRun]) -> dict[str, float]:
    """The mean of each quantity over the runs that know it; what is no number of seconds or tokens is not known."""
    found: dict[str, list[float]] = {}
    for record, verdict in judged:
        for name, value in _quantities(record, verdict):
            if value is not None and math.isfinite(value) and value >= 0:
                found.setdefault(name, []).append(value)
    return {name: sum(values) / len(values) for name, values in found.items()}


def _quantities(record: TimedRecord, verdict: Verdict) -> Iterator[tuple[str, float | None]]:
    trace, tokens = record.trace, record.trace.tokens
    taken = trace.duration_ms if trace.duration_ms is not None else record.duration_ms or None
    yield "seconds", None if taken is None else taken / 1000
    if tokens is not None and (tokens.input is not None or tokens.output is not None):
        yield "tokens", float((tokens.input or 0) + (tokens.output or 0))
    prices = current().prices
    yield "cost", cost_usd(trace.metadata, tokens, None if prices is None else (prices.input, prices.output))
    yield "score", verdict.soft.value
