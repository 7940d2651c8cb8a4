from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path

import pytest

from karat.errors import ArtifactError, ConfigError, Exit, JournalError
from karat.model.run import CaseRecord, RunView
from karat.reports import catalog
from karat.reports.artifacts import Names, Sink, reserve
from karat.reports.catalog import BUILT_IN, Format, installed, write_all

from .runs import MemoryRun, every_status, passing

NOW = datetime(2026, 11, 15, 18, 30, 11, tzinfo=UTC)


@pytest.fixture
def names(tmp_path: Path) -> Names:
    return reserve(tmp_path, "a", NOW)


class Ids:
    """A report as another package may bring it: a line per case."""

    def __init__(self, run: RunView, out: Sink) -> None:
        self.out = out

    def case(self, record: CaseRecord) -> None:
        self.out.write(record.case.id.encode() + b"\n")

    def end(self) -> None:
        self.out.write(b"end\n")


class Broken(Ids):
    def end(self) -> None:
        raise ZeroDivisionError("oh")


IDS, BROKEN = Format("ids", "txt", Ids), Format("broken", "xml", Broken)


@dataclass(frozen=True)
class CountedRun(MemoryRun):
    readings: list[int] = field(default_factory=list)

    def records(self) -> Iterator[CaseRecord]:
        self.readings.append(1)
        return super().records()


def test_all_reports_stand_beside_the_journal(names: Names) -> None:
    assert write_all(every_status(), names) == (names.json, names.markdown)
    assert len(json.loads(names.json.read_bytes())["cases"]) == 6
    assert names.markdown.read_text().startswith("# Eval results")


def test_our_reports_share_one_reading_of_the_journal(names: Names) -> None:
    run = CountedRun(passing(2).cases, passing(2).summary)
    write_all(run, names)
    assert len(run.readings) == 1


def test_reports_written_again_get_names_of_their_own(names: Names) -> None:
    first = write_all(passing(), names)
    second = write_all(passing(), names)
    assert [path.name[-7:] for path in second] == ["-2.json", "1Z-2.md"]
    assert all(path.exists() for path in (*first, *second))


def test_a_report_of_another_package(names: Names) -> None:
    paths = write_all(passing(2), names, (*BUILT_IN, IDS))
    assert paths[-1].read_text() == "G0\nG1\nend\n"


def test_a_broken_report_of_another_package_spares_ours(names: Names) -> None:
    with pytest.raises(ArtifactError, match=r"report 'broken' failed: ZeroDivisionError: oh") as caught:
        write_all(passing(), names, (BROKEN, *BUILT_IN))
    assert caught.value.exit_code == Exit.INTERNAL
    assert sorted(path.suffix for path in names.folder.iterdir()) == [".json", ".jsonl", ".md"]


@dataclass(frozen=True)
class TornRun(MemoryRun):
    def records(self) -> Iterator[CaseRecord]:
        yield from self.cases
        raise JournalError("torn")


def test_a_journal_that_cannot_be_read_leaves_no_report(names: Names) -> None:
    with pytest.raises(JournalError):
        write_all(TornRun(passing().cases, passing().summary), names)
    assert [path.suffix for path in names.folder.iterdir()] == [".jsonl"]


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        pytest.param("no_such_module:FORMAT", "cannot be loaded", id="no-module"),
        pytest.param("karat.reports.catalog:NOTHING", "cannot be loaded", id="no-attribute"),
        pytest.param("karat.reports.catalog:ENTRY_POINTS", "is no karat.reports.catalog.Format", id="no-format"),
    ],
)
def test_an_entry_point_that_is_no_format(monkeypatch: pytest.MonkeyPatch, value: str, problem: str) -> None:
    entry = EntryPoint("mine", value, catalog.ENTRY_POINTS)
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: EntryPoints([entry]))
    with pytest.raises(ConfigError, match=problem) as caught:
        installed()
    assert "'mine'" in str(caught.value)


def test_entry_points_join_our_formats(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = EntryPoint("ids", f"{__name__}:IDS", catalog.ENTRY_POINTS)
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: EntryPoints([entry]))
    assert installed() == (*BUILT_IN, IDS)


@dataclass(frozen=True)
class LongRun(MemoryRun):
    """Many cases made on the fly, passing and failing, as a journal streams them."""

    count: int = 0

    def records(self) -> Iterator[CaseRecord]:
        cases = every_status().cases
        for index in range(self.count):
            yield cases[index % 2]


def peak(count: int, folder: Path) -> int:
    run = LongRun((), passing().summary, count=count)
    tracemalloc.start()
    try:
        write_all(run, reserve(folder, "a", NOW))
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_does_not_grow_with_the_run(tmp_path: Path) -> None:
    peak(10, tmp_path)
    assert peak(4000, tmp_path) < 1.2 * peak(1000, tmp_path)
