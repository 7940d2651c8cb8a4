from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import ClassVar

import pytest

from carob.errors import ConfigError, ExitCode, JournalError, UsageError
from carob.journal.views import RunView
from carob.model.run import CaseRecord
from carob.plugins.project import Project
from carob.reports.artifacts import BinaryWriter, Names, reserve
from carob.reports.base import Report
from carob.reports.catalog import ENTRY_POINTS, EVERY_RUN, Wanted, select_reports
from carob.reports.writing import write_all
from packages import Installs

from .runs import MemoryRun, every_status, passing

NOW = datetime(2026, 11, 15, 18, 30, 11, tzinfo=UTC)


@pytest.fixture
def names(tmp_path: Path) -> Names:
    return reserve(tmp_path, "a", "eval-set", NOW)


class Ids:
    """A report as another package may bring it: a line per case."""

    extension: ClassVar = "txt"

    def __init__(self, run: RunView, out: BinaryWriter) -> None:
        self.out = out

    def case(self, record: CaseRecord) -> None:
        self.out.write(record.case.id.encode() + b"\n")

    def end(self) -> None:
        self.out.write(b"end\n")


class NoStart(Ids):
    def __init__(self, run: RunView, out: BinaryWriter) -> None:
        super().__init__(run, out)
        raise ZeroDivisionError("oh")


class NoCase(Ids):
    def case(self, record: CaseRecord) -> None:
        super().case(record)
        raise SystemExit("oh\nno")


class NoEnd(Ids):
    def end(self) -> None:
        self.out.write("text, not bytes")  # type: ignore[arg-type]


class Refusing(Ids):
    def end(self) -> None:
        raise JournalError("mine")


class Pathless(Ids):
    extension: ClassVar = "../txt"


class Endless:
    extension: ClassVar = "txt"

    def case(self, record: CaseRecord) -> None: ...


IDS = Wanted("ids", Ids)
KNOWN = "Known: json, markdown, html, junit, github, github-summary, gitlab, csv, jsonl, mine."


@dataclass(frozen=True)
class CountedRun(MemoryRun):
    readings: list[int] = field(default_factory=list)

    def records(self) -> Iterator[CaseRecord]:
        self.readings.append(1)
        return super().records()


def test_all_reports_stand_beside_the_journal(names: Names) -> None:
    assert write_all(every_status(), names) == ((names.json, names.markdown), ())
    assert len(json.loads(names.json.read_bytes())["cases"]) == 6
    assert names.markdown.read_text().startswith("# Eval results")


def test_reports_share_one_reading_of_the_journal(names: Names) -> None:
    run = CountedRun(passing(2).cases, passing(2).summary)
    write_all(run, names, [IDS])
    assert len(run.readings) == 1


def test_reports_written_again_get_names_of_their_own(names: Names) -> None:
    first = write_all(passing(), names).paths
    second = write_all(passing(), names).paths
    assert [path.name[-7:] for path in second] == ["-2.json", "1Z-2.md"]
    assert all(path.exists() for path in (*first, *second))


def test_a_report_of_another_package(names: Names) -> None:
    paths, failures = write_all(passing(2), names, [IDS])
    assert paths == (names.json, names.markdown, names.report("ids.txt"))
    assert (paths[-1].read_text(), failures) == ("G0\nG1\nend\n", ())


def test_a_report_of_json_is_no_copy_of_ours(names: Names) -> None:
    class Json(Ids):
        extension = "json"

    paths, _ = write_all(passing(), names, [Wanted("my/flat", Json)])
    assert [path.name for path in paths] == [f"{names.json.stem}{end}" for end in (".json", ".md", ".my-flat.json")]


