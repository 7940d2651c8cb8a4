"""Packages of others, installed for the length of a test."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Installs = Callable[..., None]


@pytest.fixture
def installs(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Installs:
    """Put packages on the path that bring something under a name in a group, each in its own."""

    def install(group: str, *points: tuple[str, str]) -> None:
        folder = tmp_path_factory.mktemp("packages")
        for number, (name, value) in enumerate(points):
            about = folder / f"package_{number}-1.0.dist-info"
            about.mkdir()
            (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: package-{number}\nVersion: 1.0\n")
            (about / "entry_points.txt").write_text(f"[{group}]\n{name} = {value}\n")
        monkeypatch.syspath_prepend(folder)

    return install
