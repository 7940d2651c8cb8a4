"""Judging on several processors gives the bytes that one gives."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
from collections.abc import Sequence
from pathlib import Path

import pytest

import carob
from carob.errors import CarobError
from carob.journal import rescore
from carob.journal.parallel import map_in_processes
from carob.model.run import CaseRecord
from carob.reports import markdown, writing
from carob.reports.json import JsonReport


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads that other tests left in this process do not keep it from sharing the work."""
    monkeypatch.setattr("carob.journal.parallel.threading.active_count", lambda: 1)


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    cases = [
        {"id": f"c{n}", "prompt": f"prompt {n}", "expected": {"must_say_any": [f"{n % 7}"], "must_not_say": ["x"]}}
        for n in range(60)
    ]
    result = carob.run({"version": "0.3", "cases": cases}, lambda prompt: f"said {prompt[-1]}", results_dir=tmp_path)
    return Path(result.journal.path)


@pytest.mark.parametrize("with_suite", [False, True], ids=["own-cases", "suite"])
def test_the_bytes_are_the_same(
    recorded: Path, tmp_path: Path, with_suite: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rescore, "PIECE", 7)
    monkeypatch.setattr(writing, "PIECE", 9)
    monkeypatch.setattr(markdown, "DETAILED_CASES", 12)
    suite = None
    if with_suite:
        cases = [{"id": f"c{n}", "prompt": f"prompt {n}", "expected": {"must_say_any": ["3"]}} for n in range(10, 65)]
        suite = {"version": "0.3", "cases": cases}
    found = [
        carob.rescore(recorded, suite, workers=workers, results_dir=tmp_path / str(workers)) for workers in (1, 2, 3)
    ]
    lines = [Path(result.journal.path).read_bytes().splitlines()[1:-1] for result in found]
    assert len(lines[0]) == (55 if with_suite else 60)
    assert lines[0] == lines[1] == lines[2]
    assert found[0].summary == found[1].summary == found[2].summary
    assert found[0].left_out == found[2].left_out
    reports = [[path.read_text() for path in result.artifacts if path.suffix in (".json", ".md")] for result in found]
    assert [len(each) for each in reports] == [2, 2, 2]
    told = [(json.loads(rows)["cases"], table[table.index("| Case") :]) for rows, table in reports]
    assert told[0] == told[1] == told[2]
    assert told[0][1].count("### ") == 12, "details of as many as there may be"


def test_a_report_that_breaks_in_another_process_spoils_no_other(
    recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(report: object, record: object) -> None:
        raise ValueError("no more ink")

    monkeypatch.setattr(JsonReport, "part", broken)
    monkeypatch.setattr(JsonReport, "case", broken)
    result = carob.rescore(recorded, workers=2, results_dir=tmp_path / "out")
    assert [path.suffix for path in result.artifacts] == [".jsonl", ".md"]
    (failure,) = result.failures
    assert "no more ink" in str(failure)
    assert "carob report" in str(failure)
    assert result.exit_code == 3


def test_reports_are_made_here_where_a_process_that_makes_them_is_gone(
    recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "PIECE", 7)
    part, here = JsonReport.part, os.getpid()

    def part_until_gone(report: JsonReport, records: Sequence[CaseRecord]) -> bytes:
        return part(report, records) if os.getpid() == here or records[0].index < 30 else os._exit(9)

    monkeypatch.setattr(JsonReport, "part", part_until_gone)
    told: list[str] = []
    result = carob.rescore(
        recorded, workers=2, results_dir=tmp_path / "out", each=lambda seen: told.append(seen.case.id)
    )
    assert told == [f"c{n}" for n in range(60)], "each once, although the first were read twice"
    assert [path.suffix for path in result.artifacts] == [".jsonl", ".json", ".md"]
    assert len(json.loads(result.artifacts[1].read_text())["cases"]) == 60


@pytest.mark.parametrize("workers", [1, 2])
def test_each_case_is_told_in_order(recorded: Path, tmp_path: Path, workers: int) -> None:
    told: list[tuple[str, str]] = []
    result = carob.rescore(
        recorded,
        workers=workers,
        results_dir=tmp_path / "out",
        each=lambda seen: told.append((seen.case.id, seen.verdict.status)),
    )
    assert told == [(record.case.id, record.status) for record in result]
    failed = [name for name, status in told if status == "FAIL"]
    assert 0 < len(failed) < len(told) == 60
    assert [record.case.id for record in result.journal.of_status(carob.CaseStatus.FAIL)] == failed


def test_what_breaks_in_a_worker_is_told_here(recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rescore, "PIECE", 7)
    lines = recorded.read_bytes().splitlines()
    lines[40] = lines[40].replace(b'"prompt":"prompt 39"', b'"prompt":39')
    recorded.write_bytes(b"".join(line + b"\n" for line in lines))
    with pytest.raises(CarobError, match="a record cannot be read"):
        carob.rescore(recorded, workers=2, results_dir=tmp_path / "out")
    assert list((tmp_path / "out").glob("*.jsonl")) == []


def test_pieces_come_in_order_and_a_worker_that_is_gone_is_reported() -> None:
    counted = [[b"%d" % number, b"", b"x" * number] for number in range(9)]
    assert list(map_in_processes(counted.__getitem__, 9, 3, list, list)) == counted
    assert list(map_in_processes(counted.__getitem__, 0, 3, list, list)) == []
    with pytest.raises(CarobError, match="ended unexpectedly"):
        list(map_in_processes(lambda number: os._exit(9) if number == 4 else [b"x"], 9, 2, list, list))
    first = map_in_processes(lambda number: [b"x" * 100_000], 1000, 2, list, list)
    assert len(next(first)[0]) == 100_000
    first.close()  # type: ignore[attr-defined]


@pytest.mark.parametrize("killed_by", [signal.SIGKILL, signal.SIGINT])
def test_no_process_is_left_when_one_is_killed(killed_by: signal.Signals, capfd: pytest.CaptureFixture[str]) -> None:
    parent = os.getpid()

    def work(number: int) -> list[bytes]:
        if number == 5:
            os.kill(os.getpid(), killed_by)
        return [b"x" * 100_000]

    with pytest.raises(CarobError, match="ended unexpectedly"):
        list(map_in_processes(work, 1000, 2, list, list))
    assert os.getpid() == parent
    assert multiprocessing.active_children() == []
    assert capfd.readouterr().err == ""


def _count_in_a_pool(_: int) -> list[int]:
    return list(map_in_processes(lambda number: number, 5, 2, lambda n: [b"%d" % n], lambda sent: int(sent[0])))


def test_a_worker_of_a_pool_does_the_work_itself() -> None:
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.map(_count_in_a_pool, [0]) == [[0, 1, 2, 3, 4]]
