"""Several projects in one process: each has its own checks, target, report, format and prices."""

from __future__ import annotations

import asyncio
import json
import os
import pickle
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import structs

import carob
from carob.cli.main import run as run_command
from carob.engine import request as request_module
from carob.plugins import project as project_module
from carob.plugins.project import Project, find_project
from carob.targets import config as config_module
from carob.targets.base import Target
from carob.targets.catalog import build
from carob.targets.config import Config, TargetConfig

CHECKS = """\
from words import WORD

def polite(trace, value: bool):
    return (WORD in trace.final_message) is value, f"{WORD} in {trace.final_message}"
"""
REPORT = """\
from words import WORD

class Brief:
    extension = "brief.txt"

    def __init__(self, run, out):
        self.out = out

    def case(self, record):
        self.out.write(f"{WORD} {record.case.id} {record.status.value}".encode())

    def end(self):
        pass
"""
AGENT = """\
import os
from words import WORD

def answer(prompt):
    if prompt.startswith("go to "):
        os.chdir(prompt.removeprefix("go to "))
    return f"I say {WORD}."
"""
HOOKS = """\
import words

def setup(case):
    words.SET_UP = case.id
"""
FORMAT = """\
from carob import Format, SuiteBuilder, TextPlaces
from words import WORD

class Lines(Format):
    name = "lines"
    description = "a .lines file (lines)"

    def recognizes(self, file):
        return file.name.endswith(".lines")

    def read(self, file, catalog):
        suite = SuiteBuilder(file, catalog, TextPlaces())
        case = suite.case(f"{WORD}-line", file.text.strip(), ())
        case.check("polite", {"value": True}, ())
        return suite.build()
"""
CONFIG = """\
target = "desk"

[targets.desk]
use = "python:agent:answer"
setup = "hooks:setup"

[checks]
polite = "python:{checks}:polite"

[reports]
brief = "python:{report}:Brief"

[formats]
lines = "python:{format}:Lines"
"""


def make_project(folder: Path, word: str, *, by_file: bool = False) -> Path:
    folder.mkdir()
    end = ".py" if by_file else ""
    files = {
        "carob.toml": CONFIG.format(checks=f"checks{end}", report=f"report{end}", format=f"lines{end}"),
        "words.py": f"WORD = {word!r}\n",
        "checks.py": CHECKS,
        "report.py": REPORT,
        "lines.py": FORMAT,
        "suite.lines": "hello\n",
        "agent.py": AGENT,
        "hooks.py": HOOKS,
        "suite.yaml": "carob: 1\ncases:\n  - {id: A, prompt: hello, expected: {polite: true}}\n",
    }
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder


@pytest.fixture(autouse=True)
def back_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))


@pytest.fixture(params=[False, True], ids=["by-module", "by-file"])
def projects(tmp_path: Path, request: pytest.FixtureRequest) -> dict[str, Path]:
    return {word: make_project(tmp_path / word, word, by_file=request.param) for word in ("red", "blue")}


