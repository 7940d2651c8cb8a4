"""A results folder that cannot be written, and disks that fill up: exit 3, one clear line, whole files or none."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.support import SCRIPT, Carob, case, eval_set, results, write

GOOD = json.dumps(eval_set())
TARGET = ("-t", "python:agent.py:greet")


@pytest.mark.parametrize(
    ("prepare", "folder"),
    [
        pytest.param(lambda: write("file", "mine"), "file", id="a-file"),
        pytest.param(lambda: write("file", "mine"), "file/below", id="below-a-file"),
        pytest.param(lambda: Path("loop").symlink_to("loop"), "loop", id="loop"),
        pytest.param(lambda: None, "x" * 300, id="too-long"),
        pytest.param(lambda: None, "/proc/carob", id="proc"),
        pytest.param(lambda: None, "/dev/null", id="dev-null"),
    ],
)
@pytest.mark.parametrize("command", ["run", "rescore"])
def test_a_results_folder_that_cannot_be_written(
    carob: Carob, prepare: Callable[[], object], folder: str, command: str
) -> None:
    prepare()
    arguments = ["run", write("s.json", GOOD), *TARGET]
    if command == "rescore":
        carob(*arguments, "--results-dir", "first")
        arguments = ["rescore", str(results("first")[".jsonl"][0])]
    ran = carob(*arguments, "--results-dir", folder)
    assert (ran.code, ran.out, len(ran.err.splitlines())) == (3, "", 1)
    assert ran.err.startswith(f"carob: {folder}: cannot be written: ")
    assert "--results-dir" in ran.err
    assert not Path("file").exists() or Path("file").read_text() == "mine"


def limited(size: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Carob in a process whose files may not grow over a size."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return subprocess.run(
        [str(SCRIPT), *arguments], preexec_fn=limit, capture_output=True, text=True, timeout=120, check=False
    )


LONG = "def ask(prompt): return 'hello ' + 'x' * 20_000\n"


def whole_or_absent(folder: str = "carob-results") -> dict[str, int]:
    """How many files of each suffix there are, each of them proven whole."""
    files = results(folder) if Path(folder).exists() else {}
    for path in files.get(".json", []):
        json.loads(path.read_bytes())
    for path in files.get(".jsonl", []):
        for line in path.read_text().splitlines():
            json.loads(line)
        assert path.read_bytes().endswith(b"\n")
    assert not {path.suffix for paths in files.values() for path in paths} - {".jsonl", ".json", ".md"}
    return {suffix: len(paths) for suffix, paths in files.items() if paths}


@pytest.mark.parametrize(
    ("room", "left", "says"),
    [
        pytest.param(1, {}, "the journal could not be written", id="no-room-for-a-header"),
        pytest.param(30_000, {".jsonl": 1}, "the journal could not be written", id="room-for-one-case"),
    ],
)
def test_a_disk_that_fills_up_while_running(room: int, left: dict[str, int], says: str) -> None:
    write("long.py", LONG)
    suite = write("s.json", eval_set(case("A"), case("B"), case("C")))
    ran = limited(room, "run", suite, "-t", "python:long.py:ask", "--workers", "0")
    assert ran.returncode == 3
    assert says in ran.stderr.splitlines()[-1]
    assert "Traceback" not in ran.stderr
    assert whole_or_absent() == left


def test_a_disk_that_fills_up_while_rescoring(carob: Carob) -> None:
    write("long.py", LONG)
    suite = write("s.json", eval_set(case("A"), case("B"), case("C")))
    carob("run", suite, "-t", "python:long.py:ask", "--results-dir", "first")
    ran = limited(30_000, "rescore", str(results("first")[".jsonl"][0]))
    assert ran.returncode == 3
    assert "the journal could not be written: File too large" in ran.stderr
    assert whole_or_absent() == {}


def in_namespace(setup: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Carob in a mount namespace of its own, after `setup`."""
    if shutil.which("unshare") is None or subprocess.run(["unshare", "-rm", "true"], capture_output=True).returncode:
        pytest.skip("this machine gives no mount namespaces")
    script = f'{setup}; rc=0; "$@" || rc=$?; cp -r full kept 2>/dev/null || true; exit $rc'
    command = ["unshare", "-rm", "sh", "-ec", script, "sh", str(SCRIPT), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def test_a_full_disk_under_the_reports() -> None:
    """The journal fits, the reports do not: the verdict is kept, and how to get at the reports is said."""
    Path("full").mkdir()
    write("long.py", LONG)
    suite = write("s.json", eval_set(*(case(f"C{number}") for number in range(8))))
    run = ["run", suite, "-t", "python:long.py:ask", "--workers", "0", "--results-dir", "full"]
    ran = in_namespace("mount -t tmpfs -o size=256k tmpfs full", *run)
    assert ran.returncode == 3
    assert "No space left on device. Free some space" in ran.stderr
    assert "The journal is complete, so you can make the report later: carob report full/s-" in ran.stderr
    kept = whole_or_absent("kept")
    assert kept[".jsonl"] == 1
    assert ".json" not in kept
    assert ran.stdout.count("PASS") == 8
    again = subprocess.run(
        [str(SCRIPT), "rescore", str(results("kept")[".jsonl"][0])], capture_output=True, text=True, check=False
    )
    assert again.returncode == 0
    assert whole_or_absent() == {".jsonl": 1, ".json": 1, ".md": 1}


def test_a_read_only_disk() -> None:
    Path("full").mkdir()
    suite = write("s.json", GOOD)
    ran = in_namespace("mount -t tmpfs -o ro tmpfs full", "run", suite, *TARGET, "--results-dir", "full")
    assert ran.returncode == 3
    assert ran.stderr.startswith("carob: full: cannot be written: Read-only file system.")
    assert os.listdir("full") == []
