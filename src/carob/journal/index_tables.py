"""The tables of the index, and how one journal gets into them: only what was appended since is read."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

import msgspec
from msgspec import structs

from carob.errors import JournalError
from carob.journal.failures import Failure, list_failures
from carob.journal.integrity import Identity, agrees, derive_verdict, ending, figures, line_faults
from carob.journal.reader import BUFFER, CASE, LONGEST_HEADER, UNREADABLE, read_footer, read_header, read_kind
from carob.journal.views import RecordToIndex
from carob.model.cost import COST, count_spent, reported_cost
from carob.model.run import Footer, Header
from carob.model.sequential import SequentialTest
from carob.model.trace import Tokens
from carob.model.verdict import CaseStatus, Criteria, Shortfall, Status, Verdict
from carob.scoring.tally import Contribution, Tally, case_status
from carob.text.wording import pluralize

VERSION: Final = 9
SEPARATOR: Final = "\x1f"
"""Separates tags, so that only a whole tag is found."""
BATCH: Final = 500
LARGEST: Final = 1 << 63
SEARCHED: Final = 2_000
"""How much of a prompt and of an answer is searched."""

SCHEMA: Final = """
CREATE TABLE runs (
  key TEXT PRIMARY KEY, path TEXT, inode INTEGER, mtime INTEGER, size INTEGER, done INTEGER, lines INTEGER,
  after_end INTEGER, header BLOB, footer BLOB, summary BLOB, problem TEXT, scores BLOB
) WITHOUT ROWID;
CREATE TABLE records (
  run TEXT, idx INTEGER, repeat INTEGER, offset INTEGER, status TEXT, ended TEXT, id TEXT, category TEXT, tags TEXT,
  text TEXT, ms REAL, soft REAL, rate REAL, short INTEGER, rules TEXT, edited INTEGER, cluster TEXT, tokens_in INTEGER,
  tokens_out INTEGER, cost REAL, criteria BLOB, PRIMARY KEY (run, idx, repeat)
) WITHOUT ROWID;
CREATE TABLE broken (
  run TEXT, idx INTEGER, repeat INTEGER, number INTEGER, label TEXT, name TEXT, status TEXT, part TEXT, kind TEXT,
  expected TEXT, found TEXT, PRIMARY KEY (run, idx, repeat, number)
) WITHOUT ROWID;
CREATE TABLE kept (
  run TEXT, name TEXT, inode INTEGER, mtime INTEGER, size INTEGER, data BLOB, PRIMARY KEY (run, name)
);
"""
_ADD_RECORD: Final = f"INSERT OR REPLACE INTO records VALUES ({', '.join('?' * 21)})"
_ADD_FAILURE: Final = f"INSERT OR REPLACE INTO broken VALUES ({', '.join('?' * 11)})"

_encode = msgspec.json.encode
_PASS: Final = CaseStatus.PASS  # looked up once: members of an enum are slow to reach
_PASSED: Final = Status.PASSED
_to_index = msgspec.json.Decoder(RecordToIndex).decode


class IndexProgress(NamedTuple):
    """How far a journal was read, and which file it was."""

    inode: int
    position: int
    lines: int
    after_end: int
    footer: bytes | None
    scores: bytes


class JournalRows:
    """One journal on its way into the tables."""

    def __init__(self, database: sqlite3.Connection, key: str, path: Path) -> None:
        self._database = database
        self._key = key
        self._path = path
        self._header: Header
        self._footer: Footer | None = None
        self._lines = self._position = self._after_end = 0
        self._scores: dict[str, list[int]] = {}

    def bring_up_to_date(self) -> None:
        """Read what the tables do not hold yet, or all of it if the file is another one."""
        with open(self._path, "rb", BUFFER) as file:
            stat = os.fstat(file.fileno())
            progress = self._read_progress()
            if progress is None or progress.inode != stat.st_ino or stat.st_size < progress.position:
                for table in ("records", "broken"):
                    self._database.execute(f"DELETE FROM {table} WHERE run = ?", (self._key,))
                progress = None
            problem = ""
            try:
                self._begin(file, progress)
                self._take_all(file)
            except JournalError as error:
                problem = str(error)
        if not hasattr(self, "_header"):
            self._note(stat, b"", b"", problem)
            return
        self._settle_cases()
        footer = _encode(self._footer) if self._footer else b""
        self._note(stat, _encode(self._header), footer, problem, self._summary(problem))

    def _read_progress(self) -> IndexProgress | None:
        row = self._database.execute(
            "SELECT inode, done, lines, after_end, footer, scores FROM runs WHERE key = ? AND problem = ''",
            (self._key,),
        ).fetchone()
        return IndexProgress(*row) if row else None

    def _begin(self, file: BinaryIO, progress: IndexProgress | None) -> None:
        line = file.readline(LONGEST_HEADER)
        self._header = read_header(line, str(self._path))
        self._identity = Identity(self._header)
        if progress is None:
            self._position, self._lines = len(line), 1
            return
        self._position, self._lines, self._after_end = progress.position, progress.lines, progress.after_end
        self._footer = read_footer(progress.footer) if progress.footer else None
        self._scores = msgspec.json.decode(progress.scores)
        file.seek(progress.position)

    def _take_all(self, file: BinaryIO) -> None:
        try:
            rows = self._rows(file)
            while batch := list(islice(rows, BATCH)):
                self._database.executemany(_ADD_RECORD, (row for row, _ in batch))
                self._database.executemany(_ADD_FAILURE, (row for _, failures in batch for row in failures))
        except UNREADABLE as error:
            where, fix = f"{self._path}:{self._lines + 1}", "The file was changed."
            raise JournalError(f"this line cannot be read: {error}.", where=where, fix=fix) from error

    def _rows(self, file: BinaryIO) -> Iterator[tuple[tuple[object, ...], list[tuple[object, ...]]]]:
        for line in file:
            if not line.endswith(b"\n"):
                return  # still being written, or torn
            self._after_end += self._footer is not None
            if line.startswith(CASE) or read_kind(line).kind == "case":
                record = _to_index(line)
                plain = _plainly_passed(record)
                failures = [] if plain else list_failures(record)
                verdict = record.verdict if plain else derive_verdict(record)
                key = (self._key, record.index, record.repeat)
                yield self._row(record, verdict, failures), [(*key, *failure) for failure in failures]
            else:
                self._footer = read_footer(line)
            self._position += len(line)
            self._lines += 1

    def _row(self, record: RecordToIndex, verdict: Verdict, failures: list[Failure]) -> tuple[object, ...]:
        case = record.case
        follows = (verdict is record.verdict or agrees(verdict, record.verdict)) and self._identity.is_of_case(record)
        for group, score in verdict.groups.items():
            counts = self._scores.setdefault(group, [0, 0])
            counts[0] += score.passed
            counts[1] += score.judged
        short = verdict.shortfall
        texts = (case.id, case.category, *case.tags, case.prompt[:SEARCHED], record.trace.final_message[:SEARCHED])
        return (
            self._key,
            record.index,
            record.repeat,
            self._position,
            verdict.status.value,
            verdict.status.value,
            case.id,
            case.category,
            f"{SEPARATOR}{SEPARATOR.join(case.tags)}{SEPARATOR}" if case.tags else "",
            "\n".join((*texts, *(failure.label for failure in failures))).casefold(),
            record.duration_ms,
            verdict.soft.value,
            case.min_pass_rate,
            short.failed | short.unknown << 1 | short.unjudged << 2 | short.count << 3,
            short.rules,
            not follows,
            case.cluster,
            *_storable_tokens(record.trace.tokens),
            reported_cost({COST: record.trace.metadata.cost_usd}),
            None if short.criteria is None else _encode(short.criteria),
        )

    def _settle_cases(self) -> None:
        """Of a case with several runs, say at each how the case came out."""
        if self._header.repeat <= 1:
            return
        each = self._database.execute(
            "SELECT idx, group_concat(status), max(rate) FROM records WHERE run = ? GROUP BY idx", (self._key,)
        )
        until = self._header.until
        ends = [(_end_of(statuses, rate, until), self._key, index) for index, statuses, rate in each]
        self._database.executemany("UPDATE records SET ended = ? WHERE run = ? AND idx = ?", ends)

    def _summary(self, problem: str) -> bytes:
        tally = Tally.of(self._header)
        columns = "idx, status, soft, rate, short, rules, criteria, cluster, tokens_in, tokens_out, cost"
        rows = self._database.execute(f"SELECT {columns} FROM records WHERE run = ?", (self._key,))
        for index, status, soft, rate, short, rules, criteria, cluster, into, out, cost in rows:
            spent = count_spent(None if into is None and out is None else Tokens(into, out), cost)
            decided = None if criteria is None else msgspec.json.decode(criteria, type=Criteria)
            lacks = Shortfall(bool(short & 1), bool(short & 2), bool(short & 4), short >> 3, rules, decided)
            tally.add(index, Contribution(CaseStatus(status), soft, rate, lacks, cluster, spent))
        faults = [*self._faults(), *([problem] if problem else [])]
        summary, footer = tally.summary(), self._footer
        if footer and not faults and figures(summary) != figures(footer.summary):
            faults.append("the footer's counts do not match")
        return _encode(structs.replace(summary, **ending(faults, footer)))

    def _faults(self) -> Iterator[str]:
        """Lines that are there twice, those that the run did not have, and those that are lost."""
        header, records = self._header, self._count("1")
        repeat = max(header.repeat, 1)
        strange = self._count("repeat >= ? OR idx * ? >= ?", repeat, repeat, header.total)
        lines = self._lines - 1 - (self._footer is not None)
        ended = self._footer is not None and not self._footer.summary.incomplete
        yield from line_faults(header, lines=lines, records=records, strange=strange, ended=ended)
        if self._after_end:
            yield "lines after the footer"
        if edited := self._count("edited") + self._count_shared_ids():
            yield f"{pluralize(edited, 'record')} edited"

    def _count(self, where: str, *values: object) -> int:
        query = f"SELECT count(*) FROM records WHERE run = ? AND ({where})"
        return int(self._database.execute(query, (self._key, *values)).fetchone()[0])

    def _count_shared_ids(self) -> int:
        """Ids shared by several cases."""
        query = "SELECT count(*) FROM (SELECT 1 FROM records WHERE run = ? GROUP BY id HAVING min(idx) != max(idx))"
        return int(self._database.execute(query, (self._key,)).fetchone()[0])

    def _note(self, stat: os.stat_result, header: bytes, footer: bytes, problem: str, summary: bytes = b"") -> None:
        state = (stat.st_ino, stat.st_mtime_ns, stat.st_size, self._position, self._lines, self._after_end)
        row = (self._key, str(self._path), *state, header, footer, summary, problem, _encode(self._scores))
        self._database.execute(f"INSERT OR REPLACE INTO runs VALUES ({', '.join('?' * len(row))})", row)


def _storable_tokens(tokens: Tokens | None) -> tuple[int | None, int | None]:
    """Token counts as far as a table can hold them."""
    if tokens is None:
        return None, None
    return tuple(n if n is None or abs(n) < LARGEST else None for n in (tokens.input, tokens.output))  # type: ignore[return-value]  # two


def _plainly_passed(record: RecordToIndex) -> bool:
    """Whether nothing is left to derive: every check passed, and no threshold could say otherwise."""
    checks = record.verdict.checks
    if record.verdict.status is not _PASS or record.trace.error or len(checks) != len(record.case.checks):
        return False
    for check in checks:
        if check.status is not _PASSED:
            return False
    case = record.case
    return bool(checks) and case.scoring.threshold is None and not case.xfail and not case.skip


def _end_of(statuses: str, rate: float | None, until: SequentialTest | None) -> str:
    each = [CaseStatus(status) for status in statuses.split(",")]
    return case_status({status: each.count(status) for status in each}, rate, until).value


def open_index(file: Path | None) -> sqlite3.Connection:
    """The index in its file; one of another version, or that cannot be read, is made anew, in memory if need be."""
    if file is not None:
        with suppress(OSError):
            file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        for _ in range(2):
            with suppress(sqlite3.Error, OSError):
                return _connect(str(file))
            with suppress(OSError):
                file.unlink()
    return _connect(":memory:")


def _connect(file: str) -> sqlite3.Connection:
    if file != ":memory:":
        os.close(os.open(file, os.O_CREAT | os.O_RDWR, 0o600))
    database = sqlite3.connect(file, check_same_thread=False, timeout=30)
    try:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = OFF")  # it is derived: what a power cut spoils is made again
        version = database.execute("PRAGMA user_version").fetchone()[0]
        if version not in (0, VERSION):
            raise sqlite3.DatabaseError("another version")
        if version == 0:
            database.executescript(f"BEGIN; {SCHEMA} PRAGMA user_version = {VERSION}; COMMIT;")
    except sqlite3.Error:
        database.close()
        raise
    return database
