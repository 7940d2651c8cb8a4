"""What strace writes → programs, writes and hosts."""

from __future__ import annotations

import pytest

from carob.evidence import process_log
from carob.evidence.process_log import IO_URING, TORN, ProcessLog

LOG = r"""
10 1.000000 execve("/a/agent", ["agent", "-p", "fix"], 0x7f /* 3 vars */) = 0
10 1.100000 clone3({flags=CLONE_VM|CLONE_VFORK} <unfinished ...>
11 1.200000 execve("/bin/sh", ["sh", "-c", "pytest; true"], 0x55 /* 3 vars */) = 0
10 1.300000 <... clone3 resumed>) = 11
11 1.400000 clone(child_stack=NULL) = 12
12 1.500000 execve("/usr/local/bin/pytest", ["pytest"], 0x55 /* 3 vars */) = -1 ENOENT (No such file or directory)
12 1.510000 execve("/usr/bin/pytest", ["pytest"], 0x55 /* 3 vars */) = 0
12 1.520000 execve("/usr/bin/python3", ["python3", "/usr/bin/pytest", "caf\303\251"], 0x55 /* 3 vars */) = 0
12 1.600000 openat(AT_FDCWD</w>, "out", O_WRONLY|O_CREAT, 0666) = 3</w/out>
12 1.610000 openat(AT_FDCWD</w>, "in", O_RDONLY) = 3</w/in>
12 1.620000 openat(AT_FDCWD</w>, "no", O_WRONLY) = -1 EACCES (Permission denied)
12 1.630000 symlinkat("/etc", AT_FDCWD</w>, "link") = 0
12 1.640000 mkdir("link/d", 0777) = 0
12 1.650000 renameat(AT_FDCWD</w>, "a", 4</w/sub>, "b") = 0
12 1.660000 connect(5<s>, {sin_port=htons(443), sin_addr=inet_addr("192.0.2.1")}, 16) = -1 EINPROGRESS (now)
12 1.700000 +++ exited with 1 +++
11 1.800000 +++ exited with 0 +++
10 1.900000 +++ exited with 0 +++
"""


def read(log: str) -> ProcessLog:
    taken = ProcessLog("/w", lambda path: path.removeprefix("/w/"), "fix it")
    taken.read(log.strip().splitlines(keepends=True))
    return taken


def test_programs_have_their_own_exit_codes() -> None:
    log = read(LOG)
    assert [(run.argv[-1], run.parent, run.exit_code, run.replaced, run.own) for run in log.processes] == [
        ("fix", None, 0, False, True),
        ("pytest; true", 0, 0, False, False),
        ("pytest", 1, 1, True, False),
        ("café", 2, 1, False, False),
    ]
    assert [write.path for write in log.writes] == ["out", "link", "/etc/d", "a", "sub/b"]
    assert [(contact.address, contact.port, contact.run) for contact in log.contacts] == [("192.0.2.1", 443, 3)]
    assert (log.why_incomplete, log.why_torn) == ("", "")


def test_more_programs_than_are_noted_are_counted_as_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_log, "MOST_RUNS", 2)
    log = read(LOG)
    assert [run.argv[-1] for run in log.processes] == ["fix", "pytest; true"]
    assert log.why_incomplete == "only the first 2 programs were noted"


def test_what_may_be_missing_is_said() -> None:
    assert read(LOG.rsplit("10 1.9", 1)[0]).why_torn == TORN
    assert read(LOG + "10 2.0 io_uring_setup(8, {flags=0}) = 5\n").why_incomplete == IO_URING
    assert read("no line of strace\n\n12 \n").processes == ()
