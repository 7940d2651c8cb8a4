"""The pytest plugin with other versions of pytest and next to other plugins, each in an environment of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from carob.journal.reader import Journal
from counterparts.environments import ROOT, python_with
from pytest_plugin.test_example import EXAMPLE, STATUSES, statuses

pytestmark = [pytest.mark.counterpart, pytest.mark.limit(600)]

PLUGINS = (
    "pytest-asyncio",
    "anyio",
    "trio",
    "pytest-xdist",
    "pytest-randomly",
    "pytest-rerunfailures",
    "pytest-timeout",
)
VERSIONS = ("pytest==8.0.2", "pytest==9.0.2")
DISTS = ("load", "loadscope", "loadfile", "loadgroup", "worksteal", "each")
CASE = "  - { id: %s, prompt: hi, expected: { must_say_any: ['yes'] } }\n"


@pytest.fixture(params=VERSIONS)
def python(request: pytest.FixtureRequest) -> Path:
    return python_with(request.param.replace("==", "-"), request.param, *PLUGINS, "-e", str(ROOT))


def run(python: Path, folder: Path, *args: str) -> tuple[int, str]:
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    command = [str(python), "-m", "pytest", "-p", "no:cacheprovider", "-v", *args]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=120)
    return done.returncode, done.stdout + done.stderr


def journals(folder: Path) -> list[Journal]:
    return [Journal(path) for path in sorted((folder / "carob-results").glob("*.jsonl"))]


def test_example_in_every_mode(python: Path, tmp_path: Path) -> None:
    for dist in ("no", *DISTS):
        folder = tmp_path / dist
        shutil.copytree(EXAMPLE, folder)
        args = () if dist == "no" else ("-n2", f"--dist={dist}")
        code, output = run(python, folder, "--junitxml=junit.xml", "-p", "randomly", *args)
        assert code == 0, output
        assert "Using --randomly-seed" in output
        assert statuses(folder / "junit.xml") == STATUSES
        (journal,) = journals(folder)
        assert (journal.faults, journal.summary.incomplete) == ((), "")
        assert {str(record.status) for record in journal.records()} == {"PASS", "XFAIL", "SKIP"}


def test_rerun_counts_as_a_repeat(python: Path, tmp_path: Path) -> None:
    agent = "COUNT = []\ndef reply(prompt):\n    COUNT.append(1)\n    return 'no' if len(COUNT) == 1 else 'yes'\n"
    (tmp_path / "agent.py").write_text(agent)
    (tmp_path / "conftest.py").write_text(
        "import pytest, agent\n@pytest.fixture\ndef carob_target(): return agent.reply\n"
    )
    (tmp_path / "a.carob.yaml").write_text("carob: 1\ncases:\n" + CASE % "one" + CASE % "two")
    code, output = run(python, tmp_path, "--reruns=1", "-p", "no:randomly")
    assert code == 1, output
    assert "1 failed, 1 passed, 1 rerun" in output
    (journal,) = journals(tmp_path)
    assert [(record.case.id, str(record.status)) for record in journal.records()] == [
        ("one", "FAIL"),
        ("one", "PASS"),
        ("two", "PASS"),
    ]
    assert (journal.faults, journal.summary.incomplete) == ((), "")


@pytest.mark.parametrize("where", ["process", "object"])
def test_time_out_of_another_plugin(python: Path, tmp_path: Path, where: str) -> None:
    (tmp_path / "agent.py").write_text(
        "import time\ndef reply(prompt):\n    if 'slow' in prompt: time.sleep(30)\n    return 'yes'\n"
    )
    if where == "process":
        (tmp_path / "carob.toml").write_text('target = "python:agent:reply"\n')
    else:
        fixture = "import pytest, agent\n@pytest.fixture\ndef carob_target(): return agent.reply\n"
        (tmp_path / "conftest.py").write_text(fixture)
    suite = "carob: 1\ncases:\n" + (CASE % "one").replace("hi", "slow") + CASE % "two"
    (tmp_path / "a.carob.yaml").write_text(suite)
    code, output = run(python, tmp_path, "--timeout=3", "-p", "no:randomly")
    assert code == 1, output
    (journal,) = journals(tmp_path)
    assert [str(record.status) for record in journal.records()] == ["ERROR", "PASS"]


def test_anyio_runs_the_fixture(python: Path, tmp_path: Path) -> None:
    test = "import pytest\n@pytest.mark.anyio\nasync def test_it(carob_agent):\n"
    test += "    assert (await carob_agent.ask('hi')).final_message == 'hi'\n"
    test += "    assert (await carob_agent.ask('you')).final_message == 'you'\n"
    (tmp_path / "test_it.py").write_text(test)
    fixture = "import pytest\n@pytest.fixture\ndef carob_target(): return lambda prompt: prompt\n"
    (tmp_path / "conftest.py").write_text(fixture)
    code, output = run(python, tmp_path)
    assert code == 0, output
    assert "test_it[asyncio]" in output
    assert "test_it[trio]" in output
