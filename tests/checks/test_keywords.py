"""`carob.check`: every key of `expected` as a keyword, with an answer that passes and one that fails."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import get_type_hints

import pytest

import carob
from catalogs import CATALOG
from seeds.test_fields import ROWS, Row, field, observed, write_project

ROOT = Path(__file__).parents[2]


def test_keywords_are_those_of_the_catalog() -> None:
    keywords = runpy.run_path(str(ROOT / "scripts" / "keywords.py"))
    assert keywords["FILE"].read_text() == keywords["keywords_module"](), "run `python scripts/keywords.py`"
    declared = runpy.run_path(str(keywords["FILE"]))["CheckKeywords"]
    keys = {*CATALOG.fields}
    assert get_type_hints(declared).keys() == keys | {"effects", "words"}


@pytest.mark.parametrize(("name", "row"), ROWS.items(), ids=ROWS)
def test_every_keyword_can_pass_and_fail(name: str, row: Row, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_project()
    assert carob.check(observed(row.passing), **row.expected).status == "PASS"
    with pytest.raises(carob.ExpectationError) as error:
        carob.check(observed(row.failing), **row.expected)
    failed = {one.name for one in error.value.verdict.checks if one.status == "failed"}
    assert failed == {row.check or field(name)}
