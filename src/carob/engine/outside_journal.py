"""The journal of a run that another test runner drives: it decides what is run, how often and in which order."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

from msgspec import structs

from carob.engine.work import CaseResult
from carob.journal.reader import Journal, read_record
from carob.journal.writer import JournalWriter, begin, encode
from carob.model.run import Footer, Header, Summary
from carob.model.suite import Suite
from carob.plugins.project import Project
from carob.reports.artifacts import reserve, utc_now
from carob.scoring.tally import Contribution, Tally


class OutsideJournal:
    """A journal while its run goes on. Cases are known by their places among those that are to be run."""

    def __init__(self, suite: Suite, header: Header, results_dir: Path, project: Project) -> None:
        self.header = header
        self.names = reserve(results_dir, suite.file, suite.format, utc_now())
        self.path = self.names.journal
        self._project = project
        begin(str(self.path), header)
        self._writer = JournalWriter(str(self.path))
        self._outcomes: list[tuple[int, Contribution]] = []
        self.runs: Counter[int] = Counter()
        self.summary: Summary | None = None

    def add(self, position: int, result: CaseResult) -> None:
        """Add the result of a case; its line is on disk when this returns."""
        self._writer.write(bytes(result.line))
        self.runs[position] += 1
        self._outcomes.append((position, result.outcome))

    def leave_out_unrun(self, header: Header) -> None:
        """Let the run be one of those cases alone that were run; `header` is that of such a run."""
        places = {old: new for new, old in enumerate(sorted(self.runs))}
        self._outcomes = [(places[position], outcome) for position, outcome in self._outcomes]
        self.runs = Counter({places[position]: runs for position, runs in self.runs.items()})

        def move(line: bytes) -> bytes:
            record = read_record(line)
            return encode(structs.replace(record, index=places[record.index]))

        self._writer.__exit__(None, None, None)
        self._begin_anew(structs.replace(header, started_at=self.header.started_at), move)
        self._writer = JournalWriter(str(self.path))

    def end(self, why: str, *, interrupted: bool = False) -> None:
        """Write the last line, with `why` cases are missing if any are."""
        if self.summary is not None:
            return
        self._writer.__exit__(None, None, None)
        needed = 1 if self.header.until else self.header.repeat
        complete = sum(runs >= needed for runs in self.runs.values())
        missing = complete < self.header.total // self.header.repeat
        most = max([self.header.repeat, *self.runs.values()])
        if most > self.header.repeat:  # cases that were run again have more runs than the header said
            total = self.header.total // self.header.repeat * most
            self._begin_anew(structs.replace(self.header, repeat=most, total=total, at_most=True))
        tally = Tally.of(self.header)
        for position, outcome in self._outcomes:
            tally.add(position, outcome)
        incomplete = (why or "cases were not run") if missing else ""
        self.summary = structs.replace(tally.summary(), incomplete=incomplete, interrupted=interrupted and missing)
        with JournalWriter(str(self.path)) as journal:
            now = datetime.now(UTC).isoformat(timespec="milliseconds")
            journal.write(encode(Footer(finished_at=now, summary=self.summary)))

    def _begin_anew(self, header: Header, change: Callable[[bytes], bytes] = bytes) -> None:
        """Begin the journal anew with a header that is true."""
        self.header = header
        with open(self.path, "rb") as file:
            next(file)
            begin(str(self.path), header, [change(line.rstrip(b"\n")) for line in file])

    @cached_property
    def journal(self) -> Journal:
        short = Path(os.path.relpath(self.path)) if self.path.is_relative_to(Path.cwd()) else self.path
        return Journal(short, self.summary, project=self._project, file=self.path)
