"""`carob label`: six keys, and a run whose criteria people decided."""

from __future__ import annotations

import io
import json
import os
import random
import signal
import sys
import time
from pathlib import Path

import pytest

from carob.cli.main import run
from carob.criteria.decide import LabelReader
from carob.criteria.files import LABELS, add_line, read_files
from carob.features.labels.items import read_items
from carob.features.labels.session import LabelSession
from carob.journal.reader import Journal
from carob.plugins.project import find_project
from criteria.label_lines import label

SUITE = {
    "carob": 1,
    "cases": [
        {
            "id": f"c{i}",
            "prompt": f"Where is parcel {i}?",
            "expected": {
                "must_not_say": ["idiot"],
                "meets": ["is polite", {"says": "names a day", "sees": ["answer"]}],
            },
        }
        for i in range(3)
    ],
}
AGENT = "def ask(prompt):\n    return 'Dear customer, \\x1b[31m<script>' + prompt\n"


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with one run of three cases, six criteria."""
    (tmp_path / "carob.toml").write_text('[targets.desk]\nuse = "python:agent:ask"\n')
    (tmp_path / "suite.json").write_text(json.dumps(SUITE))
    (tmp_path / "agent.py").write_text(AGENT)
    monkeypatch.chdir(tmp_path)
    assert run(["run", "suite.json", "--target", "desk", "-q"]) == 1
    return tmp_path


def _label(monkeypatch: pytest.MonkeyPatch, keys: str, *arguments: str) -> int:
    monkeypatch.setattr(sys, "stdin", io.StringIO(keys))
    return run(["label", *arguments])


def _session(desk: Path, person: str) -> LabelSession:
    [journal] = (desk / "carob-results").glob("*.jsonl")
    items = read_items([Journal(journal)])
    return LabelSession(items, LabelReader(find_project(desk)), person)


def test_six_keys_give_a_verdict(
    desk: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _label(monkeypatch, "ymmmmmm", "--by", "ana") == 0
    shown = capsys.readouterr().out
    assert "3 passed; 6 criteria: 6 by people" in shown
    assert "\x1b[31m" not in shown
    [journal] = (desk / "carob-results").glob("*.jsonl")
    assert run(["rescore", str(journal)]) == 0
    assert run(["run", "suite.json", "--target", "desk", "--workers", "2", "-q"]) == 0
    capsys.readouterr()
    assert run(["label", "--status"]) == 0
    assert "3 answers labelled by ana: 3 met" in capsys.readouterr().out


def test_rescoring_gives_the_same_bytes(desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _label(monkeypatch, "ymnm", "--by", "ana")
    [journal] = (desk / "carob-results").glob("*.jsonl")
    found = set()
    for number in range(10):
        out = desk / f"out{number}"
        run(["rescore", str(journal), "--results-dir", str(out), "-q"])
        [again] = out.glob("*.jsonl")
        found.add(b"\n".join(line for line in again.read_bytes().split(b"\n") if b'"kind":"case"' in line))
        lines = (desk / "labels" / LABELS).read_text().splitlines(keepends=True)
        random.Random(number).shuffle(lines)
        (desk / "labels" / LABELS).write_text("".join(lines + lines))
    assert len(found) == 1


def test_undo_note_and_resume(desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("ymuwtoo short\nnq"))
    assert run(["label", "--by", "ana"]) == 0
    lines = read_files(desk / "labels").labels
    assert [(line.verdict, line.note, bool(line.undoes)) for line in lines] == [
        ("met", "", False),
        ("not met", "too short", True),
    ]
    index = LabelReader(find_project(desk)).index()
    assert index.verdicts(lines[0].pair) == {"ana": "not met"}
    assert [line.verdict for line in index.first_blind(lines[0].pair) if line] == ["not met"]
    assert _session(desk, "ana").count_left() == 5


def test_a_criterion_never_excuses_another_check(desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (desk / "agent.py").write_text(AGENT.replace("Dear customer", "You idiot"))
    (desk / "carob-results").rename(desk / "old")
    assert run(["run", "suite.json", "--target", "desk", "-q"]) == 1
    assert _label(monkeypatch, "ymmmmmm", "--by", "ana") == 0
    [journal] = (desk / "carob-results").glob("*.jsonl")
    assert run(["rescore", str(journal), "--allow-unjudged"]) == 1


def test_every_fourth_answer_goes_to_a_second_person(desk: Path) -> None:
    ana, ben, eve = (_session(desk, person) for person in ("ana", "ben", "eve"))
    while (item := ana.next()) is not None:
        ana.label(item, "met")
    assert ben.count_left() == eve.count_left() == 1
    fourth = ben.next()
    assert fourth is not None
    assert fourth.pair == list(ana.items)[3]
    ben.label(fourth, "not met")
    assert eve.next() is None


def test_the_name_is_that_of_a_person(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("judge", "model-x", "a b", ""):
        assert run(["label", "--by", name, "--yes"]) == 4 or name == ""
    assert "names a person" in capsys.readouterr().err


def test_hashes_alone_decide_too(desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _label(monkeypatch, "hmmmmmm", "--by", "ana") == 0
    assert not (desk / "labels" / "evidence").exists()
    [journal] = (desk / "carob-results").glob("*.jsonl")
    assert run(["rescore", str(journal)]) == 0


def test_a_wrong_line_ends_the_run(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (desk / "labels").mkdir()
    (desk / "labels" / LABELS).write_text('{"verdict": 7}\n{}\n')
    for arguments in (["run", "suite.json", "--target", "desk"], ["label", "--status"]):
        assert run(arguments) == 4
        assert "labels.jsonl:1" in capsys.readouterr().err


def _label_until_killed(folder: Path, person: str, start: int, report: int) -> None:
    for number in range(start, start + 1000):
        add_line(folder, label(number, "met", number, by=person))
        os.write(report, b"x")


def test_kills_lose_no_label(tmp_path: Path) -> None:
    """Two processes write at once, and one of them is killed, 200 times: what was acknowledged is there."""
    draw, expected = random.Random(1), 0
    for kill in range(200):
        out, report = os.pipe()
        child = os.fork()
        if child == 0:
            _label_until_killed(tmp_path, f"p{kill}", kill * 1000, report)
            os._exit(0)
        os.close(report)
        time.sleep(draw.random() * 0.01)
        add_line(tmp_path, label(f"other {kill}", "met", kill))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        while data := os.read(out, 1 << 16):
            expected += len(data)
        os.close(out)
    found = read_files(tmp_path).labels
    assert sum(line.by == "ana" for line in found) == 200
    assert 200 + expected <= len(found) <= 400 + expected


def test_reports_say_by_whom(desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _label(monkeypatch, "ymnm", "--by", "ana")
    [journal] = (desk / "carob-results").glob("*.jsonl")
    run(["rescore", str(journal), "--results-dir", "out", "-q", "--report", "junit=j.xml", "--report", "html=h.html"])
    [result] = (desk / "out").glob("*-results-*.json")
    data = json.loads(result.read_text())
    assert data["summary"]["criteria"] == {"by_people": 3, "unjudged": 3}
    rows = [row for case in data["cases"] for row in case["checks"]["failed"] if row["name"] == "meets"]
    assert rows[0]["reading"]["by"] == "person"
    assert "by ana" in rows[0]["found"]
    for report in ("j.xml", "h.html"):
        text = (desk / report).read_text()
        assert "6 criteria: 3 by people, 3 not judged" in text, report
        assert "by ana" in text
