"""`carob report`: reports of recorded runs, and what is said of journals and places that are none."""

from __future__ import annotations

import csv
import errno
import io
import json
import os
from pathlib import Path

import junitparser
import pytest

import carob as library
from cli.support import Carob, case, eval_set, journal_of, write

FORMATS = ["json", "markdown", "junit", "github", "github-summary", "gitlab", "csv", "jsonl"]


@pytest.fixture
def journal(carob: Carob) -> str:
    """The journal of a run in which one case passed and one did not."""
    suite = write("s.json", eval_set(case("A"), case("B", expected={"must_say_any": ["no"]})))
    assert carob("run", suite, "-t", "python:agent.py:greet").code == 1
    return str(journal_of())


@pytest.mark.parametrize("name", FORMATS)
def test_a_report_made_later_is_that_of_the_run(carob: Carob, journal: str, name: str) -> None:
    ran = carob("report", journal, "--format", name, "-o", "deep/er/later")
    assert (ran.code, ran.out, ran.err) == (0, "deep/er/later\n", "")
    assert carob("rescore", journal, "--report", f"{name}=now", "--results-dir", "again").code == 1
    anew = journal_of("again")
    assert carob("report", str(anew), "-f", name, "-o", "later").code == 0
    assert Path("later").read_bytes() == Path("now").read_bytes()
    assert b"B" in Path("deep/er/later").read_bytes()


@pytest.mark.parametrize("name", FORMATS)
def test_without_a_place_it_stands_beside_its_journal(carob: Carob, journal: str, name: str) -> None:
    ran = carob("report", journal, "-f", name)
    place = Path(ran.out.strip())
    assert (ran.code, place.parent, place.name.split(".")[0]) == (0, Path("carob-results"), Path(journal).stem)
    assert carob("report", journal, "-f", name).out == ran.out, "made again, it takes the place of the last one"


def test_stdout_takes_nothing_but_the_report(carob: Carob, journal: str) -> None:
    ran = carob("report", journal, "-f", "csv", "-o", "-")
    assert (ran.code, ran.err, len(ran.out.splitlines())) == (0, "", 3)
    assert ran.out.startswith("run_id,")


def test_several_runs_in_one_file_or_in_a_folder(carob: Carob, journal: str) -> None:
    carob("run", "--failed", journal)
    assert carob("report", "carob-results", "-f", "junit", "-o", "all.xml").code == 0
    assert [suite.tests for suite in junitparser.JUnitXml.fromfile("all.xml")] == [2, 2]
    ran = carob("report", "carob-results", "-f", "markdown", "-o", "pages/")
    assert sorted(map(str, Path("pages").iterdir())) == sorted(ran.out.splitlines())
    assert len(ran.out.splitlines()) == 2
    refused = carob("report", "carob-results", "-f", "markdown", "-o", "all.md")
    assert (refused.code, refused.out) == (4, "")
    fix = "Name a folder, as in 'reports/', or one journal."
    assert refused.err == f"carob: a 'markdown' report covers one run, not 2. {fix} [bad-option]\n"
    assert not Path("all.md").exists()


def test_journals_of_one_name_do_not_share_a_file(carob: Carob, journal: str) -> None:
    twin = Path("other", Path(journal).name)
    twin.parent.mkdir()
    twin.write_bytes(Path(journal).read_bytes())
    ran = carob("report", journal, str(twin), "-f", "csv", "-o", "rows/")
    assert [Path(line).name for line in ran.out.splitlines()] == [f"{twin.stem}.csv", f"{twin.stem}-2.csv"]


