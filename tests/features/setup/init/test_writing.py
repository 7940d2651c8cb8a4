"""Files are written together or not at all, whatever comes between: Ctrl-C, a full disk, another program."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from carob.errors import ArtifactError, UsageError
from carob.features.setup import terminal as console
from carob.features.setup.survey import probe, survey
from carob.features.setup.write import plan
from carob.features.setup.write.plan import PlannedFile, write_together
from carob.system import unfinished_files
from cli.support import SCRIPT, Carob, write

IGNORE = b"*.pyc\r\n\xff\r\n"
LINES = IGNORE.decode("utf-8", "surrogateescape")
FILES = (
    *(PlannedFile(path, f"text of {path}\n") for path in ("a.toml", "b.yaml", "c.json", "new/er/d.yml")),
    PlannedFile(".gitignore", f"{LINES}carob-results/\n", LINES),
)


@pytest.fixture(autouse=True)
def project(here: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)  # a hundred of them take seconds
    Path("agent.py").unlink()
    write(".github/CODEOWNERS", "* @me\n")
    write(".gitignore", IGNORE)


def snapshot() -> dict[str, bytes | None]:
    """Every file and folder."""
    return {str(path): path.read_bytes() if path.is_file() else None for path in Path().rglob("*")}


def interrupting(function: Callable[..., Any], at: int, when: str) -> Callable[..., Any]:
    """A function that is interrupted by a real signal at one of its calls."""
    calls = 0

    def called(*arguments: Any, **keywords: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == at and when == "before":
            os.kill(os.getpid(), signal.SIGINT)
        result = function(*arguments, **keywords)
        if calls == at and when == "after":
            os.kill(os.getpid(), signal.SIGINT)
        return result

    return called


BEFORE_WRITING = [(survey, "_suites"), (survey, "read_python"), (plan, "plan_ignored"), (console, "show_survey"),
                  (console, "show_plan"), (probe, "is_listening")]  # fmt: skip
WHILE_WRITING = [
    (place, name, at)
    for place, name, most in ((plan, "create_unfinished", 5), (plan, "give_name", 4), (os, "fsync", 5))
    for at in range(1, most + 1)
] + [(Path, "mkdir", 1), (os, "replace", 1)]


@pytest.mark.parametrize(("place", "name"), BEFORE_WRITING, ids=[name for _, name in BEFORE_WRITING])
def test_an_interrupt_before_the_writing_leaves_nothing(
    carob: Carob, monkeypatch: pytest.MonkeyPatch, place: Any, name: str
) -> None:
    write("main.py", "from fastapi import FastAPI\napp = FastAPI()\n@app.post('/chat')\ndef f(m): ...\n")
    write(".env", "PORT=1")
    before = snapshot()
    monkeypatch.setattr(place, name, interrupting(getattr(place, name), 1, "after"))
    done = carob("init", "--yes")
    assert (done.code, done.err.strip()) == (2, "carob: interrupted")
    assert snapshot() == before


def test_one_interrupt_ends_the_loading_of_an_agent(carob: Carob) -> None:
    lines = ("import os, signal", "os.kill(os.getpid(), signal.SIGINT)", "open('loaded', 'w').close()")
    write("agent.py", "\n".join((*lines, "def answer(prompt): return 'Hello.'")))
    before = {*os.listdir()}
    done = carob("init", "--yes")
    assert (done.code, done.err.strip()) == (2, "carob: interrupted")
    assert {*os.listdir()} - before <= {"__pycache__"}


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize(("place", "name", "at"), WHILE_WRITING, ids=[f"{name}-{at}" for _, name, at in WHILE_WRITING])
def test_an_interrupt_between_files_lets_all_be_written(
    monkeypatch: pytest.MonkeyPatch, place: Any, name: str, at: int, when: str
) -> None:
    before = snapshot()
    monkeypatch.setattr(place, name, interrupting(getattr(place, name), at, when))
    with pytest.raises(KeyboardInterrupt):
        write_together(Path(), FILES)
    assert snapshot().keys() - before.keys() == {*(file.path for file in FILES[:4]), "new", "new/er"}
    assert Path(".gitignore").read_bytes() == IGNORE + b"carob-results/\n"


FAILING = [(plan, "create_unfinished", at) for at in (1, 3, 5)]
FAILING += [(plan, "give_name", at) for at in (1, 2, 4)] + [(os, "replace", 1), (os, "fsync", 4)]


@pytest.mark.parametrize(("place", "name", "at"), FAILING, ids=[f"{name}-{at}" for _, name, at in FAILING])
def test_a_disk_that_is_full_leaves_nothing(monkeypatch: pytest.MonkeyPatch, place: Any, name: str, at: int) -> None:
    before, real, calls = snapshot(), getattr(place, name), 0

    def failing(*arguments: Any, **keywords: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == at:
            raise OSError(errno.ENOSPC, "No space left on device", "here")
        return real(*arguments, **keywords)

    monkeypatch.setattr(place, name, failing)
    with pytest.raises(ArtifactError, match=r"No space left on device\. Nothing was written\."):
        write_together(Path(), FILES)
    assert snapshot() == before


def test_a_file_that_appears_meanwhile_is_kept() -> None:
    files = (PlannedFile("new/a.txt", "a"), PlannedFile("b.txt", "b"))
    write("b.txt", "mine")
    with pytest.raises(UsageError, match="a file of that name has appeared"):
        write_together(Path(), files)
    assert (Path("b.txt").read_text(), Path("new").exists()) == ("mine", False)


def test_a_file_that_was_changed_meanwhile_is_kept() -> None:
    write("b.txt", "mine")
    with pytest.raises(UsageError, match="it has changed in the meantime"):
        write_together(Path(), (PlannedFile("a.txt", "a"), PlannedFile("b.txt", "before and after", before="before")))
    assert (Path("b.txt").read_text(), Path("a.txt").exists()) == ("mine", False)


def test_a_folder_that_cannot_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unfinished_files, "_remove_abandoned", lambda folder: None)
    write("file", "in the way")
    with pytest.raises(ArtifactError, match="Nothing was written"):
        write_together(Path(), (PlannedFile("a.txt", "a"), PlannedFile("file/b.txt", "b")))
    assert not Path("a.txt").exists()


def test_ctrl_c_at_a_question_in_a_terminal_writes_nothing() -> None:
    """The whole program, in a terminal of its own."""
    before = snapshot()
    master, terminal = os.openpty()
    process = subprocess.Popen(
        [SCRIPT, "init"], stdin=terminal, stdout=terminal, stderr=terminal, start_new_session=True
    )
    os.close(terminal)
    shown = b""
    while b"How can Carob reach your agent?" not in shown:
        shown += os.read(master, 4096)
    while process.poll() is None:  # one that comes before `input` reads is only seen with the next
        process.send_signal(signal.SIGINT)
        time.sleep(0.1)
    assert process.returncode in (2, -signal.SIGINT)
    os.close(master)
    assert snapshot() == before
