"""What every report says of a case: how its runs came out, its checks that did not pass, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from textwrap import dedent
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from carob.checks.base import Check, is_negated
from carob.checks.catalog import CheckCatalog
from carob.model.check import CheckSpec, Metric
from carob.model.run import CaseRecord
from carob.model.trace import BY_ITSELF, SCRIPT, Trace
from carob.model.verdict import CaseStatus, CheckResult, Status
from carob.providers.base import ending_of
from carob.reports.escaping import terminal
from carob.scoring.intervals import Estimate, share
from carob.scoring.tally import case_status, is_flaky
from carob.text.regexes import lazy
from carob.text.wording import pluralize

if TYPE_CHECKING:
    from carob.journal.views import RecordSummary

LOG_LINES: Final = 5
LOG_LINE: Final = 200
LOG_END: Final = 4_000
LOG_SEARCHED: Final = 64_000
SOURCES: Final[Metric] = "sources"
BROKEN: Final = (CaseStatus.FAIL, CaseStatus.PARTIAL, CaseStatus.ERROR)
"""What needs an explanation: neither passed, nor skipped, nor known to fail."""
PASSED: Final = Status.PASSED  # looked up once: an enum's members are slow to reach, and this is asked of every check

_frame = lazy.pattern(r'\s*File "([^"]+)", line \d+')
_packaged = lazy.pattern(
    r"(?:site|dist)-packages|[/\\]lib[/\\]python3|[/\\]Lib[/\\]|^<frozen |[/\\]carob[/\\](?:engine|targets)[/\\]"
)
"""Paths of code that whoever reads a traceback did not write."""
_uninformative = lazy.pattern(r"[\s^~]*|Traceback \(most recent call last\):\s*")
"""Blank lines, and what Python puts above a traceback and under its source lines."""


class JudgedCheck(NamedTuple):
    """One judged check and where its suite asked for it."""

    label: str
    result: CheckResult


class CheckFacts(NamedTuple):
    """The checks of a case that did not pass, one that broke among the unknown, and what another tool must judge."""

    failed: list[JudgedCheck]
    unknown: list[JudgedCheck]
    unjudged: list[JudgedCheck]
    not_triggered: list[JudgedCheck]
    """Rules that nothing in the conversation triggered; they speak against nothing."""

    @property
    def all(self) -> list[JudgedCheck]:
        return [*self.failed, *self.unknown, *self.unjudged]


class MissingParts(NamedTuple):
    """What the answer of a case lacks."""

    sources: list[str]
    numbers: list[str]
    brief: list[str]


ALL_PASSED: Final = CheckFacts([], [], [], [])
NOTHING_MISSING: Final = MissingParts([], [], [])


def check_facts(record: CaseRecord) -> CheckFacts:
    """Sort the checks of a case that did not pass."""
    results = record.verdict.checks
    for result in results:
        if result.status is not PASSED:
            break
    else:
        return ALL_PASSED
    facts = CheckFacts([], [], [], [])
    lists = {
        Status.FAILED: facts.failed,
        Status.UNJUDGED: facts.unjudged,
        Status.NOT_TRIGGERED: facts.not_triggered,
    }
    for (turn, spec), result in zip(record.case.all_checks, results, strict=False):
        if result.status is not PASSED:
            path = spec.path or result.name
            label = path if turn is None else f"turn {turn}: {path}"
            lists.get(result.status, facts.unknown).append(JudgedCheck(label, result))
    return facts


def missing_parts(record: CaseRecord, catalog: CheckCatalog) -> MissingParts:
    """Name what the answer of a case lacks, by the metrics of its checks that did not pass."""
    missing = MissingParts([], [], [])
    for (_, spec), result in zip(record.case.all_checks, record.verdict.checks, strict=False):
        cls = None if result.status is PASSED else catalog.find(spec.name)
        if cls is not None and cls.metric is not None and not is_negated(spec):
            names: list[str] = getattr(missing, cls.metric)
            lack = _lack(cls, spec)
            names += [] if lack in names else [lack]
    return missing


def required_sources(record: CaseRecord, catalog: CheckCatalog) -> list[str]:
    """The sources that the answer was to draw on."""
    case = record.case
    specs = [spec for _, spec in case.all_checks] if case.turns else case.checks
    return [
        _lack(cls, spec)
        for spec in specs
        if (cls := catalog.find(spec.name)) and cls.metric == SOURCES and not is_negated(spec)
    ]


def _lack(cls: type[Check], spec: CheckSpec) -> str:
    return cls.lack(msgspec.json.decode(spec.args))


def case_name(case_id: str, repeat: int) -> str:
    """The case's id, and which repeat of it this is."""
    return f"{case_id} #{repeat + 1}" if repeat else case_id


