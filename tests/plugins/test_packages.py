"""Packages are found wherever Python finds them, and nothing is asked of those that bring nothing."""

from __future__ import annotations

import sys
import zipfile
from importlib.metadata import DistributionFinder, PathDistribution
from pathlib import Path

import pytest

from carob.plugins.packages import find_entry_points
from packages import Installs

GROUP = "carob.checks"


def test_a_package_in_a_folder(installs: Installs) -> None:
    installs(GROUP, ("mine", "one:Check"), ("yours", "two:Check"))
    assert {name: point.value for name, point in find_entry_points(GROUP).items()} == {
        "mine": "one:Check",
        "yours": "two:Check",
    }


def test_a_package_in_an_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        archive.writestr("packed-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: packed\nVersion: 1.0\n")
        archive.writestr("packed-1.0.dist-info/entry_points.txt", f"[{GROUP}]\nmine = packed:Check\n")
    monkeypatch.syspath_prepend(tmp_path / "all.zip")
    assert find_entry_points(GROUP)["mine"].value == "packed:Check"


def test_a_package_that_only_its_own_finder_knows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    about = tmp_path / "apart-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: apart\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[{GROUP}]\nmine = apart:Check\n")

    class Finder(DistributionFinder):
        def find_spec(self, *_: object) -> None:
            return None

        def find_distributions(self, context: object = None) -> list[PathDistribution]:
            return [PathDistribution(about)]

    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Finder()])
    monkeypatch.syspath_prepend(tmp_path / "nothing")
    assert find_entry_points(GROUP)["mine"].value == "apart:Check"


def test_packages_that_bring_nothing_are_not_asked(installs: Installs, monkeypatch: pytest.MonkeyPatch) -> None:
    installs("console_scripts", ("mine", "carob.cli:main"))
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **_: pytest.fail("it was asked"))
    assert find_entry_points(GROUP) == {}
