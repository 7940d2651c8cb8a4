"""What `karat audit` found of a run and left beside its journal: what holds, and what nothing would notice."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from karat.journal.index import IndexedRun
from karat.model.audit import CaseAudit
from karat.reports.audit import WrittenAudit, read_audit
from karat.reports.html.files import own_file

SHOWN: Final = 200
LARGEST: Final = 64 << 20


@dataclass(frozen=True, slots=True)
class AuditPage:
    """An audit, or why there is none to show."""

    found: WrittenAudit | None
    why: str
    shown: tuple[CaseAudit, ...]
    left_out: int


def audit_page(run: IndexedRun) -> AuditPage:
    """The latest audit beside a journal."""
    stem = Path(run.path).stem
    named = sorted(path.name for path in Path(run.path).parent.glob(f"{_literal(stem)}.audit*.json"))
    file = own_file(run.path, named[-1]) if named else None
    if file is None or file.size > LARGEST:
        return AuditPage(None, "This run was not audited yet.", (), 0)
    try:
        found = read_audit(file.path.read_bytes())
    except (msgspec.DecodeError, UnicodeDecodeError, OSError):
        return AuditPage(None, f"{file.path.name} cannot be read.", (), 0)
    cases = found.report.cases
    return AuditPage(found, "", cases[:SHOWN], max(len(cases) - SHOWN, 0))


def _literal(stem: str) -> str:
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in stem)
