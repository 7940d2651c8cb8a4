"""A report of recorded runs, and the file that it goes to."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import chain, count
from pathlib import Path

from karat.errors import KaratError, UsageError
from karat.journal.reader import Journal
from karat.plugins.project import Project
from karat.reports.artifacts import BinaryWriter, open_atomic
from karat.reports.base import MultiRunReport, Report
from karat.reports.catalog import file_extension, find, report_path
from karat.reports.writing import PLACE, report_error, write_into

USUAL = "usual"


def file_report(
    journals: Sequence[Journal], name: str, path: str | Path | BinaryWriter | None, project: Project
) -> tuple[Path, ...]:
    """Write a report of recorded runs: into one file, into a folder, next to each journal, or to what takes bytes."""
    if not journals:
        raise UsageError("no journal was given.", fix="Name at least one.", slug="bad-option")
    kind = find(name, project)
    if isinstance(path, str | Path | None):
        return tuple(
            _write_report(group, name, kind, file) for group, file in _group_by_file(journals, kind, name, path)
        )
    _refuse_several(journals, kind, name)
    write_into(journals, kind, path)
    return ()


def _group_by_file(
    journals: Sequence[Journal], kind: type[Report], name: str, path: str | Path | None
) -> Iterator[tuple[Sequence[Journal], Path]]:
    """Which journals go into which file."""
    if path is not None and (file := report_path(os.fspath(path), USUAL)).name != USUAL:
        _refuse_several(journals, kind, name)
        yield journals, file
        return
    used: set[Path] = set()
    for journal in journals:
        journal_path = Path(journal.path)
        folder = journal_path.parent if path is None else Path(path)
        extension = file_extension(name, kind)
        names = (folder / f"{journal_path.stem}{mark}.{extension}" for mark in chain([""], map("-{}".format, count(2))))
        file = next(candidate for candidate in names if candidate not in used)
        used.add(file)
        yield [journal], file


def _refuse_several(journals: Sequence[Journal], kind: type[Report], name: str) -> None:
    if len(journals) > 1 and not issubclass(kind, MultiRunReport):
        fix = "Name a folder, as in 'reports/', or one journal."
        raise UsageError(f"a {name!r} report covers one run, not {len(journals)}.", fix=fix, slug="bad-option")


def _write_report(journals: Sequence[Journal], name: str, kind: type[Report], file: Path) -> Path:
    precious = [source for journal in journals for source in (journal.path, journal.header.suite)]
    if os.path.realpath(file) in map(os.path.realpath, precious):
        fix = "Name another file with -o."
        raise UsageError("the report would overwrite its own source.", where=str(file), fix=fix, slug="bad-option")
    try:
        with open_atomic(file, replace=True, elsewhere=PLACE) as out:
            write_into(journals, kind, out)
    except (KaratError, KeyboardInterrupt):
        raise
    except BaseException as error:  # code of others may raise anything
        raise report_error(name, file, error) from error
    return file
