"""The JSON report: every case with its checks and metrics, one case per line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from msgspec import Struct

from karat.checks.catalog import CheckCatalog
from karat.journal.views import RunView
from karat.model.cost import TokenPrices
from karat.model.run import CaseRecord, Summary
from karat.model.trace import Trace, TraceError
from karat.model.verdict import CaseStatus, CheckResult, EvidenceLocation, SoftScore, Status
from karat.reports.artifacts import BinaryWriter
from karat.reports.encoding import encode
from karat.reports.facts import (
    NOTHING_AMISS,
    NOTHING_LACKS,
    PASSED,
    Facts,
    Judged,
    count_planned,
    facts,
    lacks,
    required_sources,
    tokens,
)
from karat.reports.repeated import Together, sum_repeats
from karat.scoring.figures import pass_share, run_words


class CheckRow(Struct, omit_defaults=True, gc=False):
    name: str
    group: str
    expected: str
    found: str
    at: EvidenceLocation | None = None
    error: bool = False
    turn: int | None = None


class Checks(Struct, omit_defaults=True, gc=False):
    passed: list[CheckRow]
    failed: list[CheckRow]
    unknown: list[CheckRow]
    unjudged: list[CheckRow] = []


class Synthesis(Struct, gc=False):
    required_sources: list[str]
    missing_sources: list[str]
    missing_numbers: list[str]


class MorningBrief(Struct, gc=False):
    missing_checks: list[str]


class GroupRow(Struct, gc=False):
    score: float | None
    passed: int
    judged: int


class ScoringMetrics(Struct, gc=False):
    groups: dict[str, GroupRow]
    hard_fail_triggered: Sequence[str]
    soft_score: SoftScore


class Metrics(Struct, gc=False):
    synthesis: Synthesis
    morning_brief: MorningBrief
    scoring: ScoringMetrics


class ErrorRow(Struct, omit_defaults=True, gc=False):
    """What failed. `detail` is the last output of the agent: the end of its traceback or of its stderr."""

    kind: str
    message: str
    detail: str = ""


class CallRow(Struct, omit_defaults=True, gc=False):
    """One call of a tool. `called` is false where it was asked for and never ran."""

    name: str
    arguments: object = None
    called: bool = True
    success: bool | None = None
    result: object = None
    error: str | None = None
    missing_fields: Sequence[str] = ()
    duration_ms: float | None = None
    kind: str = "tool"
    parent: str | None = None


class TurnRow(Struct, gc=False):
    """One turn of a conversation."""

    prompt: str
    response: str
    tools_called: list[str]


class RunRow(Struct, omit_defaults=True, gc=False):
    """One of several runs of a case, one that did not pass; runs are counted from 1."""

    run: int
    status: CaseStatus
    checks: Checks
    response: str
    tools_called: list[str]
    duration_ms: float
    error: ErrorRow | None
    attempts: list[ErrorRow] = []
    attachments: dict[str, str] = {}
    tool_calls: list[CallRow] = []
    tokens: dict[str, int] = {}


class RepeatsRow(Struct, gc=False):
    """What the runs of a case add up to; the case's other fields describe the run `shown`."""

    runs: int
    passed: int
    rate: float
    low: float
    high: float
    flaky: bool
    shown: int
    not_passed: list[RunRow]


class CaseRow(Struct, omit_defaults=True, gc=False):
    """One case, its fields in the order of the file. `attempts` are those before the one in this row.

    `attachments` are files, relative to the folder of the report.
    """

    id: str
    category: str
    prompt: str
    expected_outcome: str
    status: CaseStatus
    checks: Checks
    metrics: Metrics
    response: str
    tools_called: list[str]
    duration_ms: float
    error: ErrorRow | None
    attempts: list[ErrorRow] = []
    attachments: dict[str, str] = {}
    turns: list[TurnRow] = []
    repeats: RepeatsRow | None = None
    tool_calls: list[CallRow] = []
    tokens: dict[str, int] = {}


class JsonReport:
    """Writes the head at once, then a line per case."""

    extension: ClassVar = "json"

    def __init__(self, run: RunView, out: BinaryWriter) -> None:
        self._out = out
        self._catalog = run.catalog
        self._before = b"\n"
        header = run.header
        self._together = Together(self._add_repeats) if header.repeat > 1 else None
        head = {
            "generated_at": run.finished_at or header.started_at,
            "eval_file": header.suite,
            "target": header.target,
            **({"draft": True} if header.draft is True else {}),
            "summary": _summary(run),
        }
        lines = b",\n".join(b" %s: %s" % (encode(key), encode(value)) for key, value in head.items())
        out.write(b'{\n%s,\n "cases": [' % lines)

    def case(self, record: CaseRecord) -> None:
        if self._together is None:
            self.add(encode(case_row(record, self._catalog)))
        else:
            self._together.add(record)

    def _add_repeats(self, runs: Sequence[CaseRecord]) -> None:
        self.add(encode(repeats_row(runs, self._catalog)))

    def part(self, records: Sequence[CaseRecord]) -> bytes:
        return b",\n".join([encode(case_row(record, self._catalog)) for record in records])

    def add(self, part: bytes) -> None:
        self._out.write(self._before + part)
        self._before = b",\n"

    def end(self) -> None:
        if self._together is not None:
            self._together.end()
        self._out.write(b"\n]}\n")


