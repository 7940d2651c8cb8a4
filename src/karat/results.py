"""What a run leaves behind, its journal and its reports, and how those of a recorded run are made again.

Nothing here starts an agent, so that judging again loads neither the engine nor an event loop.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from msgspec import structs

from karat.checks.ui import resolve as resolve_ui
from karat.checks.ui import vocabulary_flaws
from karat.errors import ArtifactError, ConfigError, Exit, JournalError, KaratError, NothingSelectedError
from karat.journal.integrity import Ending, Identity, ending
from karat.journal.reader import Journal
from karat.journal.rescore import rescored, rescored_by
from karat.journal.writer import JournalWriter, encode
from karat.model.attachments import moved, way
from karat.model.run import CaseRecord, Footer, Summary
from karat.model.suite import Suite
from karat.repeats import Tally
from karat.reports.artifacts import Names, reserve, results_dir_for
from karat.reports.catalog import Wanted, write_all
from karat.traces.clean import text
from karat.traces.redact import Redactor

BATCH = 1 << 18


def utc_now() -> datetime:
    return datetime.now(UTC)


class RunResult:
    """A finished run: its journal, the reports that were made of it, and why others could not be made."""

    def __init__(self, journal: Journal, artifacts: Sequence[Path], failures: Sequence[KaratError] = ()) -> None:
        self.journal = journal
        self.artifacts = tuple(artifacts)
        self.failures = tuple(failures)

    @property
    def summary(self) -> Summary:
        return self.journal.summary

    @property
    def records(self) -> list[CaseRecord]:
        """Every record in suite order; for runs too large for a list, `journal.records()` streams them."""
        return list(self.journal.records())

    @property
    def ok(self) -> bool:
        """Whether every case passed or was PARTIAL, as for exit code 0."""
        return self.exit_code() == Exit.OK

    def exit_code(self, *, strict: bool = False) -> Exit:
        """That of the summary; a report that could not be made counts as much as a failed case, and no less."""
        code = self.summary.exit_code(strict=strict)
        return Exit.INTERNAL if self.failures and code is not Exit.INTERRUPTED else code


def reported(names: Names, summary: Summary, reports: Sequence[Wanted] = ()) -> RunResult:
    """A written journal with its reports; where one cannot be written, how to make it later."""
    try:
        journal = Journal(names.journal, summary)
    except JournalError as error:
        fix = "Run again, into a folder that nothing clears away."
        raise ArtifactError(f"the journal of this run is lost: {error.message}", where=error.where, fix=fix) from error
    paths, failures = write_all(journal, names, reports)
    later = f"The journal is whole, reports can be made of it: karat rescore {names.journal}"
    for failure in failures:
        failure.fix = f"{failure.fix} {later}"
    return RunResult(journal, (names.journal, *paths), failures)


def rescore(
    recorded: Journal,
    suite: Suite | None,
    results_dir: Path,
    dropped: Callable[[str], None] = lambda case_id: None,
    reports: Sequence[Wanted] = (),
) -> RunResult:
    """Judge a recorded run again, by its own cases or by those of a suite, into a new journal with its reports.

    A suite may hold secrets that the journal does not: those of the configuration that holds here are left out again.
    """
    identity = Identity(recorded.header)
    if suite is None:
        return rewrite(rescored(recorded, identity), recorded, {}, results_dir, identity, reports=reports)
    options, redactor = recorded.header.options, _configured()
    suite = worded(_as_selected(suite, options), options.get("target", {}).get("ui_vocabulary", {}))
    changes = {
        "suite": redactor.text(text(suite.file)),
        "suite_format": suite.format,
        "suite_version": suite.version,
        "suite_sha256": suite.sha256,
        "total": len(suite.cases) * recorded.header.repeat,
    }
    cases = {case.id: case for case in suite.cases}
    judged = rescored_by(recorded, cases, dropped, redactor, identity)
    return rewrite(judged, recorded, changes, results_dir, identity, redactor=redactor, reports=reports)


def _configured() -> Redactor:
    from karat.targets.config import load as load_config  # loads what targets need, and few have to judge by a suite

    return Redactor.from_names(load_config(Path.cwd()).secrets, os.environ)


def _as_selected(suite: Suite, options: Mapping[str, Any]) -> Suite:
    """The cases that the recorded run would have run: what nobody asked for is not missing."""
    selection = options.get("selection", {})
    ids, categories = selection.get("cases"), selection.get("category")
    cases = [
        case
        for case in suite.cases
        if (ids is None or case.id in ids) and (categories is None or case.category in categories)
    ]
    if not cases:
        fix = "The run had selected other cases."
        raise NothingSelectedError("no case of this suite is of that run.", where=suite.file, fix=fix)
    return structs.replace(suite, cases=tuple(cases))


def rewrite(
    records: Iterable[CaseRecord],
    source: Journal,
    changes: Mapping[str, Any],
    results_dir: Path | None,
    identity: Identity,
    now: Callable[[], datetime] = utc_now,
    redactor: Redactor | None = None,
    reports: Sequence[Wanted] = (),
) -> RunResult:
    """A new journal made of an old one, with its reports: how a rescore is kept. Streamed, one record at a time.

    With a suite in `changes`, every case of it has a record: nothing is missing, whatever became of the old run.
    """
    suite = Path(changes.get("suite", source.header.suite))
    names = reserve(results_dir_for(suite, results_dir), suite.stem, now())
    header = structs.replace(
        source.header, **changes, started_at=now().isoformat(timespec="milliseconds"), derived_from=text(source.path)
    )
    tally = Tally(header.repeat)
    try:
        with JournalWriter(str(names.journal)) as journal:
            journal.write(encode(header))
            along = way(source.path, str(names.journal))
            for lines in _batches(_moved(records, along), tally, redactor):
                journal.write(lines)
            faults = [*source.faults, *identity.faults]
            summary = tally.summary(**_ending(faults, source, by_suite="suite" in changes))
            journal.write(encode(Footer(finished_at=now().isoformat(timespec="milliseconds"), summary=summary)))
    except BaseException:
        names.journal.unlink(missing_ok=True)
        raise
    return reported(names, summary, reports)


def _ending(faults: Sequence[str], source: Journal, *, by_suite: bool) -> Ending:
    """By a suite every case has a record, whatever became of the old run; what was changed stays told."""
    if by_suite and not faults:
        return Ending(incomplete="", interrupted=False, broken=False)
    return ending(faults, source.footer)


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


def worded(suite: Suite, vocabulary: Mapping[str, Any], target: str = "") -> Suite:
    """The suite with every UI sentence that the target's vocabulary knows turned into elements."""
    for why in vocabulary_flaws(vocabulary):
        where = ".".join(part for part in ("targets", target, "ui_vocabulary") if part)
        fix = 'Write it as a list of elements: [{ role = "heading", name = "My Activity" }].'
        raise ConfigError(why, where=where, fix=fix)
    return structs.replace(suite, cases=tuple([resolve_ui(case, vocabulary) for case in suite.cases]))
