"""How a server over stdio that was started without the environment of its client finds the tape."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from carob.proxy.stdio import ADDRESS, announce, find_address

URL = "http://127.0.0.1:9/token"
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="there is no /proc")


def in_child(work: Callable[[], str]) -> str:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, work().encode())
        os._exit(0)
    os.close(writing)
    with open(reading) as file:
        text = file.read()
    os.waitpid(child, 0)
    return text


def test_what_the_environment_says_comes_first(tmp_path: Path) -> None:
    assert find_address({ADDRESS: URL, "HOME": str(tmp_path)}) == URL


@LINUX
def test_what_a_process_above_has_announced_is_found(tmp_path: Path) -> None:
    home = {"HOME": str(tmp_path)}
    place = announce(URL, home)
    assert place is not None
    assert place.stat().st_mode & 0o777 == 0o600
    assert in_child(lambda: find_address(home)) == URL
    assert in_child(lambda: in_child(lambda: find_address(home))) == URL
    place.unlink()
    assert in_child(lambda: find_address(home)) == ""


@LINUX
def test_what_a_process_above_was_given_is_found() -> None:
    code = "from carob.proxy.stdio import find_address; print(find_address({}))"
    inner = f"env -u {ADDRESS} {sys.executable} -c '{code}'; true"
    environ = {**os.environ, ADDRESS: URL}
    child = subprocess.run(["sh", "-c", inner], env=environ, capture_output=True, text=True, check=True)
    assert child.stdout.strip() == URL


def test_without_a_home_nothing_is_announced(tmp_path: Path) -> None:
    assert announce(URL, {}) is None
    (tmp_path / ".cache").write_text("a file")
    assert announce(URL, {"HOME": str(tmp_path)}) is None
