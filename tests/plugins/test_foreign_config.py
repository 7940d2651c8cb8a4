"""A configuration of another user is not followed, and none above the repository or the home is looked for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from carob.errors import ConfigError
from carob.plugins.project import find_project

OTHER = 54_321


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "carob.toml").write_text('[checks]\nx = "python:evil.py:X"\n')
    (tmp_path / "a" / "b").mkdir(parents=True)
    return tmp_path / "a" / "b"


def owned_by(owner: int, *paths: Path, monkeypatch: pytest.MonkeyPatch, user: int) -> None:
    """As if these were of another user, and we were this one: a test may not be root."""
    stat = os.stat

    def own(path: object, **how: object) -> os.stat_result:
        state = stat(path, **how)  # type: ignore[call-overload]  # handed on
        values = list(state)
        values[4] = owner if Path(str(path)) in paths else user
        return os.stat_result(values, {"st_mtime_ns": state.st_mtime_ns})

    monkeypatch.setattr(os, "stat", own)
    monkeypatch.setattr(os, "geteuid", lambda: user)


@pytest.mark.parametrize("user", [0, 1000])
def test_a_configuration_of_another_user_is_refused(folder: Path, user: int, monkeypatch: pytest.MonkeyPatch) -> None:
    owned_by(OTHER, folder.parents[1] / "carob.toml", monkeypatch=monkeypatch, user=user)
    with pytest.raises(ConfigError, match="it belongs to another user"):
        find_project(folder)


def test_root_in_a_container_may_work_in_a_folder_of_another(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    owned_by(OTHER, folder, folder.parents[1] / "carob.toml", monkeypatch=monkeypatch, user=0)
    assert find_project(folder).checks


@pytest.mark.parametrize("owner", [0, 1000])
def test_a_configuration_of_ones_own_or_of_root_is_followed(
    owner: int, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    owned_by(owner, folder.parents[1] / "carob.toml", monkeypatch=monkeypatch, user=1000)
    assert find_project(folder).checks


def test_nothing_above_the_repository_is_followed(folder: Path) -> None:
    assert find_project(folder).checks
    (folder.parent / ".git").mkdir()
    assert not find_project(folder).checks
    (folder.parent / "carob.toml").write_text("")
    assert find_project(folder).file == str(folder.parent / "carob.toml")


def test_nothing_above_the_home_is_followed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(folder.parent))
    assert not find_project(folder).checks
