"""Other programs that do the same work, each where it is installed.

A peer is looked for in BENCH_ENVS/<name>, a virtual environment (or for promptfoo a folder with node_modules), and
else where this program runs.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from benchmarks.compare import Files, Program
from benchmarks.ours import PROGRAMS, cases
from benchmarks.workload import write_promptfoo

PYDANTIC_EVALS = "pydantic-evals"
PROMPTFOO_RESULTS = "results.json"
PIECE = 1 << 20
OVERLAP = 256

_STATS = re.compile(rb'"stats":\s*\{\s*"successes":\s*(\d+),\s*"failures":\s*(\d+)')


def peers(skipped: list[str]) -> Iterator[Program]:
    """Those that are installed; a line for each other one goes to `skipped`."""
    for name, module, make in (("pytest", "pytest", _pytest), (PYDANTIC_EVALS, "pydantic_evals", _pydantic_evals)):
        python = _python(name, module)
        if python:
            yield make(name, python)
        else:
            skipped.append(f"{name}: pip install {name}, here or in a virtual environment BENCH_ENVS/{name}")
    promptfoo = _promptfoo_program()
    if promptfoo:
        yield _promptfoo("promptfoo", promptfoo)
    else:
        skipped.append("promptfoo: npm install promptfoo in BENCH_ENVS/promptfoo (it needs Node 22.22 or later)")


def _environments() -> Path | None:
    folder = os.environ.get("BENCH_ENVS")
    return Path(folder).absolute() if folder else None


def _python(name: str, module: str) -> str | None:
    folder = _environments()
    if folder and (folder / name / "bin" / "python").exists():
        return str(folder / name / "bin" / "python")
    return sys.executable if find_spec(module) else None


def _promptfoo_program() -> str | None:
    folder = _environments()
    installed = folder / "promptfoo" / "node_modules" / ".bin" / "promptfoo" if folder else None
    return str(installed) if installed and installed.exists() else shutil.which("promptfoo")


def _pytest(name: str, python: str) -> Program:
    def command(files: Files, results: Path) -> list[str]:
        settings = results / "pytest.ini"
        settings.write_text("[pytest]\n")
        where = ["-c", str(settings), "--rootdir", str(results)]
        return [python, "-m", "pytest", "-q", *where, str(PROGRAMS / "plain_pytest.py")]

    return Program(name, command, lambda files: {"BENCH_CASES": str(cases(files))})


def _pydantic_evals(name: str, python: str) -> Program:
    def command(files: Files, results: Path) -> list[str]:
        return [python, str(PROGRAMS / "pydantic_evals_peer.py"), str(cases(files)), str(results / "report.txt")]

    return Program(name, command)


def _promptfoo(name: str, program: str) -> Program:
    provider = PROGRAMS / "promptfoo_provider.mjs"

    def command(files: Files, results: Path) -> list[str]:
        settings = files.file("promptfoo.json", lambda path: write_promptfoo(path, files.cases, provider))
        return [program, "eval", "-c", str(settings), "--no-cache", "-o", str(results / PROMPTFOO_RESULTS)]

    return Program(name, command, lambda files: {"BENCH_CASES": str(cases(files))}, _promptfoo_tally)


def _promptfoo_tally(results: Path) -> tuple[int, int] | None:
    """From its results, because the last lines that it prints do not always get out."""
    file = results / PROMPTFOO_RESULTS
    if not file.exists():
        return None
    before = b""
    with file.open("rb") as opened:
        while piece := opened.read(PIECE):
            found = _STATS.search(before + piece)
            if found:
                return int(found[1]), int(found[2])
            before = piece[-OVERLAP:]
    return None
