"""Asking a grader: each question once, unless it is asked again on purpose; verdicts may be kept in a file."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Mapping
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Final

import msgspec

from carob.errors import UsageError
from carob.features.graders.base import Grade, Grader, GradeRequest
from carob.features.graders.forms import encode_trace
from carob.model.trace import Trace
from carob.redaction.named import named_redactor

DIGEST: Final = 16
TABLE: Final = "CREATE TABLE IF NOT EXISTS carob_verdicts (question BLOB PRIMARY KEY, grade BLOB) WITHOUT ROWID"
MOST_LOST: Final = 3
"""After so many questions about one trace that cost the grader its process, the others about it are not asked."""
LOST: Final = ("hung", "ended")


class VerdictStore:
    """Verdicts by the content of their questions, in a file that another audit can go on with."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
            self._database = sqlite3.connect(path, isolation_level=None)
            self._database.execute("PRAGMA journal_mode=WAL")
            self._database.execute("PRAGMA synchronous=NORMAL")
            self._database.execute(TABLE)
        except (sqlite3.Error, OSError) as error:
            raise self._refuse(error) from error

    def get(self, question: bytes) -> Grade | None:
        try:
            row = self._database.execute("SELECT grade FROM carob_verdicts WHERE question = ?", (question,)).fetchone()
            return None if row is None else msgspec.msgpack.decode(row[0], type=Grade)
        except (sqlite3.Error, msgspec.DecodeError) as error:
            raise self._refuse(error) from error

    def put(self, question: bytes, grade: Grade) -> None:
        data = msgspec.msgpack.encode(named_redactor().redact(grade))
        try:
            self._database.execute("INSERT OR REPLACE INTO carob_verdicts VALUES (?, ?)", (question, data))
        except sqlite3.Error as error:
            raise self._refuse(error) from error

    def close(self) -> None:
        with suppress(sqlite3.Error):
            self._database.close()

    def _refuse(self, error: Exception) -> UsageError:
        fix = "Name another file, or delete it: verdicts are then asked for again."
        return UsageError(f"not a file of verdicts: {error}", where=str(self._path), fix=fix, slug="verdicts")


class Asker:
    """Asks about one trace after the other, and counts what that takes. Errors are never kept."""

    def __init__(self, grader: Grader, store: VerdictStore | None) -> None:
        self._grader = grader
        self._store = store
        self._identity = blake2b(grader.identity.encode("utf-8", "replace"), digest_size=DIGEST).digest()
        self._grades: dict[bytes, Grade] = {}
        self._reference: Trace | None = None
        self._reference_data = b""
        self._lost = 0
        self._last_loss: Grade | None = None
        self.calls = self.kept = 0
        self.seconds = 0.0
        self.cost_usd: float | None = None

    def turn_to(self, reference: Trace) -> None:
        """Ask about traces that are made of this one from now on."""
        self._grades.clear()
        self._reference, self._reference_data = reference, encode_trace(reference)
        self._lost = 0

    def ask(self, trace: Trace, again: int = 0) -> tuple[Grade, bytes]:
        """The verdict and the digest of a trace; `again` numbers further questions about the same one."""
        assert self._reference is not None
        data = encode_trace(trace)
        digest = blake2b(data, digest_size=DIGEST)
        content = digest.digest()
        for part in (self._identity, self._reference_data, again.to_bytes(2, "big")):
            digest.update(part)
        question = digest.digest()
        grade = self._grades.get(question)
        if grade is None:
            grade = self._store.get(question) if self._store is not None else None
            if grade is not None:
                self.kept += 1
            else:
                grade = self._call(GradeRequest(trace, self._reference, data, self._reference_data))
                if self._store is not None and grade.is_verdict:
                    self._store.put(question, grade)
            self._grades[question] = grade
        return grade, content

    def _call(self, request: GradeRequest) -> Grade:
        if self._lost >= MOST_LOST and self._last_loss is not None:
            error = f"not asked: {MOST_LOST} questions about this trace came out so: {self._last_loss.error}"
            return Grade(error=error, kind=self._last_loss.kind)
        grade = self._grader.grade(request)
        self.calls += 1
        self.seconds += grade.seconds
        if grade.kind in LOST:
            self._lost, self._last_loss = self._lost + 1, grade
        if grade.cost_usd is not None:
            self.cost_usd = (self.cost_usd or 0.0) + grade.cost_usd
        return grade


class Reviews:
    """What people say of mutants that may be right: `{"mutant": "...", "right": true}` in each line of a file."""

    def __init__(self, is_right: Mapping[str, bool]) -> None:
        self._is_right = is_right
        self._used: set[str] = set()

    def get(self, mutant: str) -> bool | None:
        """Whether a mutant is right; None if it was not reviewed."""
        is_right = self._is_right.get(mutant)
        if is_right is not None:
            self._used.add(mutant)
        return is_right

    @property
    def unknown(self) -> int:
        """How many name a mutant that was not made."""
        return len(self._is_right.keys() - self._used)


class _Review(msgspec.Struct):
    mutant: str
    right: bool
    why: str = ""


def read_reviews(path: Path | None) -> Reviews:
    """The reviews of a file. Raises UsageError with the line of what is none."""
    if path is None:
        return Reviews({})
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise UsageError(f"it cannot be read: {error.strerror}", where=str(path), slug="reviews") from error
    is_right: dict[str, bool] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            review = msgspec.json.decode(line, type=_Review)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            fix = 'Write {"mutant": "3f2a…", "right": true} with the id that the report gives.'
            raise UsageError(f"not a review: {error}", where=f"{path}:{number}", fix=fix, slug="reviews") from error
        if is_right.setdefault(review.mutant, review.right) is not review.right:
            problem = f"{review.mutant!r} is called right in one line and wrong in another"
            raise UsageError(problem, where=f"{path}:{number}", fix="Keep one of them.", slug="reviews")
    return Reviews(is_right)
