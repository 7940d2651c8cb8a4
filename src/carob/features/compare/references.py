"""Which run somebody means: a journal, a baseline, a folder, `@last`, `@last-green`, `@baseline`, a commit or a tag.

`@last-5` means the last five runs of one kind as one: a single run is a lucky or an unlucky one. A baseline is what is
kept of a run in the repository: one line per case, without a word of any agent.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

import msgspec
from msgspec import Struct, structs

from carob.engine.run_names import (
    BASELINE,
    LAST,
    LAST_GREEN,
    SEVERAL,
    RecordedRun,
    is_named,
    list_runs,
    results_folders,
)
from carob.errors import JournalError, UsageError
from carob.features.compare.compared_cases import ComparedCase, JournalCases, PooledRuns
from carob.features.compare.model import RunSide
from carob.journal.reader import Journal
from carob.journal.run_kinds import is_same_kind, is_same_suite
from carob.journal.views import RecordExcerpt
from carob.plugins.project import Project
from carob.reports.artifacts import open_atomic
from carob.text.wording import did_you_mean, pluralize

OTHER_TARGET = "Name the journal, to compare with a run against another target."
FORMAT = 1
DIGITS = 3
START = b'{"carob_baseline":'


class BaselineHeader(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """The first line of a baseline: which run it was."""

    carob_baseline: int
    run: RunSide


_header = msgspec.json.Decoder(BaselineHeader).decode
_case = msgspec.json.Decoder(ComparedCase).decode
_encode = msgspec.json.Encoder().encode


class BaselineFile:
    """A baseline as a side of a comparison."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.header = self._read_header()

    def __iter__(self) -> Iterator[ComparedCase]:
        with self.path.open("rb") as file:
            next(file)
            for number, line in enumerate(file, 2):
                yield self._decode(line, number)

    def side(self) -> RunSide:
        return structs.replace(self.header.run, path=str(self.path))

    def find_record(self, result: ComparedCase, *, passed: bool) -> RecordExcerpt | None:
        """A baseline keeps no answers."""
        return None

    def _decode(self, line: bytes, number: int) -> ComparedCase:
        try:
            case = _case(line)
        except msgspec.DecodeError as error:
            raise self._format_error(f"this line cannot be read: {error}.", number) from error
        if min(case.passed, case.judged - case.passed, case.errors, case.skipped) < 0:
            raise self._format_error(f"the case {case.id!r} passed more often than it ran.", number)
        return case

    def _read_header(self) -> BaselineHeader:
        try:
            with self.path.open("rb") as file:
                header = _header(file.readline())
        except OSError as error:
            raise JournalError(f"it cannot be read: {error.strerror}.", where=str(self.path)) from error
        except msgspec.DecodeError as error:
            raise self._format_error("not a baseline.", 1) from error
        if header.carob_baseline > FORMAT:
            raise self._format_error(f"the baseline has format {header.carob_baseline}; this Carob reads {FORMAT}.", 1)
        return header

    def _format_error(self, message: str, number: int) -> JournalError:
        fix = "Make a new one: carob compare --save."
        return JournalError(message, where=f"{self.path}:{number}", fix=fix, slug="baseline")


def is_baseline(path: Path) -> bool:
    """Whether a file begins as a baseline does."""
    try:
        with path.open("rb") as file:
            return file.read(len(START)) == START
    except OSError:
        return False


def baseline_of(suite: str) -> Path:
    """Where the baseline of a suite is kept: next to it."""
    return Path(suite).with_suffix(".baseline.jsonl")


def set_baseline(run: str | Path, file: Path | None, results_dir: str | Path | None, project: Project) -> BaselineFile:
    """Keep a run as the baseline of its suite; an older one is replaced, whole or not at all."""
    source = References(results_folders(results_dir, project), project).find_run(str(run))
    path = baseline_of(source.journal.header.suite) if file is None else file
    with open_atomic(path, replace=True) as out:
        out.write(b"".join(line + b"\n" for line in _baseline_lines(source)))
    return BaselineFile(path)


def load_baseline(file: Path) -> BaselineFile:
    """A baseline that is there: its own file, or that of a suite."""
    path = file if file.suffix == ".jsonl" else baseline_of(str(file))
    if not path.is_file():
        raise UsageError(
            "no baseline exists.", where=str(path), fix="Make one: carob compare --save", slug="no-baseline"
        )
    return BaselineFile(path)


