from __future__ import annotations

import errno
import fcntl
import multiprocessing
import os
import resource
import shutil
import subprocess
import sys
from datetime import UTC, datetime, timedelta, timezone
from itertools import chain
from pathlib import Path

import pytest

from carob.errors import ArtifactError, ExitCode
from carob.reports.artifacts import BUFFER, Names, open_atomic, reserve, results_dir_for, stamp

NOW = datetime(2026, 11, 15, 18, 30, 11, tzinfo=UTC)


def test_stamp_is_in_utc() -> None:
    assert stamp(NOW) == "20261115T183011Z"
    assert stamp(NOW.astimezone(timezone(timedelta(hours=-7)))) == "20261115T183011Z"


@pytest.mark.parametrize(
    ("suite", "override", "folder"),
    [
        pytest.param(".claude/evals/a.json", None, ".claude/evals/results", id="beside-the-seed-suites"),
        pytest.param("/x/.claude/evals/sub/a.json", None, "/x/.claude/evals/results", id="below"),
        pytest.param("evals/a.json", None, "carob-results", id="elsewhere"),
        pytest.param("evals/.claude/a.json", None, "carob-results", id="other-order"),
        pytest.param(".claude/evals/a.json", "out", "out", id="override"),
    ],
)
def test_results_dir(suite: str, override: str | None, folder: str) -> None:
    assert results_dir_for(Path(suite), Path(override) if override else None) == Path(folder)


def test_results_dir_from_within_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = tmp_path / ".claude" / "evals" / "nightly"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner.parent)
    assert results_dir_for(Path("a.json")) == Path("results")
    monkeypatch.chdir(inner)
    assert results_dir_for(Path("a.json")) == inner.parent / "results"


def test_names_of_a_run_share_a_stamp(tmp_path: Path) -> None:
    names = reserve(tmp_path / "new" / "folder", "minimum-eval-set.v0.1.json", "eval-set", NOW)
    assert names.journal.name == "minimum-eval-set.v0.1-20261115T183011Z.jsonl"
    assert names.json.name == "minimum-eval-results-20261115T183011Z.json"
    assert names.markdown.name == "minimum-eval-results-20261115T183011Z.md"
    assert names.journal.read_bytes() == b""
    assert not names.json.exists()


@pytest.mark.parametrize(
    "taken",
    ["a-{}.jsonl", "other-{}.jsonl", "minimum-eval-results-{}.json", "minimum-eval-results-{}.md"],
)
def test_all_names_move_on_if_one_is_taken(tmp_path: Path, taken: str) -> None:
    for mark in ("20261115T183011Z", "20261115T183011Z-2"):
        (tmp_path / taken.format(mark)).touch()
    names = reserve(tmp_path, "a", "eval-set", NOW)
    assert names.stamp == "20261115T183011Z-3"
    assert {path.stem[-18:] for path in (names.journal, names.json, names.markdown)} == {names.stamp}


@pytest.mark.parametrize(
    ("stem", "start"),
    [
        pytest.param("../../etc/x\\y", "x-y-2026", id="separators"),
        pytest.param("a\x00\x1b\nb", "a-b-2026", id="control"),
        pytest.param("", "suite-2026", id="empty"),
        pytest.param("..", "suite-2026", id="dots"),
        pytest.param("宽" * 300, "宽宽", id="long"),
        pytest.param("\ud800", "suite-2026", id="surrogate"),
    ],
)
def test_any_suite_name_makes_a_file_name(tmp_path: Path, stem: str, start: str) -> None:
    journal = reserve(tmp_path, stem, "eval-set", NOW).journal
    assert journal.parent == tmp_path
    assert journal.name.startswith(start)


def claim(folder: Path, worker: int) -> list[str]:
    """Reserve, then write a report, as a run does; every second worker runs the same suite."""
    found = []
    for _ in range(5):
        names = reserve(folder, f"suite{worker % 2}", "eval-set", NOW)
        with open_atomic(names.json) as out:
            out.write(str(names.journal).encode())
        assert out.path == names.json
        found.append(names.stamp)
    return found


def test_many_processes_at_once_get_distinct_names(tmp_path: Path) -> None:
    with multiprocessing.get_context("forkserver").Pool(6) as pool:
        stamps = [*chain.from_iterable(pool.starmap(claim, [(tmp_path, worker) for worker in range(6)]))]
    assert len(set(stamps)) == len(stamps) == 30
    for mark in stamps:
        assert f"-{mark}.jsonl" in (tmp_path / f"minimum-eval-results-{mark}.json").read_text()
    assert len(os.listdir(tmp_path)) == 60


