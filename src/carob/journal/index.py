"""An index over folders of journals: derived, kept in a file of its own, brought up to date when a journal is newer.

It lists which runs there are, how they came out, and which cases a filter leaves; the journals stay the truth, and a
record is always read from its own.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import Struct

from carob.criteria.files import is_labels_folder
from carob.errors import JournalError
from carob.journal.failures import EXPECTED, OF_RUN
from carob.journal.index_tables import SEPARATOR, JournalRows, open_index
from carob.journal.reader import BUFFER, UNREADABLE, read_record
from carob.model.run import CaseRecord, Footer, Header, Summary
from carob.model.verdict import RULE_CHECKS, Status, read_marks, rule_of
from carob.text.wording import shorten

DEEPEST: Final = 6
"""How many folders down journals are looked for."""
MOST_JOURNALS: Final = 20_000
_PASSED_BY: Final = frozenset({".git", ".venv", "node_modules", "__pycache__", ".tools"})


FileState = tuple[int, int, int]
"""Which file it is, when it was changed, and its size."""
NO_FILE: Final[FileState] = (0, 0, 0)


class IndexedRun(Struct, frozen=True, kw_only=True):
    """A run as the index knows it. `problem`: why its journal, or the rest of it, cannot be read."""

    key: str
    path: str
    header: Header
    summary: Summary
    finished_at: str = ""
    problem: str = ""
    version: str = ""
    """Changes whenever the journal does."""
    changed_at: float = 0.0
    """When its journal was last written to."""
    scores: dict[str, tuple[int, int]] = {}
    """Passed and judged checks of each group."""
    torn: bool = False

    @property
    def ended(self) -> bool:
        return bool(self.finished_at)


class InvalidJournalFile(Struct, frozen=True):
    """A file that looks like a journal and is none."""

    path: str
    problem: str


class CaseFilter(Struct, frozen=True, kw_only=True):
    """Which cases to list: those that meet all of it. `check` did not pass, and found that `kind`."""

    status: str = ""
    category: str = ""
    tag: str = ""
    check: str = ""
    kind: str = ""
    text: str = ""
    order: str = ""
    """How they are sorted: one of `ORDERS`."""


ORDERS: Final = {
    "": "CASE ended WHEN 'FAIL' THEN 0 WHEN 'ERROR' THEN 1 WHEN 'PARTIAL' THEN 2 WHEN 'PASS' THEN 4 ELSE 3 END, idx",
    "suite": "idx",
    "slowest": "max(ms) DESC, idx",
}
"""Failures first, as the suite has them, or the slowest first."""


class ListedCase(Struct, frozen=True):
    """A case that a filter leaves: the place of its shown run, and how each run of it came out."""

    index: int
    repeat: int
    offset: int
    status: str
    strip: tuple[str, ...]


class GridCase(Struct, frozen=True):
    """A case over several runs: how often it passed and was judged, its first and its last place in the suite."""

    id: str
    passed: int
    judged: int
    first: int
    last: int


class Result(NamedTuple):
    """What one run of a case came to, and its place."""

    case: int
    repeat: int
    status: str


class FailureGroup(Struct, frozen=True):
    """Cases that broke in the same way."""

    name: str
    status: str
    kind: str
    cases: int
    first: tuple[tuple[str, int, int, int], ...]
    """Id, index, repeat and number of the check, of a few of them."""
    expected: tuple[str, ...] = ()
    """What they expected, and how many other things than these."""
    others: int = 0
    found: str = ""
    """What one of them found, where `kind` leaves out what differs."""


NO_CHECK: Final = -1
NAMED: Final = 3
"""Expectations that a group names."""


class RuleCase(Struct, frozen=True):
    """How a rule came out in a case; `number`: its check, if it did not hold, and `kind`: what that found."""

    rule: str
    id: str
    index: int
    repeat: int
    number: int
    status: str
    kind: str


class Choices(Struct, frozen=True):
    """What the cases of a run can be filtered by, each with how many there are."""

    statuses: dict[str, int]
    categories: dict[str, int]
    tags: dict[str, int]
    checks: dict[str, int]


class Index:
    """Journals below some folders. `file` of None keeps it in memory."""

    def __init__(self, folders: Sequence[Path], file: Path | None = None) -> None:
        self._folders = [Path(os.path.realpath(folder)) for folder in folders]
        self._lock = threading.RLock()
        self._database = open_index(file)

    def close(self) -> None:
        with self._lock:
            self._database.close()

    def refresh(self) -> None:
        """Look for journals that are new, newer or gone."""
        with self._lock, self._database as database:
            states = {row[0]: row[1:] for row in database.execute("SELECT key, inode, mtime, size FROM runs")}
            journals = (path for folder in self._folders for path in _find_journals(folder, DEEPEST))
            paths = {self.key_of(path): path for path in islice(journals, MOST_JOURNALS)}
            for key in states.keys() - paths.keys():
                for table, column in (("runs", "key"), ("records", "run"), ("broken", "run"), ("kept", "run")):
                    database.execute(f"DELETE FROM {table} WHERE {column} = ?", (key,))
            for key, path in paths.items():
                state = file_state(path)
                with suppress(FileNotFoundError):  # a run that ends without a case removes its journal
                    if state not in (states.get(key), NO_FILE) and state[2]:
                        JournalRows(database, key, path).bring_up_to_date()

    def _select(self, query: str, *values: object) -> list[Any]:
        with self._lock:
            return self._database.execute(query, values).fetchall()

    def runs(self) -> list[IndexedRun]:
        """Every run, the latest first."""
        columns = "key, path, header, footer, summary, problem, size, done, mtime, scores"
        runs = [_run(row) for row in self._select(f"SELECT {columns} FROM runs WHERE header != x''")]
        return sorted(runs, key=lambda run: (run.header.started_at, run.path), reverse=True)

    def invalid_files(self) -> list[InvalidJournalFile]:
        """Files that are not journals."""
        query = "SELECT path, problem FROM runs WHERE header = x'' ORDER BY path"
        return [InvalidJournalFile(*row) for row in self._select(query)]

    def run(self, key: str) -> IndexedRun | None:
        return next((run for run in self.runs() if run.key == key), None)

    @staticmethod
    def key_of(path: Path) -> str:
        """The key of a journal, which stays the same as long as the journal stays where it is."""
        return hashlib.sha256(os.fsencode(os.path.realpath(path))).hexdigest()[:16]

    def cases(self, run: str, chosen: CaseFilter, start: int = 0, most: int = 200) -> tuple[list[ListedCase], int]:
        """The cases of a run that a filter leaves, failures first unless it says otherwise, and how many in all."""
        where, values = _where(run, chosen)
        rank = "min(repeat + (status != ended) * 1000000)"
        page = (
            f"SELECT idx, {rank}, repeat, offset, ended FROM records WHERE {where} GROUP BY idx"
            f" ORDER BY {_order(chosen)} LIMIT ? OFFSET ?"
        )
        with self._lock:
            total = self._select(f"SELECT count(DISTINCT idx) FROM records WHERE {where}", *values)[0][0]
            rows = self._select(page, *values, most, start)
            strips = self._strips(run, [row[0] for row in rows])
        return [ListedCase(index, repeat, offset, end, strips[index]) for index, _, repeat, offset, end in rows], total

    def _strips(self, run: str, indexes: Sequence[int]) -> Mapping[int, tuple[str, ...]]:
        query = "SELECT idx, status FROM records WHERE run = ? AND idx BETWEEN ? AND ? ORDER BY idx, repeat"
        strips: dict[int, tuple[str, ...]] = dict.fromkeys(indexes, ())
        for index, status in self._select(query, run, min(indexes, default=0), max(indexes, default=-1)):
            if index in strips:
                strips[index] = (*strips[index], status)
        return strips

    def neighbours(self, run: str, index: int, chosen: CaseFilter) -> tuple[int | None, int | None]:
        """The cases before and after one, among those that a filter leaves."""
        where, values = _where(run, chosen)
        order = _order(chosen)
        sides = f"lag(idx) OVER (ORDER BY {order}) AS before, lead(idx) OVER (ORDER BY {order}) AS after"
        query = f"SELECT before, after FROM (SELECT idx, {sides} FROM records WHERE {where} GROUP BY idx) WHERE idx = ?"
        rows = self._select(query, *values, index)
        return (rows[0][0], rows[0][1]) if rows else (None, None)

    def repeats(self, run: str, index: int) -> list[tuple[int, str]]:
        """Which runs of a case there are, and how each came out."""
        return self._select("SELECT repeat, status FROM records WHERE run = ? AND idx = ? ORDER BY repeat", run, index)

    def places(self, run: str, ids: Sequence[str]) -> dict[str, tuple[int, int]]:
        """Index and shown repeat of the cases with these ids."""
        query = f"SELECT id, idx, repeat FROM records WHERE run = ? AND id IN {_marks(ids)}"
        rows = self._select(f"{query} ORDER BY status = ended, -repeat", run, *ids)
        return {name: (index, repeat) for name, index, repeat in rows}

    def record(self, run: IndexedRun, index: int, repeat: int) -> CaseRecord | None:
        """One record, read from its journal."""
        query = "SELECT offset FROM records WHERE run = ? AND idx = ? AND repeat = ?"
        offsets = [offset for (offset,) in self._select(query, run.key, index, repeat)]
        return next(self.records(run, offsets)) if offsets else None

    def records(self, run: IndexedRun, offsets: Sequence[int]) -> Iterator[CaseRecord]:
        """Records of a run, read from their places in its journal."""
        try:
            with open(run.path, "rb", BUFFER) as file:
                for offset in offsets:
                    file.seek(offset)
                    yield read_record(file.readline())
        except OSError as error:
            raise JournalError(f"it cannot be read: {error.strerror}.", where=run.path) from error
        except UNREADABLE as error:
            raise JournalError("the file changed while it was read.", where=run.path, fix="Load it again.") from error

    def choices(self, run: str) -> Choices:
        """What the cases of a run can be filtered by."""
        count = "count(DISTINCT idx)"
        each = f"SELECT {{0}}, {count} FROM records WHERE run = ? AND {{0}} != '' GROUP BY {{0}} ORDER BY {{0}}"
        checks = f"SELECT name, {count} FROM broken WHERE run = ? AND number != {OF_RUN} GROUP BY name ORDER BY name"
        tags: Counter[str] = Counter()
        for joined, cases in self._select(each.format("tags"), run):
            tags.update(dict.fromkeys(joined.strip(SEPARATOR).split(SEPARATOR), cases))
        statuses, categories, names = (
            dict(self._select(query, run)) for query in (each.format("ended"), each.format("category"), checks)
        )
        return Choices(statuses, categories, dict(sorted(tags.items())), names)

    def groups(self, run: str, most: int = 30, examples: int = 5) -> list[FailureGroup]:
        """What broke, the most frequent first: the same check with the same kind of evidence; not what was known to."""
        query = (
            "SELECT name, status, kind, count(DISTINCT idx) AS cases, count(DISTINCT expected) FROM broken"
            " WHERE run = ?1 AND idx NOT IN (SELECT idx FROM records WHERE run = ?1 AND ended IN ('XFAIL', 'SKIP'))"
            " GROUP BY name, status, kind ORDER BY cases DESC, min(idx), min(number) LIMIT ?2"
        )
        few = (
            "SELECT r.id, b.idx, b.repeat, b.number, b.found FROM broken b JOIN records r USING (run, idx, repeat)"
            " WHERE b.run = ? AND b.name = ? AND b.status = ? AND b.kind = ? AND r.ended NOT IN ('XFAIL', 'SKIP')"
            " GROUP BY b.idx ORDER BY b.idx LIMIT ?"
        )
        wanted = (
            "SELECT expected FROM broken WHERE run = ?1 AND name = ?2 AND status = ?3 AND kind = ?4"
            " AND idx NOT IN (SELECT idx FROM records WHERE run = ?1 AND ended IN ('XFAIL', 'SKIP'))"
            " GROUP BY expected ORDER BY count(DISTINCT idx) DESC, min(idx), min(number) LIMIT ?5"
        )
        groups = []
        with self._lock:
            for name, status, kind, cases, expectations in self._select(query, run, most):
                rows = self._select(few, run, name, status, kind, examples)
                first = tuple((case, index, repeat, number) for case, index, repeat, number, _ in rows)
                expected = tuple(text for (text,) in self._select(wanted, run, name, status, kind, NAMED))
                others = expectations - len(expected)
                groups.append(FailureGroup(name, status, kind, cases, first, expected, others, rows[0][-1]))
        return groups

    def rule_cases(self, run: str) -> Iterator[RuleCase]:
        """How each rule of a run came out in each of its cases."""
        listed = "SELECT id, idx, repeat, rules FROM records WHERE run = ? AND rules != '' ORDER BY idx, repeat"
        failed = "SELECT idx, repeat, number, status, kind, expected FROM broken WHERE run = ? AND name IN (?, ?)"
        with self._lock:
            records = self._select(listed, run)
            failures = self._select(failed, run, *sorted(RULE_CHECKS))
        found = {(index, repeat, rule_of(text)): rest for index, repeat, *rest, text in failures}
        for name, index, repeat, marks in records:
            for rule, is_triggered in read_marks(marks):
                number, status, kind = found.get((index, repeat, shorten(rule, EXPECTED)), (NO_CHECK, "", ""))
                status = status or (Status.PASSED if is_triggered else Status.NOT_TRIGGERED)
                yield RuleCase(rule, name, index, repeat, number, status, kind)

    def find_unsteady(self, runs: Sequence[str], most: int = 2_000) -> dict[str, list[list[str]]]:
        """Cases that broke in any of these runs: what each of their runs came to, run after run."""
        some = f"SELECT DISTINCT idx FROM broken WHERE run IN {_marks(runs)} LIMIT ?"
        query = f"SELECT run, id, status FROM records WHERE run IN {_marks(runs)} AND idx IN ({some})"
        cases: dict[str, dict[str, list[str]]] = {}
        for run, name, status in self._select(query, *runs, *runs, most):
            cases.setdefault(name, {}).setdefault(run, []).append(status)
        return {name: [by_run[run] for run in runs if run in by_run] for name, by_run in cases.items()}

    def grid_cases(self, runs: Sequence[str], order: str, start: int, most: int) -> tuple[list[GridCase], int]:
        """Some of the cases that any of these runs has, and how many there are."""
        judged = "status IN ('PASS', 'FAIL', 'PARTIAL', 'ERROR')"
        share = f"total(status = 'PASS') / max(total({judged}), 1)"
        unjudged = f"min(NOT {judged})"
        sorting = {"worst": f"{unjudged}, {share},", "unsteady": f"{unjudged}, abs({share} - 0.5),", "suite": ""}[order]
        query = (
            f"SELECT id, sum(status = 'PASS'), sum({judged}), min(idx), max(idx), count(*) OVER () FROM records"
            f" WHERE run IN {_marks(runs)} GROUP BY id ORDER BY {sorting} min(idx), id LIMIT ? OFFSET ?"
        )
        rows = self._select(query, *runs, most, start)
        return [GridCase(*row[:-1]) for row in rows], rows[0][-1] if rows else 0

    def results(self, runs: Sequence[str], cases: Sequence[GridCase]) -> dict[tuple[str, str], list[Result]]:
        """What each run of these cases came to, by run and id."""
        results: dict[tuple[str, str], list[Result]] = {}
        columns = "run, id, idx, repeat, status"
        query = f"SELECT {columns} FROM records WHERE run IN {_marks(runs)} AND id IN {_marks(cases)}"
        if all(case.first == case.last for case in cases):  # the suite did not change: each place is looked up
            query += f" AND idx IN ({', '.join(str(case.first) for case in cases)})"
        for run, name, *result in self._select(query, *runs, *(case.id for case in cases)):
            results.setdefault((run, name), []).append(Result(*result))
        return results

    def get_cached(self, path: Path, name: str) -> bytes | None:
        """What somebody derived of a journal and kept under this name, unless the journal changed since."""
        query = "SELECT data FROM kept WHERE run = ? AND name = ? AND inode = ? AND mtime = ? AND size = ?"
        with suppress(sqlite3.Error):
            for (data,) in self._select(query, self.key_of(path), name, *file_state(path)):
                return bytes(data)
        return None

    def set_cached(self, path: Path, name: str, data: bytes, state: FileState) -> None:
        """Keep what was derived of a journal that was in this state; where that cannot be, it is derived again."""
        with suppress(sqlite3.Error), self._lock, self._database as database:
            row = (self.key_of(path), name, *state, data)
            database.execute("INSERT OR REPLACE INTO kept VALUES (?, ?, ?, ?, ?, ?)", row)


def file_state(path: Path) -> FileState:
    """What changes whenever a file does; zeros where there is none."""
    try:
        stat = path.stat()
    except OSError:
        return NO_FILE
    return stat.st_ino, stat.st_mtime_ns, stat.st_size


def cache_file(folders: Sequence[Path], environ: Mapping[str, str]) -> Path | None:
    """Where the index of some folders is kept: among this user's caches, if there are any."""
    home = environ.get("XDG_CACHE_HOME") or (f"{environ['HOME']}/.cache" if environ.get("HOME") else "")
    names = "\n".join(sorted(os.path.realpath(folder) for folder in folders))
    digest = hashlib.sha256(os.fsencode(names)).hexdigest()[:16]
    return Path(home) / "carob" / f"{digest}.sqlite" if home else None