def test_a_torn_journal_is_reported_as_what_it_is(carob: Carob, journal: str) -> None:
    whole = Path(journal).read_bytes()
    Path("torn.jsonl").write_bytes(whole[: whole.rindex(b'{"kind":"footer"') - 40])
    ran = carob("report", "torn.jsonl", "-f", "junit", "-o", "torn.xml")
    assert (ran.code, ran.err) == (0, "carob: torn.jsonl: the last line is incomplete and was ignored\n")
    (suite,) = junitparser.JUnitXml.fromfile("torn.xml")
    assert (suite.tests, suite.errors) == (2, 1)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        pytest.param(
            "none.jsonl",
            "it cannot be read: No such file or directory. A run writes one: carob run SUITE [journal]",
            id="no-file",
        ),
        pytest.param(
            "empty.jsonl",
            "the journal is empty. Its run was ended before it began: run the suite again. [journal]",
            id="empty",
        ),
        pytest.param("foreign.jsonl", "not a journal: the first line is not a header. [journal]", id="foreign"),
        pytest.param(
            "agent.py",
            "not a journal. A journal is the .jsonl file that `carob run` writes. [journal]",
            id="no-json",
        ),
        pytest.param(
            "without",
            "there is no run in this folder. Name a folder with journals of `carob run`, or a journal. [no-run]",
            id="a-folder-without-runs",
        ),
    ],
)
def test_what_is_no_journal(carob: Carob, journal: str, source: str, said: str) -> None:
    write("empty.jsonl", "")
    write("foreign.jsonl", '{"kind": "case"}\n')
    write("without/notes.jsonl", '{"a": 1}\n')
    ran = carob("report", journal, source, "-f", "junit", "-o", "out.xml")
    assert (ran.code, ran.out, ran.err) == (4, "", f"carob: {source}: {said}\n")
    assert not Path("out.xml").exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        pytest.param(["-f", "junti"], "unknown report 'junti'. Did you mean 'junit'? [unknown-report]", id="format"),
        pytest.param(["-f", "csv", "-o", "s.json"], "s.json: the report would overwrite its own source.", id="suite"),
        pytest.param(["-f", "csv", "-o", "JOURNAL"], "the report would overwrite its own source.", id="journal"),
    ],
)
def test_what_cannot_be_made_of_it(carob: Carob, journal: str, options: list[str], said: str) -> None:
    before = Path(journal).read_bytes()
    ran = carob("report", journal, *[journal if word == "JOURNAL" else word for word in options])
    assert (ran.code, ran.out, len(ran.err.splitlines())) == (4, "", 1)
    assert said in ran.err
    assert Path(journal).read_bytes() == before


def test_a_full_disk_leaves_nothing_half_written(carob: Carob, journal: str, monkeypatch: pytest.MonkeyPatch) -> None:
    write("out.xml", "the last one")

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr("carob.reports.artifacts.os.write", full)
        ran = carob("report", journal, "-f", "junit", "-o", "out.xml")
    assert (ran.code, ran.out) == (3, "")
    assert ran.err == (
        "carob: out.xml: cannot be written: No space left on device."
        " Free some space, or name another place for it. [artifact]\n"
    )
    assert Path("out.xml").read_text() == "the last one"
    assert [path.name for path in Path().glob(".*part")] == []


@pytest.mark.parametrize(
    ("reports", "said"),
    [
        pytest.param(
            ["junit=out", "csv=./out"], "the report 'junit' and the report 'csv' cannot both be at ./out.", id="two"
        ),
        pytest.param(["csv=s.json"], "the file s.json and the report 'csv' cannot both be at s.json.", id="the-suite"),
    ],
)
def test_two_reports_at_one_place(carob: Carob, reports: list[str], said: str) -> None:
    suite = write("s.json", eval_set())
    options = [word for report in reports for word in ("--report", report)]
    ran = carob("run", suite, "-t", "python:agent.py:greet", *options)
    fix = "Give the report another file."
    assert (ran.code, ran.out, ran.err) == (4, "", f"carob: {said} {fix} [bad-option]\n")
    assert json.loads(Path(suite).read_text())["version"] == "0.3"
    assert not Path("carob-results").exists()


def test_the_project_asks_for_reports_of_ours(carob: Carob) -> None:
    write("carob.toml", '[reports]\njunit = "out/junit.xml"\ncsv = true\n')
    ran = carob("run", write("s.json", eval_set()), "-t", "python:agent.py:greet")
    assert ran.code == 0
    assert [Path(line.strip()).suffix for line in ran.out.splitlines()[-2:]] == [".xml", ".csv"]
    assert Path("out/junit.xml").is_file()


def test_the_library_writes_to_what_takes_bytes(journal: str) -> None:
    out = io.BytesIO()
    assert library.report(journal, "csv", out) == ()
    rows = list(csv.DictReader(io.StringIO(out.getvalue().decode())))
    assert [(row["case"], row["status"]) for row in rows] == [("A", "PASS"), ("B", "FAIL")]
    (path,) = library.report([library.Journal(journal)], "jsonl", "rows.jsonl")
    assert [json.loads(line)["case"] for line in path.read_text().splitlines()] == ["A", "B"]
    with pytest.raises(library.UsageError, match="no journal was given"):
        library.report([], "csv")
