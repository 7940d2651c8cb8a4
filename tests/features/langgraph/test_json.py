"""What a `langgraph.json` says of environment and dependencies is followed, or told in a line."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from uuid import uuid4

import pytest

from carob.errors import ConfigError
from carob.features.langgraph.loading import read_project
from carob.targets.base import RunContext
from targets.conftest import ask, case, opened

GRAPH = """\
import os

from langgraph.func import entrypoint
{more}
WORD = os.environ["DESK_WORD"]


@entrypoint()
def graph(prompt: str) -> str:
    return f"{{prompt}}, {{WORD}}"
"""

HOW_NAMED = 'Name graphs by file and attribute: "graphs": {"agent": "./agent.py:graph"}.'


@pytest.fixture(autouse=True)
def path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delenv("DESK_WORD", raising=False)


def project(folder: Path, more: str = "", **keys: object) -> str:
    """A folder with a graph of a name that no other test has; its spec."""
    module = f"desk_{uuid4().hex}"
    (folder / f"{module}.py").write_text(GRAPH.format(more=more))
    (folder / "langgraph.json").write_text(json.dumps({"graphs": {"desk": f"./{module}.py:graph"}, **keys}))
    return "langgraph.json:desk"


@pytest.mark.parametrize(
    "env",
    [
        pytest.param({"DESK_WORD": "welcome"}, id="table"),
        pytest.param(".env", id="file"),
    ],
)
async def test_the_environment_is_there_when_the_graph_is_loaded(tmp_path: Path, env: object) -> None:
    (tmp_path / ".env").write_text('# words\nexport DESK_WORD="welcome" # mine\nOTHER=1\n\nno line of it\n')
    async with opened("langgraph", project(tmp_path, env=env), tmp_path) as target:
        assert (await ask(target, "Hi")).final_message == "Hi, welcome"
        assert os.environ["DESK_WORD"] == "welcome"
    assert "DESK_WORD" not in os.environ


async def test_what_is_set_already_stays_and_the_target_comes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = {"DESK_WORD": "welcome"}
    monkeypatch.setenv("DESK_WORD", "hello")
    async with opened("langgraph", project(tmp_path, env=env), tmp_path) as target:
        assert (await ask(target, "Hi")).final_message == "Hi, hello"
    async with opened("langgraph", project(tmp_path, env=env), tmp_path, env={"DESK_WORD": "moin"}) as target:
        assert (await ask(target, "Hi")).final_message == "Hi, moin"


async def test_modules_of_local_dependencies_are_found_also_in_their_src(tmp_path: Path) -> None:
    name = f"words_{uuid4().hex}"
    (tmp_path / "lib" / "src").mkdir(parents=True)
    (tmp_path / "lib" / "src" / f"{name}.py").write_text("")
    spec = project(tmp_path, f"import {name}\n", dependencies=["./lib", "langgraph>=1"], env={"DESK_WORD": "x"})
    async with opened("langgraph", spec, tmp_path) as target:
        assert (await ask(target, "Hi")).final_message == "Hi, x"


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        pytest.param(
            {"env": "."},
            "its `env` '.' cannot be read: Is a directory. Create that file, or remove `env`.",
            id="no-file",
        ),
        pytest.param(
            {"env": 7},
            'its `env` is neither a table nor the name of a file. For instance: "env": ".env".',
            id="neither",
        ),
        pytest.param(
            {"dependencies": ["./gone"]}, "its dependency './gone' is not a folder. Fix `dependencies`.", id="no-folder"
        ),
        pytest.param(
            {"dependencies": "."},
            'its `dependencies` are not a list of strings. For instance: "dependencies": ["."].',
            id="no-list",
        ),
        pytest.param({"graphs": []}, f"it has no `graphs`. {HOW_NAMED}", id="no-graphs"),
    ],
)
def test_what_cannot_be_followed_is_told(tmp_path: Path, keys: dict[str, object], says: str) -> None:
    project(tmp_path, **keys)
    with pytest.raises(ConfigError) as caught:
        read_project(tmp_path / "langgraph.json")
    assert str(caught.value) == f"{tmp_path / 'langgraph.json'}: {says} [config]"


async def test_missing_file_of_variables_is_a_notice_and_the_graph_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DESK_WORD", "hello")
    notices = []
    async with opened("langgraph", project(tmp_path, env=".env.lost"), tmp_path) as target:
        for number in range(2):
            context = RunContext()
            assert (await target.run(case("Hi", f"c{number}"), context)).final_message == "Hi, hello"
            notices += context.notices
    assert notices == [
        f"{tmp_path / 'langgraph.json'}: its `env` '.env.lost' does not exist: no variables are set from it. Create "
        "that file if it is needed."
    ]


async def test_a_graph_without_a_path_is_told(tmp_path: Path) -> None:
    project(tmp_path, graphs={"desk": {"description": "Books rooms."}})
    with pytest.raises(ConfigError) as caught:
        async with opened("langgraph", "langgraph.json:desk", tmp_path):
            pass
    assert str(caught.value) == f"{tmp_path / 'langgraph.json'}: the graph 'desk' has no path. {HOW_NAMED} [config]"


async def test_a_package_that_is_not_installed_is_named_where_the_graph_cannot_be_loaded(tmp_path: Path) -> None:
    needed = ["no-such-package>=2", "langgraph"]
    spec = project(tmp_path, "import no_such_package\n", dependencies=needed, env={"DESK_WORD": "x"})
    with pytest.raises(ConfigError) as caught:
        async with opened("langgraph", spec, tmp_path):
            pass
    (module,) = tmp_path.glob("desk_*.py")
    assert str(caught.value) == (
        f"'./{module.name}:graph' cannot be imported: ModuleNotFoundError: No module named 'no_such_package' at "
        f"{module}:4. Install it where Carob is ({sys.prefix}), or name its folder in `python_path`. "
        "langgraph.json needs no-such-package>=2, which is not installed here. [config]"
    )
