"""Labels at every door: revisions of git, pytest, comparisons, guards, workspaces, recordings and torn lines."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from carob.cli.main import run
from carob.criteria.changes import changed_verdicts
from carob.criteria.files import LABELS, add_line, is_labels_folder
from carob.errors import ConfigError
from carob.evidence.exports.files import find_files
from carob.features.coding.workspaces.snapshot import copy_folder
from carob.features.compare.builder import classify
from carob.features.compare.compared_cases import JournalCases
from carob.features.compare.model import Change
from carob.features.guard.policy import load_policy
from carob.features.labels.items import read_items
from carob.journal.reader import Journal
from carob.journal.writer import encode
from criteria.label_lines import label

SUITE = {
    "carob": 1,
    "cases": [{"id": f"c{i}", "prompt": f"Where is {i}?", "expected": {"meets": ["is polite"]}} for i in range(3)],
}


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project in a repository of git, with one run of three criteria."""
    (tmp_path / "carob.toml").write_text('[targets.desk]\nuse = "python:agent:ask"\n')
    (tmp_path / "suite.json").write_text(json.dumps(SUITE))
    (tmp_path / "agent.py").write_text("def ask(prompt):\n    return 'Dear customer, ' + prompt\n")
    monkeypatch.chdir(tmp_path)
    _git("init", "-q")
    assert run(["run", "suite.json", "--target", "desk", "-q"]) == 1
    return tmp_path


def _git(*command: str) -> None:
    who = ("-c", "user.name=t", "-c", "user.email=t@t.example", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *who, *command], check=True, capture_output=True)


def _journal(desk: Path) -> Path:
    return min((desk / "carob-results").glob("*.jsonl"))


def _label_all(desk: Path, verdict: Any = "met", by: str = "ana", second: int = 0) -> None:
    for item in read_items([Journal(_journal(desk))]).values():
        line = label(item.case, verdict, second, text=item.text, by=by)
        add_line(desk / "labels", msgspec.structs.replace(line, evidence=item.pair.evidence))


