"""A new journal made of the records of another: streamed, many records in one piece."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from pathlib import Path

from msgspec import structs

from karat.journal.integrity import Ending
from karat.journal.writer import JournalWriter, encode
from karat.model.attachments import moved, way
from karat.model.run import CaseRecord, Footer, Header, Summary
from karat.repeats import Tally
from karat.traces.redact import Redactor

BATCH = 1 << 18


def rewrite(
    records: Iterable[CaseRecord],
    header: Header,
    source: str,
    into: Path,
    *,
    ending: Callable[[], Ending],
    now: Callable[[], datetime],
    redactor: Redactor | None = None,
) -> Summary:
    """Write a journal of these records of another; `ending` is asked how it ends once all of them were seen."""
    tally = Tally(header.repeat)
    try:
        with JournalWriter(str(into)) as journal:
            journal.write(encode(header))
            along = way(source, str(into))
            for lines in _batches(_moved(records, along), tally, redactor):
                journal.write(lines)
            summary = tally.summary(**ending())
            journal.write(encode(Footer(finished_at=now().isoformat(timespec="milliseconds"), summary=summary)))
            return summary
    except BaseException:
        into.unlink(missing_ok=True)
        raise


def _moved(records: Iterable[CaseRecord], along: str) -> Iterable[CaseRecord]:
    if not along:
        return records
    return (structs.replace(record, trace=moved(record.trace, along)) for record in records)


def _batches(records: Iterable[CaseRecord], tally: Tally, redactor: Redactor | None) -> Iterator[bytes]:
    """The lines of records that were counted, many in one piece: what fails here is made again, not resumed."""
    lines: list[bytes] = []
    size = 0
    for record in records:
        tally.add_record(record)
        line = encode(record)
        if redactor is not None and redactor.finds(line):
            line = encode(redactor.record(record))
        lines.append(line)
        size += len(lines[-1])
        if size > BATCH:
            yield b"\n".join(lines)
            lines, size = [], 0
    if lines:
        yield b"\n".join(lines)