def case_row(record: CaseRecord, catalog: CheckCatalog) -> CaseRow:
    """What the file says of one case."""
    case, trace, verdict = record.case, record.trace, record.verdict
    known = facts(record)
    groups = {
        group: GroupRow(score.value if score.judged else None, score.passed, score.judged)
        for group, score in verdict.groups.items()
    }
    return CaseRow(
        case.id,
        case.category,
        case.prompt,
        case.outcome,
        verdict.status,
        _checks(verdict.checks, known),
        _metrics(record, known, catalog, ScoringMetrics(groups, verdict.hard_fail_triggered, verdict.soft)),
        trace.final_message,
        [call.name for call in trace.tool_calls],
        record.duration_ms,
        _error(trace.error),
        _attempts(record),
        trace.attachments,
        [TurnRow(turn.input, turn.final_message, [call.name for call in turn.tool_calls]) for turn in trace.turns],
        tool_calls=call_rows(trace),
        tokens=tokens(trace),
    )


def repeats_row(runs: Sequence[CaseRecord], catalog: CheckCatalog) -> CaseRow:
    """What the file says of a case that was run several times."""
    total = sum_repeats(runs)
    row = case_row(total.shown, catalog)
    row.status = total.status
    row.repeats = RepeatsRow(
        total.runs,
        total.passed,
        round(total.passed / total.runs, 4),
        round(total.interval.low, 4),
        round(total.interval.high, 4),
        total.flaky,
        total.shown.repeat + 1,
        [_run_row(record, catalog) for record in total.not_passed],
    )
    return row


def _run_row(record: CaseRecord, catalog: CheckCatalog) -> RunRow:
    row = case_row(record, catalog)
    return RunRow(
        record.repeat + 1,
        row.status,
        row.checks,
        row.response,
        row.tools_called,
        row.duration_ms,
        row.error,
        row.attempts,
        row.attachments,
        row.tool_calls,
        row.tokens,
    )


def call_rows(trace: Trace) -> list[CallRow]:
    """Every call of a trace, with what it was given and what it gave."""
    return [
        CallRow(
            call.name,
            call.arguments,
            call.called,
            call.success,
            call.result,
            call.error,
            call.missing_fields,
            None if call.started_at is None or call.ended_at is None else (call.ended_at - call.started_at) * 1000,
            call.kind,
            call.parent,
        )
        for call in trace.tool_calls
    ]


def _attempts(record: CaseRecord) -> list[ErrorRow]:
    return [row for trace in record.attempts if (row := _error(trace.error))]


def _checks(results: Sequence[CheckResult], known: Facts) -> Checks:
    passed = [
        CheckRow(check.name, check.group, check.expected, check.found, check.at, False, check.turn)
        for check in results
        if check.status is PASSED
    ]
    if known is NOTHING_AMISS:
        return Checks(passed, [], [])
    return Checks(passed, _rows(known.failed), _rows(known.unknown), _rows(known.unjudged))


def _rows(checks: list[Judged]) -> list[CheckRow]:
    return [
        CheckRow(check.name, check.group, check.expected, check.found, check.at, broke, check.turn)
        for _, check in checks
        for broke in [check.status is Status.ERROR]
    ]


def _metrics(record: CaseRecord, known: Facts, catalog: CheckCatalog, scoring: ScoringMetrics) -> Metrics:
    lacking = NOTHING_LACKS if known is NOTHING_AMISS else lacks(record, catalog)
    synthesis = Synthesis(required_sources(record, catalog), lacking.missing_sources, lacking.missing_numbers)
    return Metrics(synthesis, MorningBrief(lacking.missing_brief), scoring)


def _error(error: TraceError | None) -> ErrorRow | None:
    return ErrorRow(error.kind, error.message, error.detail) if error else None


def _summary(run: RunView) -> dict[str, object]:
    summary = run.summary
    average = summary.avg_soft_score
    row: dict[str, object] = {
        "pass": summary.passed,
        "fail": summary.failed,
        "partial": summary.partial,
        "error": summary.error,
        "total": summary.total,
        "avg_soft_score": None if average is None else round(average, 4),
    }
    if summary.unjudged:
        row["unjudged"] = summary.unjudged
    row["figures"] = _figures(summary, run.prices)
    if summary.skipped or summary.xfailed:
        row |= {"skip": summary.skipped, "xfail": summary.xfailed}
    if summary.incomplete or summary.interrupted:
        row |= {"incomplete": summary.incomplete or "interrupted", "planned": count_planned(run)}
    if summary.repeat != 1:
        row |= {
            name: getattr(summary, name)
            for name in ("repeat", "fewest", "most", "runs", "pass_all", "pass_any", "flaky")
        }
    return row


def _figures(summary: Summary, prices: TokenPrices | None) -> dict[str, object]:
    """The figures that every page, report and terminal gives of the run."""
    share, spent = pass_share(summary), summary.spent
    return {
        "pass_rate": None if share is None else round(share, 4),
        "low": round(summary.rate_low, 4),
        "high": round(summary.rate_high, 4),
        "judged": summary.judged,
        "clusters": summary.clusters,
        "cost_usd": spent.cost_usd(prices),
        "tokens": {"input": spent.input, "output": spent.output} if spent.counted else None,
        "words": run_words(summary, prices),
    }
