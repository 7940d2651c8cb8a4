"""scripts/release.py: what it changes in files, and what it refuses."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import tomllib
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture
def release() -> ModuleType:
    spec = importlib.util.spec_from_file_location("carob_release", ROOT / "scripts/release.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_version_and_changelog(release: ModuleType) -> None:
    text = (ROOT / release.VERSION_FILE).read_text()
    assert re.findall(r'__version__ = "(.*)"', release.change_version(text, "1.2.3")) == ["1.2.3"]
    for name in release.NPM_FILES:
        written = release.change_npm_version((ROOT / name).read_text(), "1.2.3rc4")
        versions = [
            json.loads(written)["version"],
            *(row["version"] for row in json.loads(written).get("packages", {}).values() if row.get("name") == "carob"),
        ]
        assert set(versions) == {"1.2.3-rc.4"}
    log = (ROOT / release.CHANGELOG).read_text()
    assert "## Unreleased\n\n## 1.2.3 - 2026-11-18\n" in release.change_changelog(log, "1.2.3", "2026-11-18")
    for wrong in ("# Changelog\n", "## Unreleased\n\n## 0.1.0 - x\n", "## Unreleased\n- a\n## 1.2.3 - x\n"):
        with pytest.raises(SystemExit, match=r"CHANGELOG\.md"):
            release.change_changelog(wrong, "1.2.3", "2026-11-18")


def test_address_is_put_everywhere(release: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in release.WITH_ADDRESS:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text((ROOT / name).read_text())
    monkeypatch.setattr(release, "ROOT", tmp_path)
    release.main(["address", "https://github.com/acme/carob/"])
    after = "".join((tmp_path / name).read_text() for name in release.WITH_ADDRESS)
    assert "carob.example" not in after
    left = subprocess.run(
        ["git", "grep", "-l", "carob[.]example"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert {*left.stdout.split()} - {*release.WITH_ADDRESS} == {"scripts/release.py", "tests/test_release.py"}
    assert "OWNER" not in after.replace("Replace OWNER", "")
    assert 'Homepage = "https://github.com/acme/carob"' in after
    assert "uses: acme/carob@COMMIT" in after
    with pytest.raises(SystemExit, match="is not the address"):
        release.main(["address", "http://nowhere"])


@pytest.mark.parametrize(
    ("version", "git", "why"),
    [
        ("1.2", {}, "is not a version"),
        ("1.2.3", {"status": "M x"}, "has changes"),
        ("1.2.3", {"tag": "v1.2.3"}, "there is a tag"),
        ("1.2.3", {}, "is a placeholder"),
    ],
)
def test_what_is_refused(
    release: ModuleType, monkeypatch: pytest.MonkeyPatch, version: str, git: dict[str, str], why: str
) -> None:
    monkeypatch.setattr(release, "read_git", lambda name, *_: git.get(name, ""))
    monkeypatch.setattr(release, "run", lambda *command: pytest.fail(f"it ran {command}"))
    monkeypatch.setattr(release, "PLACEHOLDER", "[project.urls]")
    with pytest.raises(SystemExit, match=why):
        release.main([version])


def test_it_can_be_started_as_a_program() -> None:
    script = ROOT / "scripts/release.py"
    assert script.read_text().startswith("#!/usr/bin/env python3\n")
    assert os.access(script, os.X_OK)


class Index(BaseHTTPRequestHandler):
    """A package index that answers with one status and one project."""

    status, answer = 200, b"{}"

    def do_GET(self) -> None:
        assert self.path == "/pypi/carob/json"
        self.send_response(self.status)
        self.end_headers()
        self.wfile.write(self.answer)

    def log_message(self, *_: object) -> None:
        pass


URLS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["urls"]
OURS = json.dumps({"info": {"project_urls": URLS}})


@pytest.mark.parametrize(
    ("status", "answer", "why"),
    [
        pytest.param(404, "{}", None, id="free"),
        pytest.param(200, OURS, None, id="ours"),
        pytest.param(
            200, '{"info": {"project_urls": {"Homepage": "https://other.example"}}}', "is another project", id="taken"
        ),
        pytest.param(200, '{"info": {"project_urls": null}}', "is another project", id="taken-without-an-address"),
        pytest.param(200, "<html>", "cannot be asked", id="no-json"),
        pytest.param(503, "{}", "answers 503", id="busy"),
    ],
)
def test_nothing_is_built_under_a_name_of_another_project(
    release: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, status: int, answer: str, why: str | None
) -> None:
    build_into(tmp_path, release, monkeypatch, ["same", "same"])
    handler = type("Answer", (Index,), {"status": status, "answer": answer.encode()})
    with HTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.handle_request, daemon=True).start()
        monkeypatch.setattr(release, "INDEX", f"http://127.0.0.1:{server.server_port}")
        if why:
            with pytest.raises(SystemExit, match=why):
                release.build()
        else:
            release.build()
    assert (tmp_path / "dist/SHA256SUMS").is_file() is (why is None)


def build_into(folder: Path, release: ModuleType, monkeypatch: pytest.MonkeyPatch, contents: list[str]) -> None:
    """Let each build leave a wheel with the next of these contents."""

    def run(*command: str) -> None:
        place = Path(command[command.index("--out-dir") + 1])
        place.mkdir(exist_ok=True)
        (place / "carob-1.whl").write_text(contents.pop(0))

    monkeypatch.setattr(release, "run", run)
    monkeypatch.setattr(release, "DIST", folder / "dist")


def test_a_build_that_comes_out_different_is_refused(
    release: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    build_into(tmp_path, release, monkeypatch, ["one", "another"])
    monkeypatch.setattr(release, "check_name", lambda: None)
    with pytest.raises(SystemExit, match=r"carob-1\.whl comes out different each time"):
        release.build()


def test_nothing_is_built_where_the_index_cannot_be_reached(
    release: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(release, "run", lambda *command: pytest.fail(f"it ran {command}"))
    monkeypatch.setattr(release, "INDEX", "http://127.0.0.1:9")
    with pytest.raises(SystemExit, match="cannot be asked"):
        release.build()