@pytest.fixture
def suites(projects: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> dict[str, carob.Suite]:
    found = {}
    for word, folder in projects.items():
        monkeypatch.chdir(folder)
        found[word] = carob.load_suite("suite.yaml")
    return found


def said(word: str) -> carob.Trace:
    return carob.Trace(case_id="A", final_message=f"I say {word}.")


def found_by(verdict: carob.Verdict) -> str:
    return next(check.found for check in verdict.checks if check.name == "polite")


def test_a_format_of_the_same_name_is_that_of_the_project(
    projects: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    suites = {}
    for _ in range(2):  # interleaved: the second reading of each comes after the other project was read
        for word, folder in projects.items():
            monkeypatch.chdir(folder)
            suites[word] = carob.load_suite("suite.lines")
    for word, suite in suites.items():
        (case,) = suite.cases
        assert (suite.format, case.id) == ("lines", f"{word}-line")
        trace = carob.Trace(case_id=case.id, final_message=f"I say {word}.")
        assert carob.judge(case, trace).status == "PASS"
        other = carob.Trace(case_id=case.id, final_message="I say green.")
        assert carob.judge(case, other).status == "FAIL"


def test_a_case_is_judged_by_the_project_that_read_it(suites: dict[str, carob.Suite]) -> None:
    """The last project that was read is the blue one, and has a check of the same name."""
    for _ in range(2):
        for word, suite in suites.items():
            (case,) = suite.cases
            assert carob.judge(case, said(word)).status is carob.CaseStatus.PASS
            assert found_by(carob.judge(case, said("green"))) == f"{word} in I say green."


def test_a_changed_case_is_still_of_its_project(suites: dict[str, carob.Suite]) -> None:
    changed = structs.replace(suites["red"].cases[0], prompt="hi")
    assert carob.judge(changed, said("red")).status is carob.CaseStatus.PASS


def test_the_project_of_a_case_is_not_part_of_it(suites: dict[str, carob.Suite]) -> None:
    assert suites["red"].cases == suites["blue"].cases
    (case,) = suites["red"].cases
    written = msgspec.json.encode(case)
    assert written == msgspec.json.encode(suites["blue"].cases[0])
    for copied in (msgspec.json.decode(written, type=carob.Case), pickle.loads(pickle.dumps(case))):
        assert copied == case
        assert copied.catalog is None


def test_a_check_that_only_the_first_project_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(make_project(tmp_path / "red", "red"))
    (case,) = carob.load_suite("suite.yaml").cases
    monkeypatch.chdir(tmp_path)
    carob.load_suite({"carob": 1, "cases": [{"id": "B", "prompt": "p", "expected": {"must_say_any": ["x"]}}]})
    assert carob.judge(case, said("red")).status is carob.CaseStatus.PASS


def test_a_case_of_a_journal_is_judged_by_the_project_of_this_folder(
    suites: dict[str, carob.Suite], projects: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    (record,) = carob.run(suites["red"])
    monkeypatch.chdir(projects["blue"])
    assert found_by(carob.judge(record.case, said("blue"))) == "blue in I say blue."


def check_run(result: carob.RunResult, word: str, folder: Path) -> None:
    (record,) = result
    assert record.status is carob.CaseStatus.PASS, record.verdict
    assert record.trace.final_message == f"I say {word}."
    assert found_by(record.verdict) == f"{word} in I say {word}."
    (brief,) = [path for path in result.artifacts if path.name.endswith(".brief.txt")]
    assert brief.parent == folder
    assert brief.read_text() == f"{word} A PASS"


@pytest.mark.parametrize("workers", [0, 1])
def test_runs_of_two_projects_take_turns(suites: dict[str, carob.Suite], tmp_path: Path, workers: int) -> None:
    for number in range(2):
        for word, suite in suites.items():
            folder = tmp_path / f"{word}-{number}"
            check_run(carob.run(suite, workers=workers, results_dir=folder), word, folder)


def test_runs_of_two_projects_at_once_in_threads(suites: dict[str, carob.Suite], tmp_path: Path) -> None:
    def run(number: int) -> None:
        word = ("red", "blue")[number % 2]
        check_run(carob.run(suites[word], results_dir=tmp_path / str(number)), word, tmp_path / str(number))

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(run, range(8)))


async def test_runs_of_two_projects_at_once_in_tasks(suites: dict[str, carob.Suite], tmp_path: Path) -> None:
    words = ["red", "blue"] * 3

    def folder(number: int) -> Path:
        return tmp_path / str(number)

    runs = (carob.arun(suites[word], results_dir=folder(number)) for number, word in enumerate(words))
    for number, result in enumerate(await asyncio.gather(*runs)):
        check_run(result, words[number], folder(number))


def test_recorded_runs_stay_with_their_project(suites: dict[str, carob.Suite], tmp_path: Path) -> None:
    results = {word: carob.run(suite, results_dir=tmp_path / f"{word}-run") for word, suite in suites.items()}
    for word, result in results.items():
        (again,) = carob.rescore(result.journal)
        assert found_by(again.verdict) == f"{word} in I say {word}."
        (path,) = carob.report(result.journal, "brief", tmp_path / f"{word}.txt")
        assert path.read_text() == f"{word} A PASS"
        assert carob.audit(result.journal).cases


def test_cases_of_two_projects_in_one_suite_are_refused(suites: dict[str, carob.Suite]) -> None:
    blue = structs.replace(suites["blue"].cases[0], id="B")
    mixed = structs.replace(suites["red"], cases=(*suites["red"].cases, blue))
    with pytest.raises(carob.UsageError, match="cases of several projects"):
        carob.run(mixed)


def leave_in_thread(place: Path) -> Any:
    """A listener: as the first case starts, another thread of this process goes elsewhere."""

    def listen(event: carob.Event) -> None:
        if isinstance(event, carob.CaseStarted):
            thread = threading.Thread(target=os.chdir, args=(place,))
            thread.start()
            thread.join()

    return listen


@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize("who", ["the-agent", "a-thread"])
def test_the_folder_changes_in_the_middle_of_a_run(
    tmp_path: Path, workers: int, who: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everything is as relative to the folder as it can be, and was settled before."""
    red, blue = make_project(tmp_path / "red", "red"), make_project(tmp_path / "blue", "blue")
    prompts = ["hello", f"go to {blue}" if who == "the-agent" else "hi", "bye"]
    cases = [{"id": f"C{n}", "prompt": prompt, "expected": {"polite": True}} for n, prompt in enumerate(prompts)]
    monkeypatch.chdir(red)
    Path("suite.json").write_text(json.dumps({"carob": 1, "cases": cases}))
    result = carob.run(
        "suite.json",
        workers=workers,
        results_dir="out",
        reports=["junit=reports/j.xml", "github=notes.txt"],
        listeners=[leave_in_thread(blue)] if who == "a-thread" else (),
    )
    os.chdir(blue)
    assert [record.status for record in result] == [carob.CaseStatus.PASS] * 3, result.records
    assert {found_by(record.verdict) for record in result} == {"red in I say red."}
    assert not result.failures
    assert {path.parent for path in result.artifacts} == {Path("out"), Path("reports"), Path()}
    assert all((red / path).is_file() for path in result.artifacts)
    assert 'file="suite.json"' in (red / "reports" / "j.xml").read_text()
    assert 'line="' in (red / "reports" / "j.xml").read_text()
    untouched = make_project(tmp_path / "untouched", "blue")
    assert {path.name for path in blue.iterdir()} == {path.name for path in untouched.iterdir()}


def test_the_configuration_is_read_once_in_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(make_project(tmp_path / "red", "red"))
    read: list[Path] = []
    content = project_module._read_section
    monkeypatch.setattr(
        project_module, "_read_section", lambda file, section: read.append(file) or content(file, section)
    )
    assert carob.run("suite.yaml").ok
    assert read == [tmp_path / "red" / "carob.toml"]


def test_a_run_uses_the_configuration_as_it_is_now(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(make_project(tmp_path / "red", "red"))
    suite = carob.load_suite("suite.yaml")
    Path("carob.toml").write_text(
        CONFIG.format(checks="checks", report="report", format="lines").replace("answer", "late")
    )
    Path("agent.py").write_text("def late(prompt):\n    return 'red, late'\n")
    monkeypatch.chdir(tmp_path)
    assert [record.trace.final_message for record in carob.run(suite)] == ["red, late"]


def test_an_unchanged_configuration_is_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever judges many cases of a journal finds the project for each of them."""
    file = make_project(tmp_path / "red", "red") / "carob.toml"
    os.utime(file, (1e9, 1e9))
    read: list[Path] = []
    content = project_module._read_section
    monkeypatch.setattr(
        project_module, "_read_section", lambda file, section: read.append(file) or content(file, section)
    )
    assert len({find_project(file.parent) for _ in range(3)}) == 1
    assert read == [file]


@pytest.mark.parametrize("age", [0, 1000])
def test_a_changed_configuration_is_read_again(tmp_path: Path, age: int) -> None:
    file = tmp_path / "carob.toml"
    for name in ("desk", "shop", "till"):
        file.write_text(f'target = "python:{name}:answer"\n')
        if age:
            os.utime(file, (file.stat().st_mtime - age - len(name), file.stat().st_mtime - age))
        assert find_project(tmp_path).content == {"target": f"python:{name}:answer"}


def test_a_nearer_configuration_is_found(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    (tmp_path / "carob.toml").write_text('target = "python:outer:answer"\n')
    os.utime(tmp_path / "carob.toml", (1e9, 1e9))
    assert find_project(inner).file == str(tmp_path / "carob.toml")
    (inner / "carob.toml").write_text("")
    assert find_project(inner).file == str(inner / "carob.toml")


def test_a_project_is_a_value(tmp_path: Path) -> None:
    folder = make_project(tmp_path / "red", "red")
    assert find_project(folder) == find_project(folder)
    assert hash(find_project(folder)) == hash(find_project(folder))
    (folder / "carob.toml").write_text("")
    assert find_project(folder).checks == {}


@pytest.fixture
def visits(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The folder of each project whose configuration is read, wherever the reader is imported."""
    read, folders = config_module.read_config, list[str]()

    def read_counted(project: Project) -> Config:
        folders.append(project.folder)
        return read(project)

    for module in list(sys.modules.values()):
        if getattr(module, "read_config", None) is read:
            monkeypatch.setattr(module, "read_config", read_counted)
    return folders


def test_a_run_reads_the_configuration_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, visits: list[str]) -> None:
    folder = make_project(tmp_path / "red", "red", by_file=True)
    monkeypatch.chdir(folder)
    assert run_command(["run", "suite.yaml", "--workers", "0", "--quiet"]) == 0
    assert visits == [str(folder)]


def test_a_target_is_built_once_with_its_tape(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(make_project(tmp_path / "red", "red", by_file=True))
    built: list[bool] = []

    def build_counted(config: TargetConfig) -> Target:
        built.append(config.tape is not None)
        return build(config)

    monkeypatch.setattr(request_module, "build", build_counted)
    carob.run("suite.yaml", tape="record", workers=0)
    assert built == [True]