def test_labels_of_a_revision_decide_alone(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _label_all(desk)
    _git("add", "labels")
    _git("commit", "-qm", "labels")
    assert run(["rescore", str(_journal(desk))]) == 0
    assert "not committed" not in capsys.readouterr().out
    _label_all(desk, "not met", "ana", 5)
    assert run(["rescore", str(_journal(desk))]) == 1
    assert "3 criteria: 3 by people; 3 of them by labels that are not committed" in capsys.readouterr().out
    assert run(["rescore", str(_journal(desk)), "--labels-from", "HEAD"]) == 0
    assert run(["run", "suite.json", "--target", "desk", "--labels-from", "HEAD", "--workers", "2", "-q"]) == 0
    (desk / "labels" / LABELS).unlink()
    assert run(["rescore", str(_journal(desk)), "--labels-from", "HEAD"]) == 0
    capsys.readouterr()
    for revision in ("none", "--output=x", ""):
        assert run(["rescore", str(_journal(desk)), "--labels-from", revision]) == (4 if revision else 1)
    assert "git knows no revision 'none'" in capsys.readouterr().err


def test_rescore_says_which_label_is_gone(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _label_all(desk)
    _label_all(desk, by="ben")
    labels = desk / "labels" / LABELS
    run(["rescore", str(_journal(desk)), "-q", "--results-dir", "old"])
    [old] = (desk / "old").glob("*.jsonl")
    whole = labels.read_text()
    labels.write_text("")
    capsys.readouterr()
    run(["rescore", str(old), "-q"])
    assert "3 verdicts changed: label of ana, ben removed" in capsys.readouterr().err
    labels.write_text(whole)
    _label_all(desk, "not met", "ben", 9)
    run(["rescore", str(old), "-q"])
    assert "3 verdicts changed: now ana: met, ben: not met" in capsys.readouterr().err
    assert changed_verdicts(Journal(old).records(), Journal(old).records()) == ""


def test_a_torn_line_is_reported_and_left_out(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _label_all(desk)
    labels = desk / "labels" / LABELS
    labels.write_text(labels.read_text() + '{"criterion":"')
    for arguments in (["run", "suite.json", "--target", "desk"], ["rescore", str(_journal(desk))]):
        run(arguments)
        assert "labels.jsonl:4: the last line is incomplete and was left out" in capsys.readouterr().err


def test_a_criterion_of_another_judge_is_not_compared(desk: Path) -> None:
    def decided(name: str, judge: str, status: str) -> Path:
        """The run as this judge decided it."""
        header, *lines = _journal(desk).read_bytes().splitlines()
        changed = []
        for line in lines:
            entry = json.loads(line)
            for check in entry.get("verdict", {}).get("checks", ()):
                if "reading" in check:
                    check["status"] = status
                    check["reading"] |= {"by": "judge", "judge": judge}
            if "verdict" in entry:
                entry["verdict"]["status"] = "PASS" if status == "passed" else "FAIL"
            changed.append(encode(entry))
        path = desk / f"{name}.jsonl"
        path.write_bytes(b"\n".join([header, *changed, b""]))
        return path

    one, same, other = decided("1", "j", "passed"), decided("2", "j", "failed"), decided("3", "k", "failed")
    first, second, third = (list(JournalCases(Journal(path))) for path in (one, same, other))
    assert [classify(*pair, 0.95) for pair in zip(first, second, strict=True)] == [Change.BROKE] * 3
    assert [classify(*pair, 0.95) for pair in zip(first, third, strict=True)] == [Change.ANOTHER_JUDGE] * 3


def test_a_guard_does_not_wait_for_a_reader(tmp_path: Path) -> None:
    rules = [{"id": "once", "each": {"call": "pay"}, "at_most": 1}]
    file = tmp_path / "policy.carob.json"
    file.write_text(
        json.dumps({"carob": 1, "rules": rules, "defaults": {"expected": {"must_not_say": ["x"]}}, **SUITE_OF_NONE})
    )
    load_policy(file)
    for more in ({"defaults": {"expected": {"meets": ["is polite"]}}}, {"cases": SUITE["cases"]}):
        file.write_text(json.dumps({"carob": 1, "rules": rules, **SUITE_OF_NONE, **more}))
        with pytest.raises(ConfigError, match="a guard cannot wait for a reader"):
            load_policy(file)


SUITE_OF_NONE = {"cases": [{"id": "a", "prompt": "Hi", "expected": {"must_not_say": ["idiot"]}}]}


def test_labels_are_no_recordings_and_no_part_of_a_workspace(desk: Path) -> None:
    _label_all(desk)
    (desk / "labels" / "evidence").mkdir()
    (desk / "labels" / "evidence" / f"{'0' * 64}.json").write_text('{"answer":"Hi"}')
    other = desk / "data" / "labels"
    other.mkdir(parents=True)
    (other / LABELS).write_text('{"text": "a label of another kind"}\n')
    assert not is_labels_folder(other)
    copy_folder(desk, desk.parent / "copy", 1000, 1 << 20)
    assert not (desk.parent / "copy" / "labels").exists()
    assert (desk.parent / "copy" / "data" / "labels" / LABELS).exists()
    found = [str(path) for path in find_files(desk)]
    assert not any("/labels/" in path and "/data/" not in path for path in found)
    assert any("/data/labels/" in path for path in found)


def test_pytest_asks_the_judge_when_the_tests_are_done(desk: Path) -> None:
    """The tests fail as nothing decided their criteria; the journal after them holds what the judge thinks."""
    reply = json.dumps({"quote": "Dear customer", "why": "", "verdict": "met"})
    (desk / "judge.py").write_text(f"print({reply!r})\n")
    (desk / "suite.json").rename(desk / "desk.carob.json")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "desk.carob.json"]
    ask = [*command, "--carob-target", "desk", "--carob-judge"]
    done = subprocess.run(ask, capture_output=True, text=True, check=False)
    assert done.returncode == 2, "nothing was run"
    assert "no judge is configured" in done.stdout
    judge = json.dumps([sys.executable, str(desk / "judge.py")])
    with (desk / "carob.toml").open("a") as file:
        file.write(f"[judge]\ncommand = {judge}\n")
    done = subprocess.run(ask, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout
    assert "3 opinions" in done.stdout
    assert "3 criteria: 3 not judged (the judge thinks: " in done.stdout
    assert len((desk / "labels" / "opinions.jsonl").read_text().splitlines()) == 3
