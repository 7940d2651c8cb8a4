"""A tape on a disk that is full, with a process that is killed, or with two that record: nothing of it is lost."""

from __future__ import annotations

import multiprocessing
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from carob.errors import ConfigError, ExitCode
from carob.proxy.tape.file import Answer, Exchange, Recording, Tape, UnsavedTapeError, read_tape, seal_tape
from carob.proxy.tape.requests import ServiceRequest
from scripted_model import serve

BOMB_LEVELS = 9
HERE = Path(__file__).parents[1]


def exchange(case: str, text: str = "ok") -> Exchange:
    request = ServiceRequest.of("openai", "POST", "/v1/x", "application/json", b'{"q":1}')
    return Exchange(case=case, request=request, answer=Answer(200, text=text), recorded="2026-11-18")


def record(path: Path, case: str, text: str = "new") -> None:
    recording = Recording(read_tape(path) if path.exists() else Tape(path=path))
    recording.end(case, 0, [recording.add(exchange(case, text))])
    recording.close()


def in_child(work: Callable[[], object]) -> int:
    """The exit status of a process that does this: 3 where it cannot write."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    status = 99
    try:
        work()
        status = 0
    except ConfigError as error:
        status = error.exit_code
    finally:
        os._exit(status)


@pytest.mark.parametrize("step", [16, pytest.param(1, marks=pytest.mark.thorough)])
def test_a_disk_that_is_full_at_any_byte_leaves_the_old_tape(step: int, tmp_path: Path) -> None:
    """A file can grow to so many bytes and no more: that of what is recorded, or that of the tape."""
    path = tmp_path / "s.tape.yaml"
    record(path, "a", "old")
    old = path.read_bytes()
    record(path, "b")
    new, size = path.read_bytes(), path.stat().st_size
    statuses = set()
    for room in (*range(0, size, step), size, size + 1):
        path.write_bytes(old)

        def record_with_little_room(room: int = room) -> None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))
            record(path, "b")

        status = in_child(record_with_little_room)
        assert (path.read_bytes(), status) in ((old, ExitCode.INTERNAL), (new, 0)), f"{room} of {size} bytes"
        assert [entry.name for entry in tmp_path.iterdir()] == ["s.tape.yaml"]
        statuses.add(status)
    assert statuses == {0, ExitCode.INTERNAL}


def test_a_process_that_is_killed_while_it_records_leaves_a_whole_tape(tmp_path: Path) -> None:
    path = tmp_path / "s.tape.yaml"
    record(path, "a", "old")

    def record_for_ever() -> None:
        recording = Recording(read_tape(path))
        for number in range(10_000):
            recording.end(f"c{number}", 0, [recording.add(exchange(f"c{number}", "x" * 2_000))])
            recording.write()

    seen = 0
    for attempt in range(12):
        child = multiprocessing.get_context("fork").Process(target=record_for_ever)
        child.start()
        time.sleep(0.02 + 0.03 * attempt)
        os.kill(child.pid or 0, signal.SIGKILL)
        child.join()
        cases = {case for case, _ in read_tape(path).runs}
        assert {"a"} | {f"c{number}" for number in range(seen)} <= cases
        seen = len(cases) - 1
    assert seen > 0


def test_two_recordings_of_one_tape_are_both_kept(tmp_path: Path) -> None:
    path = tmp_path / "s.tape.yaml"
    first, second = Recording(Tape(path=path)), Recording(Tape(path=path))
    for recording, case in ((first, "a"), (second, "b")):
        recording.end(case, 0, [recording.add(exchange(case))])
    first.close()
    second.close()
    assert {case for case, _ in read_tape(path).runs} == {"a", "b"}


def test_many_processes_that_record_at_once_lose_nothing(tmp_path: Path) -> None:
    path, cases = tmp_path / "s.tape.yaml", [f"c{number}" for number in range(8)]
    context = multiprocessing.get_context("fork")
    children = [context.Process(target=record, args=(path, case)) for case in cases]
    for child in children:
        child.start()
    for child in children:
        child.join()
    assert [child.exitcode for child in children] == [0] * len(cases)
    assert {case for case, _ in read_tape(path).runs} == {*cases}


def test_a_recording_and_a_seal_do_not_lose_each_other(tmp_path: Path) -> None:
    path = tmp_path / "s.tape.yaml"
    record(path, "a", "old")
    recording = Recording(read_tape(path))
    path.write_text(path.read_text().replace("text: old", "text: edited"))
    assert seal_tape(path) == 1
    recording.end("b", 0, [recording.add(exchange("b"))])
    recording.close()
    assert {case: run[0].answer.text for (case, _), run in read_tape(path).runs.items()} == {"a": "edited", "b": "ok"}


def test_what_could_not_be_kept_is_reported_at_the_end(tmp_path: Path) -> None:
    recording = Recording(Tape(path=tmp_path / "s.tape.yaml"))
    os.close(recording._file)
    recording._file = os.open("/dev/full", os.O_RDWR)
    with pytest.raises(UnsavedTapeError):
        recording.add(exchange("a"))
    with pytest.raises(UnsavedTapeError, match="No space left") as unsaved:
        recording.close()
    assert unsaved.value.exit_code == ExitCode.INTERNAL


RULES = {"rules": [{"when": {"user": "."}, "say": "Good day."}]}
SUITE = "carob: 1\ncases:\n  - {id: a, prompt: Hello!, expected: {must_say_any: [day]}}\n"


@pytest.mark.parametrize("workers", ["0", "1"])
def test_a_run_whose_tape_cannot_be_written_exits_with_3(workers: str, tmp_path: Path) -> None:
    """Whatever its cases come to, and with a journal and reports."""
    (tmp_path / "bank.carob.yaml").write_text(SUITE)
    (tmp_path / "carob.toml").write_text('[tape]\nfile = "tapes/bank.tape.yaml"\n')
    command = [str(Path(sys.executable).with_name("carob")), "run", "bank.carob.yaml", "-t", "python:proxy.agents:ask"]
    command += ["--tape", "record", "--workers", workers, "--report", "json=report.json"]
    (tmp_path / "agent.py").write_text(
        "import errno\nfrom proxy.agents import ask\nfrom carob.proxy.tape import file\n"
        "def refuse(path, *more):\n"
        "    raise file.unwritable(path, OSError(errno.ENOSPC, 'No space left on device'))\n"
        "file.write_runs = refuse\n"
    )
    command[command.index("python:proxy.agents:ask")] = "python:agent.py:ask"
    with serve(RULES) as model:
        environ = {**os.environ, "OPENAI_BASE_URL": f"{model.url}/v1", "PYTHONPATH": str(HERE)}
        done = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == ExitCode.INTERNAL, done.stdout + done.stderr
    assert "the tape cannot be written: No space left on device" in done.stderr
    assert (tmp_path / "report.json").exists()
    assert not (tmp_path / "tapes" / "bank.tape.yaml").exists()


def test_a_tape_that_expands_is_refused_before_it_fills_the_memory(tmp_path: Path) -> None:
    path = tmp_path / "s.tape.yaml"
    levels = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    levels += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, BOMB_LEVELS)]
    path.write_text("\n".join(["carob_tape: 1", *levels, "exchanges: []", "cases: {}", ""]))
    assert path.stat().st_size < 700
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(ConfigError, match="it has YAML aliases"):
        read_tape(path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000


@pytest.mark.parametrize("text", ["a &b c", "&nbsp; *x", "x: &anchor y", "[&a, *a]", "&a"])
def test_a_text_that_looks_like_an_alias_is_none(text: str, tmp_path: Path) -> None:
    path = tmp_path / "s.tape.yaml"
    Tape(path=path, runs={("a", 0): [exchange("a", text)]}).write()
    assert read_tape(path).exchanges[0].answer.text == text
    assert yaml.safe_load(path.read_text())["exchanges"][0]["answer"]["text"] == text
