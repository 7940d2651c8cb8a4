"""Recorded traces judged again, without an agent: into a new journal, or kept by a run that goes on from it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import ClassVar, NamedTuple, TypeAlias

import msgspec
from msgspec import Struct, structs

from carob.checks.base import has_lost_secret
from carob.checks.catalog import CheckCatalog
from carob.errors import JournalError
from carob.journal.integrity import ENDED, Ending, Identity, derive_verdict, ending
from carob.journal.reader import Journal
from carob.journal.writer import JournalWriter, encode
from carob.model.run import CaseRecord, Footer, Header, Item, Keys, Summary, target_identity
from carob.model.suite import Case, leave_unjudged
from carob.model.trace import OF_CASE, REMOVED, Trace, TraceError, move_attachments, way
from carob.model.verdict import CaseStatus, CheckResult, Status
from carob.redaction.redactor import Redactor
from carob.scoring import verdicts
from carob.scoring.tally import Contribution, Tally, case_status
from carob.text.wording import pluralize

NOT_RECORDED = TraceError("not-recorded", "the journal has no trace of this case")
OTHER_PROMPT = TraceError("not-recorded", "the trace was recorded with another prompt: run the case again")
OTHER_SURROUNDINGS = TraceError("not-recorded", "the trace was recorded with other stubs or faults: run the case again")
SECRET_PROMPT = TraceError(
    "not-recorded",
    "a secret was redacted from the recorded prompt, so it cannot be compared: set the secret again, or rerun the case",
)
LOST = "the expectation contained a secret, which is not in the journal: judge by the suite, with --suite"
PIECE = 250
"""Records that are judged and written together: what fails here is made again, not resumed."""


class OwnCases:
    """Judges each record by its own case."""

    by_suite: ClassVar = False

    def __init__(self, journal: Journal, catalog: CheckCatalog, allow_unjudged: bool | None = None) -> None:
        self._journal = journal
        self._catalog = catalog
        self._allow_unjudged = allow_unjudged
        self._keys = Keys(target_identity(journal.header.options.get("target", {})))

    def rejudge(self, record: CaseRecord) -> CaseRecord:
        if self._allow_unjudged is not None:
            case = leave_unjudged(record.case, self._allow_unjudged)
            if case is not record.case:
                record = structs.replace(record, case=case, key=self._keys.of(case))
        if OF_CASE in record.trace.cuts and record.trace.error is None:
            return _judge_in_part(self._journal, record, self._catalog)
        return _judge(self._journal, record, record.case, self._catalog)

    def missing(self, recorded: Container[tuple[str, int]]) -> Iterator[CaseRecord]:
        """What a run did not record, it does not hold."""
        yield from ()


class SuiteCases:
    """Judges each record by the case of a suite with the same id; a case without a record is an ERROR, never left out.

    An answer to another prompt says nothing of this one, so that is an ERROR too; prompts are compared as the journal
    holds them, without their secrets.
    """

    by_suite: ClassVar = True

    def __init__(self, journal: Journal, cases: Mapping[str, Case], redactor: Redactor, catalog: CheckCatalog) -> None:
        self._journal = journal
        self._catalog = catalog
        self._cases = cases
        self._redactor = redactor
        self._places = {case_id: index for index, case_id in enumerate(cases)}
        self._keys = Keys(target_identity(journal.header.options.get("target", {})))
        header = journal.header
        varies = header.until or header.at_most is True
        self._runs = 1 if varies else header.repeat - header.confirm

    def rejudge(self, record: CaseRecord) -> CaseRecord | None:
        """The record as it is judged now; None if the suite does not have its case any more."""
        case = self._cases.get(record.case.id)
        if case is None:
            return None
        index = self._places[case.id]
        error = _other_prompt(case, record, self._redactor)
        if error is not None:
            return _error_record(case, index, record.repeat, error)
        key = record.key if case == record.case else self._keys.of(case)
        return structs.replace(_judge(self._journal, record, case, self._catalog), index=index, key=key)

    def missing(self, recorded: Container[tuple[str, int]]) -> Iterator[CaseRecord]:
        """A record for each run of a case that the journal does not hold."""
        for case in self._cases.values():
            for repeat in range(self._runs):
                if (case.id, repeat) not in recorded:
                    yield _error_record(case, self._places[case.id], repeat, NOT_RECORDED)


def _other_prompt(case: Case, record: CaseRecord, redactor: Redactor) -> TraceError | None:
    now, then = _user_script(case), _user_script(record.case)
    if (case.stubs, case.faults) != (record.case.stubs, record.case.faults) and OF_CASE not in record.trace.cuts:
        return OTHER_SURROUNDINGS
    if now == then or [*map(redactor.text, now)] == [*map(redactor.text, then)]:
        return None
    return SECRET_PROMPT if OF_CASE in record.trace.cuts and REMOVED in "".join(then) else OTHER_PROMPT


def _user_script(case: Case) -> tuple[str, ...]:
    """What decides what the user says: his words, and what he answers to what."""
    answers = [text for reply in case.replies for text in (*reply.asks_for, reply.say)]
    return (*case.user_texts, *answers, str(case.max_turns or "") if answers else "")


def _judge_in_part(journal: Journal, record: CaseRecord, catalog: CheckCatalog) -> CaseRecord:
    """Judged by a case that lost secrets: a check that did is unknown."""
    judged = _results(journal, record.case, record.trace, catalog)
    results = [
        structs.replace(result, status=Status.UNKNOWN, found=LOST, at=None)
        if has_lost_secret(spec, record.trace)
        else result
        for (_, spec), result in zip(record.case.all_checks, judged, strict=True)
    ]
    return structs.replace(record, verdict=verdicts.case_verdict(record.case, tuple(results)))


def _judge(journal: Journal, record: CaseRecord, case: Case, catalog: CheckCatalog) -> CaseRecord:
    results = _results(journal, case, record.trace, catalog)
    return structs.replace(record, case=case, verdict=verdicts.case_verdict(case, results, record.trace.error))


def _results(journal: Journal, case: Case, trace: Trace, catalog: CheckCatalog) -> tuple[CheckResult, ...]:
    try:
        return verdicts.case_results(case, trace, catalog)
    except msgspec.DecodeError as error:
        message = f"a check of case {case.id!r} cannot be read: {error}."
        raise JournalError(message, where=journal.path, fix="The file was changed.") from error


def _error_record(case: Case, index: int, repeat: int, error: TraceError) -> CaseRecord:
    trace = Trace(case_id=case.id, input=case.prompt, tool_calls=(), error=error)
    return CaseRecord(
        index=index, repeat=repeat, case=case, trace=trace, verdict=verdicts.case_verdict(case, (), error)
    )


Judge: TypeAlias = OwnCases | SuiteCases


class Note(Struct, frozen=True, array_like=True, gc=False):
    """What has to be known of a record in addition to its new line; without `outcome` there is no line."""

    case_id: str
    index: int
    repeat: int
    intact: bool
    outcome: Contribution | None


class Piece(NamedTuple):
    """The new lines of some records, and what has to be known of each."""

    lines: bytes
    notes: list[Note]


_encode_notes = msgspec.msgpack.Encoder().encode
_decode_notes = msgspec.msgpack.Decoder(list[Note]).decode


def _pack(piece: Piece) -> Sequence[bytes]:
    return piece.lines, _encode_notes(piece.notes)


def _unpack(packed: Sequence[bytes]) -> Piece:
    lines, notes = packed
    return Piece(lines, _decode_notes(notes))


@dataclass(eq=False)
class Rewriting:
    """One journal on its way into another. `dropped` are the ids of records that the new one does not take over."""

    journal: Journal
    judge: Judge
    header: Header
    into: Path
    redactor: Redactor | None = None
    dropped: dict[str, None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._along = way(self.journal.path, str(self.into))
        self._tally = Tally.of(self.header)
        self._recorded: set[tuple[str, int]] = set()
        self._identity = Identity(self.journal.header)

    def write(self, *, now: Callable[[], datetime], workers: int = 1) -> Summary:
        """Write it whole, or not at all."""
        try:
            with JournalWriter(str(self.into)) as journal:
                journal.write(encode(self.header))
                count = -(-len(self.journal) // PIECE)
                from carob.journal.parallel import map_in_processes

                for piece in map_in_processes(self._piece, count, workers, _pack, _unpack):
                    self._note(piece.notes)
                    if piece.lines:
                        journal.write(piece.lines)
                for record in self.judge.missing(self._recorded):
                    self._tally.add_record(record)
                    journal.write(self._line(record))
                summary = structs.replace(self._tally.summary(), **self._ending())
                journal.write(encode(Footer(finished_at=now().isoformat(timespec="milliseconds"), summary=summary)))
                return summary
        except BaseException:
            self.into.unlink(missing_ok=True)
            raise

    def _ending(self) -> Ending:
        """How it ends once all records were seen. Every case of a suite has one, whatever became of the old run."""
        faults = [*self.journal.faults, *self._identity.faults]
        return ENDED if self.judge.by_suite and not faults else ending(faults, self.journal.footer)

    def _piece(self, number: int) -> Piece:
        """Judge some records. It looks at nothing that another piece changes."""
        lines, notes = [], []
        for record in self.journal.records(number * PIECE, PIECE):
            judged = self.judge.rejudge(record)
            outcome = Contribution.of_record(judged) if judged else None
            notes.append(Note(record.case.id, record.index, record.repeat, self._identity.is_of_case(record), outcome))
            if judged is not None:
                lines.append(self._line(judged))
        return Piece(b"\n".join(lines), notes)

    def _line(self, record: CaseRecord) -> bytes:
        if self._along:
            record = structs.replace(record, trace=move_attachments(record.trace, self._along))
        line = encode(record)
        if self.redactor is not None and self.redactor.finds(line):
            line = encode(self.redactor.record(record))
        return line

    def _note(self, notes: Iterable[Note]) -> None:
        for note in notes:
            self._identity.note(note.case_id, note.index, intact=note.intact)
            if self.judge.by_suite:
                self._recorded.add((note.case_id, note.repeat))
            if note.outcome is None:
                self.dropped[note.case_id] = None
            else:
                self._tally.add(note.index, note.outcome)


NAMED = 10


@dataclass(eq=False)
class CarryOver:
    """Decides which records of a journal are kept for planned items, and counts them.

    Whether a case is run again for its status is decided over all its repeats, and then all of them are: who ran only
    those again that failed would make a flaky case a good one.
    """

    journal: Journal
    planned: Iterable[Item]
    redo: Container[CaseStatus]
    tally: Tally
    catalog: CheckCatalog
    kept: set[tuple[str, int]] = field(default_factory=set)
    _changed: dict[tuple[str, int], None] = field(default_factory=dict)
    _redone: dict[tuple[str, int], None] = field(default_factory=dict)
    _gone: dict[tuple[str, int], None] = field(default_factory=dict)
    _judged_anew: dict[tuple[str, int], None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._planned = {(item.case.id, item.repeat): item for item in self.planned}

    def lines(self, into: str) -> Iterator[bytes]:
        """The lines to keep, for the journal `into`. What each record became is known once this is exhausted."""
        along = way(self.journal.path, into)
        for _, runs in groupby(self.journal.records(), key=lambda record: record.case.id):
            current = [judged for record in runs if (judged := self._rejudge(record)) is not None]
            statuses = Counter(record.status for record in current)
            again = bool(current) and self._is_redone(statuses, current[0])
            for record in current:
                key = record.case.id, record.repeat
                if again:
                    self._redone[key] = None
                elif key not in self.kept:
                    placed = structs.replace(
                        record, index=self._planned[key].index, trace=move_attachments(record.trace, along)
                    )
                    self.kept.add(key)
                    self.tally.add_record(placed)
                    yield msgspec.json.encode(placed)

    def _is_redone(self, statuses: Mapping[CaseStatus, int], first: CaseRecord) -> bool:
        return case_status(statuses, first.case.min_pass_rate, first.until) in self.redo

    def _rejudge(self, record: CaseRecord) -> CaseRecord | None:
        """The record with the verdict that its trace gives today, if it is of what is planned now."""
        key = record.case.id, record.repeat
        item = self._planned.get(key)
        if item is None:
            self._gone[key] = None
            return None
        judged = None
        if item.key == record.key and not self.journal.is_doubled(record.index, record.repeat):
            judged = rejudge(record, item.case, self.catalog)
        if judged is None:
            self._changed[key] = None
        elif judged.status is not record.status:
            self._judged_anew[key] = None
        return judged

    def messages(self, target: dict[str, object]) -> Iterator[str]:
        """What is kept, what is run again and why, for the one who resumes."""
        if self.journal.torn:
            yield "the last line of the journal is incomplete and was dropped"
        noun = "finished run" if self.journal.header.repeat > 1 else "finished case"
        yield f"kept {pluralize(len(self.kept), noun)}"
        changed = "changed since"
        if target_identity(self.journal.header.options.get("target", target)) != target_identity(target):
            changed = "the target's options changed since"
        new = [key for key in self._planned if key not in self.kept | self._changed.keys() | self._redone.keys()]
        for outcome, keys in (
            (f"{changed}, run again", self._changed),
            ("different from its record, judged again", self._judged_anew),
            ("run again for their status", self._redone),
            ("new or not finished, run now", new),
            ("no longer in the suite or not selected, left out", self._gone),
        ):
            if keys:
                yield f"{outcome}: {list_some([case_id for case_id, _ in keys])}"


def rejudge(record: CaseRecord, case: Case, catalog: CheckCatalog) -> CaseRecord | None:
    """The record as it is judged today; None if its words are not those that were run, or its verdict not its own.

    What was cut or lost a secret was judged when it was whole: there the verdict must follow from its checks.
    """
    if record.trace.is_altered:
        return record if derive_verdict(record).status is record.status else None
    if record.case != case:
        return None
    return structs.replace(record, verdict=verdicts.judge_case(case, record.trace, catalog))


def list_some(ids: Sequence[str]) -> str:
    """Some of the ids, each once; those of a journal may hold anything."""
    each = list(dict.fromkeys(ids))
    more = f" and {len(each) - NAMED} more" if len(each) > NAMED else ""
    return ", ".join(json.dumps(name)[1:-1] for name in each[:NAMED]) + more
