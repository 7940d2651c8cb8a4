"""What a killed process left half written is removed; what is being written stays."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from carob.system.unfinished_files import create_unfinished

KILLED = """
import os, signal, sys
from carob.system.unfinished_files import create_unfinished
descriptor, path = create_unfinished(sys.argv[1])
os.write(descriptor, b"half")
os.kill(os.getpid(), signal.SIGKILL)
"""


def parts(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob(".*.part"))


def grow_old(folder: Path) -> None:
    for name in parts(folder):
        os.utime(folder / name, (0, 0), follow_symlinks=False)


def test_what_a_killed_process_left_is_removed(tmp_path: Path) -> None:
    place = str(tmp_path / "report.html")
    subprocess.run([sys.executable, "-c", KILLED, place], check=False)
    (left,) = parts(tmp_path)
    ours, path = create_unfinished(place)
    try:
        assert parts(tmp_path) == sorted([left, os.path.basename(path)])  # it may be a moment before its lock
        grow_old(tmp_path)
        other, another = create_unfinished(str(tmp_path / "run.jsonl"))
        os.close(other)
        assert parts(tmp_path) == sorted([os.path.basename(path), os.path.basename(another)])  # ours is being written
    finally:
        os.close(ours)


def test_only_what_we_wrote_is_removed(tmp_path: Path) -> None:
    kept = (".env.part", "run.1.part", ".a.1.part.bak", ".1.part")
    for name in (*kept, ".run.jsonl.1.part"):
        (tmp_path / name).write_text("x")
        os.utime(tmp_path / name, (0, 0))
    (tmp_path / ".link.2.part").symlink_to(tmp_path / ".env.part")
    (tmp_path / ".folder.3.part").mkdir()
    os.mkfifo(tmp_path / ".pipe.4.part")
    grow_old(tmp_path)
    os.close(create_unfinished(str(tmp_path / "x"))[0])
    left = {path.name for path in tmp_path.iterdir()} - {f".x.{os.getpid()}.part"}
    assert left == {*kept, ".link.2.part", ".folder.3.part", ".pipe.4.part"}
