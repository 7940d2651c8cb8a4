"""`<journal>.audit.json`, written and read: every audited case on a line of its own, then the figures of the suite."""

from __future__ import annotations

from typing import NamedTuple

import msgspec
from msgspec import Raw, Struct

from karat.model.audit import AuditReport, AuditSummary, CaseAudit, Holding, Rate, SetAside
from karat.reports.artifacts import Sink
from karat.reports.encoding import encode

DIGITS = 4


class AuditJson:
    """Written as the audit goes on; the figures come last because they are known last."""

    def __init__(self, out: Sink, min_kill: float) -> None:
        self._out = out
        self._min_kill = min_kill
        self._before = b"\n"
        out.write(b'{\n "cases": [')

    def case(self, entry: CaseAudit | SetAside) -> None:
        self._out.write(self._before + encode(_row(entry)))
        self._before = b",\n"

    def end(self, summary: AuditSummary) -> None:
        row = {**msgspec.to_builtins(summary), "rate": _rate(summary.rate), "operators": _operators(summary)}
        unmet = summary.unmet(self._min_kill)
        verdict = {"min_kill": self._min_kill, "met": not unmet, "unmet": unmet}
        self._out.write(b'\n],\n "summary": %s,\n "verdict": %s\n}\n' % (encode(row), encode(verdict)))


def _row(entry: CaseAudit | SetAside) -> dict[str, object]:
    if isinstance(entry, SetAside):
        return {"id": entry.case_id, "audited": False, "status": entry.status, "reason": entry.reason}
    row = msgspec.to_builtins(entry)
    del row["case_id"]
    matrix = {name: {"killed": killed, "tried": tried} for name, (killed, tried) in entry.operators.items()}
    apart = {name: {"killed": killed, "tried": tried} for name, (killed, tried) in entry.apart.items()}
    checks = msgspec.to_builtins(entry.holdings)
    figures = {"rate": _rate(entry.rate), "operators": matrix, "apart": apart, "checks": checks}
    return {"id": entry.case_id, "audited": True, **row, **figures}


def _operators(summary: AuditSummary) -> list[dict[str, object]]:
    return [{"name": o.name, "about": o.about, "rate": _rate(o.rate)} for o in summary.operators]


def _rate(rate: Rate) -> dict[str, object]:
    value = round(rate.value, DIGITS) if rate.tried else None
    return {"value": value, "killed": rate.killed, "tried": rate.tried, "low": rate.low, "high": rate.high}


class AuditVerdict(Struct, frozen=True):
    """Whether the suite is proved, and why not."""

    min_kill: float
    met: bool
    unmet: tuple[str, ...]


class WrittenAudit(NamedTuple):
    """An audit as its file holds it."""

    report: AuditReport
    verdict: AuditVerdict


class _File(Struct):
    cases: list[Raw]
    summary: AuditSummary
    verdict: AuditVerdict


class _Count(Struct):
    killed: int
    tried: int


class _Row(Struct):
    """What a row spells otherwise than `CaseAudit` and `SetAside` do."""

    id: str
    audited: bool
    operators: dict[str, _Count] = {}
    apart: dict[str, _Count] = {}
    checks: tuple[Holding, ...] = ()


def read_audit(data: bytes) -> WrittenAudit:
    """Read such a file. Raises DecodeError for any other."""
    found = msgspec.json.decode(data, type=_File)
    entries = [_entry(row) for row in found.cases]
    cases = tuple(entry for entry in entries if isinstance(entry, CaseAudit))
    set_aside = tuple(entry for entry in entries if isinstance(entry, SetAside))
    return WrittenAudit(AuditReport(summary=found.summary, cases=cases, set_aside=set_aside), found.verdict)


def _entry(data: Raw) -> CaseAudit | SetAside:
    row = msgspec.json.decode(data, type=_Row)
    given = {**msgspec.json.decode(data), "case_id": row.id}
    if not row.audited:
        return msgspec.convert(given, SetAside)
    given["operators"] = {name: (one.killed, one.tried) for name, one in row.operators.items()}
    given["apart"] = {name: (one.killed, one.tried) for name, one in row.apart.items()}
    given["checks"] = [one.check for one in row.checks]
    return msgspec.convert(given, CaseAudit)
