"""The recipes: their files are valid, and what was recorded of their software is judged as they show."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec import structs

import carob
from carob.plugins.project import find_project
from carob.targets.config import TargetConfig, read_config, resolve
from recipes import ADDRESS, FOLDER, RECIPES, UNRECORDED, Recipe
from targets.http.desk import replaying


@pytest.fixture(params=RECIPES, ids=lambda recipe: recipe.name)
def recipe(request: pytest.FixtureRequest, tmp_path: Path) -> Recipe:
    found: Recipe = request.param
    found.write(tmp_path)
    return found


def target(folder: Path) -> TargetConfig:
    return resolve("desk", read_config(find_project(folder)), folder)


async def test_what_was_recorded_is_judged_as_the_page_shows(recipe: Recipe, tmp_path: Path) -> None:
    suite, desk = carob.load_suite(tmp_path / "suite.yaml"), target(tmp_path)
    assert recipe.requirements
    assert recipe.verdicts.keys() == {case.id for case in suite.cases}
    assert len(set(recipe.verdicts.values())) > 1, "a recipe shows what passes and what does not"
    if recipe.name in UNRECORDED:  # only `make counterparts` follows it to the end
        assert not recipe.recording.exists(), "there is a recording after all"
        return
    if recipe.starts:
        async with replaying(json.loads(recipe.recording.read_text())) as address:
            desk = structs.replace(desk, spec=ADDRESS.sub(address, desk.spec), telemetry={})
            result = await carob.arun(suite, desk, results_dir=tmp_path)
    else:
        result = await carob.arun(suite, f"replay:{recipe.recording}", results_dir=tmp_path)
    assert {record.case.id: record.status.value for record in result.records} == recipe.verdicts


def test_every_recipe_is_listed() -> None:
    listed = (FOLDER / "README.md").read_text()
    links = {recipe.name: f"]({recipe.path.name}{'#' * bool(recipe.section)}{recipe.section})" for recipe in RECIPES}
    assert [name for name, link in links.items() if link not in listed] == []