@pytest.mark.parametrize(
    ("place", "file"),
    [
        pytest.param("mine.xml", "mine.xml", id="a-file"),
        pytest.param("deep/er/mine", "deep/er/mine", id="a-file-in-a-new-folder"),
        pytest.param("there", "there/minimum-eval-results-20261115T183011Z.ids.txt", id="a-folder"),
        pytest.param("new/", "new/minimum-eval-results-20261115T183011Z.ids.txt", id="a-new-folder"),
    ],
)
def test_a_report_at_a_place_of_its_own_replaces_the_last_one(
    names: Names, monkeypatch: pytest.MonkeyPatch, place: str, file: str
) -> None:
    monkeypatch.chdir(names.folder)
    Path("there").mkdir()
    for count in (2, 1):
        paths, failures = write_all(passing(count), names, [Wanted("ids", Ids, place)])
        assert (paths[-1], failures) == (Path(file), ())
    assert Path(file).read_text() == "G0\nend\n"


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        pytest.param(NoStart, "report 'mine' failed: ZeroDivisionError: oh.", id="when-it-starts"),
        pytest.param(NoCase, "report 'mine' failed: SystemExit: oh no.", id="at-a-case"),
        pytest.param(NoEnd, "report 'mine' failed: TypeError: ", id="when-it-writes-text"),
        pytest.param(Refusing, "report 'mine' failed: JournalError: mine", id="with-an-error-of-ours"),
    ],
)
def test_a_report_that_fails_spares_all_others(names: Names, broken: type[Report], said: str) -> None:
    paths, (failure,) = write_all(passing(2), names, [Wanted("mine", broken), IDS])
    assert [path.suffix for path in paths] == [".json", ".md", ".txt"]
    assert paths[-1].read_text() == "G0\nG1\nend\n"
    assert str(failure).startswith(f"{names.report('mine.txt')}: {said}")
    assert failure.exit_code == ExitCode.INTERNAL
    assert sorted(path.suffix for path in names.folder.iterdir()) == [".json", ".jsonl", ".md", ".txt"]


def test_ctrl_c_while_a_report_is_made_leaves_no_part_of_any(names: Names) -> None:
    class Interrupted(Ids):
        def case(self, record: CaseRecord) -> None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_all(passing(), names, [IDS, Wanted("mine", Interrupted)])
    assert [path.suffix for path in names.folder.iterdir()] == [".jsonl"]


@dataclass(frozen=True)
class TornRun(MemoryRun):
    def records(self) -> Iterator[CaseRecord]:
        yield from self.cases
        raise JournalError("torn")


def test_a_journal_that_cannot_be_read_leaves_no_report(names: Names) -> None:
    with pytest.raises(JournalError):
        write_all(TornRun(passing().cases, passing().summary), names)
    assert [path.suffix for path in names.folder.iterdir()] == [".jsonl"]


def installed(installs: Installs, *values: str) -> None:
    installs(ENTRY_POINTS, *(("mine", value) for value in values))


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        pytest.param("no_such_module:FORMAT", "cannot be loaded: ModuleNotFoundError", id="no-module"),
        pytest.param("carob.reports.catalog:NOTHING", "cannot be loaded: AttributeError", id="no-attribute"),
        pytest.param("carob.reports.catalog:ENTRY_POINTS", "is not a report", id="no-class"),
        pytest.param(f"{__name__}:Pathless", "is not a report", id="a-path-for-an-extension"),
        pytest.param(f"{__name__}:Endless", "is not a report", id="no-end"),
    ],
)
def test_an_entry_point_that_is_no_report(installs: Installs, value: str, problem: str) -> None:
    installed(installs, value)
    with pytest.raises(ConfigError, match=problem) as caught:
        select_reports(["mine"], Project())
    assert "entry point 'mine' of carob.reports" in str(caught.value)


def test_a_broken_package_matters_to_those_who_ask_for_its_report(installs: Installs) -> None:
    installed(installs, "no_such_module:FORMAT")
    assert select_reports(["json", "markdown"], Project()) == ()
    assert select_reports(["json=here.json"], Project()) == (Wanted("json", EVERY_RUN["json"], "here.json"),)


def test_two_packages_with_one_name_are_told_apart(installs: Installs) -> None:
    installed(installs, f"{__name__}:Ids", f"{__name__}:NoEnd")
    with pytest.raises(ConfigError, match="two packages provide it"):
        select_reports(["mine"], Project())


@pytest.mark.parametrize(
    ("asked", "fix"),
    [
        pytest.param("mime", "Did you mean 'mine'?", id="a-slip"),
        pytest.param("pdf=out.pdf", KNOWN, id="nothing-like-it"),
        pytest.param("=out", KNOWN, id="no-name"),
    ],
)
def test_a_report_that_nobody_has(installs: Installs, asked: str, fix: str) -> None:
    installed(installs, f"{__name__}:Ids")
    with pytest.raises(UsageError) as caught:
        select_reports([asked], Project())
    assert fix in str(caught.value)


def test_entry_points_join_our_reports(installs: Installs) -> None:
    installed(installs, f"{__name__}:Ids")
    assert select_reports(["mine=a=b"], Project()) == (Wanted("mine", Ids, "a=b"),)


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
        write_all(run, reserve(folder, "a", "eval-set", NOW))
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_does_not_grow_with_the_run(tmp_path: Path) -> None:
    peak(10, tmp_path)
    assert peak(4000, tmp_path) < 1.2 * peak(1000, tmp_path)
