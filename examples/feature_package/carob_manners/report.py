"""`--report tsv`: a line per case, for a spreadsheet."""

from __future__ import annotations

from typing import ClassVar

from carob import BinaryWriter, CaseRecord, RunView


class TsvReport:
    """Id, status and seconds of each case, and at the end how many there were."""

    extension: ClassVar = "tsv"

    def __init__(self, run: RunView, out: BinaryWriter) -> None:
        self._out = out
        self._total = run.summary.total
        out.write(b"case\tstatus\tseconds\n")

    def case(self, record: CaseRecord) -> None:
        name = " ".join(record.case.id.split())
        self._out.write(f"{name}\t{record.status}\t{record.duration_ms / 1000:.3f}\n".encode())

    def end(self) -> None:
        self._out.write(f"total\t{self._total}\t\n".encode())
