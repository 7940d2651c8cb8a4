"""What `karat audit` found of a run and left beside its journal: what holds, and what nothing would notice."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from karat.journal.index import IndexedRun
from karat.reports.html.files import own_file

SHOWN: Final = 200
LARGEST: Final = 64 << 20


class AuditRate(Struct, frozen=True):
    """Killed of tried."""

    killed: int = 0
    tried: int = 0
    value: float | None = None
    low: float = 0.0
    high: float = 1.0


class Tried(Struct, frozen=True):
    """One operator on one case."""

    killed: int = 0
    tried: int = 0


class Unnoticed(Struct, frozen=True):
    """A wrong trace that passes, or a right one that does not: what was changed, and what would help."""

    operator: str = ""
    equivalent: str = ""
    change: str = ""
    check: str = ""
    evidence: str = ""
    expected: str = ""
    hint: str = ""
    help: str = ""


class CaughtRow(Struct, frozen=True):
    """A wrong trace that was caught, by which checks; without one of `alone` it would not have been."""

    operator: str = ""
    change: str = ""
    checks: list[str] = []
    alone: list[str] = []


class HoldingRow(Struct, frozen=True):
    """A check, and what only it catches."""

    check: str = ""
    kills: int = 0
    alone: list[str] = []


class AuditedRow(Struct, frozen=True):
    """A case of the file."""

    id: str = ""
    audited: bool = False
    status: str = ""
    reason: str = ""
    rate: AuditRate = AuditRate()
    operators: dict[str, Tried] = {}
    survivors: list[Unnoticed] = []
    unseen: list[Unnoticed] = []
    controls: list[str] = []
    brittle: list[Unnoticed] = []
    redundant: list[str] = []
    kills: list[CaughtRow] = []
    checks: list[HoldingRow] = []

    @property
    def catching(self) -> list[HoldingRow]:
        """The checks that catch anything."""
        return [one for one in self.checks if one.kills]


class OperatorRow(Struct, frozen=True):
    """An operator over all cases."""

    name: str = ""
    about: str = ""
    rate: AuditRate = AuditRate()


class AuditFigures(Struct, frozen=True):
    """The figures of the suite."""

    rate: AuditRate = AuditRate()
    operators: list[OperatorRow] = []
    audited: int = 0
    set_aside: int = 0


class AuditWords(Struct, frozen=True):
    """Whether the suite is proved."""

    met: bool = False
    unmet: list[str] = []


class AuditFile(Struct, frozen=True):
    """The file that `karat audit` writes."""

    cases: list[AuditedRow]
    summary: AuditFigures
    verdict: AuditWords = AuditWords()


@dataclass(frozen=True, slots=True)
class AuditPage:
    """An audit, or why there is none to show."""

    found: AuditFile | None
    why: str
    shown: list[AuditedRow]
    left_out: int


def audit_page(run: IndexedRun) -> AuditPage:
    """The latest audit beside a journal."""
    stem = Path(run.path).stem
    named = sorted(path.name for path in Path(run.path).parent.glob(f"{_literal(stem)}.audit*.json"))
    file = own_file(run.path, named[-1]) if named else None
    if file is None or file.size > LARGEST:
        return AuditPage(None, "This run was not audited yet.", [], 0)
    try:
        found = msgspec.json.decode(file.path.read_bytes(), type=AuditFile)
    except (msgspec.DecodeError, UnicodeDecodeError, OSError):
        return AuditPage(None, f"{file.path.name} cannot be read.", [], 0)
    rows = [row for row in found.cases if row.audited]
    return AuditPage(found, "", rows[:SHOWN], max(len(rows) - SHOWN, 0))


def _literal(stem: str) -> str:
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in stem)
