"""The lower bounds of pyproject.toml hold: with the oldest versions that they allow, Carob does its main jobs."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from counterparts.environments import ROOT, python_with

pytestmark = [pytest.mark.counterpart, pytest.mark.limit(600)]

EXTRAS = "langgraph,browser,http,otlp,parquet,rouge,cel,mcp"
"""All but `ray`, which is half a gigabyte."""
IMPORT_ALL = """
import importlib, pkgutil, carob
missing = set()
for module in pkgutil.walk_packages(carob.__path__, "carob."):
    try:
        importlib.import_module(module.name)
    except ModuleNotFoundError as error:
        missing.add(error.name)
print(*sorted(missing))
"""
OF_THE_USER = {"langchain", "ray"}
"""What a few modules need that only a user's project brings, or that is not installed here."""
COMMANDS = (
    (["audit", "--self"], 0, "SELF-TEST PASS"),
    (["init", "--example", "--yes"], 1, "2 passed, 1 failed"),
    (["run", "desk.carob.yaml"], 1, "2 passed, 1 failed"),
    (["run"], 4, "Missing argument 'SUITE...'"),
    (["init", "--inspect", "python:desk.py:answer"], 0, "[targets.answer]"),
    (["check", "carob-results", "--suite", "desk.carob.yaml"], 1, "conversations"),
)


@pytest.fixture(scope="module")
def python() -> Path:
    return python_with("lowest", f"{ROOT}[{EXTRAS}]", "--resolution=lowest-direct", "--reinstall-package=carob")


def test_the_main_jobs_are_done(python: Path, tmp_path: Path) -> None:
    for arguments, code, shown in COMMANDS:
        command = [str(python.with_name("carob")), *arguments]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
        output = done.stdout + done.stderr
        assert (done.returncode, shown in output, "Traceback" in output) == (code, True, False), (arguments, output)


def test_every_module_is_imported(python: Path) -> None:
    done = subprocess.run([python, "-W", "ignore", "-c", IMPORT_ALL], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert {*done.stdout.split()} <= OF_THE_USER