def reasons(record: CaseRecord) -> Iterator[str]:
    """Why a case came out as it did, and what broke if that is another story."""
    reason, error = record.verdict.reason, record.trace.error
    if reason:
        yield reason
    if error is not None and error.message not in reason:
        yield f"{error.kind}: {error.message}"
    if (ending := ending_of(record.trace)) not in ("", BY_ITSELF):
        yield f"a limit cut the agent off: {ending}"
    script = record.trace.metadata.get(SCRIPT) if record.case.replies else None
    if isinstance(script, dict) and isinstance(ended := script.get("ended"), str):
        yield f"the scripted user stopped {ended}"


def log(record: CaseRecord) -> list[str]:
    """The end of the agent's output when it failed: escaped lines, none if nothing is known."""
    error = record.trace.error
    return last_lines(error.detail, error.message) if error is not None and error.detail else []


def last_lines(log: str, message: str = "") -> list[str]:
    """The last few lines of a log or traceback that say something, each bounded and inert.

    Those at its end that `message` holds already are left out.
    """
    end = log if len(log) <= LOG_END else f"…{log[-LOG_END:]}"
    lines = _informative(end)[-LOG_LINES:]
    if frame := _user_frame(_informative(log[-LOG_SEARCHED:]), lines):
        lines = [*frame, "  ...", *lines[len(frame) + 1 :]]
    while lines and lines[-1].strip() in message:
        lines.pop()
    return [terminal(line, LOG_LINE) for line in dedent("\n".join(lines)).split("\n") if line]


def _informative(log: str) -> list[str]:
    return [line.rstrip() for line in log.expandtabs(4).split("\n") if not _uninformative.fullmatch(line)]


def _user_frame(lines: list[str], last: list[str]) -> list[str]:
    """The last frame of a traceback that is not in a package, with its line of code, unless `last` has it anyway.

    An error that a library raises deep down is most often caused by the line that called it.
    """
    frames = [
        number for number, line in enumerate(lines) if (frame := _frame.match(line)) and not _packaged.search(frame[1])
    ]
    if not frames or frames[-1] >= len(lines) - len(last):
        return []
    first = frames[-1]
    return [lines[first], *(line for line in lines[first + 1 : first + 2] if not _frame.match(line))]


def describe_attempts(record: CaseRecord | RecordSummary) -> str:
    """` after 2 errors` to follow the status of a case that was tried again, else nothing."""
    return f" after {pluralize(len(record.attempts), 'error')}" if record.attempts else ""


def tokens(trace: Trace) -> dict[str, int]:
    """The token counts that are known."""
    counts = {"input": trace.tokens.input, "output": trace.tokens.output} if trace.tokens else {}
    return {name: count for name, count in counts.items() if count is not None}


class CaseOutcome(NamedTuple):
    """What the runs of one case add up to. `shown` represents the case: its first run with the case's status."""

    status: CaseStatus
    shown: CaseRecord
    records: Sequence[CaseRecord]
    passed: int
    rate: Estimate
    flaky: bool

    @property
    def runs(self) -> int:
        return len(self.records)

    @property
    def not_passed(self) -> list[CaseRecord]:
        return [record for record in self.records if record.verdict.status is not CaseStatus.PASS]

    @property
    def rates(self) -> dict[str, float]:
        """The pass rate and the ends of its interval, by name."""
        return {"rate": self.rate.value, "low": self.rate.low, "high": self.rate.high}

    def __str__(self) -> str:
        """`4 of 5 passed (95% Clopper-Pearson interval 0.28 to 0.99), FLAKY`; after an error a run is made again."""
        errors = sum(len(record.attempts) for record in self.records)
        label = ", FLAKY" if self.flaky else ""
        label += f", {pluralize(errors, 'error')} retried" if errors else ""
        if self.runs == 1:
            return f"1 run{label}"
        interval = f"95% {self.rate.method} interval {self.rate.low:.2f} to {self.rate.high:.2f}"
        return f"{self.passed} of {self.runs} passed ({interval}){label}"


def case_outcome(records: Sequence[CaseRecord]) -> CaseOutcome:
    """Add up the runs of one case."""
    counts = Counter(record.verdict.status for record in records)
    status = case_status(counts, records[0].case.min_pass_rate, records[0].until)
    example = next((record for record in records if record.verdict.status is status), records[0])
    passed = counts[CaseStatus.PASS]
    return CaseOutcome(status, example, records, passed, share(passed, len(records)), is_flaky(counts))


def by_case(records: Iterable[CaseRecord]) -> Iterator[list[CaseRecord]]:
    """The runs of each case together, of records in suite order."""
    for _, runs in groupby(records, key=lambda record: record.index):
        yield list(runs)
