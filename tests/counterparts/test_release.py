"""What users install: wheel and sdist, by pip, uv tool and pipx, in empty environments, on each Python that is here."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import carob
from counterparts.environments import ROOT, UV, python_with
from pages import Command, File, blocks

pytestmark = [pytest.mark.counterpart, pytest.mark.limit(900)]

CLAIMED = ("3.11", "3.12", "3.13", "3.14")
LARGEST_KB = 40_000
"""What the base install may take on disk."""


def find_python(version: str) -> str:
    places = [
        f"/usr/bin/python{version}",
        *sorted(map(str, Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))),
    ]
    path = next((place for place in places if Path(place).is_file()), None) or shutil.which(f"python{version}")
    if path is None:
        pytest.skip(f"no Python {version} here")
    return path


@pytest.fixture(scope="session")
def artifacts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The files of scripts/release.py build, else new ones."""
    folder = Path(os.environ.get("CAROB_DIST") or tmp_path_factory.mktemp("dist"))
    if "CAROB_DIST" not in os.environ:
        subprocess.run([UV, "build", "--quiet", "--out-dir", str(folder), str(ROOT)], check=True)
    return {"wheel": next(folder.glob("*.whl")), "sdist": next(folder.glob("*.tar.gz"))}


def clean_environ(home: Path, **more: str) -> dict[str, str]:
    """Nothing of this environment but the way to packages."""
    kept = ("PATH", "PIP_INDEX_URL", "PIP_CONFIG_FILE", "UV_INDEX_URL", "UV_DEFAULT_INDEX", "SSL_CERT_FILE", "LANG")
    known = {name: os.environ[name] for name in kept if name in os.environ}
    return {**known, "HOME": str(home), "UV_PYTHON_DOWNLOADS": "never", **more}


def run(*command: str | Path, folder: Path, environ: dict[str, str], code: int = 0) -> str:
    done = subprocess.run(
        [*map(str, command)], cwd=folder, env=environ, capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == code, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


def try_out(command: Path, folder: Path, environ: dict[str, str]) -> None:
    """Version, self-test, demo, the example of the README, and the viewer that its output points to."""
    version = run(command, "--version", folder=folder, environ=environ).strip()
    assert re.fullmatch(rf"carob {re.escape(carob.__version__)} \([0-9a-f]{{12}}(-dirty)?\)", version)
    assert "SELF-TEST PASS" in run(command, "audit", "--self", folder=folder, environ=environ)
    assert "carob init" in run(command, "demo", folder=folder, environ=environ)
    page = list(blocks((ROOT / "README.md").read_text()))
    for block in page:
        if isinstance(block, File):
            block.write(folder)
    first = next(block for block in page if isinstance(block, list))
    assert isinstance(first[0], Command)
    words = first[0].line.split()
    assert words[:2] == ["carob", "run"]
    out = run(command, *words[1:], folder=folder, environ=environ, code=1)
    hint = re.search(r"carob view (\S+)", out)
    assert hint
    asked = [command, "view", hint[1], "--no-browser"]
    with subprocess.Popen(asked, cwd=folder, env=environ, stdout=subprocess.PIPE, text=True) as viewer:
        try:
            assert viewer.stdout is not None
            assert "http://127.0.0.1:" in viewer.stdout.readline()
        finally:
            viewer.send_signal(signal.SIGINT)


@pytest.mark.parametrize("version", CLAIMED)
@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_pip(artifacts: dict[str, Path], tmp_path: Path, version: str, kind: str) -> None:
    environ = clean_environ(tmp_path)
    run(find_python(version), "-m", "venv", "env", folder=tmp_path, environ=environ)
    run(tmp_path / "env/bin/pip", "install", "--quiet", artifacts[kind], folder=tmp_path, environ=environ)
    try_out(tmp_path / "env/bin/carob", tmp_path, environ)
    # Without compiled files, and without pip, which every environment has.
    clutter = ("__pycache__", "pip", "setuptools")
    packages = next((tmp_path / "env/lib").glob("python*/site-packages"))
    files = [file for file in packages.rglob("*") if file.is_file() and not {*file.parts} & {*clutter}]
    size = sum(file.stat().st_size for file in files) >> 10
    print(f"Python {version}, {kind}: base install {size} KiB")
    assert size < LARGEST_KB


@pytest.mark.parametrize("version", CLAIMED)
def test_uv_tool(artifacts: dict[str, Path], tmp_path: Path, version: str) -> None:
    places = {"UV_TOOL_DIR": str(tmp_path / "tools"), "UV_TOOL_BIN_DIR": str(tmp_path / "bin")}
    environ = clean_environ(tmp_path, UV_CACHE_DIR=str(tmp_path / "cache"), **places)
    python = find_python(version)
    run(UV, "tool", "install", "--quiet", "--python", python, artifacts["wheel"], folder=tmp_path, environ=environ)
    try_out(tmp_path / "bin/carob", tmp_path, environ)


@pytest.mark.parametrize("version", CLAIMED)
def test_pipx(artifacts: dict[str, Path], tmp_path: Path, version: str) -> None:
    environ = clean_environ(tmp_path, PIPX_HOME=str(tmp_path / "pipx"), PIPX_BIN_DIR=str(tmp_path / "bin"))
    pipx = python_with("pipx", "pipx").with_name("pipx")
    command = [pipx, "install", "--quiet", "--python", find_python(version), artifacts["wheel"]]
    run(*command, folder=tmp_path, environ=environ)
    try_out(tmp_path / "bin/carob", tmp_path, environ)


def test_extra_that_is_missing_is_named(artifacts: dict[str, Path], tmp_path: Path) -> None:
    environ = clean_environ(tmp_path)
    run(sys.executable, "-m", "venv", "env", folder=tmp_path, environ=environ)
    run(tmp_path / "env/bin/pip", "install", "--quiet", artifacts["wheel"], folder=tmp_path, environ=environ)
    done = subprocess.run(
        [tmp_path / "env/bin/carob", "mcp"], cwd=tmp_path, env=environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 4
    wheel = Path(artifacts["wheel"]).absolute().as_uri()
    assert done.stderr.endswith(f"Install the extra: pip install 'carob[mcp] @ {wheel}'. [missing-extra]\n")
