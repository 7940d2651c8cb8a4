"""Which files of a run are shown: regular ones below its journal, reached without a link, as what their bytes say."""

from __future__ import annotations

from pathlib import Path

import pytest

from carob.reports.html import pages
from carob.reports.html.pages import find_own_file

PNG = b"\x89PNG\r\n\x1a\n and more"


@pytest.fixture
def journal(tmp_path: Path) -> str:
    folder = tmp_path / "runs"
    (folder / "files").mkdir(parents=True)
    for name in ("shot.png", "page.html", "a" * 200):
        (folder / "files" / name).write_bytes(PNG if name == "shot.png" else b"<script>")
    (folder / "deep").mkdir()
    (tmp_path / "secret.txt").write_text("secret")
    (folder / "files" / "link.png").symlink_to(tmp_path / "secret.txt")
    (folder / "away").symlink_to(tmp_path)
    return str(folder / "run.jsonl")


@pytest.mark.parametrize(
    "name",
    [
        "../secret.txt",
        "files/../../secret.txt",
        "/etc/passwd",
        "/files/shot.png",
        "{runs}/files/shot.png",
        "files/link.png",
        "away/secret.txt",
        "files",
        "files/none.png",
        "files\\shot.png",
        "files/shot.png\0",
        "",
    ],
)
def test_nothing_else_is_shown(journal: str, name: str) -> None:
    assert find_own_file(journal, name.format(runs=Path(journal).parent)) is None


def test_a_file_is_what_its_bytes_say(journal: str) -> None:
    for name, kind in (("files/shot.png", "image/png"), ("files/page.html", "application/octet-stream")):
        own_file = find_own_file(journal, name)
        assert own_file is not None
        assert (own_file.type, own_file.is_picture) == (kind, kind == "image/png")


def test_names_and_sizes_are_bounded(journal: str, monkeypatch: pytest.MonkeyPatch) -> None:
    long = "files/" + "./" * 500 + "shot.png"
    assert find_own_file(journal, long) is None
    assert find_own_file(journal, "files/./shot.png") is not None
    monkeypatch.setattr(pages, "LARGEST", 3)
    assert find_own_file(journal, "files/shot.png") is None
