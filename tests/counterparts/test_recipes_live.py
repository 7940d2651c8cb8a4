"""The recipes as a reader follows them: installed, started, run. With CAROB_RECORD set, what they said is kept."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from msgspec import structs

import carob
from carob.plugins.project import find_project
from carob.targets.config import read_config, resolve
from cli.support import SCRIPT
from counterparts.environments import install_by_npm, python_with
from counterparts.spans_sink import recorded
from counterparts.test_wire import wait_for
from pages import follow
from recipes import ADDRESS, RECIPES, UNRECORDED, Recipe
from targets.http.desk import recording

LEFT_OUT = ("CAROB_", "PYTEST_", "PYTHONPATH")


@pytest.fixture(params=RECIPES, ids=lambda recipe: recipe.name)
def recipe(request: pytest.FixtureRequest, tmp_path: Path) -> Recipe:
    requested: Recipe = request.param
    requested.write(tmp_path)
    return requested


@pytest.fixture
def environ(recipe: Recipe, tmp_path: Path) -> dict[str, str]:
    """`python` is the one of the recipe's own environment; `carob` is ours."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith(LEFT_OUT)}
    if recipe.is_node:
        install_by_npm(tmp_path, *recipe.requirements)
        return {**ours, "PATH": f"{SCRIPT.parent}:{os.environ['PATH']}"}
    python = python_with(f"recipe-{recipe.name}", *recipe.requirements)
    return {**ours, "PATH": f"{python.parent}:{SCRIPT.parent}:{os.environ['PATH']}"}


@pytest.fixture(autouse=True)
def _log(tmp_path: Path) -> Iterator[None]:
    """What a service wrote is shown where a test fails."""
    yield
    if (log := tmp_path / "log.txt").exists():
        print(log.read_text())


@contextmanager
def started(recipe: Recipe, environ: dict[str, str], folder: Path, port: int) -> Iterator[None]:
    """The service of a page, until the test is over."""
    log = folder / "log.txt"
    command = ["bash", "-c", f"exec {recipe.starts}"]
    with log.open("w") as out:
        service = subprocess.Popen(command, cwd=folder, env=environ, stdout=out, stderr=out, start_new_session=True)
    try:
        wait_for(port, service, log)
        yield
    finally:
        service.terminate()
        service.wait(20)


@pytest.mark.limit(900)
def test_the_commands_do_what_the_page_shows(recipe: Recipe, environ: dict[str, str], tmp_path: Path) -> None:
    for block in recipe.commands:
        follow(block, tmp_path, environ, within=600)


@pytest.mark.limit(900)
@pytest.mark.skipif(not os.environ.get("CAROB_RECORD"), reason="records only if CAROB_RECORD is set")
async def test_what_it_says_is_recorded(recipe: Recipe, environ: dict[str, str], tmp_path: Path) -> None:
    if recipe.name in UNRECORDED:
        pytest.skip(UNRECORDED[recipe.name])
    suite, desk = (
        carob.load_suite(tmp_path / "suite.yaml"),
        resolve("desk", read_config(find_project(tmp_path)), tmp_path),
    )
    recipe.recording.parent.mkdir(exist_ok=True)
    if not recipe.starts:
        lines: list[str] = []
        for case in suite.cases:
            lines += recorded(shlex.split(desk.spec), {**environ, **desk.env}, tmp_path, case.id, [case.prompt])
        recipe.recording.write_text("".join(f"{line}\n" for line in lines))
        return
    upstream = ADDRESS.search(desk.spec)
    assert upstream is not None
    kept: dict[str, list[dict[str, object]]] = {}
    with started(recipe, environ, tmp_path, int(upstream[0].rpartition(":")[2])):
        async with recording(upstream[0], kept) as address:
            there = structs.replace(desk, spec=ADDRESS.sub(address, desk.spec), telemetry={})
            result = await carob.arun(suite, there, results_dir=tmp_path)
    assert {record.case.id: record.status.value for record in result.records} == recipe.verdicts
    recipe.recording.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n")