def test_no_other_run_chooses_a_name_between_the_look_and_the_claim(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listdir = os.listdir
    looks = []

    def look(folder: Path) -> list[str]:
        other = os.open(folder, os.O_RDONLY)
        try:
            with pytest.raises(BlockingIOError):
                fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        finally:
            os.close(other)
        looks.append(folder)
        return listdir(folder)

    monkeypatch.setattr(os, "listdir", look)
    reserve(tmp_path, "a", "eval-set", NOW)
    assert looks == [tmp_path]


def test_a_folder_that_cannot_be_locked_still_gives_distinct_journals(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(descriptor: int, how: int) -> None:
        raise OSError(errno.ENOLCK, "no locks here")

    monkeypatch.setattr(fcntl, "flock", refuse)
    assert len({reserve(tmp_path, "a", "eval-set", NOW).journal for _ in range(3)}) == 3


def test_a_file_appears_when_it_is_whole(tmp_path: Path) -> None:
    place = tmp_path / "a.json"
    with open_atomic(place) as out:
        for _ in range(3):
            out.write(b"x" * BUFFER)
        out.write(b"end")
        assert not place.exists()
    assert place.read_bytes() == b"x" * 3 * BUFFER + b"end"
    assert os.listdir(tmp_path) == ["a.json"]


@pytest.mark.parametrize("links", [True, False], ids=["hard-links", "no-hard-links"])
def test_nothing_is_overwritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(errno.EPERM, "no links here")

    if not links:
        monkeypatch.setattr(os, "link", refuse)
    places = []
    for text in (b"1", b"2", b"3"):
        with open_atomic(tmp_path / "a.json") as out:
            out.write(text)
        places.append((out.path.name, out.path.read_bytes()))
    assert places == [("a.json", b"1"), ("a-2.json", b"2"), ("a-3.json", b"3")]
    assert len(os.listdir(tmp_path)) == 3


@pytest.mark.parametrize(
    "error", [ValueError("x"), OSError(errno.EIO, "the journal is unreadable"), KeyboardInterrupt()]
)
def test_a_failure_elsewhere_leaves_nothing_and_stays_what_it_is(tmp_path: Path, error: BaseException) -> None:
    def fail() -> None:
        with open_atomic(tmp_path / "a.json") as out:
            out.write(b"x" * 2 * BUFFER)
            raise error

    with pytest.raises(type(error)) as caught:
        fail()
    assert caught.value is error
    assert os.listdir(tmp_path) == []


def test_a_left_over_temporary_file_is_in_nobodys_way(tmp_path: Path) -> None:
    (tmp_path / f".a.json.{os.getpid()}.part").touch()
    with open_atomic(tmp_path / "a.json") as out:
        out.write(b"1")
    assert out.path.read_bytes() == b"1"


@pytest.mark.parametrize("below", ["file", "file/deeper"])
def test_a_path_through_a_file_is_an_artifact_error(tmp_path: Path, below: str) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(ArtifactError) as reserved:
        reserve(tmp_path / below, "a", "eval-set", NOW)
    with pytest.raises(ArtifactError) as written, open_atomic(tmp_path / below / "a.json"):
        pass
    for caught in (reserved, written):
        assert str(tmp_path / below) in str(caught.value)
        assert "--results-dir" in str(caught.value)
        assert caught.value.exit_code == ExitCode.INTERNAL
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize("call", ["write", "fsync", "link"])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EIO], ids=["ENOSPC", "EDQUOT", "EIO"])
def test_a_disk_that_says_no_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, number: int
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, call, refuse)
    with pytest.raises(ArtifactError, match=os.strerror(number)), open_atomic(tmp_path / "a.json") as out:
        out.write(b"x")
    assert os.listdir(tmp_path) == []


IN_NAMESPACE = """
import os, sys
from datetime import UTC, datetime
from pathlib import Path
from carob.errors import ArtifactError
from carob.reports.artifacts import open_atomic, reserve

folder = Path(sys.argv[1])
try:
    names = reserve(folder, "a", "eval-set", datetime.now(UTC))
    with open_atomic(names.json) as out:
        for _ in range(64):
            out.write(b"x" * 65536)
except ArtifactError as error:
    print(error)
print(sorted(path.suffix for path in folder.iterdir()))
"""


def in_namespace(folder: Path, setup: str) -> str:
    """What a run in a mount namespace of its own says, after `setup` of its results folder "$1"."""
    if shutil.which("unshare") is None or subprocess.run(["unshare", "-rm", "true"], capture_output=True).returncode:
        pytest.skip("this machine gives no mount namespaces")
    command = ["unshare", "-rm", "sh", "-ec", f'{setup}; exec "$2" -c "$3" "$1"', "sh", str(folder), sys.executable]
    done = subprocess.run([*command, IN_NAMESPACE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_full_disk(tmp_path: Path) -> None:
    said = in_namespace(tmp_path, 'mount -t tmpfs -o size=256k tmpfs "$1"')
    assert "No space left on device. Free some space" in said
    assert "['.jsonl']" in said


def test_a_read_only_disk(tmp_path: Path) -> None:
    said = in_namespace(tmp_path, 'mount -t tmpfs -o ro tmpfs "$1"')
    assert "Read-only file system" in said
    assert "[]" in said


def limited(folder: Path) -> str:
    resource.setrlimit(resource.RLIMIT_FSIZE, (BUFFER, BUFFER))
    try:
        with open_atomic(folder / "a.json") as out:
            for _ in range(8):
                out.write(b"x" * BUFFER)
    except ArtifactError as error:
        return str(error)
    return ""


def test_a_file_that_may_not_grow(tmp_path: Path) -> None:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        said = pool.apply(limited, (tmp_path,))
    assert "File too large" in said
    assert os.listdir(tmp_path) == []


def test_names_place_other_reports_beside(tmp_path: Path) -> None:
    names = Names(tmp_path, "S", tmp_path / "a-S.jsonl", report_stem="a-results")
    assert names.report("xml") == tmp_path / "a-results-S.xml"