def _find_journals(folder: Path, depth: int) -> Iterator[Path]:
    """The files that are named as journals are. Links are not followed: they may lead anywhere."""
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return  # it went away, or is not ours to read
    for entry in entries:
        if entry.is_symlink():
            continue
        if entry.is_file() and entry.name.endswith(".jsonl") and not entry.name.startswith("."):
            yield Path(entry.path)
        elif depth and entry.is_dir() and entry.name not in _PASSED_BY and not is_labels_folder(entry.path):
            yield from _find_journals(Path(entry.path), depth - 1)


def _run(row: tuple[Any, ...]) -> IndexedRun:
    key, path, header, footer, summary, problem, size, done, mtime, scores = row
    return IndexedRun(
        key=key,
        path=path,
        header=msgspec.json.decode(header, type=Header),
        summary=msgspec.json.decode(summary, type=Summary),
        finished_at=msgspec.json.decode(footer, type=Footer).finished_at if footer else "",
        problem=problem,
        version=f"{size}-{mtime}",
        changed_at=mtime / 1e9,
        scores=msgspec.json.decode(scores, type=dict[str, tuple[int, int]]),
        torn=size != done,
    )


def _marks(values: Sequence[object]) -> str:
    return f"({', '.join('?' * len(values))})"


def _order(chosen: CaseFilter) -> str:
    return ORDERS.get(chosen.order, ORDERS[""])


def _where(run: str, chosen: CaseFilter) -> tuple[str, tuple[object, ...]]:
    """A filter as SQL: every word of the text must occur."""
    conditions: list[tuple[str, tuple[object, ...]]] = [("run = ?", (run,))]
    if chosen.status:
        conditions.append(("ended = ?", (chosen.status,)))
    if chosen.category:
        conditions.append(("category = ?", (chosen.category,)))
    if chosen.tag:
        conditions.append(("instr(tags, ?)", (f"{SEPARATOR}{chosen.tag}{SEPARATOR}",)))
    if chosen.check:
        kind = " AND b.kind = ?" if chosen.kind else ""
        failed = f"SELECT idx FROM broken b WHERE b.run = ? AND b.name = ?{kind}"
        conditions.append((f"idx IN ({failed})", (run, chosen.check, *([chosen.kind] if kind else []))))
    conditions += [("instr(text, ?)", (word,)) for word in chosen.text.casefold().split()]
    return " AND ".join(text for text, _ in conditions), tuple(value for _, values in conditions for value in values)
