"""Setup and teardown around each case and each repeat, through the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from .support import Started, case, journals, records, statuses, write_suite

AGENT = """
import os, time

def note(line):
    fd = os.open("log", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(fd, (line + "\\n").encode())
    os.close(fd)

def ready(case):
    note("setup " + case.id)
    if case.id == "no-setup":
        raise RuntimeError("the database is down")
    return {"tenant": case.id}

def ask(prompt, conversation, context):
    note(f"ask {context['tenant']} {len(conversation.messages)} {sorted(conversation.state)}")
    conversation.state["seen"] = True
    if prompt == "hang":
        time.sleep(3600)
    if prompt == "break":
        raise RuntimeError("broke")
    return "fine"

def reset(case, context):
    note(f"teardown {case.id} {context}")
    if case.id == "no-reset":
        raise RuntimeError("the rows are still there")
"""
TOML = '[targets.app]\nuse = "python:app:ask"\nsetup = "app:ready"\nteardown = "app:reset"\n'


def ran(
    tmp_path: Path, cases: list[dict[str, object]], *options: object
) -> tuple[int, dict[str, dict[str, object]], list[str]]:
    (tmp_path / "app.py").write_text(AGENT)
    (tmp_path / "carob.toml").write_text(TOML)
    suite = write_suite(tmp_path / "suite.json", cases)
    with Started("run", suite, "--target", "app", "--results-dir", "out", *options, cwd=tmp_path) as run:
        code, _, err = run.ended()
        assert run.left_behind() == []
    assert "Traceback" not in err
    (report,) = (tmp_path / "out").glob("*.json")
    rows = {row["id"]: row for row in json.loads(report.read_bytes())["cases"]}
    return code, rows, (tmp_path / "log").read_text().splitlines()


@pytest.mark.parametrize("workers", [0, 1], ids=["inline", "worker"])
def test_hooks_stand_around_each_case_and_repeat(tmp_path: Path, workers: int) -> None:
    code, _, log = ran(tmp_path, [case("a", "hi"), case("b", "hi")], "--repeat", 2, "--workers", workers)
    assert code == 0
    each = ["setup {0}", "ask {0} 0 []", "teardown {0} {{'tenant': '{0}'}}"]
    assert log == [line.format(name) for name in "aabb" for line in each]


def test_a_failed_hook_is_an_error_of_its_case_alone(tmp_path: Path) -> None:
    cases = [case(name, "hi") for name in ("no-setup", "no-reset", "good")] + [case("broken", "break")]
    code, rows, log = ran(tmp_path, cases)
    assert code == 1
    assert {name: row["status"] for name, row in rows.items()} == {
        "no-setup": "ERROR",
        "no-reset": "ERROR",
        "good": "PASS",
        "broken": "ERROR",
    }
    for name, kind, said in (
        ("no-setup", "setup-hook", "the setup hook raised RuntimeError: the database is down"),
        ("no-reset", "teardown-hook", "the teardown hook raised RuntimeError: the rows are still there"),
    ):
        error: Any = rows[name]["error"]
        assert (error["kind"], error["message"]) == (kind, said)
        assert error["detail"].splitlines()[1].lstrip().startswith(f'File "{tmp_path / "app.py"}"')
    assert "ask no-setup" not in "\n".join(log)
    assert log.count("teardown no-setup None") == 1
    assert log.count("teardown broken {'tenant': 'broken'}") == 1


@pytest.mark.parametrize("workers", [0, 1], ids=["inline", "worker"])
def test_a_case_that_overran_is_reset_too(tmp_path: Path, workers: int) -> None:
    code, rows, log = ran(tmp_path, [case("stuck", "hang")], "--timeout", 1, "--workers", workers)
    assert code == 1
    assert rows["stuck"]["status"] == "ERROR"
    assert log[-1] == "teardown stuck {'tenant': 'stuck'}"
    assert len(journals(tmp_path / "out")) == 1


ROWS = """
import os, time

def rows(case):
    return f"rows-{case.id}"

def setup(case):
    with open(rows(case), "a") as file:
        file.write("x")

def teardown(case):
    if os.path.exists(rows(case)):
        os.unlink(rows(case))

async def hold(prompt, case):
    return count(prompt, case)

def count(prompt, case):
    seen = os.path.getsize(rows(case))
    time.sleep(0.3)
    if prompt == "crash":
        os._exit(3)
    if prompt == "hold":
        time.sleep(3600)
    time.sleep(0.3)
    return "fine" if seen == 1 else f"{seen} rows"
"""


@pytest.mark.parametrize(
    ("prompt", "concurrency"),
    [
        pytest.param("crash", 1, marks=pytest.mark.thorough),
        ("crash", 2),
        ("hold", 1),
        pytest.param("hold", 2, marks=pytest.mark.thorough),
    ],
)
def test_a_case_that_is_lost_with_its_process_is_torn_down(tmp_path: Path, prompt: str, concurrency: int) -> None:
    """Else the one that was beside it would be set up on its own rows, and later ones on those of the lost one."""
    (tmp_path / "rows.py").write_text(ROWS)
    agent = "hold" if prompt == "hold" else "count"
    hooks = 'setup = "rows:setup"\nteardown = "rows:teardown"\n'
    (tmp_path / "carob.toml").write_text(f'[targets.rows]\nuse = "python:rows:{agent}"\n{hooks}')
    suite = write_suite(tmp_path / "suite.json", [case("a", prompt), case("b", "x"), case("c", "x")])
    options = ("--concurrency", concurrency, "--timeout", 3, "--results-dir", "out")
    with Started("run", suite, "--target", "rows", *options, cwd=tmp_path) as run:
        run.ended()
    (journal,) = journals(tmp_path / "out")
    assert statuses(journal) == {"a": "ERROR", "b": "PASS", "c": "PASS"}
    assert list(tmp_path.glob("rows-*")) == []


def test_a_lost_case_that_cannot_be_torn_down_spoils_the_next(tmp_path: Path) -> None:
    """Nobody knows what the next one would be run on."""
    (tmp_path / "rows.py").write_text(
        f"{ROWS}\ndef stuck(case):\n    if case.id == 'a':\n        raise OSError('stuck')\n"
    )
    hooks = 'setup = "rows:setup"\nteardown = "rows:stuck"\n'
    (tmp_path / "carob.toml").write_text(f'[targets.rows]\nuse = "python:rows:count"\n{hooks}')
    suite = write_suite(tmp_path / "suite.json", [case("a", "crash"), case("b", "x"), case("c", "x")])
    with Started("run", suite, "--target", "rows", "--results-dir", "out", cwd=tmp_path) as run:
        run.ended()
    (journal,) = journals(tmp_path / "out")
    found = records(journal)
    assert {name: record.status for name, record in found.items()} == {"a": "ERROR", "b": "ERROR", "c": "PASS"}
    error = found["b"].trace.error
    assert error is not None
    assert (error.kind, error.message) == (
        "teardown-hook",
        "after case 'a' was lost, the teardown hook raised OSError: stuck",
    )