def _baseline_lines(source: JournalCases | PooledRuns) -> list[bytes]:
    totals: Counter[str] = Counter()
    lines = []
    for result in source:
        totals.update(result.size)
        measures = {name: _round(value) for name, value in result.measures.items()}
        lines.append(_encode(structs.replace(result, first_record=-1, measures=measures)))
    side = structs.replace(source.side(), **totals)
    if side.incomplete or not lines:
        why = side.incomplete or "it has no case"
        fix = f"Finish it first: carob run --resume {side.path}"
        raise JournalError(f"the run cannot be a baseline: {why}.", where=side.path, fix=fix, slug="baseline")
    pooled = "" if side.pooled == 1 else f"{pluralize(side.pooled, 'run')} to "
    run = structs.replace(side, path=f"{pooled}{Path(side.path).name}")
    return [_encode(BaselineHeader(carob_baseline=FORMAT, run=run)), *lines]


def _round(value: float) -> float:
    """As many digits as matter, so that a baseline set anew differs where something changed."""
    return round(value, DIGITS - 1 - math.floor(math.log10(abs(value)))) if value else 0.0


AnyBase: TypeAlias = JournalCases | PooledRuns | BaselineFile


class References:
    """Finds runs in the folders where they are kept."""

    def __init__(self, folders: Sequence[Path], project: Project) -> None:
        self._project = project
        self._folders = folders

    def new(self, name: str) -> JournalCases:
        """The newer side of a comparison: a run of which every record is there."""
        run = self._find(name, None)
        if not isinstance(run, JournalCases):
            kind = "a baseline is" if isinstance(run, BaselineFile) else "several runs are"
            raise UsageError(f"{kind} the older side of a comparison.", where=name, fix="Name it first.")
        return run

    def base(self, name: str, new: RecordedRun) -> AnyBase:
        """The older side: of what was run of the same suite and target, never the newer run itself."""
        return self._find(name, new)

    def find_run(self, name: str) -> JournalCases | PooledRuns:
        """What a baseline is made of."""
        run = self._find(name, None)
        if isinstance(run, BaselineFile):
            raise UsageError("it is a baseline already.", where=name, fix="Name a run.")
        return run

    def _cases(self, path: Path) -> JournalCases:
        return JournalCases(Journal(path, project=self._project))

    def _find(self, name: str, new: RecordedRun | None) -> AnyBase:
        path = Path(name)
        if name == BASELINE and new is not None:
            path = baseline_of(new.header.suite)
            if not path.is_file():
                fix = f"Make one: carob compare --save {new.path}"
                raise UsageError("no baseline exists yet.", where=str(path), fix=fix, slug="no-baseline")
        if path.is_file():
            return BaselineFile(path) if is_baseline(path) else self._cases(path)
        is_folder = path.is_dir()
        runs = _earlier(list_runs([path] if is_folder else self._folders), new)
        several = SEVERAL.fullmatch(name)
        if several and not is_folder:
            kind = new.header if new is not None else runs[0].header if runs else None
            alike = [run for run in runs if kind is not None and is_same_kind(run.header, kind)][: int(several[1])]
            if alike:
                return PooledRuns([self._cases(run.path) for run in alike])
        for run in runs:
            if is_folder or is_named(name, run):
                return self._cases(run.path)
        raise self._not_found(name, new)

    def _not_found(self, name: str, new: RecordedRun | None) -> UsageError:
        of_suite = f" of {new.header.suite} against {new.header.target}" if new else ""
        folders = ", ".join(map(str, self._folders))
        if name.startswith("@"):
            is_known = name in (LAST, LAST_GREEN) or name.removeprefix(f"{LAST}-").isdecimal()
            fix = OTHER_TARGET if is_known else did_you_mean(name, (LAST, LAST_GREEN, BASELINE))
            if not list_runs(self._folders):
                fix = "Run a suite first: carob run SUITE."
            return UsageError(f"{name}: no such run{of_suite} in {folders}.", fix=fix, slug="no-run")
        fix = f"Name a journal, a folder, {LAST}, {LAST_GREEN}, {BASELINE}, or a commit or tag that was run."
        return UsageError(f"{name!r} is neither a file nor a run{of_suite} in {folders}.", fix=fix, slug="no-run")


def _earlier(runs: list[RecordedRun], new: RecordedRun | None) -> list[RecordedRun]:
    """Runs of the suite and target of the newer run, that run itself left out; those with its settings first."""
    if new is None:
        return runs
    own_path, header = os.path.realpath(new.path), new.header
    candidates = [
        run
        for run in runs
        if os.path.realpath(run.path) != own_path
        and is_same_suite(run.header.suite, header.suite)
        and run.header.target == header.target
    ]
    return sorted(candidates, key=lambda run: not is_same_kind(run.header, header))
