"""The index says what the journals say, of whole, growing, changed, torn and foreign ones, and reads no line twice."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

import carob
from carob.journal import index_tables
from carob.journal.index import CaseFilter, Index, IndexedRun
from carob.journal.reader import Journal

WINE = {"must_say_any": ["wine"]}
SUITE = {
    "carob": 1,
    "cases": [
        {"id": "a", "category": "food", "tags": ["smoke"], "prompt": "Tea?", "expected": {"must_say_any": ["tea"]}},
        {"id": "b", "category": "food", "tags": ["smoke", "slow"], "prompt": "Wine?", "expected": WINE},
        {"id": "c", "prompt": "Crash", "expected": {"must_say_any": ["x"]}},
        {"id": "d", "category": "tools", "prompt": "ÄPFEL?", "expected": {"tool_calls_any": ["shop"]}},
        {"id": "e", "prompt": "Wine again?", "expected": {"must_say_any": ["wine"], "must_not_say": ["milk"]}},
    ],
}  # fmt: skip


def agent(prompt: str) -> str:
    if prompt == "Crash":
        raise RuntimeError("model 17 is down")
    return "A good question. We sell tea and milk."


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    carob.run(SUITE, agent, results_dir=tmp_path / "runs")
    return tmp_path / "runs"


@pytest.fixture
def journal(folder: Path) -> Path:
    (found,) = folder.glob("*.jsonl")
    return found


def indexed(folder: Path, place: Path | None = None) -> tuple[Index, IndexedRun]:
    index = Index([folder], place)
    index.refresh()
    (run,) = index.runs()
    return index, run


def ids(index: Index, run: IndexedRun, **chosen: str) -> list[str]:
    found, total = index.cases(run.key, CaseFilter(**chosen))
    assert total == len(found)
    return [record.case.id for record in index.records(run, [one.offset for one in found])]


def test_it_says_what_the_journal_says(folder: Path, journal: Path) -> None:
    index, run = indexed(folder)
    read = Journal(journal)
    assert (run.summary, run.header, run.finished_at) == (read.summary, read.header, read.finished_at)
    assert run.ended
    assert run.problem == ""
    assert index.invalid_files() == []
    assert [index.record(run, number, 0) for number in range(5)] == list(read.records())
    assert index.record(run, 5, 0) is None


@pytest.mark.parametrize(
    ("chosen", "left"),
    [
        ({}, "becda"),  # failures first: FAIL, ERROR, PARTIAL, PASS
        ({"order": "suite"}, "abcde"),
        ({"order": "no such"}, "becda"),
        ({"status": "FAIL"}, "be"),
        ({"status": "ERROR"}, "c"),
        ({"category": "food"}, "ba"),
        ({"tag": "smoke"}, "ba"),
        ({"tag": "slow"}, "b"),
        ({"tag": "smo"}, ""),
        ({"check": "must_say_any"}, "be"),
        ({"check": "must_not_say"}, "e"),
        ({"text": "WINE"}, "be"),
        ({"text": "wine again"}, "e"),
        ({"text": "äpfel"}, "d"),
        ({"text": "%"}, ""),
        ({"text": "must_not_say"}, "e"),
        ({"text": "wine", "category": "food", "status": "FAIL"}, "b"),
        ({"category": "'; DROP TABLE runs; --"}, ""),
    ],
)
def test_filters(folder: Path, chosen: dict[str, str], left: str) -> None:
    index, run = indexed(folder)
    assert ids(index, run, **chosen) == list(left)


def test_choices_groups_and_neighbours(folder: Path) -> None:
    index, run = indexed(folder)
    choices = index.choices(run.key)
    assert choices.statuses == {"ERROR": 1, "FAIL": 2, "PARTIAL": 1, "PASS": 1}
    assert choices.categories == {"food": 2, "tools": 1}
    assert choices.tags == {"slow": 1, "smoke": 2}
    assert choices.checks == {"must_not_say": 1, "must_say_any": 2, "tool_calls_any": 1}
    groups = {(group.name, group.kind): [case[0] for case in group.first] for group in index.groups(run.key)}
    assert groups["must_say_any", "not in the answer"] == ["b", "e"]
    assert groups["must_not_say", "in final message"] == ["e"]
    assert groups["agent", "RuntimeError: model # is down"] == ["c"]
    assert index.neighbours(run.key, 4, CaseFilter()) == (1, 2)
    assert index.neighbours(run.key, 1, CaseFilter(order="suite")) == (0, 2)
    assert index.neighbours(run.key, 1, CaseFilter(status="FAIL")) == (None, 4)


@pytest.mark.parametrize("reordered", [False, True])
def test_cases_over_several_runs(tmp_path: Path, reordered: bool) -> None:
    """A case is found by its id, wherever the suite has it now; skipped ones come last, the worst first."""
    says = {"must_say_any": ["yes"]}
    cases = [{"id": name, "prompt": name, "expected": says} for name in ("good", "bad", "turns")]
    cases.append({"id": "later", "prompt": "x", "skip": "not yet", "expected": says})
    for number in range(2):
        suite = {"carob": 1, "cases": cases[::-1] if number and reordered else cases}
        carob.run(
            suite, lambda p, n=number: "yes" if p == "good" or (p == "turns" and n) else "no", results_dir=tmp_path
        )
    index = Index([tmp_path])
    index.refresh()
    runs = [run.key for run in reversed(index.runs())]
    for order, ids in (
        ("worst", "bad turns good later"),
        ("unsteady", "turns"),
        ("suite", "good"),
    ):
        found, total = index.grid_cases(runs, order, 0, 10)
        assert [case.id for case in found][: len(ids.split())] == ids.split()
        assert total == 4
    results = index.results(runs, found)
    assert [results[run, "turns"][0].status for run in runs] == ["FAIL", "PASS"]
    assert [results[run, "later"][0].status for run in runs] == ["SKIP", "SKIP"]
    assert [(case.passed, case.judged) for case in found if case.id in ("turns", "later")] in (
        [(1, 2), (0, 0)],
        [(0, 0), (1, 2)],
    )
    assert index.grid_cases(runs, "worst", 1, 2)[0][0].id == "turns"


def test_a_journal_that_grows_is_read_on_where_it_ended(folder: Path, journal: Path, monkeypatch) -> None:
    whole = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(whole[:3]) + whole[3][:40])
    index, run = indexed(folder)
    assert (run.summary.total, run.ended, run.torn) == (2, False, True)
    decoded: list[bytes] = []
    decode = index_tables._to_index
    monkeypatch.setattr(index_tables, "_to_index", lambda line: (decoded.append(line), decode(line))[1])
    index.refresh()
    assert decoded == []
    with journal.open("ab") as file:
        file.write(b"".join([whole[3][40:], *whole[4:]]))
    index.refresh()
    (run,) = index.runs()
    assert decoded == whole[3:6]
    assert run.summary == Journal(journal).summary
    assert run.ended


def test_repeats_are_one_case(tmp_path: Path) -> None:
    answers = iter(["tea", "no", "tea", "tea"])
    suite = {"carob": 1, "cases": [{"id": n, "prompt": "?", "expected": {"must_say_any": ["tea"]}} for n in "ab"]}
    result = carob.run(suite, lambda prompt: next(answers), repeat=2, results_dir=tmp_path)
    index, run = indexed(tmp_path)
    assert run.summary == result.journal.summary
    found, total = index.cases(run.key, CaseFilter())
    assert [(one.status, one.repeat, one.strip) for one in found] == [
        ("FAIL", 1, ("PASS", "FAIL")),
        ("PASS", 0, ("PASS", "PASS")),
    ]
    assert total == 2
    assert index.cases(run.key, CaseFilter(status="FAIL"))[1] == 1
    assert index.repeats(run.key, 0) == [(0, "PASS"), (1, "FAIL")]
    assert index.places(run.key, ["a", "missing"]) == {"a": (0, 1)}


def lost(lines: list[bytes]) -> list[bytes]:
    return [*lines[:2], *lines[3:]]


def doubled(lines: list[bytes]) -> list[bytes]:
    return [*lines[:2], lines[1], *lines[2:]]


def turned_green(lines: list[bytes]) -> list[bytes]:
    record = json.loads(lines[2])
    record["verdict"]["status"] = "PASS"
    return [*lines[:2], msgspec.json.encode(record) + b"\n", *lines[3:]]


def another_case(lines: list[bytes]) -> list[bytes]:
    return [*lines[:2], lines[2].replace(b"Wine?", b"Whine?"), *lines[3:]]


@pytest.mark.parametrize("change", [lost, doubled, turned_green, another_case])
def test_a_changed_journal_is_told_and_never_green(folder: Path, journal: Path, change: Callable) -> None:
    journal.write_bytes(b"".join(change(journal.read_bytes().splitlines(keepends=True))))
    _, run = indexed(folder)
    summary = Journal(journal).summary
    assert "the journal was changed" in run.summary.incomplete
    assert (run.summary.passed, run.summary.failed) == (summary.passed, summary.failed)


def test_foreign_and_broken_files_are_told_and_spoil_nothing(folder: Path, journal: Path, tmp_path: Path) -> None:
    (folder / "log.jsonl").write_text('{"ts": 1}\n')
    (folder / "empty.jsonl").write_text("")
    (folder / "noise.jsonl").write_bytes(os.urandom(3000))
    (folder / "late.jsonl").write_bytes(journal.read_bytes().splitlines(keepends=True)[0] + b"{broken}\n")
    (tmp_path / "elsewhere.jsonl").write_bytes(journal.read_bytes())
    (folder / "link.jsonl").symlink_to(tmp_path / "elsewhere.jsonl")
    index = Index([folder])
    index.refresh()
    assert sorted(Path(one.path).name for one in index.invalid_files()) == ["log.jsonl", "noise.jsonl"]
    problems = {Path(run.path).name: run.problem for run in index.runs()}
    assert problems.pop("late.jsonl").startswith(f"{folder}/late.jsonl:2: this line cannot be read")
    assert problems == {journal.name: ""}


def test_it_is_kept_forgets_what_is_gone_and_is_made_anew(folder: Path, journal: Path, tmp_path: Path) -> None:
    place = tmp_path / "cache" / "index.sqlite"
    index, run = indexed(folder, place)
    index.close()
    assert place.stat().st_mode & 0o077 == 0
    kept = Index([folder], place)
    assert kept.runs() == [run]
    kept.close()
    place.write_bytes(b"no database at all" * 100)
    index, again = indexed(folder, place)
    assert again == run
    journal.unlink()
    index.refresh()
    assert index.runs() == []
    assert index.cases(run.key, CaseFilter()) == ([], 0)
    index.close()
    database = sqlite3.connect(place)
    database.execute("PRAGMA user_version = 99")
    database.close()
    assert Index([folder], place).runs() == []
    assert Index([folder], Path("/proc/nowhere/index.sqlite")).runs() == []


def test_a_journal_that_is_replaced_is_read_anew(folder: Path, journal: Path) -> None:
    index, run = indexed(folder)
    lines = journal.read_bytes().splitlines(keepends=True)
    other = journal.with_name("x")
    other.write_bytes(lines[0])
    other.replace(journal)
    index.refresh()
    (now,) = index.runs()
    assert (now.key, now.summary.total) == (run.key, 0)
