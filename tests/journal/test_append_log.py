"""A log that several processes append to: whole lines, in files within limits."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from carob.features.guard.journal import read_guard_journal
from carob.journal.append_log import BLOCK, USUAL_LIMITS, AppendLog, LogLimits, list_files, write_whole
from features.guard.policies import DESK, write_policy

SIX_PROCESSES = """
import os, sys
import carob
from carob.features.guard.journal import GuardHeader, GuardJournal
from carob.journal.append_log import LogLimits
guard = carob.Guard(sys.argv[1])
guard._journal = GuardJournal(sys.argv[2], GuardHeader(1, "p", ()), limits=LogLimits(200_000, 1 << 30))
children = []
for child in range(6):
    if not (pid := os.fork()):
        with guard.conversation(f"c{child}") as c:
            for number in range(600):
                c.allow("pay_invoice", {"id": f"{child}-{number}"})
        os._exit(0)
    children.append(pid)
assert not any(os.waitpid(pid, 0)[1] for pid in children)
"""


def log_in(folder: Path, limits: LogLimits = USUAL_LIMITS) -> AppendLog:
    return AppendLog(folder / "log.jsonl", lambda: b"header", limits)


def lines_in(folder: Path) -> list[bytes]:
    return [line for path in list_files(folder / "log.jsonl") for line in path.read_bytes().splitlines(keepends=True)]


def test_six_processes_keep_every_decision(tmp_path: Path) -> None:
    """Also those that another process made while it set the file aside."""
    path = tmp_path / "decisions.jsonl"
    command = [sys.executable, "-c", SIX_PROCESSES, str(write_policy(tmp_path, DESK)), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    decided = [line.conversation for line in read_guard_journal(path) if line.decision is not None]
    assert {name: decided.count(name) for name in decided} == {f"c{child}": 600 for child in range(6)}
    assert len(list_files(path)) > 4


@pytest.mark.parametrize("torn", [b"ha", b"x" * (3 * BLOCK)], ids=["short", "longer-than-a-block"])
@pytest.mark.parametrize("before", [b"", b"header\n", b"header\nfirst\n"])
def test_what_a_killed_process_left_of_a_line_is_cut(tmp_path: Path, before: bytes, torn: bytes) -> None:
    (tmp_path / "log.jsonl").write_bytes(before + torn)
    log_in(tmp_path).append(lambda: b"next")
    assert b"".join(lines_in(tmp_path)) == (before or b"header\n") + b"next\n"


def test_what_another_process_tore_is_cut_by_one_that_wrote_before(tmp_path: Path) -> None:
    log = log_in(tmp_path)
    log.append(lambda: b"first")
    with (tmp_path / "log.jsonl").open("ab") as other:
        other.write(b"second\nhalf")
    log.append(lambda: b"third")
    assert lines_in(tmp_path) == [b"header\n", b"first\n", b"second\n", b"third\n"]


def test_a_file_that_was_removed_is_begun_again(tmp_path: Path) -> None:
    log = log_in(tmp_path)
    log.append(lambda: b"first")
    (tmp_path / "log.jsonl").unlink()
    log.append(lambda: b"second")
    assert lines_in(tmp_path) == [b"header\n", b"second\n"]
    assert (tmp_path / "log.jsonl").stat().st_mode & 0o777 == 0o600


def test_full_files_are_kept_within_limits(tmp_path: Path) -> None:
    log = log_in(tmp_path, LogLimits(size=40, total=150))
    for number in range(100):
        log.append(lambda: f"line {number:04}".encode())  # noqa: B023
    *full, _ = list_files(tmp_path / "log.jsonl")
    assert [path.stat().st_size for path in full] == [47, 47, 47]
    assert lines_in(tmp_path)[-1] == b"line 0099\n"
    long_ago = time.time() - 100
    os.utime(full[0], (long_ago, long_ago))
    log = log_in(tmp_path, LogLimits(size=40, total=1_000, seconds=60))
    for _ in range(5):
        log.append(lambda: b"line")
    assert full[0] not in list_files(tmp_path / "log.jsonl")
    assert full[1] in list_files(tmp_path / "log.jsonl")


def test_a_line_that_cannot_be_written_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It fails at each write in turn, after a part of it; what is written next is whole."""
    write, written = os.write, 0
    for failing in range(1, 14):

        def tear(descriptor: int, data: bytes, failing: int = failing) -> int:
            nonlocal written
            written += 1
            if written == failing:
                write(descriptor, data[: len(data) // 2])
                raise OSError(28, "No space left on device")
            return write(descriptor, data)

        folder, written, kept = tmp_path / str(failing), 0, []
        folder.mkdir()
        log = log_in(folder, LogLimits(size=60))
        with monkeypatch.context() as disk:
            disk.setattr(os, "write", tear)
            for number in range(12):
                try:
                    log.append(lambda: f"line {number}".encode())  # noqa: B023
                except OSError:
                    continue
                kept.append(b"line %d\n" % number)
        assert len(kept) == 11
        assert [line for line in lines_in(folder) if line != b"header\n"] == kept


def test_what_was_half_written_is_taken_back_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"before\n")
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND)
    write = os.write
    fits = iter([3])
    monkeypatch.setattr(os, "write", lambda to, data: write(to, data[: next(fits, 0)]) or os.read(-1, 1))
    with pytest.raises(OSError, match="Bad file"):
        write_whole(descriptor, b"after\n", 7)
    os.close(descriptor)
    assert path.read_bytes() == b"before\n"
