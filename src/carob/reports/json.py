"""The JSON report: every case with its checks and metrics, one case per line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

import msgspec
from msgspec import Struct

from carob.checks.catalog import CheckCatalog
from carob.journal.views import RunView
from carob.model.cost import TokenPrices
from carob.model.run import CaseRecord, Summary
from carob.model.trace import Trace, TraceError
from carob.model.verdict import CaseStatus, CheckResult, EvidenceLocation, Reading, Status
from carob.reports.base import OutcomeReport
from carob.reports.case_facts import (
    ALL_PASSED,
    NOTHING_MISSING,
    PASSED,
    CaseOutcome,
    CheckFacts,
    check_facts,
    missing_parts,
    required_sources,
    tokens,
)
from carob.reports.escaping import encode
from carob.reports.run_facts import count_planned, replay_words
from carob.scoring.figures import pass_share, run_words

BROKE: Final = Status.ERROR  # looked up once: an enum's members are slow to reach, and each check is compared


class CheckRow(Struct, omit_defaults=True, gc=False):
    name: str
    group: str
    expected: str
    found: str
    at: EvidenceLocation | None = None
    error: bool = False
    turn: int | None = None
    reading: Reading | None = None
    """Of a criterion: what identifies it, and who decided it."""


class ChecksByStatus(Struct, omit_defaults=True, gc=False):
    passed: list[CheckRow]
    failed: list[CheckRow]
    unknown: list[CheckRow]
    unjudged: list[CheckRow] = []
    not_triggered: list[CheckRow] = []


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


class RunRow(Struct, omit_defaults=True, gc=False):
    """One of several runs of a case, one that did not pass; runs are counted from 1. The rest is as in a CaseRow."""

    run: int
    status: CaseStatus
    checks: ChecksByStatus
    response: str
    tools_called: list[str]
    duration_ms: float
    error: ErrorRow | None
    attempts: list[ErrorRow] = []
    attachments: dict[str, str] = {}
    tool_calls: list[CallRow] = []
    tokens: dict[str, int] = {}


class CaseRow(Struct, omit_defaults=True, gc=False):
    """One case, its fields in the order of the file. `attempts` are those before the one in this row.

    `attachments` are files, relative to the folder of the report. `repeats`: what the runs of a case add up to; its
    other fields describe the run `shown`.
    """

    id: str
    category: str
    prompt: str
    expected_outcome: str
    status: CaseStatus
    checks: ChecksByStatus
    metrics: dict[str, object]
    response: str
    tools_called: list[str]
    duration_ms: float
    error: ErrorRow | None
    attempts: list[ErrorRow] = []
    attachments: dict[str, str] = {}
    turns: list[dict[str, object]] = []
    repeats: dict[str, object] | None = None
    tool_calls: list[CallRow] = []
    tokens: dict[str, int] = {}


class JsonReport(OutcomeReport):
    """Writes the head at once, then a line per case."""

    extension: ClassVar = "json"

    def _begin_run(self, run: RunView) -> None:
        header = run.header
        self._catalog = run.catalog
        self._before = b"\n"
        self._repeats = header.repeat > 1
        head = {
            "generated_at": run.finished_at or header.started_at,
            "eval_file": header.suite,
            "target": header.target,
            **({"draft": True} if header.draft is True else {}),
            **({"replayed": replayed} if (replayed := replay_words(run.header)) else {}),
            "summary": _summary(run),
        }
        lines = b",\n".join(b" %s: %s" % (encode(key), encode(value)) for key, value in head.items())
        self._out.write(b'{\n%s,\n "cases": [' % lines)

    def case(self, record: CaseRecord) -> None:
        if self._repeats:
            super().case(record)
        else:
            self.add(self.part([record]))

    def part(self, records: Sequence[CaseRecord]) -> bytes:
        return b",\n".join([encode(case_row(record, self._catalog)) for record in records])

    def add(self, part: bytes) -> None:
        self._out.write(self._before + part)
        self._before = b",\n"

    def _write_case(self, outcome: CaseOutcome) -> None:
        row = case_row(outcome.shown, self._catalog)
        row.status = outcome.status
        row.repeats = {
            "runs": outcome.runs,
            "passed": outcome.passed,
            **{name: round(rate, 4) for name, rate in outcome.rates.items()},
            "method": outcome.rate.method,
            "flaky": outcome.flaky,
            "shown": outcome.shown.repeat + 1,
            "not_passed": [_run_row(record, self._catalog) for record in outcome.not_passed],
        }
        self.add(encode(row))

    def _end_file(self) -> None:
        self._out.write(b"\n]}\n")


def case_row(record: CaseRecord, catalog: CheckCatalog) -> CaseRow:
    """What the file says of one case."""
    case, trace, verdict = record.case, record.trace, record.verdict
    facts = check_facts(record)
    return CaseRow(
        case.id,
        case.category,
        case.prompt,
        case.outcome,
        verdict.status,
        _checks(verdict.checks, facts),
        _metrics(record, facts, catalog),
        trace.final_message,
        [call.name for call in trace.tool_calls],
        record.duration_ms,
        _error(trace.error),
        [row for attempt in record.attempts if (row := _error(attempt.error))],
        trace.attachments,
        [_turn(turn) for turn in trace.turns],
        tool_calls=call_rows(trace),
        tokens=tokens(trace),
    )


def _turn(turn: Trace) -> dict[str, object]:
    calls = [call.name for call in turn.tool_calls]
    return {"prompt": turn.input, "response": turn.final_message, "tools_called": calls}


def _run_row(record: CaseRecord, catalog: CheckCatalog) -> RunRow:
    row = case_row(record, catalog)
    return RunRow(record.repeat + 1, *(getattr(row, name) for name in RunRow.__struct_fields__[1:]))


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


def _checks(results: Sequence[CheckResult], facts: CheckFacts) -> ChecksByStatus:
    if facts is ALL_PASSED:
        return ChecksByStatus(_check_rows(results), [], [])
    passed = _check_rows([check for check in results if check.status is PASSED])
    return ChecksByStatus(passed, *(_check_rows([check for _, check in checks]) for checks in facts))


def _check_rows(checks: Sequence[CheckResult]) -> list[CheckRow]:
    return [
        CheckRow(
            check.name,
            check.group,
            check.expected,
            check.found,
            check.at,
            check.status is BROKE,
            check.turn,
            check.reading,
        )
        for check in checks
    ]


def _metrics(record: CaseRecord, facts: CheckFacts, catalog: CheckCatalog) -> dict[str, object]:
    missing = NOTHING_MISSING if facts is ALL_PASSED else missing_parts(record, catalog)
    verdict = record.verdict
    groups = {
        group: {"score": score.value if score.judged else None, "passed": score.passed, "judged": score.judged}
        for group, score in verdict.groups.items()
    }
    return {
        "synthesis": {
            "required_sources": required_sources(record, catalog),
            "missing_sources": missing.sources,
            "missing_numbers": missing.numbers,
        },
        "morning_brief": {"missing_checks": missing.brief},
        "scoring": {
            "groups": groups,
            "hard_fail_triggered": verdict.hard_fail_triggered,
            "soft_score": verdict.soft,
        },
    }


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
    if summary.criteria is not None:
        row["criteria"] = msgspec.to_builtins(summary.criteria)
    if summary.rules:
        row |= {"rules": summary.rules, "untested_rules": list(summary.untested_rules)}
    if summary.guard is not None:
        row["guard"] = msgspec.to_builtins(summary.guard)
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
        "method": summary.rate_method,
        "judged": summary.judged,
        "clusters": summary.clusters,
        "cost_usd": spent.cost_usd(prices),
        "tokens": {"input": spent.input, "output": spent.output} if spent.counted else None,
        "words": run_words(summary, prices),
    }
