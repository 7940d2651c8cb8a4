"""A disk that fills while a run is under way: it stops, says so, and what was journalled is good elsewhere."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from carob.errors import ArtifactError, ExitCode
from carob.journal.reader import Journal
from carob.journal.writer import JournalWriter, begin, encode
from carob.model.run import Header

from .support import Started, case, journals, records, target, write_suite

HEADER = Header(
    run_id="r", suite="s.json", suite_format="eval-set", suite_sha256="", target="t", started_at="", total=2
)
LINE = b'{"kind":"case","index":0,"case":{}}'


def namespaces() -> None:
    if shutil.which("unshare") is None or subprocess.run(["unshare", "-rm", "true"], capture_output=True).returncode:
        pytest.skip("this machine gives no mount namespaces")


def test_a_full_disk_ends_the_run_and_loses_nothing(tmp_path: Path) -> None:
    namespaces()
    small, kept = tmp_path / "small", tmp_path / "kept"
    small.mkdir()
    kept.mkdir()
    suite = write_suite(tmp_path / "suite.json", [case(f"c{n:02}", f"answer sync {'x' * 4000}") for n in range(40)])
    shell = 'mount -t tmpfs -o size=96k tmpfs "$1"; set +e; shift 2; "$@"; code=$?; cp small/*.jsonl kept; exit $code'
    prefix = ["unshare", "-rm", "sh", "-ec", shell, "sh", str(small), "--"]
    options = ("--target", target("agent"), "--workers", 1, "--results-dir", small)
    with Started("run", suite, *options, cwd=tmp_path, prefix=prefix) as run:
        code, out, err = run.ended()
        assert run.left_behind() == []
    assert code == ExitCode.INTERNAL, out + err
    (line,) = err.splitlines()
    assert "No space left on device" in line
    assert "Continue the run elsewhere: carob run --resume" in line
    (journal,) = journals(kept)
    finished = records(journal)
    assert 0 < len(finished) < 40
    assert not Journal(journal).torn
    with Started("run", "--resume", journal, "--results-dir", tmp_path / "on", cwd=tmp_path) as run:
        code, out, err = run.ended()
    assert code == 0, err
    assert f"carob: kept {len(finished)} finished cases" in err
    (resumed,) = journals(tmp_path / "on")
    assert len(records(resumed)) == 40


def test_no_room_for_a_journal_at_all(tmp_path: Path) -> None:
    namespaces()
    suite = write_suite(tmp_path / "suite.json", [case("a", f"answer sync {'x' * 60_000}")])
    (tmp_path / "small").mkdir()
    shell = 'mount -t tmpfs -o size=4k tmpfs "$1"; head -c 4096 /dev/zero > "$1/full"; shift 2; "$@"'
    prefix = ["unshare", "-rm", "sh", "-ec", shell, "sh", str(tmp_path / "small"), "--"]
    options = ("--target", target("agent"), "--workers", 0, "--results-dir", tmp_path / "small")
    with Started("run", suite, *options, cwd=tmp_path, prefix=prefix) as run:
        code, _, err = run.ended()
    assert code == ExitCode.INTERNAL
    (line,) = err.splitlines()
    assert "Free some space, or choose another folder with --results-dir." in line


@pytest.mark.parametrize("fits", [0, 5, len(LINE)], ids=["nothing", "a-part", "all-but-the-line-end"])
def test_a_line_that_does_not_fit_is_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fits: int) -> None:
    path = tmp_path / "j.jsonl"
    begin(str(path), HEADER)
    whole = path.read_bytes()
    write = os.write

    def full(fd: int, data: bytes) -> int:
        if len(data) > len(LINE) + 1 - fits and fits:
            return write(fd, data[:fits])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with JournalWriter(str(path)) as journal:
        monkeypatch.setattr(os, "write", full)
        with pytest.raises(ArtifactError, match="No space left on device"):
            journal.write(LINE)
    assert path.read_bytes() == whole


def test_a_journal_with_kept_lines_appears_whole(tmp_path: Path) -> None:
    """Whoever dies while it is made leaves no journal that lacks finished cases."""
    path = tmp_path / "j.jsonl"
    path.touch()
    seen: list[bytes] = []

    def lines() -> list[bytes]:
        seen.append(path.read_bytes())
        return [LINE]

    def kept() -> object:
        for line in lines():
            seen.append(path.read_bytes())
            yield line
            seen.append(path.read_bytes())

    begin(str(path), HEADER, kept())  # type: ignore[arg-type]
    assert seen == [b""] * 3
    assert path.read_bytes() == encode(HEADER) + b"\n" + LINE + b"\n"
    assert [entry.name for entry in tmp_path.iterdir()] == ["j.jsonl"]


def test_kept_lines_that_cannot_be_read_leave_nothing(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"

    def broken() -> object:
        yield LINE
        raise ValueError("torn in the middle")

    with pytest.raises(ValueError, match="torn"):
        begin(str(path), HEADER, broken())  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_every_line_is_json(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    begin(str(path), HEADER)
    with JournalWriter(str(path)) as journal:
        journal.write(LINE)
    assert [json.loads(line)["kind"] for line in path.read_text().splitlines()] == ["header", "case"]
