"""A target that was written is read as it was meant, and nothing that stood in the file changes."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carob.errors import ConfigError
from carob.features.setup.inspect.inspection import Inspection, add, target_table
from carob.plugins.project import find_project

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
VALUES = st.recursive(
    TEXTS | st.integers(-(2**53), 2**53) | st.booleans() | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
TABLES = st.dictionaries(TEXTS | st.sampled_from(["options", "preconditions"]), VALUES, max_size=4)


@given(TEXTS, TABLES)
def test_any_table_is_read_as_it_was_written(name: str, table: dict[str, object]) -> None:
    assert tomllib.loads(target_table(name, table)) == {"targets": {name: table}}  # type: ignore[arg-type]


def desk(name: str = "desk") -> Inspection:
    return Inspection(name, {"use": "browser:http://x", "options": {"answer": {"selector": ".bot"}}}, ())


@pytest.mark.parametrize(
    ("file", "before", "section"),
    [
        pytest.param("carob.toml", None, (), id="none-yet"),
        pytest.param("carob.toml", 'target = "a"\n[targets.a]\nuse = "python:a:b"', (), id="without-a-line-end"),
        pytest.param("carob.toml", "# mine\n\n", (), id="comments-only"),
        pytest.param("pyproject.toml", '[tool.carob]\nresults_dir = "r"\n', ("tool", "carob"), id="pyproject"),
    ],
)
def test_a_target_is_added_at_the_end(tmp_path: Path, file: str, before: str | None, section: tuple[str, ...]) -> None:
    if before is not None:
        (tmp_path / file).write_text(before)
    assert add(desk(), find_project(tmp_path)) == tmp_path / file
    text = (tmp_path / file).read_text()
    assert text.startswith(before or "")
    table = tomllib.loads(text)
    for name in section:
        table = table[name]
    assert table["targets"]["desk"] == desk().table


@pytest.mark.parametrize(
    ("before", "says"),
    [
        pytest.param(
            '[targets.desk]\nuse = "python:a:b"\n',
            "it has a target 'desk' already. Choose another with --name, or remove that one. [name-taken]",
            id="name-taken",
        ),
        pytest.param(
            'targets = { a = { use = "python:a:b" } }\n',
            "`targets` is written inline, so no table can be added at the end of the file. Print the target "
            "instead, and add it by hand. [config]",
            id="inline",
        ),
    ],
)
def test_nothing_is_overwritten(tmp_path: Path, before: str, says: str) -> None:
    file = tmp_path / "carob.toml"
    file.write_text(before)
    with pytest.raises(ConfigError) as caught:
        add(desk(), find_project(tmp_path))
    assert str(caught.value) == f"{file}: {says}"
    assert file.read_text() == before
